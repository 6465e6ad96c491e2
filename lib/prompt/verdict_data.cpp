#include "prompt/verdict_data.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include <kernelgen/prompt/error_classifier.hpp>

#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using List = kainjow::mustache::list;

constexpr std::size_t k_max_message = 2000;
constexpr std::size_t k_max_history_message = 160;
constexpr std::size_t k_max_diagnostics = 8;
constexpr std::size_t k_max_diagnostic = 400;
constexpr std::size_t k_max_log = 4000;
constexpr std::size_t k_max_outputs = 8;
constexpr std::size_t k_max_names = 64;
constexpr std::size_t k_max_kernels = 12;

/// A measured text, or nothing in its place.
std::string measured_text(Measured measured, std::string text) {
  return measured == Measured::Blank ? "" : std::move(text);
}

/// Sets lines of a tool's or a candidate's text, and a fence that they do not contain.
void set_lines(TemplateData& data, const std::string& name, std::string_view text, VerbatimTexts& verbatim) {
  constexpr std::size_t k_shortest_fence = 4;
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char c : text) {
    run = c == '~' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  data.set(name, verbatim.placeholder(text));
  data.set(name + "_fence", std::string(std::max(k_shortest_fence, longest + 1), '~'));
}

/// The line of the candidate that a diagnostic refers to.
std::string quote_line(std::string_view source, int number) {
  const auto lines = split_lines(source);
  if (number < 1 || static_cast<std::size_t>(number) > lines.size()) return "";
  return quoted_line(lines[static_cast<std::size_t>(number) - 1], k_max_diagnostic);
}

TemplateData diagnostic_row(const Diagnostic& diagnostic, std::string_view source, VerbatimTexts& verbatim) {
  TemplateData row;
  row.set("severity", diagnostic.severity);
  row.set("has_line", diagnostic.line > 0);
  row.set("line", std::to_string(diagnostic.line));
  row.set("text", verbatim.placeholder(quoted_line(diagnostic.message, k_max_diagnostic)));
  const auto quoted = quote_line(source, diagnostic.line);
  row.set("has_quote", !quoted.empty());
  row.set("quote", verbatim.placeholder(quoted));
  return row;
}

/// The first errors, because later ones are often consequences. Warnings only where there is no error.
void set_diagnostics(TemplateData& data, const Attempt& attempt, Measured measured, VerbatimTexts& verbatim) {
  const auto& record = attempt.record;
  const bool failed = record && record->outcome.kind == OutcomeKind::Compile;
  List rows;
  if (failed && measured == Measured::Blank) {
    rows.push_back(diagnostic_row({}, "", verbatim));
  } else if (failed && record->compile) {
    for (const auto& diagnostic : record->compile->diagnostics) {
      if (diagnostic.severity == "error" && rows.size() < k_max_diagnostics)
        rows.push_back(diagnostic_row(diagnostic, attempt.source, verbatim));
    }
  }
  const bool log_only = failed && measured == Measured::Shown && rows.empty() && record->compile;
  data.set("has_diagnostics", !rows.empty());
  data.set("diagnostics", rows);
  data.set("has_log", log_only);
  if (log_only) {
    std::string_view log = record->compile->log;
    if (log.size() > k_max_log) log.remove_prefix(log.size() - k_max_log);
    set_lines(data, "log", trim(sanitize_text(log, k_max_log)), verbatim);
  }
}

/// The name in a demangled declaration: "k<4>" of "void (anonymous namespace)::k<4>(float*)".
std::string kernel_name(std::string_view declaration) {
  constexpr std::string_view k_anonymous = "(anonymous namespace)::";
  // Brackets are balanced outside of the parameters, so the last one that opens at depth 0 begins these.
  std::size_t begin = 0, end = declaration.size();
  int depth = 0;
  for (std::size_t i = declaration.size(); i-- > 0;) {
    const char c = declaration[i];
    if (c == ')' || c == '>' || c == ']') ++depth;
    if (c == '(' || c == '<' || c == '[') --depth;
    if (depth != 0) continue;
    if (c == '(' && end == declaration.size() && declaration.ends_with(')')) {
      end = i;
    } else if (c == ' ') {
      begin = i + 1;
      break;
    }
  }
  std::string name(declaration.substr(begin, end - begin));
  for (auto at = name.find(k_anonymous); at != name.npos; at = name.find(k_anonymous))
    name.erase(at, k_anonymous.size());
  return sanitize_line(name, 120);
}

