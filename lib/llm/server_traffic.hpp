#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <kernelgen/llm/clients.hpp>

#include "llm/http.hpp"
#include "llm/rate_limiter.hpp"

namespace kernelgen {
inline namespace v0 {

class ServerTraffic {
 public:
  explicit ServerTraffic(std::unique_ptr<HttpEngine> engine) : engine_(std::move(engine)) {}

  [[nodiscard]] HttpEngine& engine() { return *engine_; }
  /// The gate of one account: a host and a key. It lives as long as this object.
  [[nodiscard]] RateGate& gate_of(const std::string& host, const std::string& key, std::optional<int> max_concurrent) {
    const std::scoped_lock lock(mutex_);
    auto& gate = gates_[{host, key}];
    gate.limit_concurrency(max_concurrent);
    return gate;
  }

 private:
  std::unique_ptr<HttpEngine> engine_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, RateGate> gates_;
};

}  // namespace v0
}  // namespace kernelgen
