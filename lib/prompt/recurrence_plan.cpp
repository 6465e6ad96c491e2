#include "prompt/recurrence_plan.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include <kernelgen/platform/platform.hpp>

#include "core/recurrent_layers.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using enum RecurrenceSplit;

/// "768 KiB", "2.8 MiB".
std::string size_text(double bytes) {
  constexpr double k_kib = 1024, k_mib = k_kib * k_kib;
  return bytes < k_mib ? fmt::format("{:.0f} KiB", bytes / k_kib) : fmt::format("{:.3g} MiB", bytes / k_mib);
}

bool fits(std::int64_t bytes, const ChipSizes& chip, int multiprocessors) {
  return bytes <= chip.weight_bytes * multiprocessors;
}

/// All layers, of which those of one direction run at the same time.
bool stack_fits(const RecurrenceSizes& recurrence, const ChipSizes& chip) {
  return recurrence.depth > 1 && recurrence.directions == 1 &&
         fits(recurrence.weight_bytes * recurrence.depth, chip, chip.multiprocessors);
}

std::vector<RecurrenceSplit> order_native(const RecurrenceSizes& recurrence, const ChipSizes& chip) {
  const auto bytes = recurrence.weight_bytes;
  const bool has_clusters = chip.cluster_blocks > 1;
  std::vector<RecurrenceSplit> order;
  if (bytes == 0) return {OwnRows, has_clusters ? Cluster : Grid};
  if (!fits(bytes, chip, chip.multiprocessors)) return {Reread, OwnRows};
  const bool fits_one = fits(bytes, chip, 1);
  const bool fits_cluster = has_clusters && fits(bytes, chip, chip.cluster_blocks);
  if (fits_one) order.push_back(OwnRows);
  if (fits_cluster && !fits_one) order.push_back(Cluster);
  if (!fits_one && !fits_cluster) order.push_back(Grid);
  if (stack_fits(recurrence, chip)) order.push_back(Wavefront);
  if (fits_one && fits_cluster) order.push_back(Cluster);
  if (order.front() != Grid) order.push_back(Grid);
  if (order.size() < 2) order.push_back(Reread);
  return order;
}

}  // namespace

std::string_view to_string(RecurrenceSplit split) {
  static constexpr auto k_names =
      std::to_array<std::string_view>({"own_rows", "cluster", "grid", "wavefront", "reread"});
  return k_names[static_cast<std::size_t>(split)];
}

ChipSizes chip_sizes(const std::optional<GpuFacts>& gpu) {
  constexpr std::int64_t k_register_bytes = 4, k_least_registers = 65'536, k_least_shared = 48 << 10;
  ChipSizes chip;
  const std::int64_t registers =
      gpu && gpu->registers_per_multiprocessor > 0 ? gpu->registers_per_multiprocessor : k_least_registers;
  const auto shared = gpu ? static_cast<std::int64_t>(gpu->shared_bytes_per_block_optin) : 0;
  chip.weight_bytes = registers * k_register_bytes / 2 + (shared > 0 ? shared : k_least_shared);
  if (gpu && gpu->multiprocessors > 0) chip.multiprocessors = gpu->multiprocessors;
  if (gpu) chip.cluster_blocks = gpu->cluster_blocks;
  return chip;
}

std::vector<RecurrenceSplit> order_splits(const RecurrenceSizes& recurrence, const ChipSizes& chip, Target target,
                                          bool on_gpu) {
  if (is_native(target) && needs_gpu(target)) return order_native(recurrence, chip);
  if (target != Target::Triton) return {};
  // On the CPU's interpreter programs run one after the other, and can exchange nothing.
  if (!on_gpu || recurrence.weight_bytes == 0 || fits(recurrence.weight_bytes, chip, 1)) return {OwnRows, Grid};
  if (fits(recurrence.weight_bytes, chip, chip.multiprocessors)) return {Grid, OwnRows};
  return {Reread, OwnRows};
}

RecurrenceSizes recurrence_sizes(const TaskDescription& task) {
  const auto layers = recurrent_layers_of(task);
  if (!layers) return {};
  return {layers->step_bytes, layers->depth, layers->directions};
}

std::string describe_sizes(const RecurrenceSizes& recurrence, const std::optional<GpuFacts>& gpu) {
  if (recurrence.weight_bytes == 0 || !gpu || gpu->multiprocessors == 0 || gpu->shared_bytes_per_block_optin == 0)
    return {};
  const auto chip = chip_sizes(gpu);
  const auto& one = platform_of(gpu->vendor).words.multiprocessor;
  const auto weights = static_cast<double>(recurrence.weight_bytes), room = static_cast<double>(chip.weight_bytes);
  auto text = fmt::format(
      "{} for each layer and direction; one {} can keep about {} of them (half of its registers, "
      "and its shared memory)",
      size_text(weights), one, size_text(room));
  if (chip.cluster_blocks > 1)
    text += fmt::format(", a cluster of {} {}", chip.cluster_blocks, size_text(room * chip.cluster_blocks));
  text += fmt::format(", all {} together {}", chip.multiprocessors, size_text(room * chip.multiprocessors));
  if (fits(recurrence.weight_bytes, chip, 1)) return text + fmt::format(": they fit on one {}", one);
  if (fits(recurrence.weight_bytes, chip, chip.cluster_blocks)) return text + ": they need a cluster";
  if (fits(recurrence.weight_bytes, chip, chip.multiprocessors))
    return text + fmt::format(": they need {:.0f} {}s or more", std::ceil(weights / room), one);
  return text + ": they do not fit on the chip";
}

}  // namespace v0
}  // namespace kernelgen
