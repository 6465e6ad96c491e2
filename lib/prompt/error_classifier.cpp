#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <set>

#include <kernelgen/prompt/error_classifier.hpp>

#include "prompt/error_rules.hpp"
#include "prompt/error_text.hpp"
#include "prompt/known_names.hpp"
#include "prompt/resource_advice.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_max_text = 1u << 20;
constexpr std::size_t k_max_fingerprint = 240;

// What no rule of a tool's words gives: classes of our own outcomes, and what is left over.
constexpr auto k_own_classes = std::to_array<std::string_view>({"accuracy.dtype",
                                                                "accuracy.mismatch",
                                                                "accuracy.nan",
                                                                "accuracy.shape",
                                                                "accuracy.structure",
                                                                "cheat",
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
                                                                "mutated_input",
                                                                "native.error",
                                                                "native.exception",
                                                                "not_scored",
                                                                "off_distribution",
                                                                "out_of_memory",
                                                                "python.missing_import",
                                                                "python.other",
                                                                "race",
                                                                "resource.shared_memory",
                                                                "resource.tensor_memory",
                                                                "resource.threads",
                                                                "resource.workspace",
                                                                "suspect",
                                                                "timeout",
                                                                "triton.other",
                                                                "triton.outside_kernel",
                                                                "triton.grid",
                                                                "weight_sync"});

/// A class and the text that its fingerprint is made of.
struct Found {
  std::string error_class;
  std::string reason;
  std::vector<std::string> lines;
};

std::string_view first_match(std::span<const ErrorRule> rules, std::string_view text) {
  const auto found =
      std::find_if(rules.begin(), rules.end(), [&](const ErrorRule& rule) { return matches(text, rule.pattern); });
  return found == rules.end() ? std::string_view() : found->error_class;
}

/// The text in the n-th pair of quotes, which are ' or ".
std::string_view quoted(std::string_view text, int n) {
  while (true) {
    const auto open = text.find_first_of("'\"");
    const auto close = open == text.npos ? text.npos : text.find(text[open], open + 1);
    if (close == text.npos) return {};
    if (n-- == 0) return text.substr(open + 1, close - open - 1);
    text.remove_prefix(close + 1);
  }
}

/// "NameError: name 'math' is not defined" of something that everybody imports.
bool lacks_import(std::string_view reason) {
  return reason.starts_with("NameError") && is_imported_name(quoted(reason, 0));
}

// -- Python, torch, Triton -------------------------------------------------------------------------------------------

bool is_access(std::string_view pointed) {
  return pointed.starts_with("tl.load(") || pointed.starts_with("tl.store(") || pointed.starts_with("tl.atomic_");
}

/// "x[0]" at the place that Triton points at: an index, not a call.
bool is_subscript(std::string_view pointed) {
  const auto name_end =
      std::find_if(pointed.begin(), pointed.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '_'; });
  return name_end != pointed.begin() && name_end != pointed.end() && *name_end == '[';
}

/// "acc[k] += 1.0": the index stands on the left.
bool is_item_assignment(std::string_view pointed) {
  const auto close = pointed.find(']');
  if (!is_subscript(pointed) || close == pointed.npos) return false;
  const auto rest = trim(pointed.substr(close + 1));
  const auto equal = rest.find('=');
  return equal <= 2 && rest.substr(equal, 2) != "==";
}

