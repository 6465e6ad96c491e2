#include "llm/continuation.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// Fewer bytes that are equal may be so by chance.
constexpr std::size_t k_least_overlap = 16;
constexpr std::size_t k_most_overlap = 2'000;
constexpr std::string_view k_fence = "```";

bool has_open_fence(std::string_view text) {
  bool is_open = false;
  for (const auto line : split_lines(text))
    if (trim(line).starts_with(k_fence)) is_open = !is_open;
  return is_open;
}

/// The bytes at the end of `text` that `next` begins with.
std::size_t overlap_of(std::string_view text, std::string_view next) {
  for (auto size = std::min({text.size(), next.size(), k_most_overlap}); size >= k_least_overlap; --size)
    if (text.ends_with(next.substr(0, size))) return size;
  return 0;
}

void add(std::optional<std::int64_t>& sum, const std::optional<std::int64_t>& more) {
  if (more) sum = sum.value_or(0) + *more;
}

}  // namespace

std::string join_pieces(std::string_view text, std::string_view next) {
  const auto first_line = next.substr(0, next.find('\n'));
  if (trim(first_line).starts_with(k_fence) && trim(first_line) != k_fence && has_open_fence(text))
    next.remove_prefix(std::min(next.size(), first_line.size() + 1));
  next.remove_prefix(overlap_of(text, next));
  return std::string(text) + std::string(next);
}

void append_reply(Reply& reply, const Reply& next) {
  reply.text = join_pieces(reply.text, next.text);
  reply.finish = next.finish;
  add(reply.usage.input_tokens, next.usage.input_tokens);
  add(reply.usage.output_tokens, next.usage.output_tokens);
  add(reply.usage.cached_tokens, next.usage.cached_tokens);
  add(reply.usage.reasoning_tokens, next.usage.reasoning_tokens);
  add(reply.usage.cache_write_tokens, next.usage.cache_write_tokens);
  reply.latency += next.latency;
  if (!next.request_id.empty()) reply.request_id += ' ' + next.request_id;
}

}  // namespace v0
}  // namespace kernelgen
