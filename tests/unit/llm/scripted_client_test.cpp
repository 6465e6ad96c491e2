#include <kernelgen/llm/scripted_client.hpp>

#include <algorithm>
#include <functional>
#include <thread>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

LLMRequest scripted_request(const std::string& id) {
  LLMRequest request;
  request.id = id;
  request.prompt = "write " + id;
  return request;
}

}  // namespace

TEST_CASE("a scripted client answers from its list, then says that it is over", "[llm][scripted_client]") {
  ScriptedLLMClient client(
      {ScriptedLLMClient::reply("first"), Error{ErrorCode::Timeout, "late"}, ScriptedLLMClient::reply("third")});
  CHECK(client.complete(scripted_request("a"), {}).value().text == "first");
  CHECK(client.complete(scripted_request("b"), {}).error().code == ErrorCode::Timeout);
  CHECK(client.complete(scripted_request("c"), {}).value().text == "third");
  const auto over = client.complete(scripted_request("d"), {});
  REQUIRE_FALSE(over);
  CHECK(over.error().code == ErrorCode::Unavailable);
  CHECK(over.error().message == "the script has no reply left for \"d\"");
  CHECK(client.count() == 4);
}

TEST_CASE("a scripted client answers from its function and remembers the requests", "[llm][scripted_client]") {
  ScriptedLLMClient client([](const LLMRequest& asked) -> Result<Reply> {
    if (asked.id == "bad") return Error{ErrorCode::PermissionDenied, "no"};
    return ScriptedLLMClient::reply("to " + asked.prompt);
  });
  CHECK(client.complete(scripted_request("good"), {}).value().text == "to write good");
  CHECK(client.complete(scripted_request("bad"), {}).error().code == ErrorCode::PermissionDenied);
  REQUIRE(client.requests().size() == 2);
  CHECK(client.requests()[0].id == "good");
  CHECK(client.requests()[1].prompt == "write bad");
  CHECK(client.identity() == "scripted");
}

TEST_CASE("a scripted client that is cancelled does not answer", "[llm][scripted_client]") {
  ScriptedLLMClient client({ScriptedLLMClient::reply("kept")});
  std::stop_source source;
  source.request_stop();
  CHECK(client.complete(scripted_request("a"), source.get_token()).error().code == ErrorCode::Cancelled);
  CHECK(client.count() == 1);
  CHECK(client.complete(scripted_request("a"), {}).value().text == "kept");
}

TEST_CASE("each entry of a script is given once, whatever is asked", "[llm][scripted_client]") {
  constexpr std::size_t k_each = 200;
  std::vector<Result<Reply>> replies;
  for (std::size_t i = 0; i < 2 * k_each; ++i) replies.emplace_back(ScriptedLLMClient::reply(std::to_string(i)));
  ScriptedLLMClient client(std::move(replies));
  std::vector<std::string> first;
  std::vector<std::string> second;
  const auto ask = [&client](std::vector<std::string>& into) {
    for (std::size_t i = 0; i < k_each; ++i) into.push_back(client.complete(scripted_request("x"), {}).value().text);
  };
  {
    const std::jthread other(ask, std::ref(second));
    ask(first);
  }
  std::vector<bool> seen(2 * k_each, false);
  for (const auto* some : {&first, &second})
    for (const auto& text : *some) seen[std::stoul(text)] = true;
  CHECK(std::count(seen.begin(), seen.end(), true) == 2 * k_each);
  CHECK(client.count() == 2 * k_each);
}
