"""The idioms that repair prompts show: Triton's run under the interpreter and compile for a GPU, those of C++ and CUDA compile.

A block of Python in a hint is a module where it defines or imports something, else lines of a kernel that has x_ptr, y_ptr, n,
BLOCK, offs, mask and x.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

#: The process that compiles sets 0.
os.environ.setdefault("TRITON_INTERPRET", "1")

ROOT = Path(__file__).resolve().parents[2]
HINTS = ROOT / "lib" / "prompt" / "templates" / "hints"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
{body}
    tl.store(y_ptr + tl.arange(0, BLOCK), {result}, mask=tl.arange(0, BLOCK) < n)


def run(x):
    y = torch.zeros(256)
    kernel[(1,)](x, y, 256, BLOCK=256)
    return y
"""
MODULE = "import torch\nimport triton\nimport triton.language as tl\n\n\n"


def blocks(language: str) -> list[tuple[str, str]]:
    """(hint, code) of every fenced block in this language. A heading {{$NAME}} begins the hint NAME."""
    found = []
    for path in sorted(HINTS.glob("*.mustache")):
        _, *parts = re.split(r"^\{\{\$(.*)\}\}$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for hint, text in zip(parts[::2], parts[1::2], strict=True):
            found += [(hint, code) for name, code in FENCE.findall(for_nvidia(text)) if name == language]
    return found


def for_nvidia(text: str) -> str:
    """The text for a GPU of NVIDIA's; tests/process/hip compiles that for AMD's."""
    text = re.sub(r"\{\{#is_amd\}\}.*?\{\{/is_amd\}\}", "", text, flags=re.DOTALL)
    text = re.sub(r"\{\{[\^/]is_amd\}\}\n?", "", text)
    return text.replace("{{runtime}}", "cuda").replace("{{stream_type}}", "cudaStream_t")


def load(source: str, folder: str, name: str):
    """The module; from a file, for triton reads the source of kernels."""
    path = os.path.join(folder, f"{name}.py")
    Path(path).write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def is_module(code: str) -> bool:
    return re.search(r"^(?:import|from|def|class|@)\b|^@", code, re.MULTILINE) is not None


def compile_idioms() -> None:
    """Compiles every idiom of a kernel for sm_90, with a driver that launches nothing. Raises the compiler's errors."""
    import torch

    sys.path.insert(0, str(ROOT / "tools"))
    import provoke_errors

    provoke_errors.use_fake_driver("cuda", 232448)
    count = 0
    for hint, code in blocks("python"):
        if not is_module(code):
            with tempfile.TemporaryDirectory() as folder:
                print(hint, flush=True)
                load(KERNEL.format(body=textwrap.indent(code, "    "), result="x"), folder, f"idiom{count}").run(torch.rand(1024))
            count += 1


#: A module with each example for a family of tasks: the arguments of its constructor, and the shapes of its inputs.
FAMILY_EXAMPLES = {
    "attention": ((), [(2, 4, 512, 64)] * 3),
    "convolution": ((64, 64, 3, 1, 1), [(4, 64, 32, 32)]),
    "gemm": ((1024, 512), [(256, 1024)]),
    "long_rows": ((), [(4, 65536)]),
    "scan": ((), [(4, 65536)]),
    "split_reduction": ((), [(64, 4096)] * 2),
    "split_rows": ((65536,), [(4, 65536)]),
}
#: The values of a prompt for a large product in the class strict.
LARGE_PRODUCT = {"dot_precision": "tf32x3", "dot_tile": "128, 128, 32", "dot_warps": "8", "dot_stages": "3"}


def compile_family_examples() -> None:
    """Compiles every example for sm_90, as compile_idioms()."""
    import torch

    sys.path.insert(0, str(ROOT / "tools"))
    import provoke_errors

    provoke_errors.use_fake_driver("cuda", 232448)
    for path in sorted((HINTS.parent / "examples" / "triton").glob("*.mustache")):
        text = path.read_text(encoding="utf-8")
        for name, value in LARGE_PRODUCT.items():
            text = text.replace("{{" + name + "}}", value)
        ((_, code),) = FENCE.findall(text)
        arguments, shapes = FAMILY_EXAMPLES[path.stem]
        with tempfile.TemporaryDirectory() as folder:
            print(path.stem, flush=True)
            load(code, folder, path.stem).ModelNew(*arguments)(*(torch.empty(shape) for shape in shapes))


class TritonIdioms(unittest.TestCase):
    """Idioms that run under the interpreter, and the results of formulas that replace a function."""

    @classmethod
    def setUpClass(cls):
        try:
            import triton  # noqa: F401
        except ImportError:
            raise unittest.SkipTest("triton is not installed") from None

    def run_body(self, code: str, result: str, x):
        with tempfile.TemporaryDirectory() as folder:
            source = KERNEL.format(body=textwrap.indent(code, "    "), result=result)
            return load(source, folder, "idiom").run(x)

    def test_there_are_idioms(self):
        self.assertGreater(len(blocks("python")), 20)

    def test_every_idiom_of_a_kernel_runs(self):
        import torch

        for hint, code in blocks("python"):
            if not is_module(code):
                with self.subTest(hint):
                    self.run_body(code, "x", torch.rand(1024))

    def test_every_idiom_of_a_kernel_compiles_for_a_gpu(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": folder, "PYTHONPATH": str(Path(__file__).parent)}
            command = [sys.executable, "-c", "import test_hints; test_hints.compile_idioms()"]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreater(len(done.stdout.splitlines()), 20)

    def test_every_family_example_compiles_for_a_gpu(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": folder, "PYTHONPATH": str(Path(__file__).parent)}
            command = [sys.executable, "-c", "import test_hints; test_hints.compile_family_examples()"]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            assembly = {path.stem: path.read_text() for path in Path(folder).rglob("*.ptx")}
            layouts = {path.stem: path.read_text() for path in Path(folder).rglob("*.ttgir")}
        self.assertEqual(sorted(done.stdout.split()), sorted(FAMILY_EXAMPLES))
        for name in ("linear_kernel", "attention_kernel", "convolution_kernel"):
            self.assertIn("wgmma.mma_async", assembly[name])
        # What prompts say of tf32x3: a slice is summed by the matrix units, and added to the total by ordinary additions.
        loop = layouts["linear_kernel"].partition("scf.for")[2].partition("scf.yield")[0]
        self.assertIn("arith.addf", loop)

    def test_every_module_can_be_imported(self):
        import torch

        for hint, code in blocks("python"):
            if is_module(code):
                with self.subTest(hint), tempfile.TemporaryDirectory() as folder:
                    module = load(MODULE + code, folder, "idiom")
                    if hint == "triton.autotune_conflict":
                        self.assertIn("scale", vars(module))
                    if hint == "torch.module_init":
                        self.assertEqual(module.ModelNew().linear(torch.rand(2, 4)).shape, (2, 4))

    def formula(self, hint: str, name: str, x):
        code = next(code for found, code in blocks("python") if found == hint)
        return self.run_body(code, name, x)

    def test_formulas_give_what_the_missing_functions_would(self):
        import torch

        x = torch.linspace(-100, 100, 256)
        tanh = self.formula("triton.missing_tanh", "tanh_x", x)
        torch.testing.assert_close(tanh, torch.tanh(x), rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(self.formula("triton.missing_tanh", "sigmoid_x", x), torch.sigmoid(x), rtol=1e-5, atol=1e-6)
        for name, function in (
            ("relu", torch.relu),
            ("silu", torch.nn.functional.silu),
            ("gelu", torch.nn.functional.gelu),
            ("softplus", torch.nn.functional.softplus),
            ("square", torch.square),
        ):
            with self.subTest(name):
                found = self.formula("triton.missing_function", name, x)
                torch.testing.assert_close(found, function(x), rtol=1e-4, atol=1e-5)

    def test_an_element_can_be_selected_and_replaced(self):
        import torch

        x = torch.rand(256)
        self.assertEqual(float(self.formula("triton.tensor_index", "third + 0.0 * x", x)[0]), float(x[3]))
        replaced = self.formula("triton.item_assignment", "x", x)
        self.assertEqual(float(replaced[0]), 0.0)
        torch.testing.assert_close(replaced[1:], x[1:])


class NativeIdioms(unittest.TestCase):
    """Idioms that the compilers accept."""

    def compile(self, command: list[str], code: str, suffix: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "idiom" + suffix)
            Path(path).write_text(code, encoding="utf-8")
            done = subprocess.run([*command, path, "-o", os.path.join(folder, "idiom.o")], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_idiom_of_cpp_compiles(self):
        include = ["-I", str(ROOT / "include" / "kernelgen" / "abi")]
        self.assertGreater(len(blocks("cpp")), 4)
        for hint, code in blocks("cpp"):
            with self.subTest(hint):
                self.compile(["c++", "-std=c++20", "-Wall", "-Werror", "-O2", "-fopenmp", "-c", *include], code, ".cpp")

    def test_every_idiom_of_c_compiles(self):
        include = ["-I", str(ROOT / "include" / "kernelgen" / "abi")]
        self.assertGreater(len(blocks("c")), 1)
        for hint, code in blocks("c"):
            with self.subTest(hint):
                self.compile(["cc", "-std=gnu17", "-Wall", "-Werror", "-O2", "-fopenmp", "-c", *include], code, ".c")

    def test_every_idiom_of_cuda_compiles(self):
        self.assertGreater(len(blocks("cuda")), 5)
        nvcc = shutil.which("nvcc")
        if nvcc is None:
            raise unittest.SkipTest("nvcc is not installed")
        for hint, code in blocks("cuda"):
            with self.subTest(hint):
                self.compile([nvcc, "-std=c++17", "-arch=sm_90", "-c", "-Werror", "all-warnings"], code, ".cu")


if __name__ == "__main__":
    unittest.main()
