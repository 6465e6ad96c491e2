#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace kernelgen {
inline namespace v0 {

/// The time of day, injected so that tests can say what it is. Never used for durations.
using WallClock = std::function<std::chrono::system_clock::time_point()>;

/// "2025-01-31T12:00:00.123Z".
[[nodiscard]] std::string utc_iso8601(std::chrono::system_clock::time_point time);

/// The same for what `clock` says now.
[[nodiscard]] inline std::string utc_now_iso8601(const WallClock& clock) { return utc_iso8601(clock()); }

}  // namespace v0
}  // namespace kernelgen
