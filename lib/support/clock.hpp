#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace kernelgen {
inline namespace v0 {

/// The time of day, injected so that tests can set it. Never used for durations.
using WallClock = std::function<std::chrono::system_clock::time_point()>;

/// "2025-01-31T12:00:00.123Z".
[[nodiscard]] std::string utc_iso8601(std::chrono::system_clock::time_point time);

/// Reads this form, with milliseconds or without. Nothing for other text.
[[nodiscard]] std::optional<std::chrono::system_clock::time_point> parse_utc_iso8601(std::string_view text);

/// The current time of `clock` in the same form.
[[nodiscard]] inline std::string utc_now_iso8601(const WallClock& clock) { return utc_iso8601(clock()); }

}  // namespace v0
}  // namespace kernelgen
