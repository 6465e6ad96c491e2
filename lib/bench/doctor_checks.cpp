// Checks that kgen doctor makes on request only: a model, and a spool directory.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <set>

#include <kernelgen/bench/doctor.hpp>
#include <kernelgen/bench/spool.hpp>

#include "support/errno_error.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_max_detail = 400;
constexpr std::chrono::seconds k_model_timeout{60};

DoctorFinding finding(std::string name, DoctorStatus status, std::string_view detail, std::string remedy = {}) {
  return {std::move(name), status, sanitize_line(detail, k_max_detail), std::move(remedy)};
}

/// The problem with the directory; nothing if it can be used.
std::optional<std::string> problem_of(const std::string& directory) {
  std::error_code error;
  const auto status = std::filesystem::status(directory, error);
  if (!std::filesystem::exists(status)) return directory + " does not exist";
  if (!std::filesystem::is_directory(status)) return directory + " is no directory";
  if (::access(directory.c_str(), R_OK | W_OK | X_OK) != 0)
    return errno_error(errno, "cannot write in " + directory).message;
  return std::nullopt;
}

/// Inspects a mailbox. It gets no request, because a person would have to answer it.
DoctorFinding examine_mailbox(const std::string& directory) {
  if (const auto problem = problem_of(directory))
    return finding("model", DoctorStatus::Limited, *problem, "mkdir -p " + directory);
  return finding("model", DoctorStatus::Ok, directory + " can be written; nothing was asked, because a person answers");
}

std::string remedy_of(const Error& error, std::string_view kind) {
  if (kind == "command") return "run the program yourself: it gets the prompt on its standard input";
  switch (error.code) {
    case ErrorCode::PermissionDenied:
      return "check the key (OPENAI_API_KEY) and what it may do";
    case ErrorCode::Timeout:
    case ErrorCode::Unavailable:
      return "check that the server runs, and that this machine can reach it";
    default:
      return "";
  }
}

std::string count_tokens(const TokenUsage& usage) {
  if (!usage.input_tokens || !usage.output_tokens) return "";
  return fmt::format(", {} tokens in and {} out", *usage.input_tokens, *usage.output_tokens);
}

/// Sends one short request, as a search would.
Result<DoctorFinding> ask(LLMClient& client, std::string_view kind, std::stop_token stop) {
  const auto began = std::chrono::steady_clock::now();
  const auto reply = client.complete(
      {.id = "doctor", .prompt = "Reply with the single word: ready\n", .timeout = k_model_timeout}, std::move(stop));
  if (!reply && reply.error().code == ErrorCode::Cancelled) return reply.error();
  if (!reply) return finding("model", DoctorStatus::Missing, reply.error().to_line(), remedy_of(reply.error(), kind));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  return finding("model", DoctorStatus::Ok,
                 fmt::format("answered one short request in {:.1f} s{}", took.count(), count_tokens(reply->usage)));
}

}  // namespace

Result<DoctorFinding> examine_model(std::string_view spec, const LLMClientFactory& make_client, std::stop_token stop) {
  const auto colon = spec.find(':');
  const auto kind = spec.substr(0, colon);
  if (kind == "mailbox" && colon != spec.npos) return examine_mailbox(std::string(trim(spec.substr(colon + 1))));
  const auto client = make_client(spec);
  if (!client) return finding("model", DoctorStatus::Missing, client.error().to_line());
  if (kind == "replay") return finding("model", DoctorStatus::Ok, "the recording can be read; nothing is asked of it");
  return ask(**client, kind, std::move(stop));
}

DoctorFinding examine_spool(const std::string& directory) {
  const auto serve = "kgen worker --spool " + directory + ", where the device is";
  if (const auto problem = problem_of(directory))
    return finding("spool", DoctorStatus::Missing, *problem,
                   "kgen worker --create --spool " + directory + ", where the device is");
  const auto status = inspect_spool(directory);
  if (!status) return finding("spool", DoctorStatus::Missing, status.error().to_line());
  const auto requests = fmt::format("{} waiting, {} being judged", status->waiting.size(), status->judged.size());
  if (status->workers.empty() && status->judged.empty())
    return finding("spool", DoctorStatus::Limited, fmt::format("no worker serves {}; {}", directory, requests), serve);
  std::set<std::string> hosts;
  for (const auto& worker : status->workers) hosts.insert(worker.host);
  // Workers that are not kgen may serve the directory without a heartbeat file.
  const auto served = hosts.empty() ? "served" : "served by " + join(std::vector(hosts.begin(), hosts.end()), ", ");
  return finding("spool", DoctorStatus::Ok, served + "; " + requests);
}

}  // namespace v0
}  // namespace kernelgen
