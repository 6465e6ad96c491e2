"""Extensions of a torch that is built for ROCm: which compiler, for which GPU, and what is said where it is missing.

torch is the processor's here and claims to be ROCm's. Its translator of sources and its builds with ninja are the real ones; the
compilers are scripts that keep a log.
"""

from __future__ import annotations

import importlib
import logging
import os
import re
import shutil
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import torch
from torch.utils import cpp_extension

from kernelgen_common.platform import PLATFORMS, of_torch
from kernelgen_runner import builds, compiler, prewarm
from kernelgen_runner.device import architecture_setting

ROOT = Path(__file__).resolve().parents[2]
AMD = PLATFORMS["amd"]
#: The variables that tell where compilers are.
TOLD = (*AMD.home_variables, *AMD.folder_variables, "PYTORCH_NVCC", "CUDA_HOME", "CUDA_PATH", "PYTORCH_ROCM_ARCH", "CXX")
#: Writes its arguments to a log, and an object that is none.
HIPCC = """#!/bin/sh
echo "$*" >> {log}
for last; do [ "$previous" = -o ] && : > "$last"; previous=$last; done
"""
#: Links a library of nothing.
CXX = """#!/bin/sh
for last; do [ "$previous" = -o ] && out=$last; previous=$last; done
case "$*" in *-shared*) exec cc -shared -x c /dev/null -o "$out";; *) : > "$out";; esac
"""


def shown_source() -> str:
    """The kernel that prompts for a torch module on an AMD GPU show."""
    text = (ROOT / "lib/prompt/templates/examples/torch.mustache").read_text(encoding="utf-8")
    found = re.search(r'SOURCE = """\n(.*?)"""', text, re.DOTALL)
    assert found is not None
    return found[1]


class RocmTest(unittest.TestCase):
    """A machine with a torch for ROCm 6.3, and no compiler."""

    def setUp(self) -> None:
        self.root = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        self.log = self.root / "log"
        patches = [
            mock.patch.object(torch.version, "hip", "6.3.42131"),
            mock.patch.object(torch.version, "cuda", None),
            mock.patch.object(torch.cuda, "_is_compiled", lambda: True),
            mock.patch.dict(os.environ),
        ]
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)
        for name in TOLD:
            os.environ.pop(name, None)

    def install(self, path: str, script: str = "#!/bin/sh\n") -> Path:
        program = self.root / path
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(script.replace("{log}", str(self.log)))
        program.chmod(0o755)
        return program


class ToolkitTest(RocmTest):
    def setUp(self) -> None:
        super().setUp()
        # Without a hipcc of the system.
        os.environ["PATH"] = str(self.root / "tools")

    def test_a_torch_for_rocm_is_amds(self) -> None:
        self.assertIs(of_torch(), AMD)

    def test_where_rocm_is(self) -> None:
        with mock.patch.object(os, "access", lambda path, mode: False):
            self.assertIsNone(AMD.toolkit_home())
        with mock.patch.object(os, "access", lambda path, mode: path == "/opt/rocm/bin/hipcc"):
            self.assertEqual(AMD.toolkit_home(), "/opt/rocm")
        self.install("old/hip/bin/hipcc")
        os.environ["PATH"] += f":{self.root}/old/hip/bin"
        self.assertEqual(AMD.toolkit_home(), str(self.root / "old"))
        self.install("new/bin/hipcc")
        os.environ["PATH"] = f"{self.root}/new/bin"
        self.assertEqual(AMD.toolkit_home(), str(self.root / "new"))
        for name in ("HIP_PATH", "ROCM_PATH", "ROCM_HOME"):
            os.environ[name] = f"/named/{name}"
            self.assertEqual(AMD.toolkit_home(), f"/named/{name}")

    def test_rocm_may_be_a_package_of_python(self) -> None:
        package = self.root / "_rocm_sdk_core"
        package.mkdir()
        (package / "__init__.py").touch()
        with mock.patch("sys.path", [str(self.root)]):
            self.assertEqual(AMD.toolkit_home(), str(package))

    def test_torch_is_told_before_it_looks(self) -> None:
        os.environ["ROCM_PATH"] = "/named/rocm"
        self.assertEqual(builds.name_toolkit(AMD), "/named/rocm")
        self.assertEqual(os.environ["ROCM_HOME"], "/named/rocm")
        self.assertNotIn("CUDA_HOME", os.environ)

    def test_the_sandbox_shows_the_toolkit_and_what_it_reads(self) -> None:
        self.install("rocm-6.3/bin/hipcc")
        (self.root / "rocm").symlink_to(self.root / "rocm-6.3")
        os.environ["ROCM_PATH"] = str(self.root / "rocm")
        os.environ["HIP_CLANG_PATH"], os.environ["HIP_DEVICE_LIB_PATH"] = "/clang/bin", "/libraries"
        shown = builds.toolchains()
        for folder in (self.root / "rocm", self.root / "rocm-6.3", self.root / "tools", "/clang/bin", "/libraries"):
            self.assertIn(str(folder), shown)

    def test_the_architecture_is_that_of_the_device(self) -> None:
        self.assertEqual(architecture_setting("amd", "gfx90a"), {"PYTORCH_ROCM_ARCH": "gfx90a"})
        self.assertEqual(architecture_setting("amd", "sm_90"), {})

    def test_extensions_are_imported_with_the_toolkit(self) -> None:
        os.environ["ROCM_PATH"] = "/named/rocm"
        with mock.patch.object(importlib, "import_module") as imported:
            prewarm._import_extensions()
        self.assertEqual(os.environ["ROCM_HOME"], "/named/rocm")
        names = [call.args[0] for call in imported.call_args_list]
        self.assertEqual(names, ["torch.utils.hipify.hipify_python", "torch.utils.cpp_extension"])


