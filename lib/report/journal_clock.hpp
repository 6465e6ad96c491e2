#pragma once

/// \file
/// The present by the clock of another machine.

#include <algorithm>
#include <chrono>
#include <optional>

namespace kernelgen {
inline namespace v0 {

/// Estimates what the clock of a journal's writer shows now. That clock and ours may differ by hours; the only common
/// moments are those in which an event appears. Never before an event that was seen, so that no age is negative.
class JournalClock {
 public:
  using Time = std::chrono::system_clock::time_point;

  /// An event that was written at an unknown time before this one.
  void see_old(Time event) { newest_ = std::max(newest_.value_or(event), event); }

  /// An event that has just appeared, while our clock shows `ours`.
  void see_new(Time event, Time ours) {
    see_old(event);
    // An event appears some time after it was written, so that the smallest difference is the best estimate.
    const auto difference = ours - event;
    ahead_ = std::min(ahead_.value_or(difference), difference);
  }

  /// Nothing before the first event.
  [[nodiscard]] std::optional<Time> now(Time ours) const {
    if (!newest_) return std::nullopt;
    return std::max(*newest_, ours - ahead_.value_or(Time::duration{0}));
  }
  [[nodiscard]] std::optional<Time> newest() const { return newest_; }

 private:
  std::optional<Time> newest_;
  std::optional<Time::duration> ahead_;
};

}  // namespace v0
}  // namespace kernelgen
