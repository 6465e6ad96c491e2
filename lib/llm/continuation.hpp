#pragma once

/// \file
/// Replies that were cut by their limit, and go on in another one.

#include <string>
#include <string_view>

#include <kernelgen/core/prompt.hpp>

namespace kernelgen {
inline namespace v0 {

/// What a model is told that is to go on with its reply.
inline constexpr std::string_view k_continue_prompt =
    "Your reply was cut by the limit of its length. Go on exactly where it ended, in the middle of a line if need be. "
    "Do "
    "not repeat anything, and do not begin a new code block.";

/// Puts two pieces of a reply together. Models repeat the last words, or open the code block again: such a beginning of
/// `next` is left out.
[[nodiscard]] std::string join_pieces(std::string_view text, std::string_view next);

/// `next` is the reply to a request to go on with `reply`: adds its text, tokens and times, and takes its end.
void append_reply(Reply& reply, const Reply& next);

}  // namespace v0
}  // namespace kernelgen
