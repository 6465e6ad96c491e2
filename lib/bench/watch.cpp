#include "bench/watch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "support/files.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// GCC's warning about atomic_thread_fence.
constexpr std::string_view k_unsupported_fence = "[-Wtsan]";

std::vector<SanitizerTool> tools_for(const EvaluationRequest& request, const EvaluationBackends& backends) {
  const auto& gpu = backends.device.gpu;
  auto tools = sanitizer_tools(request.candidate.target, gpu ? &platform_of(gpu->vendor) : nullptr);
  // A process that calls the candidate knows kernelgen's own targets.
  if (backends.prebuilt != nullptr || backends.stand_in) tools.clear();
  return tools;
}

std::string reason_without_tools(const EvaluationBackends& backends) {
  if (backends.stand_in == StandIn::OtherGpu) return "another GPU executes it than it is written for";
  if (backends.stand_in) return "the CPU executes it in place of a GPU";
  return backends.prebuilt != nullptr ? "a compiler of the client built it, which does not build it for sanitizers"
                                      : "without a GPU, Triton's interpreter runs it";
}

/// Builds the candidate for a tool. Nothing, with the reason in the report, if that fails.
Result<std::optional<std::string>> build_for(const SanitizerTool& tool, const EvaluationRequest& request,
                                             const Artifact& artifact, const EvaluationBackends& backends,
                                             SanitizerReport& report, std::stop_token stop) {
  if (tool.build_flags.empty()) return std::optional(artifact.path);
  KERNELGEN_TRY(const auto built, backends.compiler.compile({.candidate = request.candidate,
                                                             .extra_flags = tool.build_flags,
                                                             .timeout = request.options.build_timeout},
                                                            std::move(stop)));
  if (const auto* done = std::get_if<Compiled>(&built)) {
    if (!contains(done->report.log, k_unsupported_fence)) return std::optional(done->artifact.path);
    report.reason = "it orders its threads by fences, which ThreadSanitizer does not follow";
    return std::optional<std::string>();
  }
  const auto& why = std::get<CompileFailed>(built).outcome;
  report.status = SanitizerStatus::NotFinished;
  report.reason = fmt::format("it does not compile with {}: {}", tool.build_flags.front(), why.message);
  return std::optional<std::string>();
}

SanitizeRequest sanitize_request(const EvaluationRequest& request, const EvaluationBackends& backends,
                                 std::string artifact, const std::filesystem::path& directory) {
  return {.call = {.task = request.task,
                   .candidate = request.candidate,
                   .artifact = std::move(artifact),
                   .precision = request.options.precision,
                   .shrink = request.options.shrink,
                   .gpu = backends.device.gpu,
                   .counters = Counters::None},
          .directory = directory,
          .threads = request.options.threads,
          .timeout = request.options.sanitizers.timeout};
}

/// Tools that cannot run for the same reason share a label.
void add_label(EvaluationRecord& record, std::string_view reason) {
  auto label = std::string(k_not_sanitized).append(reason);
  if (std::find(record.labels.begin(), record.labels.end(), label) == record.labels.end())
    record.labels.push_back(std::move(label));
}

}  // namespace

Outcome outcome_of_findings(const std::vector<SanitizerFinding>& findings, std::string_view tool) {
  const auto& [detail, first] = findings.front();
  std::string message;
  if (!first.file.empty()) message = fmt::format("{}:{}: ", first.file, first.line);
  message += first.message;
  if (!first.source_line.empty()) message += fmt::format(" (`{}`)", first.source_line);
  if (findings.size() > 1) {
    message += fmt::format("; and {} more", findings.size() - 1);
    std::string lines;
    for (std::size_t i = 1; i < findings.size(); ++i)
      if (const auto line = findings[i].diagnostic.line; line > 0)
        lines += fmt::format("{}{}", lines.empty() ? "" : ", ", line);
    if (!lines.empty()) message += " in lines " + lines;
  }
  message += fmt::format("; found by {}, its outputs were right", tool);
  return {OutcomeKind::Sanitizer, detail, std::move(message)};
}

Result<void> check_sanitizers(const EvaluationRequest& request, const EvaluationBackends& backends,
                              std::stop_token stop) {
  if (backends.sanitizers == nullptr) return {};
  for (const auto& tool : tools_for(request, backends))
    KERNELGEN_CHECK(backends.sanitizers->check_installed(tool, stop).context("--sanitize"));
  return {};
}

Result<void> watch_candidate(const EvaluationRequest& request, const Artifact& artifact,
                             const EvaluationBackends& backends, EvaluationRecord& record, std::stop_token stop) {
  if (backends.sanitizers == nullptr) return {};
  const auto tools = tools_for(request, backends);
  if (tools.empty()) {
    record.sanitizers.push_back({.tool = "none", .version = {}, .reason = reason_without_tools(backends)});
    return {};
  }
  KERNELGEN_TRY(const auto directory, TemporaryDirectory::create("/tmp", "kgen-watch-"));
  std::string too_slow;
  for (const auto& tool : tools) {
    SanitizerReport report{.tool = tool.name, .version = {}, .reason = {}};
    // The tools of compute-sanitizer are about as slow as each other, and nothing is measured meanwhile.
    if (tool.kind == SanitizerKind::ComputeSanitizer && !too_slow.empty()) {
      report.status = SanitizerStatus::NotFinished;
      report.reason = too_slow + " was not done in time";
      record.sanitizers.push_back(std::move(report));
      continue;
    }
    // A build and a watched call disturb measurements.
    KERNELGEN_TRY(const auto lock, backends.device.gate->acquire_shared(stop));
    KERNELGEN_TRY(auto path, build_for(tool, request, artifact, backends, report, stop));
    if (!path) {
      record.sanitizers.push_back(std::move(report));
      continue;
    }
    KERNELGEN_TRY(auto run, backends.sanitizers->run(
                                tool, sanitize_request(request, backends, *std::move(path), directory.path()), stop));
    if (run.cannot_run && run.findings.empty()) add_label(record, run.report.reason);
    if (run.timed_out && tool.kind == SanitizerKind::ComputeSanitizer) too_slow = tool.name;
    record.sanitizers.push_back(std::move(run.report));
    if (run.findings.empty()) continue;
    record.outcome = outcome_of_findings(run.findings, tool.name);
    return {};
  }
  return {};
}

}  // namespace v0
}  // namespace kernelgen
