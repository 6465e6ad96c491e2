#include "render.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include <kernelgen/prompt/error_classifier.hpp>

#include "action_text.hpp"
#include "exit_codes.hpp"
#include "layout.hpp"
#include "option_hints.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"

namespace kernelgen::cli {
namespace {

constexpr std::size_t k_name_width = 12;
constexpr std::size_t k_max_text = 4000;
constexpr std::size_t k_id_digits = 12;
/// Lines of a compiler's log that are shown; the record has all of it.
constexpr std::size_t k_log_lines = 12;
/// Kernels that are shown for an architecture.
constexpr std::size_t k_kernel_lines = 8;

/// Lines of "name  text", wrapped under the text.
class Block {
 public:
  explicit Block(const RenderOptions& options) : options_(options) {}

  void headline(std::string_view text, std::string_view color) { text_ += colored(text, color, options_.color) + '\n'; }

  /// Adds a line. Untrusted text is sanitized for a terminal; an empty text adds nothing.
  void fact(std::string_view name, std::string_view text) {
    const std::string clean = sanitize_line(text, k_max_text);
    if (clean.empty()) return;
    const bool is_wrapped = options_.width > 2 * k_name_width;
    for (const auto& line : wrap(clean, is_wrapped ? options_.width - k_name_width : 0)) {
      text_ += fmt::format("{:<{}}{}\n", name, k_name_width, line);
      name = "";
    }
  }

