#include "bench/device_sharing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>
#include <thread>

#include <kernelgen/platform/platform.hpp>

#include "support/units.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using namespace std::chrono_literals;

/// Polls while the driver frees the memory of a process, for more than twice the observed time.
constexpr int k_release_polls = 10;
constexpr auto k_release_poll_interval = 20ms;
/// A device is labelled as shared if foreign processes hold more than one part in this many of its memory.
constexpr std::uint64_t k_label_divisor = 16;

}  // namespace

std::optional<DeviceUse> device_use(JudgeSession& session) {
  auto use = session.judge->device_use();
  if (!use) session.healthy = false;
  if (!use || !*use) return std::nullopt;
  (*use)->foreign_bytes -= std::min((*use)->foreign_bytes, session.idle_bytes);
  return *use;
}

std::optional<DeviceUse> device_use_after_exit(JudgeSession& session) {
  auto use = device_use(session);
  for (int i = 0; i < k_release_polls && use && sharing_label(*use); ++i) {
    std::this_thread::sleep_for(k_release_poll_interval);
    use = device_use(session);
  }
  return use;
}

std::optional<std::string> sharing_label(const DeviceUse& use) {
  if (use.foreign_bytes * k_label_divisor <= use.total_bytes) return std::nullopt;
  return fmt::format("shared device: other processes hold {:.3g} of its {:.3g} GiB",
                     static_cast<double>(use.foreign_bytes) / k_gib, static_cast<double>(use.total_bytes) / k_gib);
}

namespace {

/// True if a candidate failed for lack of device memory. A candidate that did not fail is judged by its outputs,
/// whatever its message says.
bool lacks_device_memory(const Outcome& outcome) {
  if (outcome.kind != OutcomeKind::OutOfMemory && outcome.kind != OutcomeKind::Launch &&
      outcome.kind != OutcomeKind::Crash)
    return false;
  // Messages of the drivers, their libraries and torch, which native candidates pass on.
  static constexpr std::string_view k_words[] = {
      "CUDA out of memory",        "HIP out of memory",        "[CUDA]: out of memory", ": out of memory",
      "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY", "_STATUS_ALLOC_FAILED"};
  return std::any_of(std::begin(k_words), std::end(k_words),
                     [&](std::string_view words) { return outcome.message.find(words) != std::string::npos; });
}

/// Bytes of the allocation that failed, from torch's message: "Tried to allocate 6.00 GiB".
double refused_bytes(std::string_view text) {
  constexpr std::string_view k_tried = "Tried to allocate ";
  const auto at = text.find(k_tried);
  double amount = 0;
  if (at == text.npos) return 0;
  const auto* const begin = text.data() + at + k_tried.size();
  const auto [unit, problem] = std::from_chars(begin, text.data() + text.size(), amount);
  if (problem != std::errc()) return 0;
  return std::string_view(unit, static_cast<std::size_t>(text.data() + text.size() - unit)).substr(0, 4) == " GiB"
             ? amount * k_gib
             : 0;
}

}  // namespace

Outcome outcome_of_exhausted_memory(std::uint64_t held_bytes, const DeviceUse& use) {
  auto text = fmt::format(
      "it holds {:.3g} of the device's {:.3g} GiB, and {:.3g} GiB are left for it beside what the task takes",
      static_cast<double>(held_bytes) / k_gib, static_cast<double>(use.total_bytes) / k_gib,
      static_cast<double>(use.runner_bytes) / k_gib);
  if (const auto shared = sharing_label(use))
    return {OutcomeKind::Suspect, std::string(k_memory_in_use), fmt::format("{} ({})", text, *shared)};
  return {OutcomeKind::OutOfMemory, "", std::move(text)};
}

Outcome reattribute_memory_failure(Outcome verdict, const DeviceUse& use) {
  const auto shared = sharing_label(use);
  if (!shared || !lacks_device_memory(verdict)) return verdict;
  // An allocation that is larger than the whole device fails on an empty one, too.
  if (refused_bytes(verdict.message) > static_cast<double>(use.total_bytes)) return verdict;
  return {OutcomeKind::Suspect, std::string(k_memory_in_use),
          fmt::format(
              "memory of the device ran out, which may be due to other processes ({}); repeat it when they have ended "
              "({} lists them), or on another device; {}",
              *shared, process_programs(), verdict.message)};
}

}  // namespace v0
}  // namespace kernelgen
