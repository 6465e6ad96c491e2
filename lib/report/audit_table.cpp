#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <kernelgen/report/audit_report.hpp>

#include "report/audit_text.hpp"
#include "report/layout.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_audited_name = 300;
constexpr std::size_t k_claimed = 11;
constexpr std::size_t k_measured = 24;
constexpr std::size_t k_verdict = 16;
constexpr std::size_t k_gap = 2;
constexpr std::size_t k_least_name = 12;
/// A reason stands on the line of its finding where at least so many columns are left for it.
constexpr std::size_t k_least_reason = 60;
constexpr std::size_t k_reason_indent = 4;

constexpr std::array k_order{std::pair{AuditVerdict::Stands, "stand"},
                             std::pair{AuditVerdict::Understated, "understated"},
                             std::pair{AuditVerdict::Overstated, "overstated"},
                             std::pair{AuditVerdict::Wrong, "wrong"},
                             std::pair{AuditVerdict::CannotBeJudged, "cannot be judged"},
                             std::pair{AuditVerdict::NoClaim, "without a claim"}};

std::size_t name_width(const AuditReport& report, std::size_t width) {
  std::size_t longest = k_least_name;
  for (const auto& finding : report.findings)
    longest = std::max(longest, text_width(sanitize_line(finding.name, k_audited_name)));
  constexpr std::size_t k_beside = k_gap + k_claimed + k_gap + k_measured + k_gap + k_verdict;
  if (width == 0) return longest;
  return std::min(longest, width > k_beside + k_least_name ? width - k_beside : k_least_name);
}

std::string audit_row(std::size_t names, const std::string& name, const std::string& claimed,
                      const std::string& measured, std::string_view verdict) {
  const std::string gap(k_gap, ' ');
  return fit_left(name, names) + gap + fit_right(claimed, k_claimed) + gap + fit_left(measured, k_measured) + gap +
         std::string(verdict);
}

}  // namespace

std::string claimed_text(const Claim& claim) {
  if (claim.correct == false) return "not correct";
  if (claim.speedup) return score_text(claim.speedup);
  return claim.correct ? "correct" : "-";
}

std::string measured_text(const AuditFinding& finding) {
  const auto& measurement = finding.measurement;
  if (measurement.times == 0) return "-";
  if (measurement.correct < measurement.times) return measurement.failure_class;
  const auto& ratio = finding.claim.kind == SpeedupKind::Score ? measurement.score : measurement.speedup_per_call;
  return ratio ? score_text(ratio->value) + ' ' + interval_text(*ratio) : "correct";
}

std::string explained_text(const AuditFinding& finding) {
  std::vector<std::string> pieces;
  if (!finding.decision.reason.empty()) pieces.push_back(finding.decision.reason);
  for (const auto& [kind, speedup] : finding.measurement.speedup_over)
    pieces.push_back(fmt::format("{} over {}", score_text(speedup), to_string(kind)));
  return join(pieces, "; ");
}

std::string counts_text(const AuditReport& report) {
  const auto counts = report.counts();
  std::vector<std::string> pieces;
  for (const auto& [verdict, word] : k_order)
    if (const auto count = counts.find(verdict); count != counts.end())
      pieces.push_back(fmt::format("{} {}", count->second, word));
  const auto total = report.findings.size();
  return fmt::format("{} kernel{}: {}", total, total == 1 ? "" : "s", join(pieces, ", "));
}

std::vector<std::string> remarks_of(const AuditReport& report) {
  std::set<std::string> devices;
  bool has_unmarked_claim = false;
  for (const auto& finding : report.findings) {
    if (!finding.measurement.device.empty()) devices.insert(finding.measurement.device);
    has_unmarked_claim = has_unmarked_claim || (finding.claim.speedup && !finding.claim.interval);
  }
  constexpr std::size_t k_most_others = 3;
  std::vector<std::string> remarks;
  remarks.reserve(devices.size() + k_most_others);
  for (const auto& device : devices)
    remarks.push_back(
        fmt::format("measured on {}, up to {} time{}", device, report.times, report.times == 1 ? "" : "s"));
  if (has_unmarked_claim)
    remarks.push_back(fmt::format("a claim without an interval may differ from the measured one by {:.3g} %",
                                  100 * report.rules.margin));
  if (report.rules.any_device) remarks.push_back("speed-ups that are claimed for other devices were compared, too");
  if (report.cancelled) remarks.push_back("stopped before the end; the findings are those so far");
  return remarks;
}

std::string audit_table(const AuditReport& report, std::size_t width) {
  const auto names = name_width(report, width);
  auto text = audit_row(names, "kernel", "claimed", "measured", "verdict") + '\n';
  for (const auto& finding : report.findings) {
    auto line = audit_row(names, sanitize_line(finding.name, k_audited_name), claimed_text(finding.claim),
                          measured_text(finding), to_string(finding.decision.verdict));
    const auto reason = explained_text(finding);
    const auto start = names + 3 * k_gap + k_claimed + k_measured + k_verdict + k_gap;
    if (reason.empty()) {
      text += line + '\n';
    } else if (width == 0 || width >= start + k_least_reason) {
      // The reason begins in a column of its own, on this line and on those below.
      const auto wrapped = wrap_text(reason, start, width);
      text += line + std::string(start - text_width(line), ' ') + wrapped.substr(start);
    } else {
      text += line + '\n' + wrap_text(reason, k_reason_indent, width);
    }
  }
  text += '\n' + wrap_text(counts_text(report), 0, width);
  for (const auto& remark : remarks_of(report)) text += wrap_text(remark, 0, width);
  return text;
}

}  // namespace v0
}  // namespace kernelgen
