#!/bin/bash
# Runs the ONNX backend cases through the compiler and holds the results against the list of expected failures.
#
#     tests/conformance/run.sh TCC [JOBS]
#
# The cases are written once, to target/conformance. TCC_BLESS=1 rewrites the list.
set -euo pipefail
cd "$(dirname "$0")/../.."
tcc=${1:?the tcc binary}
jobs=${2:-2}
work=target/conformance
mkdir -p "$work"

if [ ! -s "$work/cases/cases.jsonl" ]; then
    echo "conformance: writing the cases of onnx 1.23.2 to $work/cases"
    [ -x "$work/venv/bin/python" ] || python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check onnx==1.23.2 pillow numpy
    "$work/venv/bin/python" tests/conformance/write_cases.py "$work/cases.new" > /dev/null
    rm -rf "$work/cases"
    mv "$work/cases.new" "$work/cases"
fi

# The exit code says whether anything failed; which failures are expected is for the comparison.
"$tcc" check --suite "$work/cases" --json --jobs "$jobs" --timeout 60 > "$work/results.jsonl" || true
python3 tests/conformance/compare.py "$work/results.jsonl" tests/conformance/expected-failures.txt
