#include "exec/zygote.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>

#include "support/json_text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

constexpr int k_socket_in_child = 3;
constexpr std::chrono::seconds k_fork_timeout{30};

std::string text_at(const json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

}  // namespace

Result<std::unique_ptr<Zygote>> Zygote::start(ZygoteOptions options) {
  KERNELGEN_TRY(auto sockets, make_stream_pair());
  KERNELGEN_TRY(auto log, MemoryLog::create());
  ChildRequest request;
  // -s and PYTHONSAFEPATH: neither the user's site directory nor the working directory may shadow kernelgen's modules.
  request.command = {options.python, "-s", "-B", "-m", options.module, "--fd", std::to_string(k_socket_in_child)};
  request.command.insert(request.command.end(), options.arguments.begin(), options.arguments.end());
  request.environment = options.environment;
  request.environment["PYTHONPATH"] = options.python_dir;
  request.environment["PYTHONSAFEPATH"] = "1";
  request.working_directory = "/";
  // The zygote ends when its socket closes. The death signal would come earlier, at the end of the starting thread.
  request.parent_death = ParentDeath::Ignore;
  KERNELGEN_TRY(auto process,
                ChildProcess::spawn(request, {{sockets.theirs.get(), k_socket_in_child}, {log.fd(), STDERR_FILENO}}));
  return std::unique_ptr<Zygote>(
      new Zygote(std::move(options), std::move(process), std::move(sockets.ours), std::move(log)));
}

Zygote::Zygote(ZygoteOptions options, ChildProcess process, UniqueFd socket, MemoryLog log)
    : options_(std::move(options)), process_(std::move(process)), channel_(std::move(socket)), log_(std::move(log)) {}

Result<ZygoteFacts> Zygote::wait_ready(std::chrono::milliseconds timeout, const std::stop_token& stop) {
  const std::scoped_lock lock(mutex_);
  if (ready_) return facts_;
  auto frame = channel_.receive(timeout, stop);
  if (!frame && frame.error().code == ErrorCode::Unavailable) {
    const auto message = last_error_line();
    return Error{
        ErrorCode::MissingTool,
        fmt::format("{} cannot run {}: {}; it needs torch: set KGEN_PYTHON to a Python that has it, or run "
                    "`pip install torch==2.13.0`",
                    options_.python, options_.module, message.empty() ? "it ended without a message" : message)};
  }
  if (!frame) return std::move(frame).context("waiting for " + options_.python + " -m " + options_.module).error();
  KERNELGEN_TRY(auto parsed, parse_json(*frame));
  if (!parsed.is_object()) return Error{ErrorCode::Protocol, options_.module + " sent no JSON object when it started"};
  const auto& hello = parsed.get_object();
  facts_ = {text_at(hello, "python"), text_at(hello, "torch"), text_at(hello, "triton")};
  ready_ = true;
  return facts_;
}

Result<pid_t> Zygote::fork(std::span<const int> fds, const ForkOptions& options) {
  const std::scoped_lock lock(mutex_);
  const auto id = next_id_++;
  json::object request{{"op", "fork"}, {"id", id}};
  if (!options.builds.empty()) request["builds"] = options.builds;
  if (options.builder) request["builder"] = true;
  KERNELGEN_CHECK(channel_.send(json::serialize(request), fds));
  KERNELGEN_TRY(auto frame, channel_.receive(k_fork_timeout, std::stop_token{}));
  KERNELGEN_TRY(auto parsed, parse_json(frame));
  const auto* pid = parsed.is_object() ? parsed.get_object().if_contains("pid") : nullptr;
  if (pid == nullptr || !pid->is_int64())
    return Error{ErrorCode::Unavailable, options_.module + " could not fork: " + json::serialize(parsed)};
  return static_cast<pid_t>(pid->get_int64());
}

}  // namespace v0
}  // namespace kernelgen
