"""Evaluates the code that prompts show for families of tasks: it is right, and wrong once a line of it is changed.

Triton's runs under the interpreter. What is for CUDA or HIP is executed by the CPU as a HIP kernel, its threads as fibers: tensor
cores, asynchronous copies and clusters have stand-ins here, after the PTX manual. process.cuda.nvcc compiles it as it is.
"""

import argparse
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import prompt_examples_test as examples
from shown_code import fenced, rendered

#: The values of a prompt for an NVIDIA GPU in the class strict; tiles are small, because the interpreter is slow.
TRITON = {"dot_precision": "tf32x3", "dot_tile": "64, 64, 32", "dot_warps": "4", "dot_stages": "3"}
#: The task of each example, in tests/data/prompt_examples.
TASKS = {
    "cuda/cluster_rows": "softmax_rows",
    "cuda/gemm_tf32x3": "linear_relu",
    "cuda/scan": "scan_rows",
    "gpu/gemm": "linear_relu",
    "gpu/split_reduction": "mean_square",
    "gpu/split_rows": "layer_norm_rows",
    "triton/attention": "attention",
    "triton/convolution": "convolution",
    "triton/gemm": "linear_relu",
    "triton/long_rows": "softmax_rows",
    "triton/scan": "scan_rows",
    "triton/split_reduction": "mean_square",
    "triton/split_rows": "layer_norm_rows",
}
HIP = {"runtime": "hip", "stream_type": "hipStream_t"}
CUDA = {"runtime": "cuda", "stream_type": "cudaStream_t"}

# The operands lie in the lanes of a warp as the PTX manual says for m16n8k8 with .tf32, which drops the last 13 bits.
TENSOR_CORE = """
static float kgen_a[32][16][8], kgen_b[32][8][8];
__device__ float kgen_tf32(unsigned bits) { return __uint_as_float(bits & 0xffffe000u); }
__device__ void kgen_mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  const int warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4, lane = threadIdx.x % 4;
  for (int i = 0; i < 4; ++i) kgen_a[warp][group + i % 2 * 8][lane + i / 2 * 4] = kgen_tf32(a[i]);
  for (int i = 0; i < 2; ++i) kgen_b[warp][lane + i * 4][group] = kgen_tf32(b[i]);
  __syncwarp();
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 8; ++k) d[i] += kgen_a[warp][group + i / 2 * 8][k] * kgen_b[warp][k][lane * 2 + i % 2];
  __syncwarp();
}
"""
# A copy is done when its thread waits for it, and not before. Blocks run one after another.
COPIES = """
#include <cstring>
#include <deque>
struct Copy {
  void* to;
  const void* from;
  unsigned long bytes, zeros;
};
static std::deque<std::deque<Copy>> kgen_copies[1024];
static std::deque<Copy> kgen_open[1024];
static void __pipeline_memcpy_async(void* to, const void* from, unsigned long bytes, unsigned long zeros = 0) {
  kgen_open[threadIdx.x].push_back({to, from, bytes, zeros});
}
static void __pipeline_commit() {
  kgen_copies[threadIdx.x].push_back(std::move(kgen_open[threadIdx.x]));
  kgen_open[threadIdx.x].clear();
}
static void __pipeline_wait_prior(int left) {
  auto& groups = kgen_copies[threadIdx.x];
  for (; static_cast<int>(groups.size()) > left; groups.pop_front())
    for (const auto& copy : groups.front()) {
      std::memcpy(copy.to, copy.from, copy.bytes - copy.zeros);
      std::memset(static_cast<char*>(copy.to) + copy.bytes - copy.zeros, 0, copy.zeros);
    }
}
"""
# The blocks of a cluster meet by counting, and what they show each other lies in device memory.
CLUSTERS = """
#define __cluster_dims__(...)
static float2 kgen_shown[512];
static unsigned kgen_arrived[64];
namespace cooperative_groups {
struct cluster_group {
  int block_rank() const { return blockIdx.x % 8; }
  float2* map_shared_rank(float2*, int rank) const { return kgen_shown + blockIdx.x / 8 * 8 + rank; }
  void sync() const {
    __syncthreads();
    unsigned* arrived = kgen_arrived + blockIdx.x / 8;
    if (threadIdx.x == 0)
      for (const unsigned all = (atomicAdd(arrived, 1u) / 8 + 1) * 8; atomicAdd(arrived, 0u) < all;) {}
    __syncthreads();
  }
};
inline cluster_group this_cluster() { return {}; }
}  // namespace cooperative_groups
"""


def source(name):
    return (examples.ARGUMENTS.source / examples.TEMPLATES / "examples" / (name + ".mustache")).read_text()


def shown(name, true=(), values=()):
    """The only code of a template."""
    (code,) = fenced(rendered(source(name), true, values))
    return code


def replaced(code, *pairs):
    """The code with each text replaced, which it has."""
    for old, new in pairs:
        assert old in code, old
        code = code.replace(old, new)
    return code


def as_hip(name):
    """CUDA code as a HIP kernel for the CPU."""
    code = shown(name, {"is_cuda", "is_nvidia"}, CUDA)
    code = code.replace("cuda_runtime.h", "hip/hip_runtime.h").replace("cudaDevAttrMultiProcessorCount", "hipDeviceAttributeMultiprocessorCount")
    return re.sub(r"\bcuda([A-Z])", r"hip\1", code)