/// "no spills", "60 bytes of spills stored and 64 loaded".
std::string spills_text(const KernelResources& kernel) {
  if (kernel.spill_store_bytes == 0 && kernel.spill_load_bytes == 0) return "no spills";
  return fmt::format("{} bytes of spills stored and {} loaded", kernel.spill_store_bytes, kernel.spill_load_bytes);
}

/// The resources of the kernels, as counted by the compiler.
void set_resources(TemplateData& data, const EvaluationRecord& record, Measured measured) {
  List rows;
  if (record.compile && measured == Measured::Shown) {
    for (const auto& kernel : record.compile->kernels) {
      if (rows.size() == k_max_kernels) break;
      TemplateData row;
      row.set("resource_kernel", kernel_name(kernel.name));
      row.set("registers", std::to_string(kernel.registers));
      row.set("spills", spills_text(kernel));
      row.set("static_shared_bytes", std::to_string(kernel.static_shared_bytes));
      rows.push_back(std::move(row));
    }
  }
  data.set("has_resources", !rows.empty());
  data.set("resources", rows);
}

TemplateData output_row(const OutputError& error, Measured measured) {
  const auto number = [&](double value) { return measured_text(measured, fmt::format("{:.3g}", value)); };
  TemplateData row;
  row.set("output_name", measured_text(measured, sanitize_line(error.output, 200)));
  row.set("max_abs", number(error.max_abs));
  row.set("mean_abs", number(error.mean_abs));
  row.set("max_scaled", number(error.max_error_ratio));
  row.set("has_float64_error",
          measured == Measured::Shown && error.rms_error_vs_float64 && error.reference_rms_error_vs_float64);
  row.set("float64_error", number(error.rms_error_vs_float64.value_or(0)));
  row.set("reference_float64_error", number(error.reference_rms_error_vs_float64.value_or(0)));
  return row;
}

/// The call that decided: the first one with the verdict's class, else the first one that failed.
const CaseResult* decisive_case(const EvaluationRecord& record) {
  const auto fails_alike = [&](const CaseResult& one) { return one.outcome.kind == record.outcome.kind; };
  const auto fails = [](const CaseResult& one) { return !one.outcome.correct(); };
  auto found = std::find_if(record.cases.begin(), record.cases.end(), fails_alike);
  if (found == record.cases.end()) found = std::find_if(record.cases.begin(), record.cases.end(), fails);
  return found == record.cases.end() ? nullptr : &*found;
}

void set_outputs(TemplateData& data, const EvaluationRecord& record, Measured measured) {
  const bool inaccurate =
      record.outcome.kind == OutcomeKind::Accuracy || record.outcome.kind == OutcomeKind::OffDistribution;
  const auto* deciding = inaccurate ? decisive_case(record) : nullptr;
  List rows;
  if (inaccurate && measured == Measured::Blank) {
    rows.push_back(output_row({}, measured));
  } else if (deciding != nullptr) {
    for (const auto& error : deciding->outputs) {
      if (rows.size() < k_max_outputs) rows.push_back(output_row(error, measured));
    }
  }
  data.set("has_outputs", !rows.empty());
  data.set("outputs", rows);
  const bool shown = deciding != nullptr && measured == Measured::Shown;
  data.set("case_distribution", shown ? sanitize_line(deciding->distribution, 100) : "");
  data.set("case_weight_set", shown ? std::to_string(deciding->weight_set) : "");
  data.set("case_call", shown ? std::to_string(deciding->call) : "");
}

void set_weights(TemplateData& data, const EvaluationRecord& record) {
  std::vector<std::string> names;
  if (record.weights) names = record.weights->unmapped;
  const auto total = names.size();
  names.resize(std::min(names.size(), k_max_names));
  data.set("has_unmapped", total > 0);
  data.set("unmapped",
           sanitize_line(fmt::format("`{}`{}", fmt::join(names, "`, `"), total > names.size() ? ", ..." : ""), 8000));
  data.set("unmapped_count", std::to_string(total));
}

double median_of(std::vector<std::int64_t> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return static_cast<double>(*middle);
}

/// A correct kernel was timed, except under an interpreter; blank data shows the same sentence for all of them.
void set_timing(TemplateData& data, const EvaluationRecord& record, Measured measured) {
  const auto score = score_of(record);
  const bool timed = record.outcome.correct() && (measured == Measured::Blank || (record.timing && score));
  data.set("has_timing", timed);
  if (!timed) return;
  const auto timing = record.timing.value_or(TimingReport{});
  data.set("candidate_time", measured_text(measured, format_time(timing.candidate_median_ns)));
  data.set("reference_time", measured_text(measured, format_time(timing.reference_median_ns)));
  data.set("speedup", measured_text(measured, fmt::format("{:.3g}", score.value_or(0))));
  const bool graphs = measured == Measured::Shown && timing.speedup_device && !timing.candidate_graph_ns.empty() &&
                      !timing.reference_graph_ns.empty();
  data.set("has_graph_timing", graphs);
  data.set("candidate_graph_time", graphs ? format_time(median_of(timing.candidate_graph_ns)) : "");
  data.set("reference_graph_time", graphs ? format_time(median_of(timing.reference_graph_ns)) : "");
  data.set("prepare_time", measured_text(measured, format_time(static_cast<double>(timing.prepare_ns))));
}

