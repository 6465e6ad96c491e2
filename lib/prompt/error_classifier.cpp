#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <set>

#include <kernelgen/prompt/error_classifier.hpp>

#include "prompt/error_rules.hpp"
#include "prompt/error_steps.hpp"
#include "prompt/error_text.hpp"
#include "prompt/known_names.hpp"
#include "prompt/resource_advice.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

// Classes that no rule of the tables gives: those of kernelgen's own outcomes, and of errors that no rule matches.
constexpr auto k_own_classes = std::to_array<std::string_view>({
    "accuracy.dtype",
    "accuracy.mismatch",
    "accuracy.nan",
    "accuracy.shape",
    "accuracy.structure",
    "cheat",
    "compiler.crashed",
    "crash.abort",
    "crash.exit",
    "crash.illegal",
    "crash.other",
    "crash.out_of_bounds",
    "crash.segfault",
    "crash.stack_overflow",
    "cxx.other",
    "device.other",
    "interface",
    "launch.not_capturable",
    "library_use",
    "mutated_input",
    "native.error",
    "native.exception",
    "not_scored",
    "off_distribution",
    "out_of_memory",
    "python.missing_import",
    "python.other",
    "python.syntax",
    "race",
    "resource.shared_memory",
    "resource.tensor_memory",
    "resource.threads",
    "resource.workspace",
    "sanitizer.barrier",
    "sanitizer.memory",
    "sanitizer.race",
    "sanitizer.undefined",
    "sanitizer.uninitialized",
    "sanitizer.unstable",
    "suspect",
    "timeout",
    "timeout.build",
    "triton.grid",
    "triton.other",
    "triton.outside_kernel",
    "triton.static_assert",
    "weight_sync",
});

/// A record's log, or its diagnostics where no log was kept.
std::string log_of(const EvaluationRecord& record) {
  if (!record.compile) return record.outcome.message;
  if (!record.compile->log.empty()) return record.compile->log;
  std::string log;
  for (const auto& one : record.compile->diagnostics)
    log += fmt::format("{}:{}:{}: {}: {}\n", one.file.empty() ? "candidate" : one.file, one.line, one.column,
                       one.severity, one.message);
  return log.empty() ? record.outcome.message : log;
}

/// The class for a log without a known error, from the compiler module's own class.
std::string class_of_detail(std::string_view detail) {
  static constexpr auto k_details =
      std::to_array<std::pair<std::string_view, std::string_view>>({{"undeclared_identifier", "cxx.undeclared"},
                                                                    {"redefinition", "cxx.redefinition"},
                                                                    {"no_member", "cxx.no_member"},
                                                                    {"missing_header", "cxx.missing_header"},
                                                                    {"type", "cxx.conversion"},
                                                                    {"syntax", "cxx.syntax"},
                                                                    {"host_function", "device.host_function"},
                                                                    {"link:undefined_symbol", "link.undefined"},
                                                                    {"compiler_crashed", "compiler.crashed"},
                                                                    {"triton", "triton.internal"}});
  for (const auto& [name, error_class] : k_details)
    if (detail == name) return std::string(error_class);
  return "cxx.other";
}

ClassifiedError classify_compile(const EvaluationRecord& record, std::string_view source) {
  const auto& outcome = record.outcome;
  const bool is_triton = outcome.detail == "triton";
  auto found = is_triton ? classify_python(outcome.message, source, record.target)
                         : classify_compiler_log(log_of(record), record.target);
  if (found.error_class == (is_triton ? "python.other" : "cxx.other"))
    found.error_class = class_of_detail(outcome.detail);
  return found;
}

// -- kernelgen's own outcomes -----------------------------------------------------------------------------------------

ClassifiedError of_class(std::string error_class, const std::string& message) {
  return {std::move(error_class), message, {}, {}};
}

