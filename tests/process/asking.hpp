#pragma once

#include <chrono>
#include <string>

#include <kernelgen/llm/clients.hpp>

namespace kernelgen::testing {

inline const std::string k_server_key = "topsecret-0123456789";

/// Options of a client for a server of a test: a key, three attempts without waits between them.
inline ServerClientOptions server_options(const std::string& base_url) {
  ServerClientOptions options;
  options.base_url = base_url;
  options.model = "asked-model";
  options.api_key = k_server_key;
  options.retry = {.max_attempts = 3, .base = std::chrono::milliseconds(1), .longest = std::chrono::seconds(30)};
  options.idle_timeout = std::chrono::seconds(60);
  return options;
}

inline LLMRequest seed_request() {
  LLMRequest request;
  request.id = "seed1";
  request.prompt = "write a kernel";
  request.timeout = std::chrono::seconds(300);
  return request;
}

}  // namespace kernelgen::testing
