#include "support/lease_watch.hpp"

#include <algorithm>

namespace kernelgen {
inline namespace v0 {
namespace {

/// More leases than clocks of one cluster differ by. With leases of a minute these are ten minutes; munge and Kerberos
/// refuse more than five.
constexpr int k_certain_leases = 10;

}  // namespace

bool LeaseWatch::has_expired(const std::string& name, std::chrono::nanoseconds modified, std::chrono::nanoseconds age,
                             Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  const auto [place, is_new] = seen_.try_emplace(name, Seen{modified, now});
  auto& seen = place->second;
  if (seen.modified != modified) seen = {modified, now};
  return age > k_certain_leases * lease_ || now - seen.since > lease_;
}

void LeaseWatch::keep_only(const std::set<std::string>& names) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(seen_, [&](const auto& entry) { return !names.contains(entry.first); });
}

std::chrono::milliseconds next_poll(std::chrono::milliseconds waited, std::chrono::milliseconds longest) {
  constexpr std::chrono::milliseconds k_shortest{10};
  constexpr int k_looks = 20;
  return std::min(longest, std::max(k_shortest, waited / k_looks));
}

}  // namespace v0
}  // namespace kernelgen
