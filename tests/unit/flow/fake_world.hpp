#pragma once

/// \file
/// Fake services with kernels of one line of text: a model, a judge, prompts and a detector.

#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <kernelgen/bench/fake_benchmarker.hpp>
#include <kernelgen/flow/engine.hpp>

#include "support/catch.hpp"

namespace kernelgen::testing {

/// The verdict "correct at this score".
inline EvaluationRecord correct_record(double score) {
  EvaluationRecord record;
  record.outcome.kind = OutcomeKind::Correct;
  record.timing.emplace().speedup_call = {score, score, score};
  return record;
}

inline EvaluationRecord failed_record(OutcomeKind kind, std::string detail, std::string message) {
  EvaluationRecord record;
  record.outcome = {kind, std::move(detail), std::move(message)};
  return record;
}

/// Judges a source by what its one line says: "score 1.5", "wrong", "broken", "suspect", "busy".
inline EvaluationRecord judge_source(const std::string& source) {
  if (const auto at = source.find("score "); at != source.npos) return correct_record(std::stod(source.substr(at + 6)));
  if (source.find("suspect") != source.npos) return failed_record(OutcomeKind::Suspect, "clock", "hidden");
  if (source.find("busy") != source.npos) return failed_record(OutcomeKind::Suspect, "busy machine", "others work");
  if (source.find("wrong") != source.npos)
    return failed_record(OutcomeKind::Accuracy, "mismatch", "output: error 0.5 at " + std::to_string(source.size()));
  return failed_record(OutcomeKind::Compile, "other", "line 1: " + source);
}

/// A reply that extract_code takes for a kernel.
inline std::string code_reply(const std::string& line) {
  return "```cpp\nconst char* kind = \"" + line + "\";\nint kgen_run(void*, const kgen_run_args*) { return 0; }\n```\n";
}

inline std::string analysis_reply(bool worth) {
  return std::string(R"({"worth_optimizing": )") + (worth ? "true" : "false") + R"(, "plan": "fuse"})";
}

/// A builder of prompts with the action's kind, base and history as text.
class FakePromptBuilder final : public PromptBuilder {
 public:
  /// The tokens of a whole prompt, and of one that holds only what is never left out.
  std::int64_t tokens = 0, least_tokens = 0;
  [[nodiscard]] Result<Prompt> build(const PromptRequest& request) const override {
    Prompt prompt{.kind = request.kind, .text = std::string(to_string(request.kind))};
    prompt.text +=
        " variant=" + request.variant + " base=" + (request.base ? request.base->action_id : "") + " history=";
    for (const auto& attempt : request.history) prompt.text += attempt.action_id + change_of(attempt) + ' ';
    if (request.base) prompt.text += change_of(*request.base);
    if (request.second) prompt.text += " second=" + request.second->action_id;
    if (const auto& reference = request.description.reference_time)
      prompt.text += " reference=" + std::to_string(std::llround(reference->call_ns));
    if (request.critique) prompt.text += " critique=" + *request.critique;
    if (request.analysis && !request.analysis->correction.empty())
      prompt.text += " correction=" + request.analysis->correction;
    for (const auto& finding : request.findings) prompt.text += " finding=" + finding;
    if (!request.headroom.empty()) prompt.text += " headroom=" + request.headroom;
    prompt.fingerprint = prompt.text;
    prompt.estimated_tokens = tokens;
    if (request.max_tokens && tokens > 0) {
      if (*request.max_tokens < least_tokens) return Error{ErrorCode::InvalidArgument, "the limit is too low"};
      prompt.estimated_tokens = std::min(tokens, *request.max_tokens);
      prompt.text += " tokens=" + std::to_string(prompt.estimated_tokens);
    }
    return prompt;
  }
  [[nodiscard]] std::vector<std::string> variants(PromptKind, Target) const override { return {"a", "b"}; }

