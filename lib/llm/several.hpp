#pragma once

/// \file
/// Several replies to one prompt by a request for each.

#include <kernelgen/llm/llm_client.hpp>

namespace kernelgen {
inline namespace v0 {

/// Asks for the replies `first` to `last` at once, as LLMClient::complete_several() tells. An exception of one of them
/// passes through after all have ended.
void ask_for_each(LLMClient& client, const LLMRequest& request, int first, int last, const std::stop_token& stop,
                  const std::function<void(int number, Result<Reply> reply)>& take);

}  // namespace v0
}  // namespace kernelgen
