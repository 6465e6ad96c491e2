#include <algorithm>

#include <kernelgen/bench/spool.hpp>

#include "bench/spool.hpp"
#include "bench/spool_heartbeat.hpp"
#include "exec/process_identity.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using std::chrono::milliseconds;

std::vector<SpoolRequestStatus> to_status(const std::vector<ExchangeEntry>& entries) {
  std::vector<SpoolRequestStatus> requests;
  requests.reserve(entries.size());
  for (const auto& [id, holder, age] : entries)
    requests.push_back({.id = id, .holder = holder, .age = std::chrono::duration_cast<milliseconds>(age)});
  return requests;
}

Result<void> check_directory(const std::filesystem::path& directory) {
  std::error_code error;
  const auto status = std::filesystem::status(directory, error);
  if (std::filesystem::is_directory(status)) return {};
  if (std::filesystem::exists(status))
    return Error{ErrorCode::InvalidArgument, directory.string() + " is not a spool: it is not a directory"};
  return Error{ErrorCode::NotFound, directory.string() + " is not a spool: it does not exist"};
}

}  // namespace

Result<SpoolStatus> inspect_spool(const std::filesystem::path& directory, milliseconds lease) {
  KERNELGEN_CHECK(check_directory(directory));
  auto options = spool_exchange(directory);
  options.lease = lease;
  KERNELGEN_TRY(const auto exchange, FileExchange::open(std::move(options)));
  KERNELGEN_TRY(const auto content, exchange.inspect().context("looking at the spool"));
  KERNELGEN_TRY(const auto heartbeats, read_heartbeats(directory));
  SpoolStatus status{.waiting = to_status(content.waiting),
                     .judged = to_status(content.claimed),
                     .abandoned = to_status(content.expired),
                     .answered = content.answered,
                     .leftovers = content.leftovers};
  for (const auto& report : heartbeats) {
    const bool is_dead = report.worker.silent > lease || has_certainly_ended(report.process);
    (is_dead ? status.dead_workers : status.workers).push_back(report.worker);
    for (auto& request : status.judged)
      if (const auto found = report.judged.find(request.holder); found != report.judged.end())
        request.age = found->second;
  }
  return status;
}

}  // namespace v0
}  // namespace kernelgen
