#pragma once

/// \file
/// A campaign with fake services over a temporary results directory.

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <kernelgen/flow/campaign.hpp>

#include "support/files.hpp"
#include "unit/flow/fake_world.hpp"

namespace kernelgen::testing {

/// Runs "a", "b", ... of one-shot searches. The model answers by request id: "a.sample1".
class CampaignWorld {
 public:
  explicit CampaignWorld(FakeModel::Answer answer, int samples = 1)
      : model(std::move(answer)), policy(make_one_shot_policy({.samples = samples})) {}
  /// Every reply is a kernel with the score 2.
  explicit CampaignWorld(int samples = 1)
      : CampaignWorld([](const LLMRequest&, std::stop_token) { return kernel(); }, samples) {}

  static Result<Reply> kernel(const std::string& line = "score 2") {
    return Reply{.text = code_reply(line), .usage = {100, 10, std::nullopt, std::nullopt}};
  }

  [[nodiscard]] std::filesystem::path results() const { return directory_.path(); }

  [[nodiscard]] CampaignRun run_of(const std::string& name, Benchmarker* judge = nullptr,
                                   Profiler* profiler = nullptr) {
    auto request = fake_request();
    request.task.name = name;
    request.parallel_requests = 2;
    request.max_output_tokens = 100;
    request.busy_pauses.clear();
    return {.name = name,
            .directory = results() / name,
            .request = std::move(request),
            .policy = *policy,
            .backends = {model, prompts, judge == nullptr ? benchmarker : *judge, detector, profiler}};
  }

  [[nodiscard]] CampaignRequest request_of(const std::vector<std::string>& names) {
    CampaignRequest request;
    for (const auto& name : names) request.runs.push_back(run_of(name));
    request.results_directory = results();
    request.parallel_runs = 3;
    return request;
  }

  /// Runs a campaign, and notes the order in which its runs start.
  Result<CampaignOutcome> run(const CampaignRequest& request, std::stop_token stop = {}) {
    started.clear();
    return run_campaign(
        request,
        [&](const CampaignNotice& notice, const CampaignProgress& progress) {
          if (const auto* run = std::get_if<CampaignRunStarted>(&notice))
            started.push_back(progress.runs[run->run].name);
          if (observer) observer(notice, progress);
        },
        std::move(stop));
  }

  /// Number of requests that the model got.
  [[nodiscard]] int count_requests() const {
    int sum = 0;
    for (const auto& [id, times] : model.asked()) sum += times;
    return sum;
  }

  FakeModel model;
  FakePromptBuilder prompts;
  FakeBenchmarker benchmarker{[](const EvaluationRequest& request) -> Result<EvaluationRecord> {
    return judge_source(request.candidate.source);
  }};
  FakeDetector detector;
  std::unique_ptr<Policy> policy;
  CampaignObserver observer;
  std::vector<std::string> started;

 private:
  TemporaryDirectory directory_ = TemporaryDirectory::create(std::filesystem::temp_directory_path(), "kgen-").value();
};

/// "run1", "run2", ...
inline std::vector<std::string> run_names(int count) {
  std::vector<std::string> names;
  for (int i = 1; i <= count; ++i) names.push_back("run" + std::to_string(i));
  return names;
}

/// The statuses by name.
inline std::map<std::string, CampaignRunStatus> statuses_of(const CampaignOutcome& outcome) {
  std::map<std::string, CampaignRunStatus> statuses;
  for (const auto& run : outcome.runs) statuses[run.name] = run.status;
  return statuses;
}

}  // namespace kernelgen::testing
