"""The same tests under LLVM's own lit: /usr/lib/llvm-22/bin/lit tests/lit (builds nothing; uses target/debug/tcc)."""
import os
import shutil

import lit.formats

root = os.path.dirname(os.path.abspath(__file__))
tcc = os.environ.get("TCC", os.path.join(root, "../../target/debug/tcc"))
filecheck = os.environ.get("TCC_FILECHECK", "FileCheck-22")
if not os.path.exists(tcc) or shutil.which(filecheck) is None:
    lit_config.fatal(f"needs {tcc} (cargo build) and {filecheck} (make setup)")

config.name = "tcc"
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".tcc", ".test", ".mlir"]
config.excludes = ["Inputs", "fail"]  # runner/fail: files that must fail
config.test_exec_root = os.path.join(root, "../../target/tmp/llvm-lit")
config.substitutions += [("%FileCheck", filecheck), ("%fails", os.path.join(root, "fails")), ("%tcc", tcc)]
config.available_features.add("cpu")
targets = os.popen(f"{tcc} targets 2>/dev/null").read().splitlines()
drivers = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"]
for word, met in [("ptx", any(t.split()[:1] == ["ptx"] for t in targets)),
                  ("spirv", any(t.split()[:1] == ["spirv"] for t in targets)),
                  ("ptx-sm90", any(t.split()[:1] == ["ptx-sm90"] for t in targets)),
                  ("vulkan", any(os.path.isdir(d) and os.listdir(d) for d in drivers)),
                  ("spirv-val", shutil.which("spirv-val")), ("ptxas", os.environ.get("TCC_PTXAS")),
                  ("gpu-cuda", os.path.exists("/dev/nvidiactl"))]:
    if met:
        config.available_features.add(word)
if os.environ.get("TCC_PTXAS"):
    config.environment["TCC_PTXAS"] = os.environ["TCC_PTXAS"]
