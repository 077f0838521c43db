#!/bin/bash
# Installs the Debian packages that building, testing and the demo need, and says why each is needed.
# Does nothing, and needs no network, when all are there.
set -euo pipefail
cd "$(dirname "$0")/.."

# package                why
packages=$(cat <<'TABLE'
libmlir-22-dev           MLIR, which tcc lowers kernels through
llvm-22-dev              LLVM, which makes machine code (the 22 here, in Cargo.toml and .cargo/config.toml move together)
llvm-22-tools            FileCheck, which checks the lit tests
mlir-22-tools            mlir-tblgen, which the MLIR bindings run while they build
clang-22                 the compiler that drives the linker, and compiles the C examples
g++                      the C++ compiler for the bindings' own glue
lld-22                   the linker: LLVM is linked statically, which is slow with others
libclang-22-dev          bindgen reads MLIR's C headers with it
libpolly-22-dev          a library that LLVM's static link names
zlib1g-dev               LLVM's static link needs it
libzstd-dev              LLVM's static link needs it
libxml2-dev              LLVM's static link needs it
qemu-user                runs aarch64, riscv64 and arm code in tests
nodejs                   runs wasm32 code in tests
libvulkan1               the Vulkan loader, which runs packages for GPUs
mesa-vulkan-drivers      a Vulkan driver that needs no GPU, for tests of such packages
spirv-tools              spirv-as and spirv-val, for tests of such packages
python3                  fetches the demo's model
python3-pip              fetches the demo's model and the conformance cases
python3-venv             keeps what the conformance cases are made with apart
TABLE
)

if ! command -v cargo >/dev/null; then
    echo "setup: cargo is missing: install Rust from https://rustup.rs (the version is in Cargo.toml, rust-version)" >&2
    exit 1
fi

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

missing=()
while read -r package why; do
    installed "$package" && continue
    [ ${#missing[@]} -gt 0 ] || echo "setup: these Debian packages are missing:"
    printf '  %-22s %s\n' "$package" "$why"
    missing+=("$package")
done <<<"$packages"
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "setup: there is no apt-get here; install the above by this system's own means" >&2
    exit 1
fi
root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "setup: installing needs root, and there is no sudo; as root: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    root=(sudo)
    echo "setup: installing with sudo"
fi
apt() { "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" </dev/null; }

# A warning of update is no reason to stop: the packages may be known already.
apt update || echo "setup: apt-get update failed; trying with what is known" >&2
unknown=()
for package in "${missing[@]}"; do
    apt-cache show "$package" >/dev/null 2>&1 || unknown+=("$package")
done
if [ ${#unknown[@]} -gt 0 ]; then
    echo "setup: this system's package sources have no: ${unknown[*]}" >&2
    echo "setup: Debian 12 has LLVM 22 in bookworm-security; elsewhere https://apt.llvm.org has it" >&2
    exit 1
fi
if ! apt install --yes --no-install-recommends "${missing[@]}"; then
    echo "setup: apt-get could not install: ${missing[*]}" >&2
    exit 1
fi
echo "setup: done"
