"""nvcc compiles HIP sources with the headers in apps/runner/hip_cuda, and refuses by name what depends on AMD's
wavefront or instructions. Nothing is executed. 77: no nvcc here."""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ARGUMENTS = argparse.Namespace()
HEADERS = "#include <hip/hip_runtime.h>\n"

# Sources of what is supported, by group.
SUPPORTED = {
    "memory, streams and events": """
#include <cstddef>
__constant__ float factors[4];
__device__ int seen;
__global__ void scale(float* x, int n) {
  const int i = hipBlockIdx_x * hipBlockDim_x + hipThreadIdx_x;
  if (i < n) x[i] *= factors[i % 4];
  if (i == 0) ++seen;
}
int use(hipStream_t stream) {
  float* x = nullptr;
  void* y = nullptr;
  float* host = nullptr;
  const float given[4] = {1, 2, 3, 4};
  hipError_t status = hipMalloc(&x, 400);
  if (status != hipSuccess) return status == hipErrorOutOfMemory ? 1 : 2;
  if (hipMalloc(&y, 400) != hipSuccess || hipMallocAsync(&y, 400, stream) != hipSuccess) return 3;
  if (hipHostMalloc(&host, 400) != hipSuccess || hipHostMalloc((void**)&host, 400, hipHostMallocDefault)) return 4;
  if (hipMallocManaged(&y, 4) != hipSuccess || hipExtMallocWithFlags(&y, 4, hipDeviceMallocFinegrained)) return 5;
  hipMemcpy(x, given, sizeof given, hipMemcpyHostToDevice);
  hipMemcpyAsync(host, x, 16, hipMemcpyDeviceToHost, stream);
  hipMemcpyAsync(y, x, 16, hipMemcpyDeviceToDevice);
  hipMemcpy2DAsync(y, 16, x, 16, 8, 2, hipMemcpyDeviceToDevice, stream);
  hipMemset(x, 0, 400);
  hipMemsetAsync(x, 0, 400, stream);
  hipMemsetD32(y, 1, 100);
  hipMemsetD32Async(y, 1, 100, stream);
  hipMemcpyToSymbol(HIP_SYMBOL(factors), given, sizeof given);
  hipMemcpyToSymbolAsync(HIP_SYMBOL(factors), given, sizeof given, 0, hipMemcpyHostToDevice, stream);
  int found = 0;
  hipMemcpyFromSymbol(&found, HIP_SYMBOL(seen), sizeof found);
  hipGetSymbolAddress(&y, HIP_SYMBOL(seen));
  hipStream_t other;
  hipEvent_t begin, end;
  hipStreamCreate(&other);
  hipStreamCreateWithFlags(&other, hipStreamNonBlocking);
  hipEventCreate(&begin);
  hipEventCreateWithFlags(&end, hipEventDisableTiming);
  hipEventRecord(begin, stream);
  hipEventRecord(end);
  hipStreamWaitEvent(other, begin, 0);
  hipEventSynchronize(end);
  float milliseconds;
  hipEventElapsedTime(&milliseconds, begin, end);
  hipEventDestroy(begin);
  hipStreamSynchronize(other);
  hipStreamDestroy(other);
  hipFreeAsync(y, stream);
  hipHostFree(host);
  hipFree(x);
  hipLaunchKernelGGL(scale, dim3(1), dim3(128), 0, hipStreamDefault, x, 100);
  hipLaunchKernelGGL(scale, 1, 128, 0, stream, x, 100);
  hipLaunchKernelGGL(HIP_KERNEL_NAME(scale), dim3(1), dim3(128), 0, nullptr, x, 100);
  (void)hipPeekAtLastError();
  return hipGetLastError() == hipSuccess && hipGetErrorString(status) != hipGetErrorName(status) ? 0 : 1;
}
""",
    "facts of the device, occupancy and graphs": """
#include <hip/hip_runtime_api.h>
template <class T, int N>
__global__ void __launch_bounds__(256, 4) add(T* x, const T* y) {
  HIP_DYNAMIC_SHARED(float, bytes)
  bytes[threadIdx.x] = y[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] += bytes[N - 1 - threadIdx.x];
}
int use(hipStream_t stream, float* x, const float* y) {
  int device = 0, value = 0, blocks = 0, grid = 0, block = 0;
  if (hipGetDevice(&device) != hipSuccess || hipSetDevice(device) != hipSuccess) return -1;
  hipGetDeviceCount(&value);
  hipDeviceGetAttribute(&value, hipDeviceAttributeMultiprocessorCount, device);
  hipDeviceGetAttribute(&value, hipDeviceAttributeMaxSharedMemoryPerBlock, device);
  hipDeviceGetAttribute(&value, hipDeviceAttributeCooperativeLaunch, device);
  hipDeviceProp_t facts{};
  hipGetDeviceProperties(&facts, device);
  value += facts.multiProcessorCount + facts.maxThreadsPerMultiProcessor + (int)facts.sharedMemPerBlock;
  value += facts.clockRate + facts.gcnArchName[0] + facts.l2CacheSize + facts.regsPerBlock;
  hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add<float, 256>, 256, 1024);
  hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void*)add<float, 256>, 256, 1024);
  hipOccupancyMaxPotentialBlockSize(&grid, &block, add<float, 256>, 0, 0);
  hipFuncSetAttribute(reinterpret_cast<const void*>(&add<float, 256>), hipFuncAttributeMaxDynamicSharedMemorySize,
                      65536);
  hipFuncAttributes attributes;
  hipFuncGetAttributes(&attributes, reinterpret_cast<const void*>(add<float, 256>));
  void* arguments[] = {&x, &y};
  hipLaunchCooperativeKernel(add<float, 256>, dim3(1), dim3(256), arguments, 1024, stream);
  hipLaunchCooperativeKernel(reinterpret_cast<void*>(add<float, 256>), dim3(1), dim3(256), arguments, 1024, stream);
  hipLaunchKernel(reinterpret_cast<const void*>(add<float, 256>), dim3(1), dim3(256), arguments, 1024, stream);
  hipLaunchKernelGGL((add<float, 256>), dim3(1), dim3(256), 1024, stream, x, y);
  hipGraph_t graph;
  hipGraphExec_t executable;
  hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal);
  add<float, 256><<<1, 256, 1024, stream>>>(x, y);
  hipStreamEndCapture(stream, &graph);
  hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0);
  hipGraphInstantiateWithFlags(&executable, graph, 0);
  hipGraphLaunch(executable, stream);
  hipGraphExecDestroy(executable);
  hipGraphDestroy(graph);
  hipStreamCaptureStatus status;
  hipStreamIsCapturing(stream, &status);
  return hipDeviceSynchronize() == hipSuccess && status == hipStreamCaptureStatusNone ? value : 0;
}
""",
    "cooperative groups": """
#include <hip/hip_cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void __attribute__((amdgpu_waves_per_eu(2, 2))) recur(float* x) {
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  cg::thread_block_tile<32> wide = cg::tiled_partition<32>(block);
  float value = x[grid.thread_rank()];
  for (int offset = tile.size() / 2; offset > 0; offset /= 2) value += tile.shfl_down(value, offset);
  value += wide.shfl_xor(value, 1) + (wide.any(value > 0) ? 1 : 0) + __popcll(tile.ballot(value > 0));
  tile.sync();
  block.sync();
  grid.sync();
  x[grid.thread_rank()] = value + block.thread_rank() + tile.meta_group_rank();
}
""",
    "numbers of 16 bits": """
#include <hip/hip_fp16.h>
#include <hip/hip_bf16.h>
#include <hip/hip_bfloat16.h>
__global__ void mix(const __half* a, const _Float16* b, const __hip_bfloat16* c, const hip_bfloat16* d, float* out) {
  const __half2 pair = __hfma2(__halves2half2(a[0], a[1]), __float2half2_rn(2.0f), __floats2half2_rn(1.0f, 1.0f));
  half sum = __hadd(a[0], __float2half(0.5f));
  _Float16 x = 1.0f;
  x = static_cast<_Float16>(b[0] * 2.0f + b[1] * 3);
  x += b[2] * b[3];
  float y = b[4] > 0.0f ? (float)b[4] : 0.0f;
  out[0] = __low2float(pair) + __half2float(sum) + x + y;
  out[1] = __bfloat162float(__float2bfloat16(out[2]) * __float2bfloat16(2.0f)) + c[0] * 2.0f;
  out[2] = static_cast<float>(d[0] + hip_bfloat16(1.0f)) + d[1].data + 2.0f * d[2];
}
""",
    "shuffles with a width": """
template <int Width>
__device__ float sum(float value) {
  for (int offset = Width / 2; offset > 0; offset /= 2) value += __shfl_xor(value, offset, Width);
  return value;
}
template <class T, int N>
__device__ T twice(T value) { return N * value; }
__global__ void reduce(float* x, int width) {
  constexpr int quarter = 8;
  float value = sum<32>(x[threadIdx.x]) + sum<16>(x[threadIdx.x]);
  value += __shfl(value, 3, quarter) + __shfl_up(value, 1, 32) + __shfl_down(value, 1u, 16) + __shfl(value, 0, width);
  value += __shfl(twice<float, 2>(value), 0, 32) + __shfl((int)threadIdx.x, 1, 32);
  x[threadIdx.x] = value;
}
""",
    "mathematics": """
#include <algorithm>
#include <cmath>
#include <vector>
constexpr int blocks_of(int n, int block) { return (n + block - 1) / block; }
__device__ float4 operator*(float4 a, float b) { return make_float4(a.x * b, a.y * b, a.z * b, a.w * b); }
__global__ void compute(float4* x, float* y, int4* z, double2* w, int n) {
  x[0] = x[1] + x[2] * x[3] - x[4] / 2.0f;
  x[1] *= 3;
  x[2] = x[3] * 2.0f;
  z[0] = -(z[1] & z[2]) + 1;
  w[0] += 0.5 * w[1];
  y[0] = __expf(y[1]) + __logf(y[2]) + __fdividef(y[3], y[4]) + rsqrtf(y[5]) + __frcp_rn(y[6]) + tanhf(y[7]);
  y[1] = __builtin_amdgcn_rcpf(y[1]) + __builtin_amdgcn_exp2f(y[2]) + __builtin_amdgcn_fmed3f(y[3], y[4], y[5]);
  y[2] = max(2, 1.0f) + min(y[3], 1) + std::max(y[3], y[4]) + blocks_of(n, 256) + max(size_t(n), 3);
  y[3] = __uint_as_float(__float_as_uint(y[3])) + __popcll(n) + __ffs(n) + __clz(n);
  y[4] = x[0] == x[1] ? __builtin_nontemporal_load(y + 5) : 0.0f;
  __builtin_nontemporal_store(1, y + 6);
  if (n < 0) __builtin_trap();
}
""",
    "atomics": """
struct Flag { unsigned value; };
__global__ void count(unsigned* p, int* i, float* f, double* d, unsigned long long* q, size_t* s, __half* h, bool* b,
                      volatile int* v, Flag* flag) {
  unsigned expected = __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_store(f, 1.0f, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_store(b, true, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  while (__hip_atomic_load(&flag->value, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < gridDim.x)
    __builtin_amdgcn_s_sleep(1);
  f[1] = __hip_atomic_load(static_cast<const float*>(f), __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_SYSTEM);
  i[1] = __hip_atomic_load(v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  i[2] = __hip_atomic_fetch_add(i, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
  q[1] = __hip_atomic_fetch_max(q, 3, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  s[1] = __hip_atomic_exchange(s, 3, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  s[2] = __hip_atomic_fetch_sub(s, 1, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_AGENT);
  f[2] = __hip_atomic_fetch_min(f, 2.0f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  d[1] = __hip_atomic_fetch_add(d, 2.0, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_add(h, 2.0f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  i[3] = __hip_atomic_fetch_or(i, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  if (__hip_atomic_compare_exchange_strong(p, &expected, 2, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED,
                                           __HIP_MEMORY_SCOPE_AGENT))
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  __builtin_amdgcn_s_barrier();
  atomicAdd(s, 1);
  atomicAdd(f, unsafeAtomicAdd(f + 3, 1.0f));
  atomicMax(f, 2.0f);
  atomicMin(d, 2.0);
  atomicCAS(f, 1.0f, 2.0f);
  __threadfence();
  __syncthreads();
}
""",
}

