#!/bin/bash
# Builds a fuzz target with coverage counters, on the stable toolchain, and runs it.
#
#     fuzz/run.sh onnx|compile_graph|package [libFuzzer's options...]
#
# The corpus is fuzz/corpus/TARGET. What crashes, hangs or takes too much memory is written to fuzz/artifacts/TARGET.
# With SANITIZER=address (and the nightly toolchain) memory errors are found too.
set -euo pipefail
cd "$(dirname "$0")"
target=${1:?a target: onnx, compile_graph or package}
shift
triple=$(rustc -vV | sed -n 's/^host: //p')
llvm="-Cllvm-args=-sanitizer-coverage"
flags="-Cpasses=sancov-module $llvm-level=4 $llvm-inline-8bit-counters $llvm-pc-table $llvm-trace-compares"
flags+=" -Cdebug-assertions -Coverflow-checks -Ccodegen-units=1 --cfg fuzzing"
toolchain=()
if [ -n "${SANITIZER:-}" ]; then
    flags+=" -Zsanitizer=$SANITIZER"
    toolchain=(+nightly)
fi
# With a target named, build scripts and procedural macros are built without the counters.
RUSTFLAGS=$flags cargo "${toolchain[@]}" build --release --target "$triple" --target-dir "target/${SANITIZER:-plain}" --bin "$target"
mkdir -p "corpus/$target" "artifacts/$target"
exec "target/${SANITIZER:-plain}/$triple/release/$target" -artifact_prefix="artifacts/$target/" \
    -timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 "$@" "corpus/$target"
