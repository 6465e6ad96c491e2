#include <kernelgen/llm/llm_client.hpp>

#include "llm/several.hpp"

namespace kernelgen {
inline namespace v0 {

void LLMClient::complete_several(const LLMRequest& request, int count, std::stop_token stop,
                                 const std::function<void(int, Result<Reply>)>& take) {
  ask_for_each(*this, request, 1, count, stop, take);
}

}  // namespace v0
}  // namespace kernelgen
