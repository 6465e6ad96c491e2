#include <kernelgen/platform/platform.hpp>

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "platform/built_in.hpp"
#include "support/text.hpp"
#include "support/units.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// Platforms are replaced by adding newer ones, because references to them stay valid.
class Platforms {
 public:
  Platforms() {
    add(nvidia_platform());
    add(amd_platform());
    add(fake_platform());
  }

  static Platforms& of_process() {
    static Platforms platforms;
    return platforms;
  }

  void add(Platform platform) {
    const std::scoped_lock lock(mutex_);
    const auto known = find(platform.vendor);
    const auto* added = &kept_.emplace_back(std::move(platform));
    if (known == current_.end())
      current_.push_back(added);
    else
      *known = added;
  }

  const Platform& of(std::string_view vendor) {
    const std::scoped_lock lock(mutex_);
    const auto found = find(vendor);
    return found == current_.end() ? none_ : **found;
  }

  std::vector<const Platform*> all() {
    const std::scoped_lock lock(mutex_);
    return current_;
  }

 private:
  std::vector<const Platform*>::iterator find(std::string_view vendor) {
    return std::find_if(current_.begin(), current_.end(), [&](const auto* one) { return one->vendor == vendor; });
  }

  std::mutex mutex_;
  std::deque<Platform> kept_;
  std::vector<const Platform*> current_;
  const Platform none_{};
};

}  // namespace

bool GpuUse::is_busy() const {
  // A desktop takes a little of the time.
  constexpr int k_busy_percent = 10;
  return busy_percent.value_or(0) >= k_busy_percent;
}

bool GpuUse::is_used() const {
  // The driver keeps some of the memory.
  constexpr std::uint64_t k_memory_divisor = 16;
  return is_busy() || (memory_total_bytes && memory_used_bytes.value_or(0) > *memory_total_bytes / k_memory_divisor);
}

std::string GpuUse::to_line() const {
  std::vector<std::string> parts;
  if (busy_percent) parts.push_back(fmt::format("busy {} %", *busy_percent));
  if (memory_used_bytes && memory_total_bytes)
    parts.push_back(fmt::format("memory {:.1f} of {:.0f} GiB", static_cast<double>(*memory_used_bytes) / k_gib,
                                static_cast<double>(*memory_total_bytes) / k_gib));
  if (multiprocessor_mhz) parts.push_back(fmt::format("clock {} MHz", *multiprocessor_mhz));
  if (memory_mhz) parts.push_back(fmt::format("memory clock {} MHz", *memory_mhz));
  return join(parts, ", ");
}

const Platform& platform_of(std::string_view vendor) { return Platforms::of_process().of(vendor); }

std::vector<const Platform*> platforms() { return Platforms::of_process().all(); }

void add_platform(Platform platform) { Platforms::of_process().add(std::move(platform)); }

std::string process_programs() {
  std::string programs;
  for (const auto* platform : platforms())
    if (!platform->process_list.empty())
      programs += (programs.empty() ? "`" : " or `") + platform->process_list.front() + "`";
  return programs;
}

bool serves_vendor(std::string_view vendor, std::string_view wanted) {
  return wanted.empty() || vendor == wanted || platform_of(vendor).serves_all;
}

}  // namespace v0
}  // namespace kernelgen
