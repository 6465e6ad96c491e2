#pragma once

/// \file
/// What `kgen run` and `kgen batch` set up for a search: its device, prices, profiler, model and request.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <kernelgen/flow/engine.hpp>
#include <kernelgen/profile/profiler.hpp>
#include <kernelgen/prompt/prompt_device.hpp>

#include "commands.hpp"
#include "evaluation_flags.hpp"
#include "run_policy.hpp"

namespace kernelgen::cli {

/// Limits of one search.
struct BudgetFlags {
  std::optional<std::int64_t> tokens;
  std::optional<std::int64_t> requests;
  std::optional<std::int64_t> evaluations;
  std::optional<double> minutes;
  std::optional<double> cost;
};

/// Options of the commands that search, besides tasks, targets and models.
struct SearchFlags {
  /// Models of their own for kinds of prompts, as for --llm.
  std::map<PromptKind, std::vector<std::string>> models_by_kind;
  /// The model to ask in an outage of --llm; empty: none.
  std::string fallback;
  std::string effort;
  std::string record;
  std::string results = "results";
  std::string name;
  std::string prompts;
  std::string gpu;
  SearchOptions search;
  std::optional<std::int64_t> max_prompt_tokens;
  std::optional<std::int64_t> max_output_tokens;
  double request_timeout_seconds = 600;
  int parallel = 4;
  std::optional<int> parallel_evaluations;
  bool no_sanitize = false;
  EvaluationFlags evaluation;
};

/// Passes what launched workers tell to the display of a command, while there is one. Thread-safe.
class WorkerNotes {
 public:
  using Show = std::function<void(const std::string& line)>;

  /// Shows lines from now on; an empty function ends this.
  void show_with(Show show);
  void tell(const std::string& line);
  /// The workers were given up.
  void fail(const Error& error);

  /// Is triggered when the workers are given up.
  [[nodiscard]] std::stop_token failed() const { return failed_.get_token(); }
  [[nodiscard]] std::optional<Error> failure() const;

 private:
  mutable std::mutex mutex_;
  Show show_;
  std::optional<Error> failure_;
  std::stop_source failed_;
};

/// Makes the benchmarker of a search: what make_benchmarker() makes, or the workers of --worker, which serve --spool or
/// a directory below the results. `notes` outlives it.
[[nodiscard]] Result<std::unique_ptr<Benchmarker>> make_search_benchmarker(const SearchFlags& flags, Context& context,
                                                                           WorkerNotes& notes);
/// The number of workers that --worker starts.
[[nodiscard]] int launched_worker_count(const SearchFlags& flags);

/// A time limit from the number of an option; at least a second.
[[nodiscard]] std::chrono::seconds seconds_of(double number);
/// The limit of so many minutes.
[[nodiscard]] std::optional<std::chrono::seconds> time_limit_of(const std::optional<double>& minutes);
[[nodiscard]] Budget budget_of(const BudgetFlags& flags);

/// Finds the device before any request is paid for; a missing GPU would otherwise be noticed after the first reply.
[[nodiscard]] Result<PromptDevice> choose_search_device(const SearchFlags& flags, Target target, Context& context);

/// Makes the profiler that --profile asks for; nullptr when it asks for none. Where candidates are judged elsewhere,
/// the workers of `benchmarker`, which must outlive it, take the profiles, in their sandbox.
[[nodiscard]] Result<std::unique_ptr<Profiler>> choose_profiler(const SearchFlags& flags,
                                                                const std::optional<GpuFacts>& gpu,
                                                                const Installation& installation,
                                                                Benchmarker& benchmarker, Context& context);

/// The search for a kernel of `task`, without a budget and prices. `name` is that of a further run of the task.
[[nodiscard]] Result<FlowRequest> make_flow_request(const SearchFlags& flags, TaskSource task, const std::string& name,
                                                    Target target, const PromptDevice& device);

/// Adds the prices: those `given`, else what is known of the models. With `needs_limit` a request without a limit of
/// replies gets one, where the model is known: what a reply may cost follows from it.
void add_terms(FlowRequest& request, const LLMClient& client, const std::optional<Prices>& given, bool needs_limit);
/// InvalidArgument, beginning with `what_needs`, when a model may be asked that has no price.
[[nodiscard]] Result<void> check_prices(const FlowRequest& request, const LLMClient& client,
                                        std::string_view what_needs);

/// Makes the client, with the models for kinds of prompts. `unrecorded` is set if a reply could not be recorded by the
/// time the client is destroyed.
[[nodiscard]] Result<std::unique_ptr<LLMClient>> make_search_client(const std::string& spec, const SearchFlags& flags,
                                                                    Context& context, std::optional<Error>& unrecorded);

/// Makes the profiler of --profile sandboxed, on the GPU or else the processor. It compiles native candidates first.
[[nodiscard]] Result<std::unique_ptr<Profiler>> make_sandboxed_profiler(const EvaluationFlags& evaluation,
                                                                        const std::optional<GpuFacts>& gpu,
                                                                        const Installation& installation,
                                                                        Context& context);

/// The HIP framework's prompts, for targets that they are about: those in ./prompts, else those that come with kgen.
/// Empty for other targets.
[[nodiscard]] std::filesystem::path framework_prompts(Target target, const Installation& installation);

/// Options of the commands, which `flags` must outlive. The budget's names begin with `prefix`: "--max-".
[[nodiscard]] Option llm_for_option(SearchFlags& flags);
[[nodiscard]] Option llm_fallback_option(SearchFlags& flags);
[[nodiscard]] Option record_option(SearchFlags& flags);
[[nodiscard]] Option results_option(SearchFlags& flags);
[[nodiscard]] Option worker_option(SearchFlags& flags);
[[nodiscard]] Option no_sanitize_option(SearchFlags& flags);
void add_budget_options(std::vector<Option>& options, BudgetFlags& budget, const std::string& prefix,
                        const std::string& group, const std::string& of_what);
void add_request_options(std::vector<Option>& options, SearchFlags& flags);

/// An option about money or requests, which a task's file may not set.
[[nodiscard]] Option limit_option(std::string name, std::string value_name, std::string help, Value value);
inline constexpr Range<std::int64_t> k_count_range{1, std::numeric_limits<std::int64_t>::max()};
inline constexpr Range<double> k_money_range{0, std::numeric_limits<double>::max()};
inline constexpr double k_year_minutes = 525'600;

}  // namespace kernelgen::cli
