#include "profile/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/json_codec.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr int k_schema = 1;
constexpr std::size_t k_max_text = 2000;

struct TimelineKernel {
  std::string name;
  double launches = 0;
  double duration_ns = 0;
};
BOOST_DESCRIBE_STRUCT(TimelineKernel, (), (name, launches, duration_ns))

struct TimelineFailure {
  /// The name of an ErrorCode, or "candidate".
  std::string code;
  std::string message;
};
BOOST_DESCRIBE_STRUCT(TimelineFailure, (), (code, message))

struct TimelineFile {
  int schema = 0;
  std::string device;
  double call_ns = 0;
  double span_ns = 0;
  std::vector<TimelineKernel> kernels;
  std::optional<TimelineFailure> failure;
};
BOOST_DESCRIBE_STRUCT(TimelineFile, (), (schema, device, call_ns, span_ns, kernels, failure))

double not_negative(double value) { return value > 0 && value < 1e18 ? value : 0; }

Result<Profile> failed(const TimelineFailure& failure) {
  const auto message = sanitize_line(failure.message, k_max_text);
  if (const auto code = parse_error_code(failure.code)) return Error{*code, message, {}};
  Profile profile;
  profile.source = "timeline";
  profile.unavailable = ProfileUnavailable{message, "evaluate the candidate: its record tells more"};
  return profile;
}

}  // namespace

Result<Profile> parse_timeline(std::string_view text) {
  const auto wrong = [](const std::string& why) {
    return Error{ErrorCode::Protocol, "cannot read the timeline of the profiled process: " + why, {}};
  };
  const auto json = parse_json(text);
  if (!json) return wrong(json.error().message);
  const auto file = from_value<TimelineFile>(*json);
  if (!file) return wrong(file.error().message);
  if (file->schema != k_schema) return wrong("schema " + std::to_string(file->schema));
  if (file->failure) return failed(*file->failure);
  Profile profile;
  profile.source = "timeline";
  profile.device = sanitize_line(file->device, k_max_text);
  profile.call_ns = not_negative(file->call_ns);
  profile.span_ns = not_negative(file->span_ns);
  for (const auto& seen : file->kernels) {
    KernelProfile kernel;
    kernel.name = sanitize_line(seen.name, k_max_text);
    kernel.function = function_of_kernel(kernel.name);
    kernel.origin = origin_of_kernel(kernel.name);
    // The number is a median over several calls, which may lie between two of them.
    kernel.launches = std::max<std::int64_t>(std::llround(not_negative(seen.launches)), 1);
    kernel.duration_ns = not_negative(seen.duration_ns);
    profile.kernels.push_back(std::move(kernel));
  }
  std::stable_sort(profile.kernels.begin(), profile.kernels.end(),
                   [](const KernelProfile& a, const KernelProfile& b) { return a.duration_ns > b.duration_ns; });
  return profile;
}

}  // namespace v0
}  // namespace kernelgen