/// "twice(x)": a call of something by its own name.
bool is_call(std::string_view pointed) {
  const auto open = pointed.find('(');
  return open != pointed.npos && open > 0 &&
         std::all_of(pointed.begin(), pointed.begin() + static_cast<long>(open),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

/// A line that launches a kernel: kernel[grid](x).
bool is_launch(std::string_view place) { return contains(place, "]("); }

std::string refine_in_kernel(const PythonFailure& failure) {
  const std::string_view reason = failure.reason;
  // A tl function that was asked for what only a compiler has: in a kernel, an operator of Python's made the call.
  if (contains(reason, "argument must be provided outside of JIT functions")) {
    if (is_item_assignment(failure.pointed)) return "triton.item_assignment";
    return is_subscript(failure.pointed) ? "triton.tensor_index" : "triton.constexpr";
  }
  if (is_subscript(failure.pointed) && contains(reason, "AssertionError()")) return "triton.item_assignment";
  if (failure.type == "InterpreterError") {
    // The interpreter replaces what tl's functions do; it does not know whether a kernel called them.
    if (!is_launch(failure.place) || contains(reason, "'grid_idx'")) return "triton.outside_kernel";
    if (contains(reason, "'int' object is not iterable")) return "triton.tensor_index";
  }
  std::string found(first_match(triton_rules(), reason));
  if (found == "triton.block_shape" && is_access(failure.pointed)) return "triton.pointer_mask";
  if (found == "triton.global_variable" && is_call(failure.pointed)) return "triton.host_function";
  if (found == "triton.decorator_order") return "triton.host_function";
  if (!found.empty()) return found;
  if (failure.type == "CompileTimeAssertionFailure") return "triton.static_assert";
  if (failure.type == "UnsupportedLanguageConstruct") return "triton.unsupported_syntax";
  if (contains(reason, "AssertionError")) return "triton.static_assert";
  return "triton.other";
}

std::string refine_host(const PythonFailure& failure, std::string_view source) {
  const std::string_view reason = failure.reason;
  if (contains(reason, "argument must be provided outside of JIT functions") ||
      contains(reason, "outside of the scope of a kernel"))
    return "triton.outside_kernel";
  const bool tuned = contains(failure.place, "triton.autotune(");
  if (tuned && reason.starts_with("NameError")) return "triton.autotune_key";
  const bool launch = is_launch(failure.place);
  // A configuration of autotune gives the argument a second time; the launcher does not know of it.
  if (launch && contains(reason, "got multiple values for") && contains(source, "triton.autotune("))
    return "triton.autotune_conflict";
  if (launch && contains(reason, "was specified but unrecognised")) return "triton.arguments";
  if (launch && (reason.starts_with("KeyError") || contains(reason, "object is not iterable") ||
                 contains(reason, "has no len()")))
    return "triton.grid";
  if (lacks_import(reason)) return "python.missing_import";
  std::string triton(first_match(triton_rules(), reason));
  // Nobody else says such things.
  for (const std::string_view sure :
       {"triton.autotune_conflict", "triton.autotune_key", "triton.decorator_order", "triton.cpu_tensor",
        "triton.missing_tanh", "triton.missing_function", "triton.missing_module_function", "triton.thread_index"})
    if (triton == sure) return triton;
  // The line that launches also makes tensors and sizes: what else is said there may be torch's or Python's.
  for (const std::string_view launched : {"triton.arguments", "triton.value", "triton.power_of_two",
                                          "triton.not_jitted", "triton.too_large", "triton.internal", "triton.grid"})
    if (triton == launched && (launch || tuned)) return triton;
  if (contains(reason, "Unsupported function referenced")) return "triton.host_function";
  const std::string python(first_match(python_rules(), reason));
  return python.empty() ? "python.other" : python;
}

bool is_runtime_error(std::string_view reason) {
  return contains(reason, "CUDA error:") || contains(reason, "HIP error:") || contains(reason, "Triton Error [") ||
         contains(reason, "hipError") || contains(reason, "CUDA driver error") || contains(reason, "cudaError");
}

std::optional<std::string> lacking_resource(std::string_view text) {
  if (!contains(text, "out of resource")) return std::nullopt;
  for (const auto& [words, name] : {std::pair{"out of resource: shared memory", "resource.shared_memory"},
                                    std::pair{"out of resource: tensor memory", "resource.tensor_memory"},
                                    std::pair{"out of resource: threads", "resource.threads"}})
    if (contains(text, words)) return name;
  return "resource.registers";
}

Found classify_compiler_log(std::string_view log);

Found classify_python(std::string_view text, std::string_view source) {
  auto failure = read_python_failure(text);
  Found found{"", failure.reason, failure.lines};
  if (auto resource = lacking_resource(failure.reason)) {
    found.error_class = *std::move(resource);
  } else if (contains(failure.reason, "Error building extension") ||
             contains(failure.reason, "Error compiling objects for extension")) {
    // What the compiler said decides, not who started it.
    found = classify_compiler_log(text);
  } else if (is_runtime_error(failure.reason)) {
    // torch goes on with advice about other errors.
    found.reason = failure.reason.substr(0, failure.reason.find('\n'));
    found.error_class = first_match(runtime_rules(), found.reason);
    if (found.error_class.empty()) found.error_class = "device.other";
  } else if (failure.in_kernel) {
    found.error_class = refine_in_kernel(failure);
  } else {
    found.error_class = refine_host(failure, source);
  }
  return found;
}

// -- compilers -------------------------------------------------------------------------------------------------------

std::string without_const(std::string_view type) {
  std::string kept(type.substr(0, 200));
  for (auto at = kept.find("const"); at != kept.npos; at = kept.find("const")) kept.erase(at, 5);
  kept.erase(std::remove_if(kept.begin(), kept.end(), [](unsigned char c) { return std::isspace(c) != 0; }),
             kept.end());
  return kept;
}

/// "invalid conversion from 'const float*' to 'float*'": two types that only a const keeps apart.
bool only_const_differs(std::string_view message) {
  const auto first = quoted(message, 0);
  const auto second = quoted(message, 1);
  return !first.empty() && first != second && (contains(first, "const") || contains(second, "const")) &&
         without_const(first) == without_const(second);
}

bool notes_lose_const(std::string_view notes) {
  const auto found = notes.find("no known conversion from ");
  return found != notes.npos && only_const_differs(notes.substr(found));
}

/// "'thread' is not a member of 'std'": the header of the name that the message is about.
std::string_view std_header_of(std::string_view reason) {
  for (int i = 0; i < 2; ++i) {
    const auto header = header_of(quoted(reason, i));
    if (!header.empty()) return header;
  }
  return {};
}

/// Messages that say little: what they are about stands in their notes.
bool is_vague(std::string_view reason) {
  return contains(reason, "no matching ") || contains(reason, "no instance of");
}

Found classify_compiler_log(std::string_view log) {
  const auto failure = read_compiler_failure(log);
  Found found{"cxx.other", failure.reason, failure.lines};
  // A crash is often preceded by ordinary errors, and follows from none of them.
  if (contains(log, ": internal compiler error: ") || contains(log, "died due to signal")) {
    found.error_class = "compiler.crashed";
  } else if (failure.reason.empty()) {
    found.reason = std::string(log.substr(0, k_max_fingerprint));
  } else {
    auto name = first_match(compiler_rules(), failure.reason);
    if (is_vague(failure.reason)) {
      const auto noted = first_match(compiler_note_rules(), failure.notes + failure.others);
      if (!noted.empty()) name = noted;
      if (notes_lose_const(failure.notes)) name = "cxx.const";
    } else if ((name == "cxx.conversion" || name == "cxx.call") && only_const_differs(failure.reason)) {
      name = "cxx.const";
    } else if (name == "cxx.conversion" && contains(failure.notes, "initializing argument")) {
      name = "cxx.call";
    } else if (name == "cxx.no_member" && contains(failure.reason, "std") && !std_header_of(failure.reason).empty()) {
      name = "cxx.undeclared";
    } else if (failure.reason.starts_with("expected ") && contains(failure.others, "in namespace '")) {
      // clang reads on before it says that the type does not exist.
      name = "cxx.undeclared";
    }
    if (!name.empty()) found.error_class = name;
  }
  return found;
}

/// A record's log, or what stands for one where only diagnostics were kept.
std::string log_of(const EvaluationRecord& record) {
  if (!record.compile) return record.outcome.message;
  if (!record.compile->log.empty()) return record.compile->log;
  std::string log;
  for (const auto& one : record.compile->diagnostics)
    log += fmt::format("{}:{}:{}: {}: {}\n", one.file.empty() ? "candidate" : one.file, one.line, one.column,
                       one.severity, one.message);
  return log.empty() ? record.outcome.message : log;
}

/// Where the log itself tells nothing: the compiler module's class of it, in the words of this one.
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
                                                                    {"triton", "triton.other"}});
  for (const auto& [name, error_class] : k_details)
    if (detail == name) return std::string(error_class);
  return "cxx.other";
}

