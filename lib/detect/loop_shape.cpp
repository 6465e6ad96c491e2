#include <algorithm>
#include <array>
#include <cstdlib>

#include "detect/calls.hpp"
#include "detect/function_flow.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

/// Loops with at most this literal number of iterations are layers, directions or passes, not steps of time.
constexpr long k_few = 16;

/// The numbers that determine the number of iterations.
struct Bounds {
  long start = 0;
  long end = 0;
  long step = 1;
  [[nodiscard]] bool is_few() const {
    const long size = std::labs(step);
    return size != 0 && (std::labs(end - start) + size - 1) / size <= k_few;
  }
};

/// The greatest number that an expression can be: of min(16, n) it is 16. Nothing if the text does not say.
std::optional<long> upper_bound(const Tokens& tokens, Range range) {
  if (const auto number = evaluate(tokens, range.begin, range.end)) return number;
  const auto calls = calls_in(tokens, range);
  if (calls.empty() || calls.front().arguments.end + 1 != range.end) return std::nullopt;
  const auto& call = calls.front();
  Position first = call.at;
  while (first > range.begin + 1 && (tokens.is(first - 1, ".") || tokens.is(first - 1, "::"))) first -= 2;
  constexpr std::array<std::string_view, 3> k_minima{"min", "MIN", "minimum"};
  if (first != range.begin || std::find(k_minima.begin(), k_minima.end(), call.name) == k_minima.end())
    return std::nullopt;
  std::optional<long> least;
  for (const auto argument : split_tokens(tokens, call.arguments, ","))
    if (const auto number = evaluate(tokens, argument.begin, argument.end))
      least = least ? std::min(*least, *number) : number;
  return least;
}

/// for i in range(4), also with several ranges.
bool is_short_range(const Tokens& tokens, Range header) {
  bool counts = false;
  Position inside = 0;  // the end of the arguments of a range
  for (const auto& call : calls_in(tokens, header)) {
    if (call.at < inside) continue;
    if (call.name != "range" && call.name != "static_range") return false;
    inside = call.arguments.end;
    std::vector<long> numbers;
    bool bounded = false;  // the end is only known to be at most a number
    const auto given = split_tokens(tokens, call.arguments, ",");
    const bool single = given.size() < 2 || tokens.is(given[1].begin + 1, "=");
    for (const auto argument : given) {
      if (tokens.is(argument.begin + 1, "=")) continue;  // num_stages=2
      const auto number =
          numbers.size() > 1 ? evaluate(tokens, argument.begin, argument.end) : upper_bound(tokens, argument);
      const bool exact = number && evaluate(tokens, argument.begin, argument.end);
      if (!number || (bounded && !exact) || (!exact && numbers.empty() && !single)) return false;
      bounded = bounded || !exact;
      numbers.push_back(*number);
    }
    if (numbers.empty()) return false;
    Bounds bounds;
    if (numbers.size() == 1) bounds.end = numbers[0];
    if (numbers.size() > 1) bounds = {numbers[0], numbers[1], numbers.size() > 2 ? numbers[2] : 1};
    if ((bounded && bounds.step < 0) || !bounds.is_few()) return false;
    counts = true;
  }
  return counts;
}

/// The number behind the first of `operators`.
template <std::size_t N>
std::optional<long> number_after(const Tokens& tokens, Range range, const std::array<std::string_view, N>& operators) {
  for (Position at = range.begin; at < range.end; ++at)
    for (const auto text : operators)
      if (tokens.is(at, text)) return evaluate(tokens, at + 1, range.end);
  return std::nullopt;
}

/// What stands behind i < or i <= is at most this number.
std::optional<long> least_after(const Tokens& tokens, Range range) {
  for (Position at = range.begin; at < range.end; ++at)
    if (tokens.is(at, "<") || tokens.is(at, "<=")) return upper_bound(tokens, {at + 1, range.end});
  return std::nullopt;
}

}  // namespace

bool FunctionFlow::is_geometric(std::uint32_t loop) const {
  const auto& node = function_.nodes[loop];
  const auto& tokens = *function_.tokens;
  const auto scales = [&](Position at) {
    for (const auto* word : {"<<=", ">>=", "*=", "/=", "//="})
      if (tokens.is(at, word)) return true;
    const bool binary = tokens.is(at, "<<") || tokens.is(at, ">>") || tokens.is(at, "*") || tokens.is(at, "/");
    // i = i * 2
    return binary && at >= 3 && tokens.is(at - 2, "=") && tokens.is_name(at - 1) &&
           tokens.is(at - 3, tokens.list[at - 1].text);
  };
  if (node.loop == LoopKind::For && tokens.syntax == Syntax::CFamily) {
    const auto parts = split_tokens(tokens, node.tokens, ";");
    for (Position at = parts.size() == 3 ? parts[2].begin : node.tokens.end; at < node.tokens.end; ++at)
      if (scales(at)) return true;
  }
  // The variable is the exponent of a power of two: 1 << step.
  std::vector<std::string_view> variables;
  const Position in = node.tokens.begin;
  for (Position at = in; at < std::min(node.tokens.end, in + 12); ++at)
    if (tokens.is_name(at)) variables.push_back(tokens.list[at].text);
  const auto is_variable = [&](Position at) {
    return tokens.is_name(at) && std::find(variables.begin(), variables.end(), tokens.list[at].text) != variables.end();
  };
  for (auto i = loop; i < node.last; ++i) {
    const auto& inner = function_.nodes[i];
    const Position end = std::min(inner.tokens.end, inner.tokens.begin + 64);
    for (Position at = inner.tokens.begin; at < end; ++at) {
      if (tokens.is(at, "<<") && at > 0 && tokens.is(at - 1, "1") && is_variable(at + 1)) return true;
      const bool loops = node.loop != LoopKind::For && inner.depth == node.depth + 1 && inner.kind == NodeKind::Plain;
      if (loops && at == inner.tokens.begin + 1 && is_variable(at - 1) &&
          (scales(at) || (tokens.is(at, "=") && scales(at + 2))))
        return true;
    }
  }
  return false;
}

/// Both ends must be literal: for (t = n - 1; t >= 0; --t) is as long as n.
bool FunctionFlow::is_short(std::uint32_t loop) const {
  const auto& node = function_.nodes[loop];
  const auto& tokens = *function_.tokens;
  if (node.loop != LoopKind::For) return false;
  if (tokens.syntax == Syntax::Python) return is_short_range(tokens, node.tokens);
  const auto parts = split_tokens(tokens, node.tokens, ";");
  if (parts.size() < 2) return false;
  constexpr std::array<std::string_view, 1> k_assigns{"="};
  constexpr std::array<std::string_view, 5> k_compares{"<", "<=", ">", ">=", "!="};
  constexpr std::array<std::string_view, 2> k_moves{"+=", "-="};
  const auto first = number_after(tokens, parts[0], k_assigns);
  auto last = number_after(tokens, parts[1], k_compares);
  if (!last) last = least_after(tokens, parts[1]);
  if (!first || !last) return false;
  const auto step = parts.size() > 2 ? number_after(tokens, parts[2], k_moves) : std::nullopt;
  return Bounds{*first, *last, step.value_or(1)}.is_few();
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
