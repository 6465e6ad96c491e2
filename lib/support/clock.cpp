#include "support/clock.hpp"

#include <cstdio>

#include <fmt/format.h>

namespace kernelgen {
inline namespace v0 {

std::string utc_iso8601(std::chrono::system_clock::time_point time) {
  using namespace std::chrono;
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(floor<milliseconds>(time - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

std::optional<std::chrono::system_clock::time_point> parse_utc_iso8601(std::string_view text) {
  using namespace std::chrono;
  int y = 0, m = 0, d = 0, hour = 0, minute = 0, second = 0, millisecond = 0, used = 0;
  constexpr int k_fields = 6;
  const std::string whole(text);
  if (std::sscanf(whole.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &y, &m, &d, &hour, &minute, &second, &used) != k_fields)
    return std::nullopt;
  const char* rest = whole.c_str() + used;
  int more = 0;
  if (*rest == '.' && std::sscanf(rest, ".%3d%n", &millisecond, &more) == 1) rest += more;
  const year_month_day date(year(y), month(static_cast<unsigned>(m)), day(static_cast<unsigned>(d)));
  if (*rest != 'Z' || !date.ok()) return std::nullopt;
  return sys_days(date) + hours(hour) + minutes(minute) + seconds(second) + milliseconds(millisecond);
}

}  // namespace v0
}  // namespace kernelgen
