#!/usr/bin/env python3
"""Writes the test cases that the `onnx` package carries as folders for `tcc check --suite`.

    write_cases.py DEST [KIND...]        KIND: node simple pytorch-operator pytorch-converted (all without any)

DEST/KIND/CASE/model.onnx, DEST/KIND/CASE/test_data_set_N/{input,output}_I.pb, and DEST/cases.jsonl with the
tolerances of each case. Needs onnx==1.23.2 and pillow.
"""
import json
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

KINDS = ["node", "simple", "pytorch-operator", "pytorch-converted"]


def proto(value, value_type):
    """A value as the proto that its type in the model asks for."""
    which = value_type.WhichOneof("value")
    if which == "optional_type":
        inner = value_type.optional_type.elem_type.WhichOneof("value")
        plain = value is None or inner == "sequence_type"
        return numpy_helper.from_optional(value if plain else np.asarray(value))
    if which == "sequence_type":
        return numpy_helper.from_list(value)
    return value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(np.asarray(value))


def write_generated(case, folder):
    """A case that the package makes in memory."""
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        graph = case.model.graph
        for prefix, values, infos in (("input", inputs, graph.input), ("output", outputs, graph.output)):
            for index, (value, info) in enumerate(zip(values, infos)):
                (data / f"{prefix}_{index}.pb").write_bytes(proto(value, info.type).SerializeToString())


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    dest, kinds = Path(sys.argv[1]), sys.argv[2:] or KINDS
    warnings.filterwarnings("ignore")
    with open_new(dest / "cases.jsonl") as index:
        for kind in kinds:
            for case in load_model_tests(kind=kind):
                folder = dest / kind / case.name
                shutil.rmtree(folder, ignore_errors=True)
                if case.model_dir is not None:
                    shutil.copytree(case.model_dir, folder)
                else:
                    write_generated(case, folder)
                index.write(json.dumps({"kind": kind, "name": case.name, "rtol": case.rtol, "atol": case.atol}) + "\n")


def open_new(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    return open(path, "w", encoding="utf-8")


if __name__ == "__main__":
    main()