# The name that the first error must have -> a statement of a kernel with `float v`, `int n` and `float* x`.
REFUSED = {
    "warpSize": "x[0] = n % warpSize;",
    "__AMDGCN_WAVEFRONT_SIZE": "x[__AMDGCN_WAVEFRONT_SIZE] = v;",
    "__lane_id": "x[0] = __lane_id();",
    "__ballot": "x[0] = __popcll(__ballot(n));",
    "__any": "x[0] = __any(n);",
    "__all": "x[0] = __all(n);",
    "__activemask": "x[0] = __popcll(__activemask());",
    "__syncwarp": "__syncwarp();",
    "__shfl_xor_sync": "x[0] = __shfl_xor_sync(~0ull, v, 1, 32);",
    "__shfl without a width": "x[0] = __shfl(v, 1);",
    "__shfl_up without a width": "x[0] = __shfl_up(v, 1);",
    "__shfl_down without a width": "x[0] = __shfl_down(twice<float, 2>(v), 1);",
    "__shfl_xor without a width": "x[0] = __shfl_xor(v, 1);",
    "__shfl with a width of more than 32": "x[0] = __shfl(v, 1, 64);",
    "__shfl_down with a width of more than 32": "constexpr int width = 64; x[0] = __shfl_down(v, 1, width);",
    "__builtin_amdgcn_mfma_f32_32x32x2f32": "x[0] = __builtin_amdgcn_mfma_f32_32x32x2f32(v, v, v, 0, 0, 0);",
    "__builtin_amdgcn_wmma_f32_16x16x16_f16_w32": "x[0] = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(v, v, v);",
    # It is not in a list of ours: nvcc says its name.
    "__builtin_amdgcn_mfma_of_the_future": "x[0] = __builtin_amdgcn_mfma_of_the_future(v, v, v, 0, 0, 0);",
    "__builtin_amdgcn_update_dpp": "x[0] = __builtin_amdgcn_update_dpp(0, n, 0x111, 0xf, 0xf, true);",
    "__builtin_amdgcn_mov_dpp": "x[0] = __builtin_amdgcn_mov_dpp(n, 0x111, 0xf, 0xf, true);",
    "__builtin_amdgcn_ds_swizzle": "x[0] = __builtin_amdgcn_ds_swizzle(n, 0x401f);",
    "__builtin_amdgcn_ds_bpermute": "x[0] = __builtin_amdgcn_ds_bpermute(n, n);",
    "__builtin_amdgcn_readlane": "x[0] = __builtin_amdgcn_readlane(n, 1);",
    "__builtin_amdgcn_readfirstlane": "x[0] = __builtin_amdgcn_readfirstlane(n);",
    "__builtin_amdgcn_wave_barrier": "__builtin_amdgcn_wave_barrier();",
    "__builtin_amdgcn_mbcnt_lo": "x[0] = __builtin_amdgcn_mbcnt_lo(~0u, 0);",
    "__builtin_amdgcn_wavefrontsize": "x[0] = __builtin_amdgcn_wavefrontsize();",
    "ext_vector_type": "typedef float four __attribute__((ext_vector_type(4))); ((four*)x)[0] = ((four*)x)[1];",
    "coalesced_threads": "x[0] = cooperative_groups::coalesced_threads().size();",
    "thread_block_tile<64>": "namespace cg = cooperative_groups; auto tile = "
                             "cg::tiled_partition<64>(cg::this_thread_block());",
}
REFUSED_ON_THE_HOST = {
    "warpSize": "hipDeviceProp_t facts; hipGetDeviceProperties(&facts, 0); return facts.warpSize;",
    "hipDeviceAttributeWarpSize": "int n; hipDeviceGetAttribute(&n, hipDeviceAttributeWarpSize, 0); return n;",
    "cudaMalloc": "void* p; return cudaMalloc(&p, 4);",
    "cudaStream_t": "cudaStream_t stream = nullptr; return stream != nullptr;",
}

