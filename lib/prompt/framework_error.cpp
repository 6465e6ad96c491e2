#include <kernelgen/prompt/prompt_set.hpp>

#include <fmt/format.h>

#include <algorithm>

#include <kernelgen/prompt/error_classifier.hpp>

#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// The HIP framework fed back this many bytes of a log.
constexpr std::size_t k_shown_log = 4000;

/// The framework's name for what went wrong.
std::string_view words_for(const EvaluationRecord& record) {
  if (is_compile_error(record)) return "Compile error";
  switch (record.outcome.kind) {
    case OutcomeKind::Accuracy:
    case OutcomeKind::OffDistribution:
      return "Accuracy error";
    case OutcomeKind::DeviceFault:
    case OutcomeKind::Crash:
      return "GPU crash";
    case OutcomeKind::Timeout:
      return "Timeout";
    case OutcomeKind::Import:
    case OutcomeKind::Syntax:
      return "Import error";
    default:
      return "Error";
  }
}

std::string_view end_of(std::string_view log) {
  if (log.size() <= k_shown_log) return log;
  log.remove_prefix(log.size() - k_shown_log);
  const auto line_end = log.find('\n');
  return line_end == log.npos ? log : log.substr(line_end + 1);
}

}  // namespace

bool is_compile_error(const EvaluationRecord& record) {
  if (record.outcome.correct()) return false;
  if (record.outcome.kind == OutcomeKind::Compile) return true;
  const auto error_class = classify_error(record).error_class;
  return error_class.starts_with("cxx.") || error_class.starts_with("link.");
}

std::string framework_error(const EvaluationRecord& record) {
  const auto& outcome = record.outcome;
  if (outcome.correct()) {
    const auto score = score_of(record);
    // A search compares the score, `kgen eval` the ratio of calls.
    const auto speedup = score ? std::min(*score, record.timing->speedup_call.value) : 1.0;
    return speedup < 1 ? fmt::format("PERFORMANCE TOO SLOW: speedup {:.3f}x < 1.0x", speedup) : std::string();
  }
  auto text = fmt::format("{}: {}: {}", words_for(record), outcome.to_class(), outcome.message);
  if (record.compile)
    if (const auto log = trim(end_of(record.compile->log)); !log.empty()) text.append("\n").append(log);
  return text;
}

}  // namespace v0
}  // namespace kernelgen
