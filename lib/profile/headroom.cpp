#include <kernelgen/profile/headroom.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/recurrent_layers.hpp"

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

Bound memory_bound(double bytes, double bandwidth, const std::string& bandwidth_words) {
  return {"memory", bytes / bandwidth * k_ns_per_s,
          fmt::format("moving {} at {}", amount(bytes, "B"), bandwidth_words)};
}

/// The measured floor, else the one that follows from the operations.
std::optional<Bound> memory_bound(const HeadroomRequest& request) {
  if (const auto* floor = measured_floor(request))
    return memory_bound(floor->bytes(), floor->bytes_per_second, amount(floor->bytes_per_second, "B/s"));
  const auto& facts = request.description.facts;
  if (!facts || !facts->least_read_bytes) return std::nullopt;
  const auto bytes = traffic(request, *facts->least_read_bytes);
  const double measured = request.gpu.measured_bytes_per_second.value_or(0);
  if (measured > 0) return memory_bound(bytes, measured, amount(measured, "B/s"));
  const double stated = request.gpu.memory_bytes_per_second.value_or(0);
  if (!(stated > 0)) return std::nullopt;
  return memory_bound(bytes, stated * k_reachable_share,
                      fmt::format("{:.0f} % of {}", 100 * k_reachable_share, amount(stated, "B/s")));
}

/// Operations per second, with the peak of the device that the number comes from.
struct Peak {
  double per_second = 0;
  std::string words;
};

Peak plain_peak(double per_second, const char* unit) {
  return {per_second, amount(per_second, "FLOP/s") + " of " + unit};
}

/// Upper limit of the operations per second of a product in this precision. Matrix units make products of fp32 accuracy
/// from three of fp16 or bf16, so the peak of plain fp32 is no limit.
std::optional<Peak> peak_of(const GpuFacts& gpu, PrecisionClass precision) {
  constexpr double k_splits = 3;
  const double half = gpu.fp16_per_second.value_or(0);
  const double tf32 = gpu.tf32_per_second.value_or(0);
  const double plain = gpu.fp32_per_second.value_or(0);
  if (!(plain > 0)) return std::nullopt;
  auto peak = plain_peak(plain, "fp32");
  if (half / k_splits > plain) {
    peak = plain_peak(half, "fp16");
    peak = {half / k_splits, "a third of " + peak.words};
  }
  if ((precision == PrecisionClass::Default || precision == PrecisionClass::Tf32) && tf32 > peak.per_second)
    peak = plain_peak(tf32, "tf32");
  if ((precision == PrecisionClass::Fp16 || precision == PrecisionClass::Bf16) && half > peak.per_second)
    peak = plain_peak(half, "fp16");
  return peak;
}

std::optional<Bound> operation_bound(const HeadroomRequest& request) {
  const auto peak = peak_of(request.gpu, request.description.precision);
  const auto& facts = request.description.facts;
  if (!peak || !facts || !facts->least_flops) return std::nullopt;
  const auto operations = static_cast<double>(*facts->least_flops);
  return Bound{"operations", operations / peak->per_second * k_ns_per_s,
               fmt::format("{} at {}", amount(operations, "FLOP"), peak->words)};
}

/// The peak of the product with the state. With few rows a step is a product of vectors, which plain units do: matrix
/// units take 64 rows at a time (wgmma).
Peak peak_of_steps(const HeadroomRequest& request, const RecurrentLayers& layers, const Peak& peak) {
  constexpr std::int64_t k_matrix_rows = 64;
  const bool is_plain = request.description.precision == PrecisionClass::Strict && layers.batch.has_value() &&
                        *layers.batch < k_matrix_rows;
  return is_plain ? plain_peak(*request.gpu.fp32_per_second, "fp32") : peak;
}

/// Bytes of registers and shared memory of a multiprocessor.
double chip_bytes_of_one(const GpuFacts& gpu) {
  return 4.0 * gpu.registers_per_multiprocessor + static_cast<double>(gpu.shared_bytes_per_multiprocessor);
}

/// The cheapest measured exchange of a state between multiprocessors that share its weights. Unset: none was measured.
std::optional<double> exchange_ns(const GpuFacts& gpu, const RecurrentLayers& layers) {
  const auto blocks = std::max(gpu.cluster_blocks, gpu.cluster_blocks_optin);
  const bool fits_cluster = static_cast<double>(layers.step_bytes) <= blocks * chip_bytes_of_one(gpu);
  return fits_cluster ? gpu.cluster_barrier_ns : gpu.grid_barrier_ns;
}

/// The chain of dependent steps of recurrent layers. The state is split among all multiprocessors, and exchanged in
/// every step; or each row is on one multiprocessor, where the weights fit on one.
std::optional<Bound> chain_bound(const HeadroomRequest& request) {
  const auto layers = recurrent_layers_of(request.description);
  const auto& gpu = request.gpu;
  const auto peak = peak_of(gpu, request.description.precision);
  if (!layers || !peak || gpu.multiprocessors <= 0 || !request.description.facts->least_flops) return std::nullopt;
  const auto flops = static_cast<double>(*request.description.facts->least_flops);
  const auto state_share = static_cast<double>(layers->state_elements) /
                           std::max(static_cast<double>(layers->state_elements + layers->input_elements), 1.0);
  const auto state_flops = flops * state_share;
  const auto step_peak = peak_of_steps(request, *layers, *peak);
  const auto steps = static_cast<double>(layers->chain());
  const double work_ns = (state_flops / step_peak.per_second + (flops - state_flops) / peak->per_second) * k_ns_per_s;
  auto words =
      fmt::format("{} dependent steps: {} with the state at {}, {} of other products at {}", layers->chain(),
                  amount(state_flops, "FLOP"), step_peak.words, amount(flops - state_flops, "FLOP"), peak->words);
  const auto exchange = exchange_ns(gpu, *layers).value_or(0);
  const double split_ns = work_ns + steps * exchange;
  if (static_cast<double>(layers->step_bytes) <= chip_bytes_of_one(gpu)) {
    const double row_ns =
        2.0 * static_cast<double>(layers->step_elements) / (step_peak.per_second / gpu.multiprocessors) * k_ns_per_s;
    const double alone_ns = std::max(work_ns, steps * row_ns);
    if (alone_ns <= split_ns) return Bound{"chain", alone_ns, words + ", no exchange"};
  }
  if (exchange > 0) words += fmt::format(", {:.0f} ns for the exchange of each step", exchange);
  return Bound{"chain", split_ns, words};
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
  const auto chain = chain_bound(request);
  if (!memory && !chain) return std::nullopt;
  Bound highest{"launch", k_launch_ns, "a kernel that does nothing"};
  for (const auto& bound : {memory, chain ? chain : operation_bound(request)})
    if (bound && bound->ns > highest.ns) highest = *bound;
  Headroom headroom{
      .bound = highest.name, .floor_ns = highest.ns, .time_ns = *time, .ratio = *time / highest.ns, .sentence = {}};
  headroom.sentence = sentence_of(headroom, highest, request.profile);
  return headroom;
}

}  // namespace v0
}  // namespace kernelgen
