#include "llm/model_terms.hpp"

#include <algorithm>

namespace kernelgen {
inline namespace v0 {
namespace {

/// Without a price of their own, such tokens cost what other input costs.
std::optional<double> highest_own(const std::optional<double>& a, double input_a, const std::optional<double>& b,
                                  double input_b) {
  if (!a && !b) return std::nullopt;
  return std::max(a.value_or(input_a), b.value_or(input_b));
}

Prices highest_prices(const Prices& a, const Prices& b) {
  const double in_a = a.per_million_input, in_b = b.per_million_input;
  return {.per_million_input = std::max(in_a, in_b),
          .per_million_output = std::max(a.per_million_output, b.per_million_output),
          .per_million_cached = highest_own(a.per_million_cached, in_a, b.per_million_cached, in_b),
          .per_million_cache_write = highest_own(a.per_million_cache_write, in_a, b.per_million_cache_write, in_b)};
}

}  // namespace

ModelTerms highest_terms(const ModelTerms& a, const ModelTerms& b) {
  ModelTerms terms;
  if (a.prices && b.prices) terms.prices = highest_prices(*a.prices, *b.prices);
  if (a.max_output_tokens && b.max_output_tokens)
    terms.max_output_tokens = std::max(*a.max_output_tokens, *b.max_output_tokens);
  return terms;
}

}  // namespace v0
}  // namespace kernelgen
