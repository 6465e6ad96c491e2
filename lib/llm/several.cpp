#include "llm/several.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace kernelgen {
inline namespace v0 {

void ask_for_each(LLMClient& client, const LLMRequest& request, int first, int last, const std::stop_token& stop,
                  const std::function<void(int, Result<Reply>)>& take) {
  std::mutex mutex;
  std::exception_ptr thrown;
  const auto ask = [&](int number) {
    try {
      auto own = request;
      own.id += std::to_string(number);
      auto reply = client.complete(own, stop);
      const std::scoped_lock lock(mutex);
      take(number, std::move(reply));
    } catch (...) {
      const std::scoped_lock lock(mutex);
      thrown = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(std::max(last - first + 1, 0)));
    for (int number = first; number <= last; ++number) threads.emplace_back(ask, number);
  }
  if (thrown) std::rethrow_exception(thrown);
}

void LLMClient::complete_several(const LLMRequest& request, int count, std::stop_token stop,
                                 const std::function<void(int, Result<Reply>)>& take) {
  ask_for_each(*this, request, 1, count, stop, take);
}

}  // namespace v0
}  // namespace kernelgen
