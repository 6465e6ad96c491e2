#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <kernelgen/llm/clients.hpp>

#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// Limit of a reply; a longer one is not a kernel.
constexpr std::size_t k_max_reply_bytes = 16u << 20;
/// Bytes of a text that a message quotes.
constexpr std::size_t k_shown_bytes = 200;

std::string last_line(std::string_view text) {
  const auto lines = split_lines(trim(text));
  return lines.empty() ? std::string() : sanitize_line(lines.back(), k_shown_bytes);
}

class CommandClient final : public LLMClient {
 public:
  CommandClient(CommandClientOptions options, ProcessRunner& runner) : options_(std::move(options)), runner_(runner) {}

  Result<Reply> complete(const LLMRequest& request, std::stop_token stop) override {
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", {}};
    if (!std::isfinite(request.temperature))
      return Error{ErrorCode::InvalidArgument, describe() + ": the temperature is not a number", {}};
    if (request.timeout <= std::chrono::milliseconds::zero()) return timed_out(request);
    ProcessRequest process;
    process.command = options_.command;
    process.environment = options_.environment;
    process.environment["KGEN_REQUEST_ID"] = request.id;
    process.environment["KGEN_TEMPERATURE"] = fmt::format("{}", request.temperature);
    process.standard_input = request.prompt;
    process.timeout = request.timeout;
    process.max_output_bytes = k_max_reply_bytes;
    KERNELGEN_TRY(auto outcome, runner_.run(process, std::move(stop)).context("asking " + describe()));
    if (outcome.timed_out) return timed_out(request);
    if (!outcome.success()) return unavailable(outcome.to_line(), outcome.standard_error);
    if (outcome.output_truncated && outcome.standard_output.size() >= k_max_reply_bytes)
      return unavailable(fmt::format("the reply is longer than {} bytes", k_max_reply_bytes), {});
    if (trim(outcome.standard_output).empty()) return unavailable("the reply is empty", outcome.standard_error);
    Reply reply;
    reply.text = is_valid_utf8(outcome.standard_output) ? std::move(outcome.standard_output)
                                                        : sanitize_text(outcome.standard_output, k_max_reply_bytes);
    reply.latency = outcome.duration;
    return reply;
  }

  // The arguments are never part of a name, because they may hold keys.
  [[nodiscard]] std::string identity() const override {
    const auto program = std::filesystem::path(options_.command.front()).filename().string();
    return "command " + sanitize_line(program, k_shown_bytes);
  }
  [[nodiscard]] std::string endpoint() const override { return sanitize_line(options_.command.front(), k_shown_bytes); }

 private:
  /// For messages: "command /opt/models/my-model".
  [[nodiscard]] std::string describe() const { return "command " + endpoint(); }

  [[nodiscard]] Error timed_out(const LLMRequest& request) const {
    const double seconds = std::chrono::duration<double>(request.timeout).count();
    return {ErrorCode::Timeout, fmt::format("{}: no reply within {:.3g} s", describe(), seconds), {}};
  }

  [[nodiscard]] Error unavailable(const std::string& what, std::string_view standard_error) const {
    const auto said = last_line(standard_error);
    return {ErrorCode::Unavailable, fmt::format("{}: {}{}{}", describe(), what, said.empty() ? "" : ": ", said), {}};
  }

  CommandClientOptions options_;
  ProcessRunner& runner_;
};

}  // namespace

Result<std::unique_ptr<LLMClient>> make_command_client(CommandClientOptions options, ProcessRunner& runner) {
  if (options.command.empty() || options.command.front().empty())
    return Error{ErrorCode::InvalidArgument, "a command client needs a program that answers prompts", {}};
  KERNELGEN_TRY([[maybe_unused]] const auto program, find_program(options.command.front(), options.environment));
  return std::unique_ptr<LLMClient>(std::make_unique<CommandClient>(std::move(options), runner));
}

}  // namespace v0
}  // namespace kernelgen
