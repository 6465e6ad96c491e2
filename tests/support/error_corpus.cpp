#include "support/error_corpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>

#include <kernelgen/prompt/error_classifier.hpp>

#include "bench/verdict.hpp"
#include "compile/diagnostics.hpp"
#include "support/files.hpp"
#include "support/text.hpp"

namespace kernelgen::testing {
namespace {

constexpr std::size_t k_reply_bytes = 4016;

RunnerStep step_of(const std::string& name) {
  if (name == "load") return RunnerStep::Load;
  return name == "construct" ? RunnerStep::Construct : RunnerStep::Run;
}

/// Reads "run 5" and the text of the runner's reply, or "died of signal 6".
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

/// Reads "accuracy:mismatch", then the message.
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

bool is_host_compiler(const std::string& tool) {
  return tool == "g++" || tool == "clang++" || tool == "gcc" || tool == "clang";
}

Target target_of(const std::string& tool, const std::string& source, const std::string& text) {
  if (tool.rfind("triton", 0) == 0) return Target::Triton;
  if (tool == "nvcc") return Target::Cuda;
  if (tool == "hipcc") return Target::Hip;
  if (is_host_compiler(tool)) return Target::Cpp;
  if (tool == "kgen") return source.find("_cpp") != source.npos ? Target::Cpp : Target::Torch;
  // A native kernel's own message has no type in front.
  const bool python = text.find("Error: ") != text.npos;
  if (tool == "cuda-runtime") return python ? Target::Triton : Target::Cuda;
  if (tool == "hip-runtime") return python ? Target::Triton : Target::Hip;
  return Target::Torch;
}

std::string read_corpus_file(const std::string& path) {
  auto text = read_file(path);
  if (!text) throw std::runtime_error(text.error().to_line());
  return *std::move(text);
}

struct Share {
  int right = 0;
  int all = 0;
  void count(bool is_right) {
    right += is_right ? 1 : 0;
    ++all;
  }
};

std::string cell(const Share& share) { return fmt::format("{}/{}", share.right, share.all); }

}  // namespace

std::vector<CorpusMessage> read_error_corpus(const std::string& directory, const std::string& only_half) {
  std::vector<CorpusMessage> corpus;
  const auto index = read_corpus_file(directory + "/index.txt");
  for (const auto line : split_lines(index)) {
    if (line.empty() || line.front() == '#') continue;
    const auto columns = split(line, ' ');
    if (!only_half.empty() && columns[0] != only_half) continue;
    const std::string source(columns[1]);
    const auto code = read_corpus_file(directory + "/sources/" + source);
    auto file = source;
    std::replace(file.begin(), file.end(), '/', '_');
    for (std::size_t i = 3; i < columns.size(); ++i) {
      CorpusMessage one{std::string(columns[i]), source, std::string(columns[2]), std::string(columns[0]), {}, code};
      const auto text = read_corpus_file(directory + "/messages/" + one.tool + "/" + file + ".txt");
      one.record.target = target_of(one.tool, one.source, text);
      if (is_host_compiler(one.tool) || one.tool == "nvcc" || one.tool == "hipcc") {
        one.record.outcome = outcome_of_log(text, one.record.compile.emplace());
      } else {
        one.record.outcome = one.tool == "kgen" ? outcome_of_verdict(text) : outcome_of_runner(text);
      }
      corpus.push_back(std::move(one));
    }
  }
  return corpus;
}

CorpusShares measure_error_corpus(const std::vector<CorpusMessage>& corpus) {
  std::vector<std::string> halves;
  std::map<std::string, std::map<std::string, Share>> by_tool;
  std::map<std::string, Share> by_half;
  CorpusShares shares;
  for (const auto& message : corpus) {
    if (std::find(halves.begin(), halves.end(), message.half) == halves.end()) halves.push_back(message.half);
    const auto found = classify_error(message.record, message.code).error_class;
    const bool right = found == message.expected;
    by_tool[message.tool][message.half].count(right);
    by_half[message.half].count(right);
    if (!right)
      shares.missed += fmt::format("{:<19} {:<36} {:<26} {}\n", message.tool, message.source, message.expected, found);
  }
  std::sort(halves.begin(), halves.end());
  shares.table = fmt::format("{:<18}", "tool");
  for (const auto& half : halves) shares.table += fmt::format(" {:>9}", half);
  for (auto& [tool, row] : by_tool) {
    shares.table += fmt::format("\n{:<18}", tool);
    for (const auto& half : halves) shares.table += fmt::format(" {:>9}", cell(row[half]));
  }
  shares.table += "\n";
  for (const auto& [half, share] : by_half) {
    shares.percent[half] = 100.0 * share.right / share.all;
    shares.table += fmt::format("{}: {} = {:.1f} %\n", half, cell(share), shares.percent[half]);
  }
  return shares;
}

}  // namespace kernelgen::testing
