#pragma once

/// \file
/// Figures over many runs, beside those of Totals: the chance of a correct kernel in k attempts, the curve of fast_p, a
/// geometric mean with its interval, and what a correct kernel costs. Pure.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/report/compare.hpp>
#include <kernelgen/report/report.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// The unbiased estimate of the probability that one of `k` attempts is correct, when `correct` of `attempts` are:
/// 1 - C(attempts - correct, k) / C(attempts, k). Nothing for k < 1, for fewer attempts than k, and for numbers of
/// correct attempts outside of 0 to `attempts`.
[[nodiscard]] std::optional<double> pass_at_k(int attempts, int correct, int k);

/// Mean of pass_at_k() over tasks.
struct PassAtK {
  int k = 1;
  /// Tasks with at least k judged attempts; only these count.
  std::size_t tasks = 0;
  /// Unset without such tasks.
  std::optional<double> value;
};
/// The mean for each k. The attempts of all runs of a task count together: those that brought code that was judged, and
/// replies without code. Analyses, unanswered requests and what could not be judged do not count.
[[nodiscard]] std::vector<PassAtK> pass_at_k_of(const std::vector<RunReport>& runs, const std::vector<int>& ks);

/// One point of a curve: the fraction of all runs with a score above p.
struct FastP {
  double p = 0;
  double fraction = 0;
};
/// fast_p() for p from 0.5 to 4 in steps of 0.1.
[[nodiscard]] std::vector<FastP> fast_p_curve(const std::vector<RunReport>& runs);

/// Runs that have something in common, or all runs.
struct GroupFigures {
  /// "single_operator", "gemm", a model. Empty where that is not known.
  std::string name;
  int runs = 0;
  /// Runs with a correct kernel.
  int correct = 0;
  /// fast_p() for 1.
  double fast_1 = 0;
  /// Geometric mean over the runs with a score, as mean_ratio() computes it.
  MeanRatio score;
  /// Tokens and cost of all requests over the number of runs with a correct kernel. Unset without such a run, and where
  /// no request has a known number.
  std::optional<double> tokens_per_correct;
  std::optional<double> cost_per_correct;
};
/// The figures of all runs together; the name is empty.
[[nodiscard]] GroupFigures figures_of(const std::vector<RunReport>& runs);

/// What the time of requests and evaluations was spent on. Work that went on at the same time counts each.
struct TimeFigures {
  /// Seconds from sending requests to their replies, as far as the models tell.
  double model = 0;
  /// Seconds of all evaluations.
  EvaluationTime evaluations;
  /// Quantiles of an evaluation's seconds without waiting. Unset without evaluations.
  std::optional<double> median;
  std::optional<double> upper_decile;
};
/// The figures of all runs together.
[[nodiscard]] TimeFigures time_figures_of(const std::vector<RunReport>& runs);

/// What runs are grouped by.
enum class Grouping { Level, Family, Target, Model, Policy, Device };
/// The figures of each group, in the order of their names; runs of which nothing is known come last. A run with several
/// families is in several groups.
[[nodiscard]] std::vector<GroupFigures> figures_by(const std::vector<RunReport>& runs, Grouping grouping);

}  // namespace v0
}  // namespace kernelgen
