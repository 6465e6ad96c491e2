#include "support/error_corpus.hpp"

#include <algorithm>
#include <sstream>

#include "bench/verdict.hpp"
#include "compile/diagnostics.hpp"
#include "support/golden.hpp"
#include "support/text.hpp"

namespace kernelgen::testing {
namespace {

constexpr std::size_t k_reply_bytes = 4016;

RunnerStep step_of(const std::string& name) {
  if (name == "load") return RunnerStep::Load;
  return name == "construct" ? RunnerStep::Construct : RunnerStep::Run;
}

/// "run 5", then the text of the runner's reply; "died of signal 6".
Outcome outcome_of_runner(const std::string& text) {
  std::istringstream stream(text);
  std::string step;
  stream >> step;
  if (step == "died") {
    std::string of, signal;
    int number = 0;
    stream >> of >> signal >> number;
    return outcome_of_death({.exit_code = std::nullopt, .signal = number, .text = ""}, RunnerStep::Run, {});
  }
  int status = 0;
  stream >> status;
  RunnerReply reply;
  reply.status = static_cast<RunnerStatus>(status);
  const auto line_end = text.find('\n');
  reply.text = sanitize_text(trim(text.substr(line_end == text.npos ? text.size() : line_end + 1)), k_reply_bytes);
  return outcome_of_reply(reply, step_of(step));
}

Outcome outcome_of_log(const std::string& log, CompileReport& report) {
  constexpr std::string_view k_resource = "resource:";
  report.log = sanitize_text(log, 1u << 20);
  report.diagnostics = parse_diagnostics(report.log);
  Outcome outcome{OutcomeKind::Compile, classify_refusal(report.diagnostics, report.log), ""};
  const auto error = std::find_if(report.diagnostics.begin(), report.diagnostics.end(),
                                  [](const Diagnostic& one) { return one.severity == "error"; });
  if (error != report.diagnostics.end()) outcome.message = error->message;
  if (outcome.detail.rfind(k_resource, 0) == 0)
    outcome = {OutcomeKind::Resource, outcome.detail.substr(k_resource.size()), outcome.message};
  return outcome;
}

/// "accuracy:mismatch", then the message.
Outcome outcome_of_verdict(const std::string& text) {
  const auto line_end = std::min(text.find('\n'), text.size());
  const auto name = text.substr(0, line_end);
  const auto colon = std::min(name.find(':'), name.size());
  Outcome outcome;
  outcome.kind = parse_outcome_kind(name.substr(0, colon)).value();
  outcome.detail = colon < name.size() ? name.substr(colon + 1) : "";
  outcome.message = std::string(trim(text.substr(line_end)));
  return outcome;
}

Target target_of(const std::string& tool, const std::string& source, const std::string& text) {
  if (tool.rfind("triton", 0) == 0) return Target::Triton;
  if (tool == "nvcc") return Target::Cuda;
  if (tool == "hipcc") return Target::Hip;
  if (tool == "g++" || tool == "clang++") return Target::Cpp;
  if (tool == "kgen") return source.find("_cpp") != source.npos ? Target::Cpp : Target::Torch;
  // What a native kernel says itself has no type in front.
  const bool python = text.find("Error: ") != text.npos;
  if (tool == "cuda-runtime") return python ? Target::Triton : Target::Cuda;
  if (tool == "hip-runtime") return python ? Target::Triton : Target::Hip;
  return Target::Torch;
}

}  // namespace

std::vector<CorpusMessage> read_error_corpus() {
  std::vector<CorpusMessage> corpus;
  const auto index = read_test_data("errors/index.txt");
  for (const auto line : split_lines(index)) {
    if (line.empty() || line.front() == '#') continue;
    const auto columns = split(line, ' ');
    for (std::size_t i = 3; i < columns.size(); ++i) {
      CorpusMessage one{
          std::string(columns[i]), std::string(columns[1]), std::string(columns[2]), std::string(columns[0]), {}};
      auto file = one.source;
      std::replace(file.begin(), file.end(), '/', '_');
      const auto text = read_test_data("errors/messages/" + one.tool + "/" + file + ".txt");
      one.record.target = target_of(one.tool, one.source, text);
      if (one.tool == "g++" || one.tool == "clang++" || one.tool == "nvcc" || one.tool == "hipcc") {
        one.record.outcome = outcome_of_log(text, one.record.compile.emplace());
      } else {
        one.record.outcome = one.tool == "kgen" ? outcome_of_verdict(text) : outcome_of_runner(text);
      }
      corpus.push_back(std::move(one));
    }
  }
  return corpus;
}

}  // namespace kernelgen::testing
