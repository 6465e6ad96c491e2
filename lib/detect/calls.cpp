#include "detect/calls.hpp"

#include <algorithm>

namespace kernelgen {
inline namespace v0 {
namespace detect {

std::vector<Range> split_tokens(const Tokens& tokens, Range range, std::string_view separator) {
  std::vector<Range> parts;
  Position start = range.begin;
  for (Position at = range.begin; at < range.end; at = tokens.after_group(at, range.end)) {
    if (tokens.syntax == Syntax::CFamily && tokens.is(at, "<") && at > range.begin && tokens.is_name(at - 1)) {
      // tile<16, 64> a, b
      const Position after = tokens.after_template(at, range.end);
      if (after > at && (tokens.is_name(after) || tokens.is(after, "(") || tokens.is(after, "::"))) at = after - 1;
    }
    if (!tokens.is(at, separator)) continue;
    parts.push_back({start, at});
    start = at + 1;
  }
  if (start < range.end) parts.push_back({start, range.end});
  return parts;
}

bool is_device_operation(const Tokens& tokens, const Call& call) {
  return tokens.is_module(call.first) || (call.first == call.name && tokens.is_operation(call.name));
}

static bool is_of_description(const Tokens& tokens, const Call& call) {
  return tokens.syntax == Syntax::Python && call.first != call.name && !tokens.is_module(call.first) &&
         tokens.is(call.arguments.begin, "[");
}

bool loads_block(const Tokens& tokens, const Call& call) {
  return call.name == "load" && is_of_description(tokens, call);
}

bool stores_block(const Tokens& tokens, const Call& call) {
  return (call.name == "store" || call.name == "atomic_add") && is_of_description(tokens, call);
}

std::string_view name_at(const Tokens& tokens, Position at) {
  const auto text = tokens.list[at].text;
  if (text != "self" || !tokens.is(at + 1, ".") || !tokens.is_name(at + 2)) return text;
  const auto member = tokens.list[at + 2].text;
  return {text.data(), static_cast<std::size_t>(member.data() + member.size() - text.data())};
}

std::vector<Range> by_position(const Tokens& tokens, const std::vector<std::string_view>& names,
                               std::vector<Range> given) {
  if (tokens.syntax == Syntax::CFamily) return given;
  std::vector<Range> arguments;
  for (const auto range : given) {
    if (!(tokens.is_name(range.begin) && tokens.is(range.begin + 1, "="))) {
      arguments.push_back(range);
      continue;
    }
    const auto found = std::find(names.begin(), names.end(), tokens.list[range.begin].text);
    if (found == names.end()) continue;
    const auto index = static_cast<std::size_t>(found - names.begin());
    if (arguments.size() <= index) arguments.resize(index + 1);
    arguments[index] = {range.begin + 2, range.end};
  }
  return arguments;
}

Range place_before(const Tokens& tokens, Position end, Position begin) {
  Position at = end;
  while (at > begin) {
    const Position last = at - 1;
    const Position open = tokens.is(last, "]") ? tokens.partner[last] : k_nowhere;
    if (open != k_nowhere && open >= begin) {
      at = open;
      continue;
    }
    if (!tokens.is_name(last)) break;
    at = last;
    if (at <= begin + 1 || !(tokens.is(at - 1, ".") || tokens.is(at - 1, "->"))) break;
    --at;
  }
  return {at, end};
}

Range object_of(const Tokens& tokens, const Call& call) {
  constexpr Position k_longest = 16;  // tokens
  const Position end = call.at - 1;
  return place_before(tokens, end, end > k_longest ? end - k_longest : 0);
}

std::vector<Range> arguments_of(const Tokens& tokens, const Call& call, bool method) {
  auto arguments = split_tokens(tokens, call.arguments, ",");
  const bool dotted = call.at > 1 && (tokens.is(call.at - 1, ".") || tokens.is(call.at - 1, "->"));
  if (method) arguments.insert(arguments.begin(), dotted ? object_of(tokens, call) : Range{});
  return arguments;
}

Position arguments_at(const Tokens& tokens, Position at, Position end) {
  if (tokens.syntax == Syntax::Python) {
    const bool launch = tokens.is(at, "[") && at < end;
    return launch ? tokens.after_group(at, end) : at;
  }
  if (tokens.is(at, "<")) at = tokens.after_template(at, end);
  if (!tokens.is(at, "<<<")) return at;
  return tokens.launch_end(at, end) + 1;
}

std::vector<Call> calls_in(const Tokens& tokens, Range range) {
  std::vector<Call> calls;
  std::string_view first;
  for (Position at = range.begin; at < range.end; ++at) {
    if (!tokens.is_name(at)) continue;
    const bool continued =
        at > range.begin && (tokens.is(at - 1, ".") || tokens.is(at - 1, "->") || tokens.is(at - 1, "::"));
    if (!continued) first = tokens.list[at].text;
    const Position open = arguments_at(tokens, at + 1, range.end);
    if (!tokens.is(open, "(") || open >= range.end) continue;
    const Position after = tokens.after_group(open, range.end);
    calls.push_back({tokens.list[at].text, at, {open + 1, std::max(after - 1, open + 1)}, first});
  }
  return calls;
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
