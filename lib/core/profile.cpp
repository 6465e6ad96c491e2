#include <kernelgen/core/profile.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include "core/json.hpp"
#include "core/json_codec.hpp"

namespace kernelgen {
inline namespace v0 {

namespace {

constexpr int k_schema = 1;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

template <std::size_t N>
bool contains_any(std::string_view text, const std::array<std::string_view, N>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return contains(text, part); });
}

template <std::size_t N>
bool starts_with_any(std::string_view text, const std::array<std::string_view, N>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return text.starts_with(part); });
}

constexpr std::array<std::string_view, 4> k_copies = {"Memcpy", "Memset", "[CUDA memcpy", "[CUDA memset"};
/// torch's namespaces, its operators, and prefixes of the kernels that its compiler generates.
constexpr std::array<std::string_view, 9> k_framework = {"at::native",  "at::cuda", "at_cuda_detail",   "c10::",
                                                         "torch::",     "aten::",   "triton_poi_fused", "triton_red_f",
                                                         "triton_per_f"};
constexpr std::array<std::string_view, 18> k_library = {
    "cublas", "cudnn",  "cutlass",  "xmma",      "nvjet", "splitKreduce", "gemv2",     "gemvNSP", "dot_kernel",
    "cufft",  "curand", "cusparse", "flash_fwd", "fmha_", "elemWiseRNN",  "RNN_block", "magma",   "Cijk_"};
/// Kernels of cuBLAS and cuDNN that are named for an architecture: "ampere_sgemm_128x64_tn", "sm90_xmma_gemm_...".
constexpr std::array<std::string_view, 5> k_library_starts = {"volta_", "turing_", "ampere_", "maxwell_", "hopper_"};

/// The end of a bracketed part that begins at `at`, one past its closing bracket; the end of the text when it has none.
std::size_t end_of_brackets(std::string_view text, std::size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '<' || text[at] == '(') ++depth;
    // The arrow of a trailing return type closes nothing.
    if ((text[at] == '>' && (at == 0 || text[at - 1] != '-')) || text[at] == ')') --depth;
    if (depth <= 0) return at + 1;
  }
  return text.size();
}

constexpr std::string_view k_anonymous = "(anonymous namespace)";
/// Nsight Compute's name for it.
constexpr std::string_view k_unnamed = "<unnamed>";

}  // namespace

std::string_view to_string(KernelOrigin origin) { return names_of<KernelOrigin>.name(origin); }

KernelOrigin origin_of_kernel(std::string_view name) {
  const std::string function = function_of_kernel(name);
  if (starts_with_any(name, k_copies)) return KernelOrigin::Copy;
  if (contains_any(function, k_library) || starts_with_any(function, k_library_starts)) return KernelOrigin::Library;
  return contains_any(function, k_framework) ? KernelOrigin::Framework : KernelOrigin::Own;
}

std::string function_of_kernel(std::string_view name) {
  std::string function;
  for (std::size_t at = 0; at < name.size();) {
    const auto rest = name.substr(at);
    if (rest.starts_with(k_anonymous) || rest.starts_with(k_unnamed)) {
      function += k_anonymous;
      at += rest.starts_with(k_unnamed) ? k_unnamed.size() : k_anonymous.size();
    } else if (name[at] == '(') {
      // Parameters end a name; "operator()" has two pairs of parentheses, of which the first one belongs to it.
      if (!function.ends_with("operator")) break;
      function += "()";
      at = end_of_brackets(name, at);
    } else if (name[at] == '<') {
      at = end_of_brackets(name, at);
    } else if (name[at] == ' ') {
      // The text so far was the result type.
      function.clear();
      ++at;
    } else {
      function += name[at++];
    }
  }
  return function.empty() ? std::string(name) : function;
}

std::optional<double> KernelProfile::metric(std::string_view metric_name) const {
  const auto found =
      std::find_if(metrics.begin(), metrics.end(), [&](const Metric& one) { return one.name == metric_name; });
  if (found == metrics.end()) return std::nullopt;
  return found->value;
}

Profile unavailable_profile(std::string reason, std::string remedy) {
  Profile profile;
  profile.unavailable = ProfileUnavailable{std::move(reason), std::move(remedy)};
  return profile;
}

std::int64_t Profile::launches() const {
  std::int64_t sum = 0;
  for (const auto& kernel : kernels) sum += kernel.launches;
  return sum;
}

double Profile::device_ns() const {
  double sum = 0;
  for (const auto& kernel : kernels) sum += kernel.duration_ns;
  return sum;
}

double Profile::share_of(KernelOrigin origin) const {
  double sum = 0;
  for (const auto& kernel : kernels)
    if (kernel.origin == origin) sum += kernel.duration_ns;
  const double all = device_ns();
  return all > 0 ? sum / all : 0;
}

double Profile::share_of(const KernelProfile& kernel) const {
  const double all = device_ns();
  return all > 0 ? kernel.duration_ns / all : 0;
}

std::optional<double> Profile::metric(std::string_view metric_name) const {
  double sum = 0;
  double weight = 0;
  for (const auto& kernel : kernels) {
    const auto value = kernel.metric(metric_name);
    if (!value) continue;
    sum += *value * kernel.duration_ns;
    weight += kernel.duration_ns;
  }
  if (!(weight > 0)) return std::nullopt;
  return sum / weight;
}

std::string to_json(const Profile& profile) { return to_pretty_json(to_value(profile)); }

Result<Profile> parse_profile(std::string_view text) {
  auto parsed = parse_json(text);
  if (!parsed) return std::move(parsed).error();
  const auto* object = parsed->if_object();
  const auto* schema = object != nullptr ? object->if_contains("schema") : nullptr;
  if (schema == nullptr || !schema->is_int64())
    return Error{ErrorCode::InvalidArgument, "not a profile: it has no schema number", {}};
  if (schema->get_int64() != k_schema)
    return Error{ErrorCode::Unsupported, "profile schema " + std::to_string(schema->get_int64()) + " is not known", {}};
  return from_value<Profile>(*parsed);
}

}  // namespace v0
}  // namespace kernelgen
