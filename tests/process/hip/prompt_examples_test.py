"""hipcc takes the code that prompts for hip and hipkittens show, and the builtins that they name, for each architecture of each
family that it knows. 77: no hipcc here."""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from shown_code import fenced, rendered  # noqa: E402 - lies in another folder

ARGUMENTS = argparse.Namespace()

# Matrix instructions on true float32 and on halves, and shuffles without a mask, as targets/hip says.
BUILTINS = """
typedef float v16 __attribute__((ext_vector_type(16)));
typedef float v4 __attribute__((ext_vector_type(4)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
typedef short s4 __attribute__((ext_vector_type(4)));
__global__ void __launch_bounds__(256) k(float* x) {
  v16 a = {};
  v4 b = {};
  a = __builtin_amdgcn_mfma_f32_32x32x2f32(x[0], x[1], a, 0, 0, 0);
  b = __builtin_amdgcn_mfma_f32_16x16x4f32(x[0], x[1], b, 0, 0, 0);
  b = __builtin_amdgcn_mfma_f32_16x16x16f16(h4{}, h4{}, b, 0, 0, 0);
  b = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(s4{}, s4{}, b, 0, 0, 0);
  __builtin_nontemporal_store(__builtin_nontemporal_load(x + 8), x + 9);
  x[threadIdx.x % warpSize] = a[0] + b[1] + __shfl_xor(x[2], 1) + __expf(x[3]);
}
"""


#: What the features of platform/amd.cpp say in prompts, and the architectures that have them.
FAMILIES = {
    ("has_architecture", "has_wave64", "has_mfma"): ("gfx908", "gfx90a", "gfx940", "gfx942", "gfx950"),
    ("has_architecture", "has_wave32", "has_wmma", "has_wmma_gfx11"): ("gfx1100", "gfx1151"),
    ("has_architecture", "has_wave32", "has_wmma", "has_wmma_gfx12"): ("gfx1200", "gfx1201"),
}
#: Without a matrix instruction, but with everything else.
PLAIN = ("gfx906", "gfx1030")
USE = """
template <typename T>
__device__ void use(void (*multiply)(const T*, const T*, float*, int, int), const void* a, float* c, int n) {
  multiply(static_cast<const T*>(a), static_cast<const T*>(a) + n, c, n, 16);
}
__global__ void __launch_bounds__(64) k(const void* a, float* c, int n) { use(multiply_tile, a, c, n); }
"""
#: The lanes of a wavefront as threads, and its matrix instructions with the operands where AMD's manuals place them.
LANES = """
#include <pthread.h>
#include <cstdio>
#include <thread>
#include <vector>
#define __device__
struct { int x; } thread_local threadIdx;
pthread_barrier_t barrier;
float A[16][16], B[16][16], C[16][20];
constexpr int k_depth = 48;

// Stores an operand's values of this lane, and reads the whole matrices when all lanes have.
template <int K, int PER_LANE, typename Vector>
void exchange(const Vector& a, const Vector& b) {
  for (int e = 0; e < PER_LANE; ++e) {
    A[threadIdx.x % 16][threadIdx.x / 16 * PER_LANE % K + e] = a[e];
    B[threadIdx.x % 16][threadIdx.x / 16 * PER_LANE % K + e] = b[e];
  }
  pthread_barrier_wait(&barrier);
}
template <int K, typename Vector>
Vector multiply(Vector c, int row, int step, int count) {
  for (int r = 0; r < count; ++r)
    for (int k = 0; k < K; ++k) c[r] += A[row + step * r][k] * B[threadIdx.x % 16][k];
  pthread_barrier_wait(&barrier);
  return c;
}
template <typename Vector>
Vector __builtin_amdgcn_mfma_f32_16x16x4f32(float a, float b, Vector c, int, int, int) {
  exchange<4, 1>(&a, &b);
  return multiply<4>(c, threadIdx.x / 16 * 4, 1, 4);
}
template <typename Operand, typename Vector>
Vector __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(Operand a, Operand b, Vector c) {
  exchange<16, 16>(a, b);
  return multiply<16>(c, threadIdx.x / 16, 2, 8);
}
template <typename Operand, typename Vector>
Vector __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(Operand a, Operand b, Vector c) {
  exchange<16, 8>(a, b);
  return multiply<16>(c, threadIdx.x / 16 * 8, 1, 8);
}
EXAMPLE
int main() {
  std::vector<float> a(16 * k_depth), b(16 * k_depth);
  for (int i = 0; i < 16 * k_depth; ++i) a[i] = float(i % 7 - 3), b[i] = float(i % 5 - 2 + i / 48 % 3);
  pthread_barrier_init(&barrier, nullptr, WAVE);
  std::vector<std::thread> lanes;
  for (int lane = 0; lane < WAVE; ++lane)
    lanes.emplace_back([&, lane] { threadIdx.x = lane; multiply_tile(a.data(), b.data(), &C[0][0], k_depth, 20); });
  for (auto& lane : lanes) lane.join();
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 20; ++j) {
      float sum = 0;
      for (int k = 0; k < k_depth && j < 16; ++k) sum += a[i * k_depth + k] * b[j * k_depth + k];
      if (C[i][j] != sum) return std::printf("%d %d: %g instead of %g\\n", i, j, C[i][j], sum), 1;
    }
  std::puts("right");
}
"""


