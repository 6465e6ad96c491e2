#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace kernelgen {
inline namespace v0 {

/// Decides when the holder of a file has stopped renewing the file's time. Clocks of different machines are not
/// compared: a lease has expired when the time of the file has not changed while this watched it for the length of the
/// lease. Nothing was watched yet right after a start, so a file that looks older than ten leases has expired at once:
/// clocks of one cluster differ by less than that. Thread-safe.
class LeaseWatch {
 public:
  using Clock = std::chrono::steady_clock;

  explicit LeaseWatch(std::chrono::milliseconds lease) : lease_(lease) {}

  /// Whether the lease of the file `name` has expired. `modified` is its time, and `age` the time since then by the
  /// clocks of the file system; negative where they differ.
  [[nodiscard]] bool has_expired(const std::string& name, std::chrono::nanoseconds modified,
                                 std::chrono::nanoseconds age, Clock::time_point now = Clock::now());
  /// Forgets files that are not among `names`, because they are gone.
  void keep_only(const std::set<std::string>& names);

 private:
  struct Seen {
    std::chrono::nanoseconds modified;
    Clock::time_point since;
  };

  const std::chrono::milliseconds lease_;
  std::mutex mutex_;
  std::map<std::string, Seen> seen_;
};

/// Time until the next look for something that has been waited for `waited` long: a twentieth of that, so that looking
/// costs at most 5 % of time, between 10 ms and `longest`.
[[nodiscard]] std::chrono::milliseconds next_poll(std::chrono::milliseconds waited, std::chrono::milliseconds longest);

}  // namespace v0
}  // namespace kernelgen
