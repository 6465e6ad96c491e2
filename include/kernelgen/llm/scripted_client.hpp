#pragma once

/// \file
/// ScriptedLLMClient: an LLMClient for tests, without a model.

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/llm/llm_client.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Answers from a function or a list, and records the requests. Thread-safe.
class ScriptedLLMClient final : public LLMClient {
 public:
  /// Gives the reply or error of a request.
  using Answer = std::function<Result<Reply>(const LLMRequest&)>;

  /// `answer` gives the reply or error of each request. Calls of it overlap when requests do; its exceptions pass
  /// through.
  explicit ScriptedLLMClient(Answer answer) : answer_(std::move(answer)) {}

  /// Each request takes the next entry, whatever its content. After the last one: Unavailable.
  explicit ScriptedLLMClient(std::vector<Result<Reply>> replies) : answer_(from_list(std::move(replies))) {}

  /// Makes a reply with this text.
  [[nodiscard]] static Reply reply(std::string text) {
    Reply reply;
    reply.text = std::move(text);
    return reply;
  }

  /// Cancelled when the token was triggered before; the request counts all the same.
  Result<Reply> complete(const LLMRequest& request, std::stop_token stop) override {
    {
      const std::scoped_lock lock(mutex_);
      requests_.push_back(request);
    }
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled"};
    return answer_(request);
  }

  [[nodiscard]] std::string identity() const override { return "scripted"; }

  /// All requests so far, oldest first.
  [[nodiscard]] std::vector<LLMRequest> requests() const {
    const std::scoped_lock lock(mutex_);
    return requests_;
  }

  /// Number of requests so far.
  [[nodiscard]] std::size_t count() const {
    const std::scoped_lock lock(mutex_);
    return requests_.size();
  }

 private:
  /// The remaining replies. Shared, because a std::function must be copyable.
  struct List {
    std::mutex mutex;
    std::vector<Result<Reply>> replies;
    std::size_t next = 0;
  };

  static Answer from_list(std::vector<Result<Reply>> replies) {
    auto list = std::make_shared<List>();
    list->replies = std::move(replies);
    return [list](const LLMRequest& request) -> Result<Reply> {
      const std::scoped_lock lock(list->mutex);
      if (list->next == list->replies.size())
        return Error{ErrorCode::Unavailable, "the script has no reply left for \"" + request.id + '"'};
      return list->replies[list->next++];
    };
  }

  mutable std::mutex mutex_;
  Answer answer_;
  std::vector<LLMRequest> requests_;
};

}  // namespace v0
}  // namespace kernelgen