#: In place of torch's headers: what the kernel of a torch module uses of them.
TORCH = """
#include <cstdint>
namespace torch {
struct Tensor {
  int64_t numel() const;
  int64_t size(int64_t dimension) const;
  template <typename T>
  T* data_ptr() const;
};
Tensor empty_like(const Tensor&);
}  // namespace torch
namespace at::cuda {
hipStream_t getCurrentCUDAStream();
}
#define TORCH_CHECK(condition, ...) if (!(condition)) throw 1
"""


def template(name):
    return (ARGUMENTS.source / "lib/prompt/templates" / (name + ".mustache")).read_text()


def blocks(name):
    return fenced(template(name))


def matrix_example(family):
    """The code with the matrix instruction of a family."""
    (code,) = fenced(rendered(template("partials/hip_matrix"), family))
    return code


class Hip(unittest.TestCase):
    def compile(self, code, standard="c++17", architecture="gfx90a", more=("-shared", "-fPIC")):
        with tempfile.TemporaryDirectory() as directory:
            source = pathlib.Path(directory) / "kernel.hip"
            source.write_text(code)
            # An architecture by name: hipcc would ask for a device otherwise.
            command = ["hipcc", "-O3", "-std=" + standard, "--offload-arch=" + architecture, *more, "-I",
                       str(ARGUMENTS.source / "include/kernelgen/abi"), str(source), "-o", directory + "/kernel.so"]
            return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)

    def assert_compiles(self, code, standard="c++17"):
        done = self.compile(code, standard)
        self.assertEqual(done.returncode, 0, done.stderr)

    def compile_for(self, architecture, code):
        """The result; None if this hipcc does not know the architecture. Without its device library it makes assembly, which
        is linked to nothing."""
        done = self.compile(code, architecture=architecture)
        if "cannot find ROCm device library" in done.stderr:
            done = self.compile(code, architecture=architecture, more=("-nogpulib", "--cuda-device-only", "-S"))
        if "invalid target ID" in done.stderr:
            print("not compiled, because this hipcc does not know it:", architecture)
            return None
        return done

    def test_matrix_instructions_of_each_family(self):
        for family, architectures in FAMILIES.items():
            for architecture in architectures:
                done = self.compile_for(architecture, "#include <hip/hip_runtime.h>\n" + matrix_example(family) + USE)
                if done is not None:
                    self.assertEqual(done.returncode, 0, architecture + "\n" + done.stderr)
                    print("compiled:", family[-1], "for", architecture)

    def test_matrix_instructions_for_strict_float32(self):
        for family in FAMILIES:
            shown = fenced(rendered(template("partials/hip_matrix"), {*family, "is_strict"}))
            # WMMA has no form for float32.
            self.assertEqual(shown, [matrix_example(family)] if "has_mfma" in family else [])

    def test_matrix_instructions_are_refused_where_there_are_none(self):
        for architecture in PLAIN:
            code = "#include <hip/hip_runtime.h>\n" + matrix_example(next(iter(FAMILIES))) + USE
            done = self.compile_for(architecture, code)
            self.assertNotEqual(done.returncode, 0, architecture)

    @unittest.skipUnless(shutil.which("clang++"), "there is no clang++ for the processor")
    def test_matrix_examples_compute_the_product(self):
        for family in FAMILIES:
            with tempfile.TemporaryDirectory() as directory:
                source, program = pathlib.Path(directory) / "lanes.cpp", directory + "/lanes"
                source.write_text(LANES.replace("EXAMPLE", matrix_example(family)))
                wave = "-DWAVE=64" if "has_wave64" in family else "-DWAVE=32"
                command = ["clang++", "-std=c++17", "-O1", "-pthread", "-Wno-psabi", "-D_Float16=float", wave, str(source), "-o", program]
                subprocess.run(command, check=True, timeout=300)
                done = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual((done.returncode, done.stdout), (0, "right\n"), family)

    def test_the_form_for_other_families(self):
        for architecture in ("gfx906", "gfx1030"):
            done = self.compile(blocks("examples/hip")[0], architecture=architecture)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_examples_of_families(self):
        words = {"runtime": "hip", "stream_type": "hipStream_t"}
        folder = ARGUMENTS.source / "lib/prompt/templates/examples/gpu"
        names = sorted(path.stem for path in folder.glob("*.mustache"))
        self.assertGreaterEqual(len(names), 3)
        for name in names:
            (code,) = fenced(rendered(template("examples/gpu/" + name), {"is_amd", "is_hip"}, words))
            for architecture in ("gfx90a", "gfx1030"):
                done = self.compile(code, architecture=architecture)
                self.assertEqual(done.returncode, 0, name + " for " + architecture + "\n" + done.stderr)

    def test_the_idioms_of_hints(self):
        words = {"runtime": "hip", "stream_type": "hipStream_t"}
        shown = fenced(rendered(template("hints/device"), {"is_amd", "is_hip", "is_native_gpu"}, words), "hip")
        self.assertGreater(len(shown), 4)
        for number, code in enumerate(shown):
            # Each in a namespace of its own, because all are called kernel.
            shown[number] = f"namespace idiom{number} {{\n{code}}}\n"
        self.assert_compiles("#include <hip/hip_runtime.h>\n" + "".join(shown))

    def test_the_form(self):
        self.assert_compiles(blocks("examples/hip")[0])
        self.assert_compiles(blocks("examples/hipkittens")[0], "c++20")

    def test_tiles_of_hipkittens(self):
        """With a stand-in for its headers, which are those of CDNA 3: there tiles have no shape."""
        (tiles,) = fenced(rendered(template("targets/hipkittens"), set(), {}), "cpp")
        shapes = (", rt_16x32_s", ", rt_16x16_s")
        for shape in shapes:
            self.assertEqual(tiles.count(shape), 1)
            tiles = tiles.replace(shape, "")
        headers = ARGUMENTS.source / "tests/data/hipkittens/include"
        code = "#include <hip/hip_runtime.h>\n#include \"kittens.cuh\"\nusing namespace kittens;\n" + tiles
        done = self.compile(code, "c++20", more=("-shared", "-fPIC", "-I", str(headers), "-DKITTENS_CDNA3"))
        self.assertEqual(done.returncode, 0, done.stderr)
        # The layouts of operands and accumulator are types.
        wrong = self.compile(code.replace("col_l>", "row_l>"), "c++20", more=("-c", "-I", str(headers), "-DKITTENS_CDNA3"))
        self.assertIn("mma_ABt", wrong.stderr)

    def test_the_kernel_of_a_torch_module(self):
        (source,) = re.findall(r'^SOURCE = """\n(.*?)^"""$', template("examples/torch"), re.MULTILINE | re.DOTALL)
        hip, torch, stream, rest = source.split("\n", 3)
        self.assertEqual([hip, torch, stream], [f"#include <{name}>" for name in (
            "hip/hip_runtime.h", "torch/types.h", "ATen/cuda/CUDAContext.h")])
        done = self.compile(hip + TORCH + rest, more=("-c", "-fPIC"))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_recurrences(self):
        shown = blocks("partials/recurrence_example")
        code = "#include <hip/hip_runtime.h>\n#include <hip/hip_cooperative_groups.h>\n"
        for part in ("__global__ void recur_wrong", "__hip_atomic_load("):
            found = [block for block in shown if part in block]
            self.assertEqual(len(found), 1, part)
            code += found[0]
        self.assert_compiles(code)

    def test_the_builtins(self):
        self.assert_compiles("#include <hip/hip_runtime.h>\n" + BUILTINS)

    def test_what_is_wrong_is_refused(self):
        done = self.compile("#include <hip/hip_runtime.h>\n__global__ void k(float* x) { y = 1; }")
        self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    ARGUMENTS, rest = parser.parse_known_args()
    if shutil.which("hipcc") is None:
        print("skipped: there is no hipcc on the PATH")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])
