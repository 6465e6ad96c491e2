#include "bench/build_ahead.hpp"

#include <algorithm>

namespace kernelgen {
inline namespace v0 {
namespace {

/// The shortest limit for a call while building ahead for a device: Triton compiles within Python's own process before
/// it starts a compiler.
constexpr std::chrono::milliseconds k_least_device_call = std::chrono::seconds(120);

}  // namespace

bool may_build(std::string_view source) {
  static constexpr std::string_view k_signs[] = {"triton", "cpp_extension", "torch.compile", "subprocess", "os.system",
                                                 "popen",  "cffi",          "numba",         "setuptools"};
  return std::any_of(std::begin(k_signs), std::end(k_signs),
                     [&](std::string_view sign) { return source.find(sign) != std::string_view::npos; });
}

StepLimits build_ahead_limits(const EvaluationOptions& options, bool on_device) {
  const auto call = on_device ? std::max(options.call_timeout, k_least_device_call) : options.call_timeout;
  return {.call = call, .build = options.build_timeout};
}

}  // namespace v0
}  // namespace kernelgen
