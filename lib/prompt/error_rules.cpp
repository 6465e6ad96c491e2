#include "prompt/error_rules.hpp"

#include <algorithm>
#include <boost/regex.hpp>
#include <utility>

#include "support/regex.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

// The beginning of a message tells what the error is; the rest is data of the candidate's.
constexpr std::size_t k_max_searched = 4096;

struct CompiledRule {
  const ErrorRule* rule;
  boost::regex pattern;
  boost::regex context;
};

bool applies_to(const ErrorRule& rule, ErrorTool tool) {
  return (static_cast<unsigned>(rule.tools) & static_cast<unsigned>(tool)) != 0;
}

boost::regex make_pattern(std::string_view pattern) {
  // Without m, '^' is the beginning of the text only; without s, '.' matches no line end.
  return boost::regex(pattern.data(), pattern.data() + pattern.size(),
                      boost::regex::perl | boost::regex::no_mod_m | boost::regex::no_mod_s);
}

/// Every rule, those of the highest rank first.
const std::vector<CompiledRule>& compiled_rules() {
  static const auto k_compiled = [] {
    std::vector<CompiledRule> compiled;
    for (const auto rank : {ErrorRank::Specific, ErrorRank::General, ErrorRank::Fallback})
      for (const auto rules : {triton_rules(), python_rules(), compiler_rules(), runtime_rules()})
        for (const auto& rule : rules)
          if (rule.rank == rank) compiled.push_back({&rule, make_pattern(rule.pattern), make_pattern(rule.context)});
    return compiled;
  }();
  return k_compiled;
}

struct Match {
  const ErrorRule* rule;
  std::size_t length;
};

std::vector<Match> find_matches(const ToolMessage& message) {
  const auto text = std::string_view(message.text).substr(0, k_max_searched);
  const auto context = std::string_view(message.context).substr(0, k_max_searched);
  std::vector<Match> found;
  for (const auto& [rule, pattern, context_pattern] : compiled_rules()) {
    if (!found.empty() && rule->rank != found.front().rule->rank) break;
    if (!applies_to(*rule, message.tool)) continue;
    const auto length = match_length(pattern, text);
    if (length && match_length(context_pattern, context)) found.push_back({rule, *length});
  }
  return found;
}

}  // namespace

std::vector<const ErrorRule*> matching_rules(const ToolMessage& message) {
  std::vector<const ErrorRule*> rules;
  for (const auto& match : find_matches(message)) rules.push_back(match.rule);
  return rules;
}

std::string_view class_of_message(const ToolMessage& message) {
  const auto matches = find_matches(message);
  const auto longest = std::max_element(matches.begin(), matches.end(), [](const Match& a, const Match& b) {
    return std::pair(a.length, b.rule->error_class) < std::pair(b.length, a.rule->error_class);
  });
  return longest == matches.end() ? std::string_view() : longest->rule->error_class;
}

}  // namespace v0
}  // namespace kernelgen
