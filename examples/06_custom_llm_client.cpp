// A custom LLMClient: this one asks two models at once and takes the longer answer.

#include <future>
#include <iostream>

#include <kernelgen/llm/llm_client.hpp>
#include <kernelgen/llm/scripted_client.hpp>

using namespace kernelgen;

/// Thread-safe, like the clients it borrows; they outlive it.
class LongerAnswer final : public LLMClient {
 public:
  LongerAnswer(LLMClient& first, LLMClient& second) : first_(first), second_(second) {}

  Result<Reply> complete(const LLMRequest& request, std::stop_token stop) override {
    auto other = std::async(std::launch::async, [&] { return second_.complete(request, stop); });
    auto one = first_.complete(request, stop);
    auto two = other.get();
    if (!one || !two) return one ? one : two;
    Reply& longer = one->text.size() >= two->text.size() ? *one : *two;
    // Both requests were paid for.
    longer.usage = {.input_tokens = sum(one->usage.input_tokens, two->usage.input_tokens),
                    .output_tokens = sum(one->usage.output_tokens, two->usage.output_tokens)};
    return longer;
  }

  [[nodiscard]] std::string identity() const override {
    return "the longer answer of " + first_.identity() + " and " + second_.identity();
  }

 private:
  static std::optional<std::int64_t> sum(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
    return a && b ? std::optional(*a + *b) : std::nullopt;
  }

  LLMClient& first_;
  LLMClient& second_;
};

int main() {
  ScriptedLLMClient brief([](const LLMRequest&) { return Reply{.text = "No.", .usage = {100, 2}}; });
  ScriptedLLMClient verbose([](const LLMRequest& request) {
    return Reply{.text = "You asked: " + request.prompt, .usage = {100, 20}};
  });
  LongerAnswer client(brief, verbose);
  const auto reply = client.complete({.id = "question", .prompt = "Is a faster kernel possible?"}, {});
  if (!reply) {
    std::cerr << reply.error().to_line() << '\n';
    return 1;
  }
  std::cout << client.identity() << "\n" << reply->text << "\n" << *reply->usage.output_tokens << " tokens\n";
  return *reply->usage.output_tokens == 22 ? 0 : 1;
}
