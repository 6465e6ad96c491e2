#include "render.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include <kernelgen/prompt/error_classifier.hpp>

#include "exit_codes.hpp"
#include "layout.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"

namespace kernelgen::cli {
namespace {

constexpr std::size_t k_name_width = 12;
constexpr std::size_t k_max_text = 4000;
constexpr std::size_t k_id_digits = 12;

/// Lines of "name  text", wrapped under the text.
class Block {
 public:
  explicit Block(const RenderOptions& options) : options_(options) {}

  void headline(std::string_view text, std::string_view color) { text_ += colored(text, color, options_.color) + '\n'; }

  /// Untrusted text is made fit for a terminal. Nothing is said about an empty one.
  void fact(std::string_view name, std::string_view text) {
    const std::string clean = sanitize_line(text, k_max_text);
    if (clean.empty()) return;
    const bool is_wrapped = options_.width > 2 * k_name_width;
    for (const auto& line : wrap(clean, is_wrapped ? options_.width - k_name_width : 0)) {
      text_ += fmt::format("{:<{}}{}\n", name, k_name_width, line);
      name = "";
    }
  }

  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  const RenderOptions& options_;
  std::string text_;
};

void add_headline(const EvaluationRecord& record, Block& block) {
  const auto& outcome = record.outcome;
  if (outcome.kind == OutcomeKind::Suspect) return block.headline("suspect: no score", k_yellow);
  if (outcome.kind == OutcomeKind::NotScored) return block.headline("not scored", k_yellow);
  if (!outcome.correct()) return block.headline("not correct: " + sanitize_line(outcome.to_class(), 200), k_red);
  if (!has_result_time(record)) return block.headline("correct, without a time that counts", k_yellow);
  const double speedup = record.timing->speedup_call.value;
  if (speedup >= 1)
    block.headline(fmt::format("correct, {:.3g} times as fast as PyTorch eager", speedup), k_green);
  else
    block.headline(fmt::format("correct, but slower: {:.3g} times the speed of PyTorch eager", speedup), k_yellow);
}

std::string task_line(const EvaluationRecord& record) {
  std::string line = record.task_name;
  if (record.task && record.task->level != TaskLevel::Unknown) {
    std::string level(to_string(record.task->level));
    std::replace(level.begin(), level.end(), '_', ' ');
    line += ", " + level;
  }
  return line + ", precision " + std::string(to_string(record.precision));
}

std::string compared_line(const EvaluationRecord& record) {
  std::vector<std::string> names;
  for (const auto& checked : record.cases)
    if (std::find(names.begin(), names.end(), checked.distribution) == names.end())
      names.push_back(checked.distribution);
  std::string line = fmt::format("{} checked calls", record.cases.size());
  if (!names.empty()) line += " on inputs " + join(names, ", ");
  if (record.timing)
    line += fmt::format("; while timing {} in full, {} by canary lines", record.timing->full_comparisons,
                        record.timing->canary_comparisons);
  return line;
}

/// The output that was furthest off, over all checked calls.
std::string error_line(const EvaluationRecord& record) {
  const OutputError* worst = nullptr;
  for (const auto& checked : record.cases)
    for (const auto& output : checked.outputs)
      if (worst == nullptr || output.max_scaled > worst->max_scaled) worst = &output;
  if (worst == nullptr) return {};
  return fmt::format("{}: {:.3g} absolute, {:.3g} of what is allowed (rtol {:g}, atol {:g})", worst->output,
                     worst->max_abs, worst->max_scaled, record.tolerance.rtol, record.tolerance.atol);
}

/// What is wrong with the code, where that says more than the verdict; docs/errors.md lists the classes.
std::string error_class_line(const EvaluationRecord& record) {
  const auto found = classify_error(record).error_class;
  return is_more_specific(found, record.outcome.to_class()) ? found : "";
}

void add_times(const EvaluationRecord& record, Block& block) {
  if (!record.timing) return;
  const auto& timing = *record.timing;
  const auto ratio = [](const Ratio& r) { return fmt::format("{:.3f} [{:.3f}, {:.3f}]", r.value, r.low, r.high); };
  block.fact("speedup", ratio(timing.speedup_call) + " per call (95 % interval)");
  if (timing.speedup_device) block.fact("", ratio(*timing.speedup_device) + " on the device");
  block.fact("times",
             fmt::format("reference {}, candidate {} (medians; {} samples, stopped by {})",
                         format_nanoseconds(timing.reference_median_ns), format_nanoseconds(timing.candidate_median_ns),
                         timing.candidate_ns.size(), to_string(timing.stop_reason)));
}

/// "compile: 1.20 ms, speedup over it 0.850".
std::string baseline_line(const BaselineReport& baseline) {
  const std::string name(to_string(baseline.name));
  if (!baseline.median_ns) return fmt::format("{}: no time; {}", name, baseline.reason);
  std::string line = fmt::format("{}: {}", name, format_nanoseconds(*baseline.median_ns));
  if (baseline.speedup) line += fmt::format(", speedup over it {:.3f}", *baseline.speedup);
  return line;
}

void add_baselines(const EvaluationRecord& record, Block& block) {
  if (!record.timing) return;
  std::string_view name = "baselines";
  for (const auto& baseline : record.timing->baselines) block.fact(std::exchange(name, ""), baseline_line(baseline));
}

std::string_view status_color(DoctorStatus status) {
  if (status == DoctorStatus::Ok) return k_green;
  return status == DoctorStatus::Limited ? k_yellow : k_red;
}

}  // namespace

std::string format_nanoseconds(double nanoseconds) {
  if (nanoseconds >= 1e9) return fmt::format("{:.2f} s", nanoseconds / 1e9);
  if (nanoseconds >= 1e6) return fmt::format("{:.2f} ms", nanoseconds / 1e6);
  if (nanoseconds >= 1e3) return fmt::format("{:.1f} us", nanoseconds / 1e3);
  return fmt::format("{:.0f} ns", nanoseconds);
}

std::string render_record(const EvaluationRecord& record, const RenderOptions& options) {
  Block block(options);
  add_headline(record, block);
  block.fact("task", task_line(record));
  block.fact("candidate", std::string(to_string(record.target)) + ' ' + record.candidate_id.substr(0, k_id_digits));
  block.fact("verdict", record.outcome.to_class());
  block.fact("error class", error_class_line(record));
  block.fact("message", record.outcome.message);
  add_times(record, block);
  add_baselines(record, block);
  block.fact("compared", compared_line(record));
  block.fact("worst error", error_line(record));
  block.fact("labels", join(record.labels, "; "));
  if (record.environment.isolation != "full") block.fact("isolation", record.environment.isolation);
  block.fact("record", options.record_path);
  return std::move(block).text();
}

std::string render_findings(const std::vector<DoctorFinding>& findings, const RenderOptions& options) {
  constexpr std::size_t k_status_width = 9, k_finding_width = 15, k_column = k_status_width + k_finding_width;
  const auto width = options.width > 2 * k_column ? options.width - k_column : 0;
  std::string text;
  const auto add_lines = [&](std::string left, const std::string& lines) {
    for (const auto& line : wrap(lines, width)) {
      text += left + line + '\n';
      left.assign(k_column, ' ');
    }
  };
  for (const auto& finding : findings) {
    const std::string status = fmt::format("{:<{}}", to_string(finding.status), k_status_width);
    add_lines(fmt::format("{}{:<{}}", colored(status, status_color(finding.status), options.color), finding.name,
                          k_finding_width),
              finding.detail);
    if (!finding.remedy.empty()) add_lines(std::string(k_column, ' '), "-> " + finding.remedy);
  }
  return text;
}

std::string render_persistence(const PersistenceReport& report, const RenderOptions& options) {
  Block block(options);
  const bool clean = report.verdict == Recurrence::Persistent && report.warnings.empty();
  block.headline(to_string(report.verdict), clean ? k_green : k_yellow);
  block.fact("why", report.reason);
  for (const auto& warning : report.warnings)
    block.fact("warning", fmt::format("{} in line {}: {}", warning.name, warning.line, warning.message));
  for (const auto& item : report.evidence) {
    std::string kind(to_string(item.kind));
    std::replace(kind.begin(), kind.end(), '_', ' ');
    block.fact(fmt::format("line {}", item.line), fmt::format("{} {}: {}", kind, item.name, item.detail));
  }
  return std::move(block).text();
}

std::string findings_to_json(const std::vector<DoctorFinding>& findings) {
  boost::json::array list;
  for (const auto& finding : findings)
    list.push_back({{"name", finding.name},
                    {"status", to_string(finding.status)},
                    {"detail", finding.detail},
                    {"remedy", finding.remedy}});
  return to_pretty_json(boost::json::object{{"findings", std::move(list)}});
}

}  // namespace kernelgen::cli
