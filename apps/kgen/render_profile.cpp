#include "render_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include <kernelgen/profile/metrics.hpp>

#include "layout.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"

namespace kernelgen::cli {
namespace {

constexpr std::size_t k_default_width = 100;
constexpr std::size_t k_least_name = 24;
/// Width of the columns after the name: launches, time, share, and the kernel's owner.
constexpr std::size_t k_numbers_width = 40;
constexpr std::size_t k_shown_kernels = 10;
constexpr std::size_t k_shown_counters = 3;
constexpr std::size_t k_shown_findings = 3;
constexpr std::size_t k_line_bytes = 1000;

std::string headline(const Profile& profile) {
  const bool on_device = profile.span_ns > 0 || profile.source != "timeline";
  const auto& where = profile.device.empty() ? profile.source : profile.device;
  auto text = fmt::format("{}: {} {} of {} {}, {}", sanitize_line(where, k_line_bytes), profile.launches(),
                          profile.launches() == 1 ? "launch" : "launches", profile.kernels.size(),
                          profile.kernels.size() == 1 ? "kernel" : "kernels", format_nanoseconds(profile.device_ns()));
  if (on_device) text += " on the device";
  if (profile.call_ns > 0) text += fmt::format("; a call takes {}", format_nanoseconds(profile.call_ns));
  return text + '\n';
}

std::string row(const std::string& name, std::size_t width, const std::string& launches, const std::string& time,
                const std::string& share, std::string_view origin) {
  return fmt::format("{:<{}} {:>8} {:>10} {:>6}  {}\n", name, width, launches, time, share, origin);
}

std::string kernel_table(const Profile& profile, std::size_t width) {
  const auto name_width = std::max(k_least_name, width - std::min(width, k_numbers_width));
  auto text = row("kernel", name_width, "launches", "time", "share", "origin");
  for (std::size_t i = 0; i < std::min(profile.kernels.size(), k_shown_kernels); ++i) {
    const auto& kernel = profile.kernels[i];
    text += row(cut_to_width(sanitize_line(kernel.function, k_line_bytes), name_width), name_width,
                std::to_string(kernel.launches), format_nanoseconds(kernel.duration_ns),
                fmt::format("{:.0f} %", 100 * profile.share_of(kernel)), to_string(kernel.origin));
  }
  if (profile.kernels.size() > k_shown_kernels)
    text += fmt::format("and {} more\n", profile.kernels.size() - k_shown_kernels);
  return text;
}

std::string number(const Metric& metric) {
  if (metric.unit == "%") return fmt::format("{:.1f} %", metric.value);
  return fmt::format("{:.6g}{}{}", metric.value, metric.unit.empty() ? "" : " ", metric.unit);
}

std::string counters(const Profile& profile) {
  std::string text;
  std::size_t shown = 0;
  for (const auto& kernel : profile.kernels) {
    if (kernel.counted_launches == 0 || shown == k_shown_counters) continue;
    ++shown;
    text += fmt::format("\n{} ({} of its launches counted)\n", sanitize_line(kernel.function, k_line_bytes),
                        kernel.counted_launches);
    for (const auto& metric : kernel.metrics) {
      const auto* spec = find_metric(metric.name);
      text += fmt::format("   {:<27}{:>16}  {}\n", sanitize_line(metric.name, k_line_bytes), number(metric),
                          spec == nullptr ? "" : spec->meaning);
    }
  }
  return text;
}

}  // namespace

std::string render_profile(const Profile& profile, const std::vector<ProfileFinding>& findings,
                           const RenderOptions& options) {
  auto text = headline(profile);
  if (!profile.kernels.empty()) text += kernel_table(profile, options.width == 0 ? k_default_width : options.width);
  text += counters(profile);
  const auto position = roofline_position(profile);
  if (position || !findings.empty()) text += '\n';
  if (position) text += position->sentence + '\n';
  for (std::size_t i = 0; i < std::min(findings.size(), k_shown_findings); ++i)
    text += fmt::format("{}. {}\n", i + 1, sanitize_line(findings[i].message, k_line_bytes));
  return text;
}

std::string profile_to_json(const Profile& profile, const std::vector<ProfileFinding>& findings) {
  auto parsed = parse_json(to_json(profile));
  // The text was written by to_json, so it is valid.
  auto& object = parsed.value().as_object();
  boost::json::array list;
  for (const auto& finding : findings)
    list.push_back(
        boost::json::object{{"name", finding.name}, {"message", finding.message}, {"weight", finding.weight}});
  object["findings"] = std::move(list);
  return to_pretty_json(*parsed);
}

}  // namespace kernelgen::cli