/// A blank error is that of the outcome's class, because tools' words differ from machine to machine.
ErrorReport error_of(const EvaluationRecord& record, std::string_view source, Measured measured) {
  if (measured == Measured::Shown) return classify_error(record, source);
  EvaluationRecord blank;
  blank.target = record.target;
  blank.outcome = {record.outcome.kind, record.outcome.detail, ""};
  return classify_error(blank);
}

void set_error(TemplateData& data, const EvaluationRecord& record, std::string_view source, Measured measured,
               VerbatimTexts& verbatim) {
  const auto error = error_of(record, source, measured);
  const bool shown = measured == Measured::Shown;
  data.set("has_error", shown && is_more_specific(error.error_class, record.outcome.to_class()));
  data.set("error_class", error.error_class);
  data.set(k_error_hint, error.error_class);
  // A single line is the message itself; a compiler's errors are in the list of diagnostics.
  const bool has_lines = shown && error.lines.size() > 1 && !(record.compile && !record.compile->diagnostics.empty());
  data.set("has_error_lines", has_lines);
  set_lines(data, "error_lines", sanitize_text(fmt::format("{}", fmt::join(error.lines, "\n")), k_max_log), verbatim);
  data.set("has_advice", shown && !error.advice.empty());
  data.set("advice", verbatim.placeholder(sanitize_text(trim(error.advice), k_max_log)));
}

}  // namespace

std::string quoted_line(std::string_view text, std::size_t max_bytes) {
  auto line = sanitize_line(text, max_bytes);
  for (const std::string_view mark : {"```", "~~~"})
    for (auto at = line.find(mark); at != line.npos; at = line.find(mark, at)) line.replace(at, mark.size(), "'''");
  return line;
}

std::string describe_attempt(const Attempt& attempt, Measured measured) {
  const bool blank = measured == Measured::Blank;
  if (!attempt.record) return "no verdict" + (blank ? "" : ": " + quoted_line(attempt.message, k_max_history_message));
  const auto& outcome = attempt.record->outcome;
  if (!outcome.correct()) {
    if (blank) return outcome.to_class();
    const auto error = classify_error(*attempt.record, attempt.source);
    const auto name =
        is_more_specific(error.error_class, outcome.to_class()) ? fmt::format(" ({})", error.error_class) : "";
    return outcome.to_class() + name + ": " + quoted_line(outcome.message, k_max_history_message);
  }
  const auto score = score_of(*attempt.record);
  if (blank || !score) return "correct";
  auto text = fmt::format("correct, {:.3g} times as fast as the reference", *score);
  if (attempt.base_score && *attempt.base_score > 0)
    text += fmt::format(", {:.3g} times as fast as `{}`, from which it started", *score / *attempt.base_score,
                        sanitize_line(attempt.base, k_max_history_message));
  return text;
}

void set_verdict(TemplateData& data, const Attempt& attempt, Measured measured, VerbatimTexts& verbatim) {
  data.set("code_id", sanitize_line(attempt.action_id, 200));
  data.set("has_record", attempt.record.has_value());
  const auto record = attempt.record.value_or(EvaluationRecord{});
  const auto& outcome = record.outcome;
  const auto message = attempt.record ? outcome.message : attempt.message;
  data.set("outcome_class", attempt.record ? outcome.to_class() : "no verdict");
  data.set("has_message", measured == Measured::Blank || !message.empty());
  data.set("message", verbatim.placeholder(measured_text(measured, quoted_line(message, k_max_message))));
  data.set("is_failed", !attempt.record || !outcome.correct());
  if (!attempt.record) return;
  for (const auto& name : class_variables(outcome)) data.set(name, true);
  set_diagnostics(data, attempt, measured, verbatim);
  set_error(data, record, attempt.source, measured, verbatim);
  set_outputs(data, record, measured);
  set_weights(data, record);
  set_timing(data, record, measured);
  set_resources(data, record, measured);
}

}  // namespace v0
}  // namespace kernelgen