ClassifiedError classify_crash(const Outcome& outcome) {
  const auto& detail = outcome.detail;
  if (contains(outcome.message, "past the end of") || contains(outcome.message, "before the beginning of") ||
      contains(outcome.message, "before the start of") || contains(detail, "out_of_bounds"))
    return of_class("crash.out_of_bounds", outcome.message);
  if (contains(outcome.message, "stack overflow")) return of_class("crash.stack_overflow", outcome.message);
  if (contains(detail, "SIGSEGV") || contains(detail, "SIGBUS")) return of_class("crash.segfault", outcome.message);
  if (contains(detail, "SIGABRT")) return of_class("crash.abort", outcome.message);
  if (contains(detail, "SIGILL") || contains(detail, "SIGFPE")) return of_class("crash.illegal", outcome.message);
  if (detail.starts_with("exit")) return of_class("crash.exit", outcome.message);
  return of_class("crash.other", outcome.message);
}

/// The class of a runtime's message; empty where it is none.
ClassifiedError classify_runtime(const std::string& message) {
  ClassifiedError found{"", message, {}, ToolMessage{ErrorTool::Runtime, message, ""}};
  found.error_class = class_of_message(*found.message);
  return found;
}

ClassifiedError classify_device_fault(const Outcome& outcome) {
  if (auto found = classify_runtime(outcome.message); !found.error_class.empty()) return found;
  const auto known = error_classes();
  const auto named = "device." + outcome.detail;
  return of_class(std::binary_search(known.begin(), known.end(), named) ? named : "device.other", outcome.message);
}

ClassifiedError classify_launch(const EvaluationRecord& record, std::string_view source) {
  const auto& outcome = record.outcome;
  if (outcome.detail == "not_capturable") return of_class("launch.not_capturable", outcome.message);
  if (!is_native(record.target)) return classify_python(outcome.message, source, record.target);
  if (auto found = classify_runtime(outcome.message); !found.error_class.empty()) return found;
  return of_class(outcome.detail == "exception" ? "native.exception" : "native.error", outcome.message);
}

/// A module that cannot be imported; a shared object that cannot be loaded.
ClassifiedError classify_import(const EvaluationRecord& record, std::string_view source) {
  const auto& outcome = record.outcome;
  auto found = is_native(record.target) ? classify_compiler_log("error: " + outcome.message, record.target)
                                        : classify_python(outcome.message, source, record.target);
  if (found.error_class == "cxx.other") return of_class("interface", outcome.message);
  if (outcome.message.empty()) found.error_class = "python.import";
  return found;
}

/// "`thread` is declared in <thread>."
std::string name_advice(std::string_view reason, Target target) {
  if (!is_built_in(target)) return "";
  // 'namespace "cooperative_groups" has no member "reduce"' names the scope first, which exists.
  const int named = reason.starts_with("namespace ") ? 1 : 0;
  for (const int i : {named, 1 - named}) {
    const auto name = quoted(reason, i);
    const auto header = header_of(name, target);
    if (!header.empty()) return fmt::format("`{}` is declared in {}.", name, header);
    const auto function = vector_math_function(name);
    if (!function.empty())
      return fmt::format("`{}` is no instruction but a function of Intel's compiler: call `std::{}` in a loop.", name,
                         function);
  }
  return "";
}

/// The target with the headers that a candidate may include: a torch that is built for ROCm ("2.9.1+rocm6.4") compiles
/// extensions with those of HIP.
Target target_of_headers(const EvaluationRecord& record) {
  const bool is_rocm = contains(record.environment.torch, "+rocm");
  return record.target == Target::Torch && is_rocm ? Target::Hip : record.target;
}

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// The end of a number that begins at `at`: 12, -1.5e-05, 0x7fa0.
std::size_t end_of_number(std::string_view text, std::size_t at) {
  auto end = at + 1;
  while (end < text.size()) {
    const char c = text[end];
    const bool exponent_sign = (c == '-' || c == '+') && (text[end - 1] == 'e' || text[end - 1] == 'E') &&
                               end + 1 < text.size() && is_digit(text[end + 1]);
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0 && c != '.' && c != 'x' && !exponent_sign) break;
    ++end;
  }
  return end;
}

/// Removes everything that changes from one occurrence to the next: numbers, addresses, runs of blanks. Digits in names
/// stay.
std::string normalized(std::string_view text) {
  std::string kept;
  for (std::size_t at = 0; at < text.size() && kept.size() < k_max_fingerprint;) {
    const char c = text[at];
    const bool in_name =
        !kept.empty() && (std::isalnum(static_cast<unsigned char>(kept.back())) != 0 || kept.back() == '_');
    const bool is_signed = (c == '-' || c == '+') && at + 1 < text.size() && is_digit(text[at + 1]);
    if (!in_name && (is_digit(c) || is_signed)) {
      kept.push_back('#');
      at = end_of_number(text, at);
      continue;
    }
    if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      kept.push_back(c);
    } else if (!kept.empty() && kept.back() != ' ') {
      kept.push_back(' ');
    }
    ++at;
  }
  return kept;
}

}  // namespace