# The sources of tests/data/detect that depend on the wavefront or on matrix instructions -> a name in the first error.
WAVE_SOURCES = {
    "hip_ema_chunk_carry": "__shfl_up",
    "hip_gemm_split_mfma": "__builtin_amdgcn_mfma_f32_16x16x16f16",
    "hip_layernorm_residual": "warpSize",
    "hip_lstm_agent_barrier": "__shfl_xor",
    "hip_mfma_gemm": "ext_vector_type",
    "hip_softmax_online_waves": "__shfl_xor",
    "hip_topk_rows": "__shfl_down",
}


def blocks(name):
    text = (ARGUMENTS.source / "lib/prompt/templates" / (name + ".mustache")).read_text()
    return re.findall(r"^```cpp\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def compile_hip(code, standard="c++17", ptx=False):
    """The exit code, the messages, and what nvcc wrote if it is PTX."""
    with tempfile.TemporaryDirectory() as directory:
        source, output = pathlib.Path(directory) / "kernel.hip", pathlib.Path(directory) / "output"
        source.write_text(code)
        form = ["-ptx"] if ptx else ["-shared", "-Xcompiler", "-fPIC,-fdiagnostics-color=never", "-nodlink",
                                     "-Xlinker", "-z,defs"]
        # The two flags after the standard give the language that clang has by itself.
        command = [ARGUMENTS.nvcc, "-O3", "-std=" + standard, "--expt-relaxed-constexpr", "--extended-lambda",
                   "-gencode", "arch=compute_90a,code=" + ("compute_90a" if ptx else "sm_90a"), "-x", "cu",
                   "-isystem", str(ARGUMENTS.headers),
                   "-I", str(ARGUMENTS.source / "include/kernelgen/abi"), *form, str(source), "-o", str(output)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        written = output.read_text() if ptx and done.returncode == 0 else ""
        return done.returncode, done.stdout + done.stderr, written


def first_error(messages):
    return next((line for line in messages.splitlines() if re.search(r"\berror\b", line)), "no error")


class HipWithNvcc(unittest.TestCase):
    def compile_all(self, sources):
        """Yields (name, exit code, messages), several compilers at a time."""
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for name, done in [(name, pool.submit(compile_hip, code, standard)) for name, code, standard in sources]:
                yield name, *done.result()[:2]

    def assert_compile(self, sources):
        for name, code, messages in self.compile_all(sources):
            with self.subTest(name):
                self.assertEqual(code, 0, messages)

    def assert_refused(self, sources):
        for name, code, messages in self.compile_all(sources):
            with self.subTest(name):
                self.assertNotEqual(code, 0)
                self.assertIn(name, first_error(messages), messages)

    def test_what_is_supported(self):
        self.assert_compile((f"{name}, {standard}", HEADERS + code, standard)
                            for name, code in SUPPORTED.items() for standard in ("c++17", "c++20"))

    def test_each_header_compiles_alone(self):
        folder = ARGUMENTS.headers / "hip"
        names = sorted(path.name for path in folder.iterdir())
        self.assertEqual(names, sorted(path.name for path in (ARGUMENTS.source / "apps/runner/hip_cpu/hip").iterdir()))
        kernel = "__global__ void k(float* x) { x[threadIdx.x] = 1; }\n"
        self.assert_compile((name, f"#include <hip/{name}>\n" + kernel, "c++17") for name in names)

    def test_the_wave_size_is_refused_after_each_header(self):
        # CUDA's own headers use some of the names, which are then given back.
        for name in "hip_bf16.h", "hip_cooperative_groups.h":
            code = f"#include <hip/{name}>\n__global__ void k(int* x) {{ x[0] = warpSize; }}\n"
            self.assert_refused([("warpSize", code, "c++17")])

    def test_what_is_refused_in_kernels(self):
        head = HEADERS + "#include <hip/hip_cooperative_groups.h>\n" \
            "template <class T, int N> __device__ T twice(T value) { return N * value; }\n" \
            "__global__ void k(float* x, float v, int n) {\n"
        self.assert_refused((name, head + statement + "\n}\n", "c++17") for name, statement in REFUSED.items())

    def test_what_is_refused_on_the_host(self):
        self.assert_refused((name, HEADERS + "int use() {\n" + statement + "\n}\n", "c++17")
                            for name, statement in REFUSED_ON_THE_HOST.items())

    def test_a_condition_of_the_preprocessor(self):
        self.assert_refused((name, HEADERS + f"#if {name} == 64\n#endif\n", "c++17")
                            for name in ("warpSize", "__AMDGCN_WAVEFRONT_SIZE"))

    def test_a_name_in_a_comment_or_in_a_branch_that_is_left_out(self):
        code = "// warpSize\n#if 0\nint n = warpSize;\n#endif\nconst char* text = \"warpSize\";\n"
        self.assert_compile([("unused", HEADERS + code, "c++17")])

    def test_an_error_is_at_its_place_in_the_source(self):
        _, messages, _ = compile_hip(HEADERS + "\n\n__global__ void k(int* x) { x[0] = warpSize; }\n")
        self.assertRegex(first_error(messages), r"kernel\.hip:4:\d+: error: warpSize depends on the 64 lanes")

    def test_orders_and_scopes(self):
        code, messages, ptx = compile_hip(HEADERS + """
__global__ void order(unsigned* p) {
  p[1] = __hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_store(p, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
  p[2] = __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __hip_atomic_fetch_add(p, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_store(p, 2u, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_AGENT);
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup");
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "");
}
""", ptx=True)
        self.assertEqual(code, 0, messages)
        found = re.findall(r"\b(?:ld\.acquire|ld\.relaxed|st\.release|fence\.\w+)\.\w+|\b(?:atom|red)\.", ptx)
        change = found[4]
        self.assertIn(change, ("atom.", "red."))
        self.assertEqual(found, ["ld.acquire.gpu", "st.release.sys", "ld.relaxed.cta", "fence.acq_rel.gpu", change,
                                 "fence.acq_rel.gpu", "fence.sc.gpu", "st.release.gpu", "fence.acq_rel.cta",
                                 "fence.acq_rel.sys"])

    def test_launch_bounds_do_not_limit_registers(self):
        # The second number is of wavefronts on AMD, and would be of blocks on NVIDIA.
        kernel = "__global__ void __launch_bounds__(256, 8) k(int* x) { x[0] = 1; }\n"
        code, messages, ptx = compile_hip(HEADERS + kernel, ptx=True)
        self.assertEqual(code, 0, messages)
        self.assertRegex(ptx, r"\.maxntid 256\b")
        self.assertNotIn("minnctapersm", ptx)

    def test_the_code_that_prompts_show(self):
        shown = [block for block in blocks("partials/recurrence_example") if "__global__" in block]
        self.assertEqual(len(shown), 3)
        head = HEADERS + "#include <hip/hip_cooperative_groups.h>\n"
        self.assert_compile([("hip", blocks("examples/hip")[0], "c++17"),
                             ("hipkittens", blocks("examples/hipkittens")[0], "c++20"),
                             *((f"recurrence {i}", head + block, "c++17") for i, block in enumerate(shown))])

    def test_the_examples(self):
        paths = sorted((ARGUMENTS.source / "examples/kernels").glob("*.hip"))
        self.assertGreaterEqual(len(paths), 6)
        self.assert_compile((path.stem, path.read_text(), "c++17") for path in paths)

    def test_recorded_sources(self):
        paths = sorted((ARGUMENTS.source / "tests/data/detect").glob("hip_*.hip"))
        self.assertGreaterEqual(len(paths), 20)
        for name, code, messages in self.compile_all((path.stem, path.read_text(), "c++17") for path in paths):
            with self.subTest(name):
                if name in WAVE_SOURCES:
                    self.assertNotEqual(code, 0)
                    self.assertIn(WAVE_SOURCES[name], first_error(messages))
                else:
                    self.assertEqual(code, 0, messages)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--nvcc", default="nvcc", help="the compiler, as a path or as a name on the PATH")
    parser.add_argument("--headers", type=pathlib.Path, required=True, help="share/kernelgen/hip_cuda of a build")
    parser.add_argument("--source", type=pathlib.Path, required=True)
    ARGUMENTS, rest = parser.parse_known_args()
    ARGUMENTS.source = ARGUMENTS.source.resolve()
    if shutil.which(ARGUMENTS.nvcc) is None:
        print(f"skipped: there is no nvcc at {ARGUMENTS.nvcc}")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])
