#include <kernelgen/profile/headroom.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace kernelgen {
inline namespace v0 {
namespace {

/// An empty kernel takes about 2 us on the device.
constexpr double k_launch_ns = 2000;
constexpr double k_ns_per_s = 1e9;
/// Fraction of the stated bandwidth that a copy within the device reaches, for devices without a measurement.
constexpr double k_reachable_share = 0.9;

double elements_of(const TensorSpec& tensor) {
  double count = 1;
  for (const auto size : tensor.shape) count *= static_cast<double>(size);
  return count;
}

double bytes_of(const TensorSpec& tensor) { return elements_of(tensor) * static_cast<double>(size_of(tensor.dtype)); }

std::optional<double> median_of(std::vector<std::int64_t> samples) {
  if (samples.empty()) return std::nullopt;
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return static_cast<double>(*middle);
}

/// The time in the score: that of the replayed graph where there is one.
std::optional<double> time_of(const EvaluationRecord& record) {
  if (!record.timing || !score_of(record)) return std::nullopt;
  const auto graph = median_of(record.timing->candidate_graph_ns);
  const double time = graph && record.timing->speedup_device ? *graph : record.timing->candidate_median_ns;
  return time > 0 ? std::optional(time) : std::nullopt;
}

/// One reason why the task takes time with any kernel.
struct Bound {
  std::string name;
  double ns = 0;
  std::string words;
};

std::string amount(double number, const char* unit) {
  if (number >= 1e12) return fmt::format("{:.3g} T{}", number / 1e12, unit);
  if (number >= 1e9) return fmt::format("{:.3g} G{}", number / 1e9, unit);
  return fmt::format("{:.3g} M{}", number / 1e6, unit);
}

std::string duration(double ns) {
  return ns >= 1e6 ? fmt::format("{:.3g} ms", ns / 1e6) : fmt::format("{:.3g} us", ns / 1e3);
}

/// Bytes that every kernel has to read from memory, and write there. A cache may keep the last writes.
double traffic(const HeadroomRequest& request, std::int64_t read) {
  double written = 0;
  for (const auto& output : request.description.outputs) written += bytes_of(output);
  const auto cache = static_cast<double>(request.gpu.l2_bytes + request.gpu.memory_cache_bytes);
  return std::max(written - cache, 0.0) + static_cast<double>(read);
}

/// The floor that was measured; nothing in records of earlier versions, and where it could not be measured.
const MemoryFloor* measured_floor(const HeadroomRequest& request) {
  const auto& floor = request.record.timing->memory_floor;
  return floor && floor->read_bytes && floor->bytes_per_second > 0 ? &*floor : nullptr;
}

Bound memory_bound(double bytes, double bandwidth) {
  return {"memory", bytes / bandwidth * k_ns_per_s,
          fmt::format("moving {} at {}", amount(bytes, "B"), amount(bandwidth, "B/s"))};
}

/// The measured floor, else the one that follows from the operations.
std::optional<Bound> memory_bound(const HeadroomRequest& request) {
  if (const auto* floor = measured_floor(request)) return memory_bound(floor->bytes(), floor->bytes_per_second);
  const auto& facts = request.description.facts;
  if (!facts || !facts->least_read_bytes) return std::nullopt;
  const auto& gpu = request.gpu;
  const auto bandwidth =
      gpu.measured_bytes_per_second
          ? gpu.measured_bytes_per_second
          : (gpu.memory_bytes_per_second ? std::optional(*gpu.memory_bytes_per_second * k_reachable_share)
                                         : std::nullopt);
  if (!bandwidth || !(*bandwidth > 0)) return std::nullopt;
  return memory_bound(traffic(request, *facts->least_read_bytes), *bandwidth);
}

/// Upper limit of the operations per second of a product in this precision. Matrix units make products of fp32 accuracy
/// from three of fp16 or bf16, so the peak of plain fp32 is no limit.
std::optional<double> peak_of(const GpuFacts& gpu, PrecisionClass precision) {
  constexpr double k_splits = 3;
  const double half = gpu.fp16_per_second.value_or(0);
  const double tf32 = gpu.tf32_per_second.value_or(0);
  double peak = std::max(gpu.fp32_per_second.value_or(0), half / k_splits);
  if (precision == PrecisionClass::Default || precision == PrecisionClass::Tf32) peak = std::max(peak, tf32);
  if (precision == PrecisionClass::Fp16 || precision == PrecisionClass::Bf16) peak = std::max(peak, half);
  if (!gpu.fp32_per_second || !(peak > 0)) return std::nullopt;
  return peak;
}

std::optional<Bound> operation_bound(const HeadroomRequest& request) {
  const auto peak = peak_of(request.gpu, request.description.precision);
  const auto& facts = request.description.facts;
  if (!peak || !facts || !facts->least_flops) return std::nullopt;
  const auto operations = static_cast<double>(*facts->least_flops);
  return Bound{"operations", operations / *peak * k_ns_per_s,
               fmt::format("{} at {}", amount(operations, "FLOP"), amount(*peak, "FLOP/s"))};
}

std::string sentence_of(const Headroom& headroom, const Bound& bound, const Profile* profile) {
  auto text = fmt::format("it takes {}, {:.2f} times the least possible of {} ({})", duration(headroom.time_ns),
                          headroom.ratio, duration(headroom.floor_ns), bound.words);
  if (profile != nullptr && profile->launches() > 0) {
    text += fmt::format(", in {} launch{}", profile->launches(), profile->launches() == 1 ? "" : "es");
    if (profile->launches() > 1)
      text += fmt::format(", which take about {} in themselves",
                          duration(static_cast<double>(profile->launches()) * k_launch_ns));
  }
  return text;
}

}  // namespace

std::optional<Headroom> find_headroom(const HeadroomRequest& request) {
  const auto time = time_of(request.record);
  if (!time) return std::nullopt;
  const auto memory = memory_bound(request);
  if (!memory) return std::nullopt;
  Bound highest{"launch", k_launch_ns, "a kernel that does nothing"};
  for (const auto& bound : {memory, operation_bound(request)})
    if (bound && bound->ns > highest.ns) highest = *bound;
  Headroom headroom{
      .bound = highest.name, .floor_ns = highest.ns, .time_ns = *time, .ratio = *time / highest.ns, .sentence = {}};
  headroom.sentence = sentence_of(headroom, highest, request.profile);
  return headroom;
}

}  // namespace v0
}  // namespace kernelgen