@unittest.skipUnless(shutil.which("ninja"), "there is no ninja")
class LoadInlineTest(RocmTest):
    """load_inline() as a candidate calls it."""

    def setUp(self) -> None:
        super().setUp()
        os.environ["CXX"] = str(self.install("fake/c++", CXX))
        os.environ["TORCH_DONT_CHECK_COMPILER_ABI"] = "1"
        # torch reads its settings while it is imported.
        self.addCleanup(importlib.reload, cpp_extension)
        logging.getLogger("torch.utils.cpp_extension").disabled = True

    def load(self) -> None:
        """Builds the extension that prompts show, for a gfx90a, as a runner of its own."""
        with mock.patch.dict(os.environ):
            self._load()

    def _load(self) -> None:
        made = builds.Builds(str(self.root), architecture_setting("amd", "gfx90a"))
        made.make_ready()
        importlib.reload(cpp_extension)
        cpp_extension.load_inline(
            name="scale",
            cpp_sources="torch::Tensor scale(torch::Tensor x, torch::Tensor weight);",
            cuda_sources=shown_source(),
            functions=["scale"],
            is_python_module=False,
        )

    def runs(self) -> list[str]:
        return self.log.read_text().splitlines()

    def test_a_kernel_is_translated_and_compiled_for_the_device_alone(self) -> None:
        os.environ["ROCM_PATH"] = str(self.install("rocm/bin/hipcc", HIPCC).parents[1])
        self.load()
        compiled = [run for run in self.runs() if "-c " in run]
        self.assertEqual(len({re.search(r"--offload-arch=\S+", run)[0] for run in compiled}), 1, compiled)
        self.assertIn("--offload-arch=gfx90a", compiled[0])
        self.assertIn(f"-isystem {self.root}/rocm/include", compiled[0])
        # Light headers come first, as for nvcc; the script's object has no symbols to look at.
        self.assertIn(f"-I{compiler.INCLUDE}", compiled[0])
        (translated,) = (self.root / builds.CONTENTS / "torch" / "scale").glob("*.hip")
        text = translated.read_text()
        self.assertIn("hip/hip_runtime.h", text)
        self.assertIn("scale_kernel", text)
        self.assertNotIn("cuda_runtime.h", text)
        self.assertNotIn("cudaStream_t", text)

    def test_what_was_built_is_kept_until_the_compiler_changes(self) -> None:
        hipcc = self.install("rocm/bin/hipcc", HIPCC)
        os.environ["ROCM_PATH"] = str(hipcc.parents[1])
        self.load()
        first = len(self.runs())
        self.load()
        self.assertEqual(len(self.runs()), first)
        self.install("rocm/bin/hipcc", HIPCC + "# a newer one\n")
        self.load()
        self.assertGreater(len(self.runs()), first)

    def test_without_hipcc_the_error_says_what_to_install(self) -> None:
        with mock.patch.object(AMD.__class__, "toolkit_home", lambda self: None), self.assertRaises(RuntimeError) as raised:
            self.load()
        message = str(raised.exception)
        self.assertIn("fatal error: cannot run /opt/rocm/bin/hipcc: not found; install ROCm's HIP", message)
        self.assertNotIn("CUDA_HOME", message)

    def test_errors_of_hipcc_reach_the_candidate(self) -> None:
        error = "hip.hip:9:3: error: use of undeclared identifier 'surely_nobody_has_this'"
        script = f'#!/bin/sh\necho "{error}"\nexit 1\n'
        os.environ["ROCM_PATH"] = str(self.install("rocm/bin/hipcc", script).parents[1])
        with self.assertRaisesRegex(RuntimeError, "surely_nobody_has_this"):
            self.load()


if __name__ == "__main__":
    unittest.main()