ClassifiedError classify_outcome(const EvaluationRecord& record, std::string_view source) {
  const auto& outcome = record.outcome;
  const bool native = is_native(record.target);
  switch (outcome.kind) {
    case OutcomeKind::Correct:
      return {};
    case OutcomeKind::Syntax:
    case OutcomeKind::Compile:
      if (outcome.kind == OutcomeKind::Compile || native) {
        auto found = classify_compile(record, source);
        if (outcome.kind == OutcomeKind::Syntax && found.error_class == "cxx.other") found.error_class = "cxx.syntax";
        return found;
      }
      return {"python.syntax", outcome.message, read_python_failure(outcome.message).lines, {}};
    case OutcomeKind::Import:
      return classify_import(record, source);
    case OutcomeKind::Resource:
      if (outcome.detail == "workspace") return of_class("resource.workspace", outcome.message);
      if (record.compile && native) {
        auto found = classify_compiler_log(log_of(record), record.target);
        if (found.error_class.starts_with("resource.")) return found;
      }
      if (auto found = class_of_resource(outcome.message)) return of_class(*found, outcome.message);
      return of_class("resource." + (outcome.detail.empty() ? "registers" : outcome.detail), outcome.message);
    case OutcomeKind::Launch:
      return classify_launch(record, source);
    case OutcomeKind::DeviceFault:
      return classify_device_fault(outcome);
    case OutcomeKind::Crash:
      return classify_crash(outcome);
    case OutcomeKind::Timeout:
      return of_class(outcome.detail == k_build_timeout ? "timeout.build" : "timeout", outcome.message);
    case OutcomeKind::Sanitizer:
      return of_class("sanitizer." + (outcome.detail.empty() ? "memory" : outcome.detail), outcome.message);
    case OutcomeKind::Accuracy:
      return of_class("accuracy." + (outcome.detail.empty() ? "mismatch" : outcome.detail), outcome.message);
    default:
      return of_class(std::string(to_string(outcome.kind)), outcome.message);
  }
}

std::optional<std::int64_t> ErrorReport::number(std::string_view name) const {
  const auto found = std::find_if(numbers.begin(), numbers.end(), [&](const auto& one) { return one.first == name; });
  if (found == numbers.end()) return std::nullopt;
  return found->second;
}

ErrorReport classify_error(const EvaluationRecord& record, std::string_view source) {
  ErrorReport report;
  source = source.substr(0, k_max_text);
  auto found = classify_outcome(record, source);
  if (found.error_class.empty()) return report;
  report.error_class = std::move(found.error_class);
  report.lines = std::move(found.lines);
  if (report.lines.empty() && !trim(found.reason).empty()) {
    for (const auto line : split_lines(std::string_view(found.reason).substr(0, 4000)))
      if (report.lines.size() < 12 && !trim(line).empty()) report.lines.emplace_back(line.substr(0, 400));
  }
  report.fingerprint = report.error_class + "|" + normalized(found.reason);
  read_resource_numbers(found.reason, report);
  report.advice = report.error_class == "cxx.undeclared" ? name_advice(found.reason, target_of_headers(record))
                                                         : resource_advice(report, record.target, source);
  return report;
}

bool is_more_specific(std::string_view error_class, std::string_view outcome_class) {
  std::string dotted(outcome_class);
  std::replace(dotted.begin(), dotted.end(), ':', '.');
  return !dotted.starts_with(error_class);
}

std::vector<std::string> error_classes() {
  std::set<std::string> names(k_own_classes.begin(), k_own_classes.end());
  for (const auto rules : {triton_rules(), python_rules(), compiler_rules(), runtime_rules()})
    for (const auto& rule : rules) names.emplace(rule.error_class);
  return {names.begin(), names.end()};
}

}  // namespace v0
}  // namespace kernelgen
