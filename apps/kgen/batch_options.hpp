#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <kernelgen/task/task_selection.hpp>

#include "command_line.hpp"
#include "environment.hpp"
#include "search_setup.hpp"

namespace kernelgen::cli {

/// One number for all models, or one for each in their order.
struct PriceFlags {
  std::vector<double> input;
  std::vector<double> output;
  std::vector<double> cached;
};

struct BatchOptions {
  TaskSelection tasks;
  std::optional<int> sample;
  std::optional<std::int64_t> seed;
  std::vector<std::string> targets;
  std::vector<std::string> models;
  SearchFlags search;
  BudgetFlags task_budget;
  std::optional<std::int64_t> max_requests;
  std::optional<std::int64_t> max_tokens;
  std::optional<double> max_cost;
  std::optional<double> max_minutes;
  PriceFlags prices;
  /// Unset: 4, or two for each launched worker.
  std::optional<int> parallel_tasks;
  std::string retry = "unfinished";
  bool continues = false;
  std::string order = "given";
  std::string on_event;
  bool dry_run = false;
  bool json = false;
};

/// START and END of the HIP framework's form `batch START END`; nothing for other arguments.
[[nodiscard]] std::optional<std::pair<int, int>> range_in(const std::vector<std::string>& arguments);

/// The options of kgen batch, which store their values in `options`.
[[nodiscard]] std::vector<Option> describe_batch_options(BatchOptions& options, const Environment& environment);

}  // namespace kernelgen::cli