  /// Adds a line with significant blanks, such as one of source code. It is cut to the width and sanitized for a
  /// terminal.
  void quote(std::string_view name, std::string_view line) {
    const std::string clean = sanitize_text(line, k_max_text);
    const bool cut = options_.width > 2 * k_name_width;
    auto text =
        fmt::format("{:<{}}{}", name, k_name_width, cut ? cut_to_width(clean, options_.width - k_name_width) : clean);
    text.erase(text.find_last_not_of(' ') + 1);
    text_ += text + '\n';
  }

  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  const RenderOptions& options_;
  std::string text_;
};

/// A ratio with three digits, or with as many as distinguish it from 1.
std::string ratio_text(double ratio) {
  for (int digits = 3; digits < 7; ++digits)
    if (auto text = fmt::format("{:.{}g}", ratio, digits); text != "1") return text;
  return "1";
}

std::string headline_of(const EvaluationRecord& record, VerdictClass verdict) {
  const auto speedup = record.timing ? record.timing->speedup_call : Ratio{};
  const std::string_view quick = record.mode == EvaluationMode::Quick ? " (quick)" : "";
  switch (verdict) {
    case VerdictClass::Faster:
      return fmt::format("correct, {} times as fast as PyTorch eager{}", ratio_text(speedup.value), quick);
    case VerdictClass::NoDifference:
      return fmt::format("correct, no difference from PyTorch eager ({:.3g} times, between {:.3g} and {:.3g}){}",
                         speedup.value, speedup.low, speedup.high, quick);
    case VerdictClass::CorrectnessOnly:
      return "correct (correctness only: nothing was timed)";
    case VerdictClass::Slower:
      return fmt::format("correct, but slower: {} times the speed of PyTorch eager{}", ratio_text(speedup.value),
                         quick);
    case VerdictClass::NoValidTime:
      return "correct, without a time that counts";
    case VerdictClass::TryLater:
      return fmt::format("not measured, try again later: {}", record.outcome.is_busy_machine()
                                                                  ? "the machine was busy"
                                                                  : "other processes held memory of the device");
    case VerdictClass::Suspect:
      return "suspect: no score";
    case VerdictClass::NotScored:
      return "not scored";
    case VerdictClass::NotCorrect:
      break;
  }
  return "not correct: " + sanitize_line(record.outcome.to_class(), 200);
}

void add_headline(const EvaluationRecord& record, Block& block) {
  const auto verdict = classify_verdict(record);
  const bool good = exit_code_for(verdict) == ExitCode::Success;
  block.headline(headline_of(record, verdict), good ? k_green : verdict == VerdictClass::NotCorrect ? k_red : k_yellow);
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
    line += fmt::format("; {} timed calls in full, {} by sampling", record.timing->full_comparisons,
                        record.timing->sampled_comparisons);
  return line;
}

/// The output with the largest error in all checked calls.
std::string error_line(const EvaluationRecord& record) {
  const OutputError* worst = nullptr;
  for (const auto& checked : record.cases)
    for (const auto& output : checked.outputs)
      if (worst == nullptr || output.max_error_ratio > worst->max_error_ratio) worst = &output;
  if (worst == nullptr) return {};
  return fmt::format("{}: {:.3g} absolute, {:.3g} of what is allowed (rtol {:g}, atol {:g})", worst->output,
                     worst->max_abs, worst->max_error_ratio, record.tolerance.rtol, record.tolerance.atol);
}

/// The class of the error, if it says more than the verdict; docs/errors.md lists the classes.
std::string error_class_line(const EvaluationRecord& record) {
  const auto found = classify_error(record).error_class;
  return is_more_specific(found, record.outcome.to_class()) ? found : "";
}

void add_times(const EvaluationRecord& record, Block& block) {
  if (!record.timing) return;
  const auto& timing = *record.timing;
  const auto ratio = [](const Ratio& r, std::string_view what) {
    return fmt::format("{:.3f} [{:.3f}, {:.3f}] {}{}", r.value, r.low, r.high, what,
                       r.contains_one() ? ": no difference" : "");
  };
  block.fact("speedup", ratio(timing.speedup_call, "per call (95 % interval)"));
  if (timing.speedup_device) block.fact("", ratio(*timing.speedup_device, "on the device"));
  // Earlier versions reported the medians of the two columns.
  block.fact("times",
             fmt::format("reference {}, candidate {} ({}; {} samples, stopped by {})",
                         format_nanoseconds(timing.reference_median_ns), format_nanoseconds(timing.candidate_median_ns),
                         timing.options ? "median pair" : "medians", timing.candidate_ns.size(),
                         to_string(timing.stop_reason)));
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

/// The first lines of what the compiler said about a candidate that it refused.
void add_compiler_log(const EvaluationRecord& record, const RenderOptions& options, Block& block) {
  if (record.outcome.correct() || !record.compile || record.compile->log.empty() || record.timing) return;
  if (record.outcome.kind != OutcomeKind::Compile && record.outcome.kind != OutcomeKind::Resource &&
      record.outcome.kind != OutcomeKind::Syntax && record.outcome.kind != OutcomeKind::Timeout)
    return;
  const auto lines = split_lines(record.compile->log);
  std::string_view name = "compiler";
  for (std::size_t i = 0; i < lines.size() && i < k_log_lines; ++i) block.quote(std::exchange(name, ""), lines[i]);
  if (lines.size() <= k_log_lines) return;
  block.fact("",
             fmt::format("({} more lines: compile.log of {})", lines.size() - k_log_lines,
                         options.record_path.empty() ? "the record, which --output FILE writes" : options.record_path));
}

std::string target_text(const EvaluationRecord& record) {
  std::string text(to_string(record.target));
  if (record.language != default_language(record.target)) text += " in " + std::string(to_string(record.language));
  return text;
}

std::string_view status_color(DoctorStatus status) {
  if (status == DoctorStatus::Ok) return k_green;
  return status == DoctorStatus::Limited ? k_yellow : k_red;
}

/// "add[BLOCK=64]: 12 VGPRs, 0 AGPRs, 20 SGPRs, 0 bytes of LDS, no spills, occupancy 8".
std::string resources_line(const KernelResources& kernel) {
  std::string line = fmt::format("{}: {} VGPRs", kernel.name, kernel.registers);
  if (kernel.accumulation_registers) line += fmt::format(", {} AGPRs", *kernel.accumulation_registers);
  if (kernel.scalar_registers) line += fmt::format(", {} SGPRs", *kernel.scalar_registers);
  line += fmt::format(", {} bytes of LDS", kernel.static_shared_bytes + kernel.dynamic_shared_bytes.value_or(0));
  const auto spilled =
      kernel.spill_store_bytes + static_cast<std::uint64_t>(kernel.spilled_scalar_registers.value_or(0));
  if (spilled == 0) line += ", no spills";
  if (kernel.spill_store_bytes > 0) line += fmt::format(", {} bytes spilled", kernel.spill_store_bytes);
  if (kernel.spilled_scalar_registers.value_or(0) > 0)
    line += fmt::format(", {} SGPRs spilled", *kernel.spilled_scalar_registers);
  if (kernel.stack_bytes > 0) line += fmt::format(", {} bytes of scratch", kernel.stack_bytes);
  if (kernel.occupancy) line += fmt::format(", occupancy {}", *kernel.occupancy);
  return line;
}

/// What the kernels need on architectures on which they did not run.
void add_architectures(const EvaluationRecord& record, Block& block) {
  for (const auto& report : record.compiled_for) {
    std::string name = report.architecture.substr(0, k_name_width - 1);
    if (report.kernels.empty() && !report.failure)
      block.fact(std::exchange(name, ""), "the first call launches no kernel of Triton");
    for (std::size_t i = 0; i < report.kernels.size() && i < k_kernel_lines; ++i)
      block.fact(std::exchange(name, ""), resources_line(report.kernels[i]));
    if (report.kernels.size() > k_kernel_lines)
      block.fact("",
                 fmt::format("({} more kernels: compiled_for in the record)", report.kernels.size() - k_kernel_lines));
    if (report.failure) block.fact(name, report.failure->to_class() + ": " + report.failure->message);
  }
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
  block.fact("candidate", target_text(record) + ' ' + record.candidate_id.substr(0, k_id_digits));
  block.fact("verdict", record.outcome.to_class());
  block.fact("error class", error_class_line(record));
  block.fact("message", add_option_hints(record.outcome.message));
  add_compiler_log(record, options, block);
  add_times(record, block);
  add_baselines(record, block);
  block.fact("compared", compared_line(record));
  block.fact("worst error", error_line(record));
  block.fact("sanitizers", sanitizers_line(record));
  add_architectures(record, block);
  block.fact("labels", add_option_hints(join(record.labels, "; ")));
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
              add_option_hints(finding.detail));
    if (!finding.remedy.empty()) add_lines(std::string(k_column, ' '), "-> " + add_option_hints(finding.remedy));
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