Found classify_compile(const EvaluationRecord& record, std::string_view source) {
  const auto& outcome = record.outcome;
  if (outcome.detail == "triton") return classify_python(outcome.message, source);
  auto found = classify_compiler_log(log_of(record));
  if (found.error_class == "cxx.other") found.error_class = class_of_detail(outcome.detail);
  return found;
}

// -- our own outcomes ------------------------------------------------------------------------------------------------

Found say(std::string error_class, const std::string& message) { return {std::move(error_class), message, {}}; }

Found classify_crash(const Outcome& outcome) {
  const auto& detail = outcome.detail;
  if (contains(outcome.message, "past the end of") || contains(outcome.message, "before the beginning of") ||
      contains(outcome.message, "before the start of") || contains(detail, "out_of_bounds"))
    return say("crash.out_of_bounds", outcome.message);
  if (contains(outcome.message, "stack overflow")) return say("crash.stack_overflow", outcome.message);
  if (contains(detail, "SIGSEGV") || contains(detail, "SIGBUS")) return say("crash.segfault", outcome.message);
  if (contains(detail, "SIGABRT")) return say("crash.abort", outcome.message);
  if (contains(detail, "SIGILL") || contains(detail, "SIGFPE")) return say("crash.illegal", outcome.message);
  if (detail.starts_with("exit")) return say("crash.exit", outcome.message);
  return say("crash.other", outcome.message);
}

