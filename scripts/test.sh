#!/bin/bash
# `make test`: installs what is missing, then runs every test of the workspace and the ONNX conformance cases.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
# Without it the tests that need it say so and are left out.
if TCC_PTXAS=$(scripts/ptxas.sh); then export TCC_PTXAS; fi
cargo test --workspace "$@"
tests/conformance/run.sh target/debug/tcc
