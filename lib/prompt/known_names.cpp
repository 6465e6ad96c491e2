#include "prompt/known_names.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include <kernelgen/platform/platform.hpp>

namespace kernelgen {
inline namespace v0 {
namespace {

struct Name {
  std::string_view name;
  std::string_view header;
};

constexpr auto k_headers = std::to_array<Name>({
    {"FLT_MAX", "<cfloat>"},
    {"FLT_MIN", "<cfloat>"},
    {"FLT_EPSILON", "<cfloat>"},
    {"DBL_MAX", "<cfloat>"},
    {"INFINITY", "<cmath>"},
    {"NAN", "<cmath>"},
    {"M_PI", "<cmath>"},
    {"exp", "<cmath>"},
    {"expf", "<cmath>"},
    {"sqrt", "<cmath>"},
    {"sqrtf", "<cmath>"},
    {"tanh", "<cmath>"},
    {"erf", "<cmath>"},
    {"fma", "<cmath>"},
    {"isnan", "<cmath>"},
    {"isinf", "<cmath>"},
    {"INT_MAX", "<climits>"},
    {"INT64_MAX", "<cstdint>"},
    {"uint8_t", "<cstdint>"},
    {"uint16_t", "<cstdint>"},
    {"uint32_t", "<cstdint>"},
    {"uint64_t", "<cstdint>"},
    {"int64_t", "<cstdint>"},
    {"size_t", "<cstddef>"},
    {"memcpy", "<cstring>"},
    {"memset", "<cstring>"},
    {"printf", "<cstdio>"},
    {"malloc", "<cstdlib>"},
    {"free", "<cstdlib>"},
    {"aligned_alloc", "<cstdlib>"},
    {"abs", "<cmath>"},
    {"max", "<algorithm>"},
    {"min", "<algorithm>"},
    {"clamp", "<algorithm>"},
    {"fill", "<algorithm>"},
    {"fill_n", "<algorithm>"},
    {"copy", "<algorithm>"},
    {"sort", "<algorithm>"},
    {"transform", "<algorithm>"},
    {"max_element", "<algorithm>"},
    {"accumulate", "<numeric>"},
    {"iota", "<numeric>"},
    {"numeric_limits", "<limits>"},
    {"array", "<array>"},
    {"atomic", "<atomic>"},
    {"bit_cast", "<bit>"},
    {"chrono", "<chrono>"},
    {"complex", "<complex>"},
    {"condition_variable", "<condition_variable>"},
    {"function", "<functional>"},
    {"make_unique", "<memory>"},
    {"make_shared", "<memory>"},
    {"unique_ptr", "<memory>"},
    {"shared_ptr", "<memory>"},
    {"mutex", "<mutex>"},
    {"lock_guard", "<mutex>"},
    {"map", "<map>"},
    {"set", "<set>"},
    {"span", "<span>"},
    {"string", "<string>"},
    {"to_string", "<string>"},
    {"thread", "<thread>"},
    {"jthread", "<thread>"},
    {"barrier", "<barrier>"},
    {"tuple", "<tuple>"},
    {"unordered_map", "<unordered_map>"},
    {"unordered_set", "<unordered_set>"},
    {"pair", "<utility>"},
    {"move", "<utility>"},
    {"vector", "<vector>"},
    {"runtime_error", "<stdexcept>"},
    {"omp_get_thread_num", "<omp.h>"},
    {"omp_get_num_threads", "<omp.h>"},
    {"omp_get_max_threads", "<omp.h>"},
    {"omp_set_num_threads", "<omp.h>"},
    {"__m128", "<immintrin.h>"},
    {"__m256", "<immintrin.h>"},
    {"__m256i", "<immintrin.h>"},
    {"__m512", "<immintrin.h>"},
    {"__m512i", "<immintrin.h>"},
});

/// A name of a GPU toolkit, with its headers in CUDA and HIP; empty where a toolkit lacks it.
struct DeviceName {
  std::string_view name;
  std::string_view cuda;
  std::string_view hip;
};

constexpr auto k_device_headers = std::to_array<DeviceName>({
    {"half", "<cuda_fp16.h>", "<hip/hip_fp16.h>"},
    {"half2", "<cuda_fp16.h>", "<hip/hip_fp16.h>"},
    {"__half", "<cuda_fp16.h>", "<hip/hip_fp16.h>"},
    {"__half2", "<cuda_fp16.h>", "<hip/hip_fp16.h>"},
    {"__float2half", "<cuda_fp16.h>", "<hip/hip_fp16.h>"},
    {"__half2float", "<cuda_fp16.h>", "<hip/hip_fp16.h>"},
    {"__nv_bfloat16", "<cuda_bf16.h>", ""},
    {"__nv_bfloat162", "<cuda_bf16.h>", ""},
    {"nv_bfloat16", "<cuda_bf16.h>", ""},
    {"__bfloat162float", "<cuda_bf16.h>", "<hip/hip_bfloat16.h>"},
    {"__float2bfloat16", "<cuda_bf16.h>", "<hip/hip_bfloat16.h>"},
    {"hip_bfloat16", "", "<hip/hip_bfloat16.h>"},
    {"__hip_bfloat16", "", "<hip/hip_bf16.h>"},
    {"__nv_fp8_e4m3", "<cuda_fp8.h>", ""},
    {"__nv_fp8_e5m2", "<cuda_fp8.h>", ""},
    {"cooperative_groups", "<cooperative_groups.h>", "<hip/hip_cooperative_groups.h>"},
    {"cg", "<cooperative_groups.h>", "<hip/hip_cooperative_groups.h>"},
    {"this_grid", "<cooperative_groups.h>", "<hip/hip_cooperative_groups.h>"},
    {"this_thread_block", "<cooperative_groups.h>", "<hip/hip_cooperative_groups.h>"},
    {"tiled_partition", "<cooperative_groups.h>", "<hip/hip_cooperative_groups.h>"},
    {"reduce", "<cooperative_groups/reduce.h>", ""},
    {"plus", "<cooperative_groups/reduce.h>", ""},
    {"inclusive_scan", "<cooperative_groups/scan.h>", ""},
    {"exclusive_scan", "<cooperative_groups/scan.h>", ""},
    {"memcpy_async", "<cooperative_groups/memcpy_async.h>", ""},
    {"nvcuda", "<mma.h>", ""},
    {"wmma", "<mma.h>", ""},
    {"cub", "<cub/cub.cuh>", ""},
    {"BlockReduce", "<cub/cub.cuh>", ""},
    {"WarpReduce", "<cub/cub.cuh>", ""},
    {"__global__", "<cuda_runtime.h>", "<hip/hip_runtime.h>"},
    {"__device__", "<cuda_runtime.h>", "<hip/hip_runtime.h>"},
    {"__shared__", "<cuda_runtime.h>", "<hip/hip_runtime.h>"},
    {"__launch_bounds__", "<cuda_runtime.h>", "<hip/hip_runtime.h>"},
    {"__syncthreads", "<cuda_runtime.h>", "<hip/hip_runtime.h>"},
    {"threadIdx", "<cuda_runtime.h>", "<hip/hip_runtime.h>"},
    {"blockIdx", "<cuda_runtime.h>", "<hip/hip_runtime.h>"},
    {"blockDim", "<cuda_runtime.h>", "<hip/hip_runtime.h>"},
    {"gridDim", "<cuda_runtime.h>", "<hip/hip_runtime.h>"},
    {"dim3", "<cuda_runtime.h>", "<hip/hip_runtime.h>"},
    {"float4", "<cuda_runtime.h>", "<hip/hip_runtime.h>"},
    {"hipStream_t", "", "<hip/hip_runtime.h>"},
    {"hipError_t", "", "<hip/hip_runtime.h>"},
    {"hipGetLastError", "", "<hip/hip_runtime.h>"},
    {"hipMalloc", "", "<hip/hip_runtime.h>"},
});

constexpr auto k_imports = std::to_array<std::string_view>(
    {"math",   "torch", "nn",      "F",         "tl",        "triton",      "np",       "numpy",
     "os",     "sys",   "time",    "typing",    "functools", "itertools",   "Optional", "Tuple",
     "List",   "Dict",  "Union",   "Any",       "Callable",  "load_inline", "load",     "cpp_extension",
     "Tensor", "init",  "partial", "lru_cache", "dataclass", "libdevice",   "warnings", "ctypes"});

}  // namespace

std::string_view header_of(std::string_view name, Target target) {
  const auto is_it = [&](const auto& one) { return one.name == name; };
  if (target != Target::Cpp) {
    const auto device = std::find_if(k_device_headers.begin(), k_device_headers.end(), is_it);
    const bool hip = platform_of(traits_of(target).gpu_vendor).compiler == DeviceCompiler::Hipcc;
    if (device != k_device_headers.end()) return hip ? device->hip : device->cuda;
  }
  const auto found = std::find_if(k_headers.begin(), k_headers.end(), is_it);
  return found == k_headers.end() ? std::string_view() : found->header;
}

std::string_view vector_math_function(std::string_view name) {
  static constexpr std::string_view k_functions[] = {"exp",   "exp2", "expm1", "log",  "log2", "log10",
                                                     "log1p", "sin",  "cos",   "tan",  "tanh", "sinh",
                                                     "cosh",  "atan", "erf",   "erfc", "pow",  "cbrt"};
  const auto found = std::find_if(std::begin(k_functions), std::end(k_functions), [&](std::string_view function) {
    for (const std::string_view width : {"_mm_", "_mm256_", "_mm512_"})
      if (name.starts_with(width) && name.substr(width.size()).starts_with(function)) {
        const auto type = name.substr(width.size() + function.size());
        if (type == "_ps" || type == "_pd") return true;
      }
    return false;
  });
  return found == std::end(k_functions) ? std::string_view() : *found;
}

bool is_imported_name(std::string_view name) {
  return std::find(k_imports.begin(), k_imports.end(), name) != k_imports.end();
}

}  // namespace v0
}  // namespace kernelgen
