#include "prompt/known_names.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace kernelgen {
inline namespace v0 {
namespace {

using Name = std::pair<std::string_view, std::string_view>;

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
    {"half", "<cuda_fp16.h>"},
    {"__half", "<cuda_fp16.h>"},
    {"__half2", "<cuda_fp16.h>"},
    {"__nv_bfloat16", "<cuda_bf16.h>"},
    {"cooperative_groups", "<cooperative_groups.h>"},
    {"nvcuda", "<mma.h>"},
    {"wmma", "<mma.h>"},
});

constexpr auto k_imports = std::to_array<std::string_view>(
    {"math",   "torch", "nn",      "F",         "tl",        "triton",      "np",       "numpy",
     "os",     "sys",   "time",    "typing",    "functools", "itertools",   "Optional", "Tuple",
     "List",   "Dict",  "Union",   "Any",       "Callable",  "load_inline", "load",     "cpp_extension",
     "Tensor", "init",  "partial", "lru_cache", "dataclass", "libdevice",   "warnings", "ctypes"});

}  // namespace

std::string_view header_of(std::string_view name) {
  const auto found =
      std::find_if(k_headers.begin(), k_headers.end(), [&](const Name& one) { return one.first == name; });
  return found == k_headers.end() ? std::string_view() : found->second;
}

bool is_imported_name(std::string_view name) {
  return std::find(k_imports.begin(), k_imports.end(), name) != k_imports.end();
}

}  // namespace v0
}  // namespace kernelgen
