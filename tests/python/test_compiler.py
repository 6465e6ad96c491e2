"""Tests of torch's compilers with light headers: when they are tried, what is reported, and what builds of torch find."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from kernelgen_common.platform import PLATFORMS
from kernelgen_runner import builds, compiler

TORCH = '#include <torch/extension.h>\n'
RELU = """
#include <torch/types.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <torch/extension.h>
#include <vector>
template <typename T>
__global__ void relu(const T* x, T* y, int64_t n) {
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > T(0) ? x[i] : T(0);
}
std::vector<torch::Tensor> forward(torch::Tensor x, double scale) {
  TORCH_CHECK(x.dim() == 2 && x.is_contiguous(), "a contiguous matrix, not ", x.sizes());
  auto y = torch::empty_like(x);
  auto total = torch::zeros({x.size(0)}, x.options().dtype(torch::kFloat32));
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "relu", [&] {
    relu<scalar_t><<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.numel());
  });
  return {y * scale + total.unsqueeze(1), torch::matmul(x, x.t()).sum(-1), x.index({torch::indexing::Slice(0, 1)})};
}
"""


#: In the form of torch's TensorBody.h.
BODY = """#include <ATen/MethodOperators.h>
class Tensor {};
namespace at {
// aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
inline at::Tensor & Tensor::add_(const at::Tensor & other, const at::Scalar & alpha) const {
    return at::_ops::add__Tensor::call(const_cast<Tensor&>(*this), other, alpha);
}

// aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
inline at::Tensor Tensor::cumsum(int64_t dim, ::std::optional<at::ScalarType> dtype) const {
    return at::_ops::cumsum::call(const_cast<Tensor&>(*this), dim, dtype);
}

// aten::numel(Tensor self) -> int
inline int64_t Tensor::__dispatch_numel() const {
    return at::_ops::numel::call(const_cast<Tensor&>(*this));
}
} // namespace at
"""


class FakeCompilerTest(unittest.TestCase):
    """Replaces the compiler by a script that keeps a log."""

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.log = self.folder / "log"

    def compile(self, text: str, script: str, name: str = "main.cu", *flags: str) -> tuple[int, str, list[str]]:
        """Exit status, what was printed, and the arguments of each run of the compiler."""
        source, fake = self.folder / name, self.folder / "cc"
        source.write_text(text)
        kind = f'case "$*" in *-I{compiler.INCLUDE}*) light=1;; *) light=;; esac'
        fake.write_text(f'#!/bin/sh\necho "$*" >> {self.log}\n{kind}\n{script}\n')
        fake.chmod(0o755)
        target = str(self.folder / "out")
        command = [sys.executable, "-I", "-S", compiler.__file__, str(fake), *(flags or ("-c",)), str(source), "-o", target]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout + done.stderr, self.log.read_text().splitlines()

    def test_light_headers_are_enough(self) -> None:
        status, output, runs = self.compile(TORCH, "echo a warning")
        self.assertEqual((status, output, len(runs)), (0, "a warning\n", 1))
        self.assertTrue(runs[0].startswith(f"-I{compiler.INCLUDE} "), runs)

    def test_what_light_headers_lack_is_compiled_as_ever(self) -> None:
        script = '[ -n "$light" ] && { echo "error: no match for operator+"; exit 1; }; echo full'
        status, output, runs = self.compile(TORCH, script)
        self.assertEqual((status, output, len(runs)), (0, "full\n", 2))
        self.assertNotIn(compiler.INCLUDE, runs[1])

    def test_a_name_that_torch_has_is_no_mistake_of_the_source(self) -> None:
        headers = self.folder / "headers"
        headers.mkdir()
        (headers / "all.h").write_text("void known_to_torch();")
        error = """[ -n "$light" ] || exit 0; echo "main.cu(3): error: identifier \\"known_to_torch\\" is undefined"; exit 2"""
        status, output, runs = self.compile(TORCH, error, "main.cu", "-isystem", str(headers), "-c")
        self.assertEqual((status, output, len(runs)), (0, "", 2))

    def test_mistakes_of_the_source_are_told_after_one_attempt(self) -> None:
        messages = (
            'main.cu(3): error: identifier "surely_nobody_has_this" is undefined',
            "main.cpp:3:5: error: 'surely_nobody_has_this' was not declared in this scope",
            "main.cpp:3:5: error: \u2018surely_nobody_has_this\u2019 is not a member of \u2018at\u2019",
            'main.cu(3): error: namespace "at" has no member "surely_nobody_has_this"',
            'main.cu(4): error: argument of type "const float *" is incompatible with parameter of type "float *"',
            "ptxas error   : Entry function 'k' uses too much shared data (0x10000 bytes, 0xc000 max)",
            "error: local memory (131072) exceeds limit (65536) in function 'k(float*)'",
        )
        for message in messages:
            self.log.unlink(missing_ok=True)
            (self.folder / "message").write_text(message + "\n")
            status, output, runs = self.compile(TORCH, f"cat {self.folder}/message; exit 3", "main.cu", "-c", f"-D{len(message)}")
            self.assertEqual((status, output, len(runs)), (3, message + "\n", 1))

    def test_mistakes_are_known_when_the_same_is_compiled_again(self) -> None:
        for text, name, flag, runs in (
            (TORCH, "main.cu", "-O2", 2),
            (TORCH, "main.cu", "-O2", 2),
            (TORCH, "main.cu", "-O3", 4),
            (TORCH + "int x;", "main.cu", "-O3", 6),
            ("int x;", "plain.cu", "-O3", 7),
            ("int x;", "plain.cu", "-O3", 7),
        ):
            message = f"{self.folder}/{name}(3): error: expected a ;"
            found = self.compile(text, f"echo '{message}'; exit 2", name, "-c", flag)
            self.assertEqual((found[0], found[1], len(found[2])), (2, message + "\n", runs))
        # What is right in the meantime is not known to be wrong.
        self.assertEqual(self.compile(TORCH + "int y;", "exit 0", "main.cu", "-c", "-O3")[0], 0)

    def test_mistakes_are_known_for_a_while(self) -> None:
        error = f"echo '{self.folder}/main.cu:3:1: error: expected a ;'; exit 2"
        for age, runs in ((0, 1), (0, 1), (10_000, 2), (0, 2)):
            if age:
                os.utime(self.folder / "out.mistakes", (time.time() - age,) * 2)
            self.assertEqual(len(self.compile("int x;", error)[2]), runs)

    def test_failures_that_may_pass_are_not_kept(self) -> None:
        (self.folder / "beside.h").touch()
        source = f"{self.folder}/main.cu"
        for index, (text, script, flag) in enumerate((
            ("", f"echo '{source}:3:1: fatal error: later.h: No such file or directory'; exit 1", ""),
            ("", f"echo '{source}:3:1: error: cannot write: No space left on device'; exit 1", ""),
            ("", f"echo '{source}(3): internal error: assertion failed at: x.c'; echo '{source}(3): error: x'; exit 1", ""),
            ("", "echo 'virtual memory exhausted: Cannot allocate memory'; exit 1", ""),
            ("", "echo 'ptxas fatal   : Memory allocation failure'; exit 255", ""),
            ("", "echo 'nvlink fatal   : Could not open input file'; exit 1", ""),
            ("", f"echo '{source}(3): error: x'; kill -9 $$", ""),
            ("", "echo '/usr/include/other.h(3): error: x'; exit 1", ""),
            ("", "exit 1", ""),
            ('#include "beside.h"\n', f"echo '{source}(3): error: x'; exit 1", ""),
            ("", f"echo '{source}(3): error: x'; exit 1", f"-I{self.folder}/headers"),
        )):  # fmt: skip
            for run in (1, 2):
                self.log.unlink(missing_ok=True)
                status, _, runs = self.compile(text + "int x;", script, "main.cu", "-c", flag or f"-D{index}")
                self.assertNotEqual(status, 0)
                self.assertEqual(len(runs), 1, (run, script))

    def test_what_was_kept_is_only_a_hint(self) -> None:
        for content in ("", "[]", "{", '{"key": 1}', "\0", '{"key": "1", "status": 0, "output": ""}'):
            (self.folder / "out.mistakes").write_text(content)
            self.assertEqual(self.compile(TORCH, "echo fine")[:2], (0, "fine\n"))

    def test_other_errors_are_told_as_torch_tells_them(self) -> None:
        script = '[ -n "$light" ] && echo ours || echo theirs; echo "error: expected a ;"; exit 1'
        status, output, runs = self.compile(TORCH, script)
        self.assertEqual((status, output, len(runs)), (1, "theirs\nerror: expected a ;\n", 2))

    def test_a_compiler_that_is_killed_is_no_answer(self) -> None:
        status, _, runs = self.compile(TORCH, '[ -n "$light" ] && kill -9 $$; exit 0')
        self.assertEqual((status, len(runs)), (0, 2))

    def test_what_hipcc_compiles_has_light_headers_too(self) -> None:
        status, _, runs = self.compile(TORCH, "", "hip.hip")
        self.assertEqual((status, len(runs)), (0, 1))
        self.assertTrue(runs[0].startswith(f"-I{compiler.INCLUDE} "), runs)
        self.assertNotIn("-DKERNELGEN_LIGHT_PYTHON", runs[0])

    def test_a_compiler_that_is_not_there_is_named_with_the_remedy(self) -> None:
        command = [sys.executable, "-I", "-S", compiler.__file__]
        absent, no_program = str(self.folder / "hipcc"), self.folder / "text"
        no_program.touch()
        done = subprocess.run([*command, "--remedy=install it", absent, "-c", "a.hip"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 127)
        self.assertEqual(done.stdout, f"fatal error: cannot run {absent}: not found; install it\n")
        done = subprocess.run([*command, str(no_program)], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (127, f"fatal error: cannot run {no_program}: it is no program\n"))

    def test_the_identity_of_a_compiler_is_no_argument_of_its_own(self) -> None:
        fake = self.folder / "hipcc"
        fake.write_text(f'#!/bin/sh\necho "$*" > {self.log}\n')
        fake.chmod(0o755)
        command = [sys.executable, "-I", "-S", compiler.__file__, "--identity=1-2", "--remedy=a b", str(fake), "--version"]
        subprocess.run(command, check=True, timeout=60)
        self.assertEqual(self.log.read_text(), "--version\n")

    def test_a_flag_is_for_sources_only(self) -> None:
        fake = self.folder / "nvcc"
        fake.write_text(f'#!/bin/sh\necho "$*" >> {self.log}\n')
        fake.chmod(0o755)
        (self.folder / "a.cu").write_text("int x;")
        command = [sys.executable, "-I", "-S", compiler.__file__, "--flag=-DLAST", str(fake)]
        for arguments in (["-c", str(self.folder / "a.cu"), "-o", "out"], ["out", "-shared"]):
            subprocess.run([*command, *arguments], check=True, timeout=60, cwd=self.folder)
        self.assertEqual(self.log.read_text(), f"-DLAST -c {self.folder}/a.cu -o out\nout -shared\n")
        # Streams of its own are ordered with the legacy one only.
        for text in ("cudaStreamCreate(&s);", "std::thread t(f);", "#pragma omp parallel"):
            (self.folder / "a.cu").write_text(text)
            subprocess.run([*command, "-c", str(self.folder / "a.cu")], check=True, timeout=60, cwd=self.folder)
        self.assertEqual(self.log.read_text().count("-DLAST"), 1)
        (self.folder / "a.cu").write_text("cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);")
        subprocess.run([*command, "-c", str(self.folder / "a.cu")], check=True, timeout=60, cwd=self.folder)
        self.assertEqual(self.log.read_text().count("-DLAST"), 2)

    def test_headers_of_the_system_keep_their_order(self) -> None:
        arguments = ["-isystem", "/usr/include", "-isystem", "/opt/rocm/include", "-isystem", "/usr/include/", "-c", "a.cpp"]
        self.assertEqual(compiler.without_system_headers(arguments), ["-isystem", "/opt/rocm/include", "-c", "a.cpp"])

    def test_sources_that_need_all_of_torch_or_nothing_of_it(self) -> None:
        needing_all = (TORCH + "torch::nn::Linear layer(1, 1);", TORCH + "auto x = torch::tensor({1.0});")
        for text in ("int x;", *needing_all, "// <torch/extension.h>"):
            self.log.unlink(missing_ok=True)
            _, _, runs = self.compile(text, "")
            self.assertNotIn(compiler.INCLUDE, runs[0], text)

    def test_other_uses_of_a_compiler(self) -> None:
        for flags in (("--version",), ("-E",), ("-shared",)):
            self.log.unlink(missing_ok=True)
            _, _, runs = self.compile(TORCH, "", "main.cpp", *flags)
            self.assertEqual(len(runs), 1)
            self.assertNotIn(compiler.INCLUDE, runs[0])

    def test_functions_that_are_called_have_headers_of_their_own(self) -> None:
        operators = self.folder / "torch" / "ATen" / "ops"
        operators.mkdir(parents=True)
        for name in ("softmax", "zeros", "relu"):
            (operators / f"{name}.h").touch()
        flags = ("-isystem", str(self.folder / "torch"), "-c")
        text = TORCH + "auto y = torch::softmax(at::zeros({1}), 1); // torch::nonsense\n"

        def arguments(source: str) -> str:
            return self.compile(source, "", "main.cpp", *flags)[2][-1]

        self.assertIn("-include ATen/ops/softmax.h -include ATen/ops/zeros.h -isystem", arguments(text))
        self.assertNotIn("relu", arguments(text + "relu(x);"))
        self.assertIn("relu", arguments(text + "using namespace torch; relu(x);"))

    def test_tensors_with_few_methods_come_first(self) -> None:
        torch = self.folder / "torch"
        (torch / "ATen" / "core").mkdir(parents=True)
        for name in ("TensorOperators.h", "ScalarOps.h", "TensorIndexing.h"):
            (torch / "ATen" / name).touch()
        (torch / "ATen" / "core" / "TensorBody.h").write_text(BODY)
        flags = ("-isystem", str(torch), "-c")
        # This compiler makes no object to inspect, so the next attempt has all methods.
        status, _, runs = self.compile(TORCH, "", "main.cpp", *flags)
        few = f"-I{self.folder}/main.cpp.kernelgen"
        self.assertEqual((status, [few in run for run in runs]), (0, [True, False]))
        self.assertIn("-DKERNELGEN_NO_INDEXING", runs[0])
        # For ninja, what is newer than the start of a compilation is newer than its result.
        source, header = (Path(self.folder, name) for name in ("main.cpp", "main.cpp.kernelgen/ATen/core/TensorBody.h"))
        self.assertEqual(header.stat().st_mtime_ns, source.stat().st_mtime_ns)
        self.log.unlink()
        _, _, runs = self.compile(TORCH + "y = x.index({0});", "", "main.cpp", *flags)
        self.assertNotIn("-DKERNELGEN_NO_INDEXING", runs[0])

    def test_methods_are_those_that_the_words_name(self) -> None:
        trimmed = compiler.trimmed_body(BODY, {"add_", "numel"}, lambda header: header != "ATen/ops/add__ops.h")
        self.assertIn("class Tensor", trimmed)
        self.assertIn("#include <ATen/ops/add_ops.h>\n#include <ATen/ops/numel_ops.h>\n", trimmed)
        self.assertIn("Tensor::add_(", trimmed)
        self.assertIn("Tensor::__dispatch_numel(", trimmed)
        self.assertNotIn("cumsum", trimmed)
        self.assertTrue(trimmed.endswith("} // namespace at\n"), trimmed)

    def test_python_bindings_cost_nvcc_much_and_are_read_where_they_are_used(self) -> None:
        with_python = "-DKERNELGEN_LIGHT_PYTHON"
        self.assertNotIn(with_python, self.compile(TORCH, "")[2][-1])
        self.assertIn(with_python, self.compile(TORCH + "PYBIND11_MODULE(a, m) {}", "")[2][-1])
        self.assertIn(with_python, self.compile(TORCH, "", "main.cpp")[2][-1])


class RealCompilerTest(unittest.TestCase):
    """The light headers have everything that kernels usually use, so that the first attempt succeeds."""

    def compiled(self, attempt: int, real: str, name: str, text: str, *flags: str) -> bool:
        """Compiles a source; whether it lacks methods of tensors."""
        from torch.utils import cpp_extension

        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        (folder / name).write_text(text)
        python = sysconfig.get_path("include", scheme="posix_prefix")
        includes = [word for path in (*cpp_extension.include_paths(), python) for word in ("-isystem", path)]
        arguments = [*includes, "-DTORCH_EXTENSION_NAME=probe", "-std=c++20", *flags, "-c"]
        arguments += [str(folder / name), "-o", str(folder / "out.o")]
        attempts = list(compiler.attempts(arguments, str(folder / name), text, cpp_extension.include_paths()))
        self.assertEqual(len(attempts), 3)
        front, defined = attempts[attempt]
        done = subprocess.run([real, *front, *arguments], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return defined is not None and compiler.lacks_methods(arguments, defined)

    @unittest.skipUnless(shutil.which("g++"), "there is no g++")
    def test_a_binding(self) -> None:
        text = TORCH + "torch::Tensor forward(torch::Tensor x, double scale);\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n"
        text += 'm.def("forward", torch::wrap_pybind_function(forward), "forward");\n}\n'
        self.assertFalse(self.compiled(0, "g++", "main.cpp", text, "-fPIC"))
        self.assertFalse(self.compiled(1, "g++", "main.cpp", text, "-fPIC"))

    @unittest.skipUnless(shutil.which("g++"), "there is no g++")
    def test_a_method_that_is_not_mentioned_is_missed(self) -> None:
        text = TORCH + "#define HIDDEN(a, b) a##b\ntorch::Tensor forward(torch::Tensor x) { return x.HIDDEN(cumsu, m)(0); }\n"
        self.assertTrue(self.compiled(0, "g++", "main.cpp", text))
        self.assertFalse(self.compiled(1, "g++", "main.cpp", text))

    @unittest.skipUnless(PLATFORMS["nvidia"].toolkit_home(), "there is no nvcc")
    def test_a_kernel(self) -> None:
        flags = ["-gencode=arch=compute_90,code=sm_90", "--expt-relaxed-constexpr"]
        flags += ["-D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_HALF_CONVERSIONS__"]
        self.assertFalse(self.compiled(0, f"{PLATFORMS['nvidia'].toolkit_home()}/bin/nvcc", "cuda.cu", RELU, *flags))


class BuildsTest(unittest.TestCase):
    """The environment that candidates' builds get."""

    def made(self, **environment: str) -> dict[str, str]:
        directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, directory)
        with mock.patch.dict(os.environ, environment):
            self.builds = builds.Builds(directory, {"TORCH_CUDA_ARCH_LIST": "9.0"})
            self.builds.make_ready()
            found = dict(os.environ)
        self.contents = Path(directory) / builds.CONTENTS
        return found

    def test_caches_lie_in_one_place(self) -> None:
        found = self.made()
        self.assertEqual(found["TRITON_CACHE_DIR"], str(self.contents / "triton"))
        self.assertEqual(found["TORCH_EXTENSIONS_DIR"], str(self.contents / "torch"))
        self.assertEqual(sorted(path.name for path in self.contents.iterdir()), ["inductor", "torch", "triton"])
        self.assertEqual(found["TORCH_CUDA_ARCH_LIST"], "9.0")
        self.assertIn(os.path.dirname(sys.executable), found["PATH"].split(":"))

    def test_a_lock_of_a_runner_that_was_killed_is_not_waited_for(self) -> None:
        self.made()
        extension = self.contents / "torch" / "relu"
        extension.mkdir()
        (extension / "lock").touch()
        (extension / "relu.so").touch()
        self.builds.make_ready()
        self.assertEqual([path.name for path in extension.iterdir()], ["relu.so"])

    def test_compilers_are_reached_through_ours(self) -> None:
        home = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, home)
        found = self.made(CUDA_HOME=str(home))
        *ours, identity, remedy, flag, real = shlex.split(found["PYTORCH_NVCC"])
        self.assertEqual((ours[-1], real), (compiler.__file__, f"{home}/bin/nvcc"))
        # For ninja, another version of a compiler is another command.
        self.assertEqual(identity, "--identity=missing")
        self.assertTrue(remedy.startswith("--remedy=install the CUDA toolkit"), remedy)
        # What names no stream is where a graph can capture it.
        self.assertEqual(flag, "--flag=--default-stream=per-thread")
        self.assertIn("--flag=-DCUDA_API_PER_THREAD_DEFAULT_STREAM", Path(found["CXX"]).read_text())
        # The same place for every runner that keeps builds: ninja builds anew what was built by another command.
        self.assertEqual(found["CXX"], str(self.contents.parent / "compiler" / "g++"))
        done = subprocess.run([found["CXX"], "--version"], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, subprocess.run(["c++", "--version"], capture_output=True, text=True, check=True).stdout)

    def test_where_cuda_is(self) -> None:
        with mock.patch.dict(os.environ, {"CUDA_HOME": "/somewhere/cuda"}):
            self.assertEqual(PLATFORMS["nvidia"].toolkit_home(), "/somewhere/cuda")


if __name__ == "__main__":
    unittest.main()
