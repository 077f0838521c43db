#!/bin/bash
# `make test`: installs what is missing, then runs every test of the workspace and the ONNX conformance cases.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
cargo test --workspace "$@"
tests/conformance/run.sh target/debug/tcc
