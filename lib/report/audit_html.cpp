#include <fmt/format.h>

#include <string>
#include <string_view>

#include <kernelgen/report/audit_report.hpp>

#include "report/audit_text.hpp"
#include "report/markup.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_max_html_cell = 2000;

constexpr std::string_view k_page_head = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Audit</title>
<style>
:root { color-scheme: light dark; --text: #1c1e21; --soft: #5b6168; --line: #d5d9de; --page: #ffffff; --good: #12692f;
  --bad: #b3261e; --doubt: #8a5300; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e8eb; --soft: #a0a7af; --line: #3a4047; --page: #16181b;
  --good: #6bd08a; --bad: #ff8a80; --doubt: #f0b45c; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); margin: 2rem auto;
  max-width: 80rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; }
p { margin: .2rem 0; color: var(--soft); }
p.counts { color: var(--text); }
div { overflow-x: auto; margin-top: 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid var(--line); }
td { overflow-wrap: anywhere; unicode-bidi: isolate; }
td:first-child { min-width: 9rem; }
td:last-child { min-width: 14rem; }
td.number { white-space: nowrap; font-variant-numeric: tabular-nums; }
td.verdict { white-space: nowrap; font-weight: 600; }
.good { color: var(--good); } .bad { color: var(--bad); } .doubt { color: var(--doubt); }
@media (max-width: 40rem) { body { margin: 1rem auto; } th, td { padding: .3rem; } }
</style>
</head>
<body>
)html";

/// Escapes markup. Marks that change the direction of text are shown as replacement characters, because they could show
/// one name as another.
std::string html_text(std::string_view text) {
  std::string safe;
  const auto clean = sanitize_line(text, k_max_html_cell);
  for (std::size_t i = 0; i < clean.size(); ++i) {
    const auto rest = std::string_view(clean).substr(i);
    constexpr std::string_view k_replacement = "\xEF\xBF\xBD";
    bool is_mark = false;
    for (const std::string_view mark :
         {"\xE2\x80\x8E", "\xE2\x80\x8F", "\xE2\x80\xAA", "\xE2\x80\xAB", "\xE2\x80\xAC", "\xE2\x80\xAD",
          "\xE2\x80\xAE", "\xE2\x81\xA6", "\xE2\x81\xA7", "\xE2\x81\xA8", "\xE2\x81\xA9"})
      is_mark = is_mark || rest.starts_with(mark);
    if (is_mark) {
      safe += k_replacement;
      i += k_replacement.size() - 1;
    } else {
      safe += clean[i];
    }
  }
  return escape_markup(safe);
}

const char* color_of(AuditVerdict verdict) {
  switch (verdict) {
    case AuditVerdict::Stands:
    case AuditVerdict::Understated:
      return "good";
    case AuditVerdict::Overstated:
    case AuditVerdict::Wrong:
      return "bad";
    default:
      return "doubt";
  }
}

}  // namespace

std::string audit_html(const AuditReport& report) {
  std::string page(k_page_head);
  page += fmt::format("<h1>Audit</h1>\n<p class=\"counts\">{}</p>\n", html_text(counts_text(report)));
  for (const auto& remark : remarks_of(report)) page += fmt::format("<p>{}</p>\n", html_text(remark));
  page +=
      "<div><table>\n<thead><tr><th>Kernel</th><th>Target</th><th>Claimed</th><th>Measured</th><th>Verdict</th>"
      "<th>Reason</th></tr></thead>\n<tbody>\n";
  for (const auto& finding : report.findings)
    page += fmt::format(
        "<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>"
        "<td class=\"verdict {}\">{}</td><td>{}</td></tr>\n",
        html_text(finding.name), html_text(finding.target), html_text(claimed_text(finding.claim)),
        html_text(measured_text(finding)), color_of(finding.decision.verdict), to_string(finding.decision.verdict),
        html_text(explained_text(finding)));
  page += "</tbody>\n</table></div>\n</body>\n</html>\n";
  return page;
}

}  // namespace v0
}  // namespace kernelgen
