#include "flow/code_distance.hpp"

#include <algorithm>
#include <cctype>
#include <functional>
#include <string_view>
#include <utility>

#include "flow/same_code.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_run = 3;

/// The places of words and of other characters, each from its first byte to the one behind its last.
std::vector<std::pair<std::size_t, std::size_t>> tokens_in(std::string_view text) {
  const auto is = [&](std::size_t at, int (*kind)(int)) { return kind(static_cast<unsigned char>(text[at])) != 0; };
  const auto is_word = [&](std::size_t at) { return is(at, std::isalnum) || text[at] == '_'; };
  std::vector<std::pair<std::size_t, std::size_t>> tokens;
  for (std::size_t at = 0; at < text.size();) {
    const auto start = at++;
    if (is(start, std::isspace)) continue;
    while (is_word(start) && at < text.size() && is_word(at)) ++at;
    tokens.emplace_back(start, at);
  }
  return tokens;
}

}  // namespace

CodeSketch sketch_of(const Candidate& candidate) {
  const auto essence = code_essence(candidate.source, candidate.language);
  const auto tokens = tokens_in(essence);
  CodeSketch sketch;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto start = tokens[i].first, end = tokens[std::min(i + k_run, tokens.size()) - 1].second;
    sketch.push_back(std::hash<std::string_view>{}(std::string_view(essence).substr(start, end - start)));
  }
  std::sort(sketch.begin(), sketch.end());
  sketch.erase(std::unique(sketch.begin(), sketch.end()), sketch.end());
  return sketch;
}

double distance_of(const CodeSketch& a, const CodeSketch& b) {
  std::size_t common = 0;
  for (auto left = a.begin(), right = b.begin(); left != a.end() && right != b.end();) {
    const bool is_common = *left == *right;
    const bool moves_left = *left <= *right, moves_right = *right <= *left;
    common += is_common ? 1 : 0;
    left += moves_left ? 1 : 0;
    right += moves_right ? 1 : 0;
  }
  const auto all = a.size() + b.size() - common;
  return all == 0 ? 0 : 1 - static_cast<double>(common) / static_cast<double>(all);
}

}  // namespace v0
}  // namespace kernelgen
