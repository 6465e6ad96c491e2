#pragma once

#include <memory>
#include <string>
#include <vector>

#include <kernelgen/flow/policy.hpp>
#include <kernelgen/prompt/prompt_builder.hpp>

#include "command_line.hpp"
#include "support/text.hpp"

namespace kernelgen::cli {

/// Options of `kgen run` about the search.
struct SearchOptions {
  std::string policy = "hybrid";
  HybridOptions hybrid;
  RoundsOptions rounds;
  EvolveOptions evolve;
  std::string stages{k_auto_stages};
  /// Names separated by commas, or "none".
  std::string escalations = join(default_escalations(), ",");
  int samples = 3;
  int attempts = 3;
  double temperature = 0.7;
  double goal = 1;
  double stop_score = 0;
  double floor_ratio = HybridOptions{}.floor_ratio;
  bool early_exit = false;
  /// A file with a kernel to start from; empty: none.
  std::string start_from;
  bool no_analysis = false;
  bool no_knowledge = false;
  bool no_detector = false;
  bool no_feedback = false;
  /// "none", "timeline", "counters", "sandboxed".
  std::string profile = "none";
};

/// Adds the options of `search`, which must outlive them, under the heading "Search".
void add_search_options(std::vector<Option>& options, SearchOptions& search);

/// The parts that prompts leave out.
[[nodiscard]] std::vector<PromptPart> left_out_parts(const SearchOptions& options);

/// The policy that the options describe. InvalidArgument for an unknown stage or escalation, and for options that
/// exclude each other, before anything is spent.
[[nodiscard]] Result<std::unique_ptr<Policy>> make_policy(const SearchOptions& options, const PromptBuilder& prompts,
                                                          Target target);

}  // namespace kernelgen::cli
