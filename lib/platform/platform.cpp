#include <kernelgen/platform/platform.hpp>

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>

#include "platform/built_in.hpp"

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
