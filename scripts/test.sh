#!/bin/bash
# `make test`: installs what is missing, then runs every test of the workspace. The exit code is cargo's.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
exec cargo test --workspace "$@"