def product_on_tensor_cores():
    code = as_hip("cuda/gemm_tf32x3")
    code, count = re.subn(r'asm volatile\(\s*"mma\.sync\.aligned\.m16n8k8\.row\.col\.f32\.tf32\.tf32\.f32 \{%0, %1, %2, %3\}, '
                          r'\{%4, %5, %6, %7\}, \{%8, %9\}, \{%0, %1, %2, %3\};"(\s*: (?:"\+f"\(sums\[\d\]\)(?:, )?){4}\s*: '
                          r'"r"\(a\[0\]\), "r"\(a\[1\]\), "r"\(a\[2\]\), "r"\(a\[3\]\), "r"\(b\[0\]\), "r"\(b\[1\]\))\);',
                          "kgen_mma(sums, a, b);", code)
    assert count == 1
    # LDS of the CPU's HIP device is 64 KiB.
    return replaced(code, ("k_slice = 32;", "k_slice = 16;"), ("#include <cuda_pipeline.h>\n", ""),
                    ("namespace {", TENSOR_CORE + COPIES + "namespace {"))


def softmax_on_clusters():
    return replaced(as_hip("cuda/cluster_rows"), ("#include <cooperative_groups.h>\n", ""),
                    ("__shared__ float2 mine;", "float2& mine = kgen_shown[blockIdx.x];"),
                    ("namespace {", CLUSTERS + "namespace {"))


class FamilyExamples(examples.Judged):
    def assert_example(self, name, code, *wrong, more=()):
        """The code is right, and wrong with any of these texts replaced."""
        ending, target = (".py", "triton") if name.startswith("triton/") else (".hip", "hip")
        self.assert_right(code, ending, TASKS[name], target, *more)
        for pair in wrong:
            with self.subTest(pair):
                self.assert_wrong(replaced(code, pair), ending, TASKS[name], target, *more)

    def assert_on_cpu(self, name, code, *wrong):
        self.assert_example(name, code, *wrong, more=("--wave-size", "32"))

    def assert_for_gpus(self, name, *wrong):
        """Code for CUDA and HIP does not depend on the size of wavefronts."""
        code = shown(name, {"is_amd", "is_hip"}, HIP)
        self.assert_example(name, code, more=("--wave-size", "64"))
        self.assert_on_cpu(name, code, *wrong)

    def assert_triton(self, name, *wrong):
        self.assert_example("triton/" + name, shown("triton/" + name, (), TRITON), *wrong)

    def test_every_example_is_judged(self):
        folder = examples.ARGUMENTS.source / examples.TEMPLATES / "examples"
        found = {str(path.relative_to(folder).with_suffix("")) for path in folder.glob("*/*.mustache")}
        self.assertEqual(found, set(TASKS))
        with open(__file__, encoding="utf-8") as this:
            calls = this.read()
        for name in found:
            self.assertRegex(calls, rf'assert_\w+\("({name}|{name.removeprefix("triton/")})",')

    def test_the_product_on_plain_units(self):
        self.assert_for_gpus("gpu/gemm", ("if (more) put(buffer ^ 1);", "if (more) put(buffer);"), ("i % 4 + i / 4 * 64", "i"))

    def test_the_product_on_tensor_cores(self):
        self.assert_on_cpu("cuda/gemm_tf32x3", product_on_tensor_cores(), ("multiply(part[i][j], a_low, b_high[j])", ""),
                           ("multiply(part[i][j], a_high, b_low[j])", ""), ("h / 2 * 4]", "h % 2 * 4]"),
                           ("__pipeline_wait_prior(k_stages - 2)", "__pipeline_wait_prior(k_stages - 1)"))

    def test_the_softmax_on_clusters(self):
        self.assert_on_cpu("cuda/cluster_rows", softmax_on_clusters(), ("cluster.sync();  // all", "// all"),
                           ("expf(others[i].x - top)", "1.0f"))

    def test_the_scan_of_cuda(self):
        self.assert_on_cpu("cuda/scan", as_hip("cuda/scan"), ("carry += chunk;", ""), ("if (i == warp) before += chunk;", ""))

    def test_the_split_rows(self):
        self.assert_for_gpus("gpu/split_rows", ("+ share(i) * distance * distance", ""),
                             ("static_cast<float>(4 * here)", "(4.0f * k_part)"))

    def test_the_split_reduction(self):
        self.assert_for_gpus("gpu/split_reduction", ("for (; i < count; i += stride)", "for (; i < 0; i += stride)"))

    def test_the_product_of_triton(self):
        self.assert_triton("gemm", ("w_tile += BLOCK_K", "w_tile += 0"), ("within // height", "within % tiles_n"))

    def test_the_attention_of_triton(self):
        self.assert_triton("attention", ("y * old[:, None] + ", "y + "), ("columns[None, :] <= rows", "columns[None, :] < rows"))

    def test_the_convolution_of_triton(self):
        self.assert_triton("convolution", ("rs % S", "rs // S"), ("(w >= 0) & ", ""))

    def test_the_rows_of_triton(self):
        self.assert_triton("split_rows", ("tl.where(offsets < length, x - mean, 0.0)", "x - mean"))
        self.assert_triton("long_rows", ("total * tl.exp(top - shift)", "total"))

    def test_the_reduction_of_triton(self):
        self.assert_triton("split_reduction", ("range(start, count, stride)", "range(start, count - stride, stride)"))

    def test_the_scan_of_triton(self):
        self.assert_triton("scan", ("carry += tl.sum(x, 0)", "carry = tl.sum(x, 0)"), ("others < segment", "others <= segment"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    _, rest = parser.parse_known_args(namespace=examples.ARGUMENTS)
    examples.ARGUMENTS.source = examples.ARGUMENTS.source.resolve()
    examples.ARGUMENTS.kgen = examples.ARGUMENTS.kgen.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