Found classify_device_fault(const Outcome& outcome) {
  const auto found = first_match(runtime_rules(), outcome.message);
  if (!found.empty()) return say(std::string(found), outcome.message);
  const auto known = error_classes();
  const auto named = "device." + outcome.detail;
  return say(std::binary_search(known.begin(), known.end(), named) ? named : "device.other", outcome.message);
}

Found classify_launch(const EvaluationRecord& record, std::string_view source) {
  const auto& outcome = record.outcome;
  if (outcome.detail == "not_capturable") return say("launch.not_capturable", outcome.message);
  if (!is_native(record.target)) return classify_python(outcome.message, source);
  const auto runtime = first_match(runtime_rules(), outcome.message);
  if (!runtime.empty()) return say(std::string(runtime), outcome.message);
  return say(outcome.detail == "exception" ? "native.exception" : "native.error", outcome.message);
}

/// A module that cannot be imported; a shared object that cannot be loaded.
Found classify_import(const Outcome& outcome, bool native, std::string_view source) {
  auto found = native ? classify_compiler_log("error: " + outcome.message) : classify_python(outcome.message, source);
  if (found.error_class == "cxx.other") return {"interface", outcome.message, {}};
  if (outcome.message.empty()) found.error_class = "python.import";
  return found;
}

Found classify_outcome(const EvaluationRecord& record, std::string_view source) {
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
      return {"python.syntax", outcome.message, read_python_failure(outcome.message).lines};
    case OutcomeKind::Import:
      return classify_import(outcome, native, source);
    case OutcomeKind::Resource:
      if (outcome.detail == "workspace") return say("resource.workspace", outcome.message);
      if (record.compile && native) {
        auto found = classify_compiler_log(log_of(record));
        if (found.error_class.starts_with("resource.")) return found;
      }
      if (auto found = lacking_resource(outcome.message)) return say(*found, outcome.message);
      return say("resource." + (outcome.detail.empty() ? "registers" : outcome.detail), outcome.message);
    case OutcomeKind::Launch:
      return classify_launch(record, source);
    case OutcomeKind::DeviceFault:
      return classify_device_fault(outcome);
    case OutcomeKind::Crash:
      return classify_crash(outcome);
    case OutcomeKind::Accuracy:
      return say("accuracy." + (outcome.detail.empty() ? "mismatch" : outcome.detail), outcome.message);
    default:
      return say(std::string(to_string(outcome.kind)), outcome.message);
  }
}

/// "`thread` is declared in <thread>."
std::string include_advice(std::string_view reason) {
  for (int i = 0; i < 2; ++i) {
    const auto name = quoted(reason, i);
    const auto header = header_of(name);
    if (!header.empty()) return fmt::format("`{}` is declared in {}.", name, header);
  }
  return "";
}

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Where a number that begins at `at` ends: 12, -1.5e-05, 0x7fa0.
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

/// Without what changes from one occurrence to the next: numbers, addresses, runs of blanks. Digits in names stay.
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
  report.hint = report.error_class;
  report.lines = std::move(found.lines);
  if (report.lines.empty() && !trim(found.reason).empty()) {
    for (const auto line : split_lines(std::string_view(found.reason).substr(0, 4000)))
      if (report.lines.size() < 12 && !trim(line).empty()) report.lines.emplace_back(line.substr(0, 400));
  }
  report.fingerprint = report.error_class + "|" + normalized(found.reason);
  read_resource_numbers(found.reason, report);
  report.advice = report.error_class == "cxx.undeclared" ? include_advice(found.reason)
                                                         : resource_advice(report, record.target, source);
  return report;
}

std::vector<std::string> error_classes() {
  std::set<std::string> names(k_own_classes.begin(), k_own_classes.end());
  for (const auto rules : {triton_rules(), python_rules(), compiler_rules(), compiler_note_rules(), runtime_rules()})
    for (const auto& rule : rules) names.emplace(rule.error_class);
  return {names.begin(), names.end()};
}

}  // namespace v0
}  // namespace kernelgen
