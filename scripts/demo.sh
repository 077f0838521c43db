#!/bin/bash
# `make demo`: compiles a real model, basic-pitch (which hears notes), plays it a scale and prints what it heard.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh

target=${CARGO_TARGET_DIR:-target}
model=$target/models/basic-pitch.onnx
out=$target/demo
tcc=$target/release/tcc
mkdir -p "$out"

cargo build --release --package tcc --bins --examples
scripts/fetch_model.py basic-pitch "$model"
"$target/release/examples/scale" "$out/scale.npy"

echo
echo "tcc compile: $model -> $out/basic-pitch.tcc"
start=$(date +%s%N)
"$tcc" compile "$model" -o "$out/basic-pitch.tcc"
compiled=$(( ($(date +%s%N) - start) / 1000000 ))

input=serving_default_input_2:0=$out/scale.npy
echo
echo "tcc run: $out/scale.npy, a synthesised C major scale"
"$tcc" run "$out/basic-pitch.tcc" --input "$input" --outputs "$out/posteriograms.npz"

echo
echo "What the model heard:"
"$target/release/examples/notes" "$out/posteriograms.npz" | tee "$out/notes.txt"

"$tcc" bench "$out/basic-pitch.tcc" --input "$input" --seconds 1 --json >"$out/bench.json"
# The bench's JSON is one flat object: a number is what follows its key.
number() { grep -o "\"$1\": *[0-9.]*" "$out/bench.json" | sed 's/.*: *//'; }
echo
printf '%-14s %10s ms (model file to package, one process)\n' "compile time" "$compiled"
printf '%-14s %10.2f ms (median for 2.0 s of sound)\n' "run time" "$(number latency_ms_median)"
printf '%-14s %10s bytes (all that a run works in)\n' "arena" "$(number arena_bytes)"
printf '%-14s %10s bytes (code, weights and plan)\n' "package" "$(stat -c %s "$out/basic-pitch.tcc")"

if ! grep -qx 'notes: C4 D4 E4 F4 G4 A4 B4 C5' "$out/notes.txt"; then
    echo "demo: that is not the scale that was played: the compiled model is wrong" >&2
    exit 1
fi