 private:
  /// "(wider loads, from seed1 of 1.5)" for an attempt with a reply that said something.
  static std::string change_of(const Attempt& attempt) {
    if (attempt.change.empty()) return "";
    auto text = '(' + attempt.change;
    if (!attempt.base.empty()) text += ", from " + attempt.base;
    if (attempt.base_score) text += " of " + std::to_string(*attempt.base_score).substr(0, 3);
    return text + ')';
  }
};

/// A detector with a given verdict.
class FakeDetector final : public PersistentDetector {
 public:
  [[nodiscard]] PersistenceReport inspect(std::string_view source, Target) const override {
    PersistenceReport report;
    report.verdict = source.find("persistent") == source.npos ? Recurrence::NotRecurrent : Recurrence::Persistent;
    return report;
  }
};

/// A model that answers by request id, and records its requests. Thread-safe.
class FakeModel final : public LLMClient {
 public:
  using Answer = std::function<Result<Reply>(const LLMRequest&, std::stop_token)>;
  explicit FakeModel(Answer answer) : answer_(std::move(answer)) {}
  /// `replies` are by action id, with '-' for '/'; other requests get a reply without code.
  explicit FakeModel(std::map<std::string, std::string> replies)
      : answer_([replies = std::move(replies)](const LLMRequest& request, std::stop_token) -> Result<Reply> {
          const auto found = replies.find(request.id.substr(request.id.find('.') + 1));
          return Reply{.text = found == replies.end() ? "I cannot help with that." : found->second,
                       .usage = {100, 10, std::nullopt, std::nullopt}};
        }) {}

  Result<Reply> complete(const LLMRequest& request, std::stop_token stop) override {
    {
      const std::scoped_lock lock(mutex_);
      ++asked_[request.id];
      prompts_[request.id] = request.prompt;
    }
    return answer_(request, stop);
  }
  [[nodiscard]] std::string identity() const override { return "fake"; }
  [[nodiscard]] std::string endpoint() const override { return "fake-host:1"; }

  [[nodiscard]] std::map<std::string, int> asked() const {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }
  [[nodiscard]] std::map<std::string, std::string> prompts() const {
    const std::scoped_lock lock(mutex_);
    return prompts_;
  }

 private:
  Answer answer_;
  mutable std::mutex mutex_;
  std::map<std::string, int> asked_;
  std::map<std::string, std::string> prompts_;
};

/// A profiler that reports a busy kernel, or a given profile. Thread-safe.
class FakeProfiler final : public Profiler {
 public:
  using Answer = std::function<Result<Profile>(const ProfileRequest&)>;
  explicit FakeProfiler(Answer answer) : answer_(std::move(answer)) {}
  Result<Profile> profile(const ProfileRequest& request, std::stop_token) override {
    {
      const std::scoped_lock lock(mutex_);
      requests_.push_back(request);
    }
    return answer_(request);
  }
  [[nodiscard]] bool needs_devices() const override { return !is_elsewhere; }
  [[nodiscard]] std::vector<ProfileRequest> requests() const {
    const std::scoped_lock lock(mutex_);
    return requests_;
  }
  bool is_elsewhere = false;

 private:
  Answer answer_;
  mutable std::mutex mutex_;
  std::vector<ProfileRequest> requests_;
};

/// One kernel that is busy, so that its grid needs no change.
inline Profile busy_profile() {
  Profile profile;
  profile.source = "ncu";
  profile.kernels = {{"step()",
                      "step",
                      KernelOrigin::Own,
                      1,
                      1e6,
                      1,
                      {{"sm_throughput_pct", 80, "%"}, {"dram_throughput_pct", 30, "%"}}}};
  return profile;
}

inline FlowRequest fake_request() {
  FlowRequest request;
  request.task.name = "task";
  request.task.content_id = "c0ffee";
  return request;
}

inline TimeSource real_time() {
  return [] { return std::chrono::system_clock::now(); };
}

/// The events of one kind, oldest first.
template <class T>
std::vector<T> events_of(const Journal& journal) {
  std::vector<T> found;
  for (const auto& event : journal.events())
    if (const auto* body = std::get_if<T>(&event.body)) found.push_back(*body);
  return found;
}

/// Simulates a crash: the journal of a process that ended after some of its events.
inline std::unique_ptr<Journal> cut_journal(const Journal& whole, std::size_t events) {
  auto journal = make_memory_journal(real_time());
  for (std::size_t i = 0; i < events; ++i) REQUIRE(journal->append(whole.events()[i].body));
  return journal;
}

}  // namespace kernelgen::testing
