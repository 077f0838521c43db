#!/bin/bash
# Prints where Nvidia's assembler is, which tests hold PTX against. TCC_PTXAS names one; else it is fetched once, from
# PyPI's nvidia-cuda-nvcc-cu12 (39 MB, no driver and no GPU needed), to target/ptxas.
set -euo pipefail
cd "$(dirname "$0")/.."
version=12.9.86
wheel=nvidia_cuda_nvcc_cu12-$version
folder=target/ptxas

if [ -n "${TCC_PTXAS:-}" ]; then
    echo "$TCC_PTXAS"
    exit 0
fi
if [ ! -x "$folder/$version/ptxas" ]; then
    mkdir -p "$folder"
    if ! python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
        --dest "$folder" "nvidia-cuda-nvcc-cu12==$version" >&2; then
        echo "ptxas: PyPI's nvidia-cuda-nvcc-cu12 $version can't be fetched: PTX isn't assembled in tests" >&2
        exit 1
    fi
    python3 - "$folder" "$wheel" <<'PYTHON'
import pathlib, sys, zipfile
folder = pathlib.Path(sys.argv[1])
wheel = next(folder.glob(sys.argv[2] + "-*.whl"))
with zipfile.ZipFile(wheel) as archive:
    (folder / "ptxas.new").write_bytes(archive.read("nvidia/cuda_nvcc/bin/ptxas"))
wheel.unlink()
PYTHON
    chmod +x "$folder/ptxas.new"
    mkdir -p "$folder/$version"
    mv "$folder/ptxas.new" "$folder/$version/ptxas"
fi
echo "$PWD/$folder/$version/ptxas"
