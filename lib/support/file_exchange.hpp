#pragma once

/// \file
/// Questions and answers as files in a directory that several machines may share. Nothing but rename and file times is
/// asked of the file system: no locks, no notification, no agreement of the machines' clocks.
///
///     ID.request      appears by rename. An answered request stays beside its reply: it says what the reply answers
///     ID.claim.HOLDER the request, claimed by HOLDER (by rename, so exactly one gets it) and touched meanwhile. One
///                     that was not touched for the length of a lease is given back by rename (see LeaseWatch)
///     ID.expired.HOLDER  empty: HOLDER's claim was given back in this way. Removed with the request
///     ID.reply        appears by rename, or, where people write it, counts once it has been quiet
///     .ANYTHING       on its way to one of the above, or left by a writer that died; never read
///
/// ".request" and ".reply" stand for suffixes that the owner of the directory chooses.

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/result.hpp>
#include <kernelgen/core/waiting.hpp>

#include "support/lease_watch.hpp"

namespace kernelgen {
inline namespace v0 {

/// How a directory is used. Both sides must agree on the suffixes.
struct FileExchangeOptions {
  std::filesystem::path directory;
  /// Suffix of requests, such as ".request.json".
  std::string request_suffix;
  std::string reply_suffix;
  /// Larger requests and replies are refused.
  std::size_t max_bytes = 64u << 20;
  /// A reply counts once its file is not empty and has not changed for this time. 0 where replies appear by rename.
  std::chrono::milliseconds quiet_period{0};
  /// Time between two looks.
  std::chrono::milliseconds poll{200};
  /// A claim that was not touched for this time is given back. Holders touch theirs every quarter of it. It is longer
  /// than a file system may show old times.
  std::chrono::milliseconds lease{60'000};
};

/// Whether a text can be an id: letters, digits, '.', '_', '-'; neither a dot nor a dash in front; 1 to 160 of them.
[[nodiscard]] bool is_exchange_id(std::string_view id);

/// A unique name for one claimant: "host-pid-random".
[[nodiscard]] std::string make_holder_name();

/// Whether a claim still belongs to its holder.
enum class ClaimState {
  Held,
  Lost,      ///< withdrawn by the asker, or given back after its lease expired
  Answered,  ///< another claimant took over the request and has answered it
};

/// One request of an exchange.
struct ExchangeEntry {
  std::string id;
  /// The name of the claimant; empty: the request waits.
  std::string holder{};
  /// Time since the request appeared, or since its holder last touched the claim.
  std::chrono::nanoseconds age{0};
};

/// The files of an exchange, each list with the oldest first.
struct ExchangeContent {
  std::vector<ExchangeEntry> waiting{};
  std::vector<ExchangeEntry> claimed{};
  /// Claims with an expired lease.
  std::vector<ExchangeEntry> expired{};
  std::size_t answered = 0;
  /// Names of files that will never be read again; see FileExchange::remove_leftovers().
  std::vector<std::string> leftovers{};
};

class FileExchange;

/// A claimed request. The destructor does nothing to it: give it back or answer it, else its lease expires.
/// Thread-safe; the exchange outlives it.
class FileClaim {
 public:
  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  /// Claimants that lost this request because their leases expired.
  [[nodiscard]] const std::vector<std::string>& expired_holders() const noexcept { return expired_holders_; }
  /// The content of the request. InvalidArgument for one that is too large.
  [[nodiscard]] Result<std::string> read() const;
  /// Renews the lease.
  [[nodiscard]] Result<ClaimState> refresh() const;
  /// Publishes the reply and puts the request beside it. Lost, Answered: another claimant has or had the request, and
  /// nothing was written.
  [[nodiscard]] Result<ClaimState> publish(std::string_view reply) const;
  /// Gives the request back, so that another claimant can answer it.
  [[nodiscard]] Result<void> give_back() const;

 private:
  friend class FileExchange;
  FileClaim(const FileExchange& exchange, std::string id, std::string holder, std::vector<std::string> expired_holders)
      : exchange_(&exchange),
        id_(std::move(id)),
        holder_(std::move(holder)),
        expired_holders_(std::move(expired_holders)) {}
  const FileExchange* exchange_;
  std::string id_;
  std::string holder_;
  std::vector<std::string> expired_holders_;
};

/// How to wait for a reply.
struct AskOptions {
  Waiting waiting = Waiting::Wait;
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
  /// Called, from the asking thread, with the holder each time the request is claimed.
  std::function<void(const std::string& holder)> on_claimed = {};
};

/// Both sides of an exchange. Thread-safe.
class FileExchange {
 public:
  /// Makes the directory when it is missing.
  [[nodiscard]] static Result<FileExchange> open(FileExchangeOptions options);

  [[nodiscard]] const FileExchangeOptions& options() const noexcept { return options_; }
  [[nodiscard]] std::filesystem::path request_path(std::string_view id) const;
  [[nodiscard]] std::filesystem::path reply_path(std::string_view id) const;

  /// Writes the request unless the same one is there already. A reply to another request of this name is set aside (as
  /// ID.reply.old-...), and that request's claimant finds it withdrawn.
  [[nodiscard]] Result<void> post(std::string_view id, std::string_view request) const;

  /// Posts the request and returns the reply, at once when it is there. A request that vanishes meanwhile is posted
  /// again. Pending with Waiting::Return; Timeout; Cancelled; NotFound when the directory is gone. After these errors
  /// the request stays, so that a later ask() finds its reply.
  [[nodiscard]] Result<std::string> ask(std::string_view id, std::string_view request, const AskOptions& options,
                                        const std::stop_token& stop) const;

  /// The reply if there is one that has been quiet long enough, whichever request it answers.
  [[nodiscard]] Result<std::optional<std::string>> find_reply(std::string_view id) const;

  /// Removes a request. A claimant notices when it renews its lease. Fine when there is none.
  [[nodiscard]] Result<void> withdraw(std::string_view id) const;

  /// Renames an unusable reply to ID.reply.old-...; fine when there is none.
  [[nodiscard]] Result<void> set_reply_aside(std::string_view id) const;

  /// Claims the oldest request that is neither answered nor claimed, after giving back those with expired leases.
  [[nodiscard]] Result<std::optional<FileClaim>> claim_next(std::string_view holder) const;

  /// Gives back the claims of a holder that is known to have ended, as if their leases had expired.
  [[nodiscard]] Result<void> give_back_of(std::string_view holder) const;

  /// Lists the files. Changes nothing.
  [[nodiscard]] Result<ExchangeContent> inspect() const;

  /// Removes temporary files that are older than an hour, and replies that were set aside and expired holders of more
  /// than a week ago. Returns the number of removed files.
  [[nodiscard]] Result<int> remove_leftovers() const;

 private:
  friend class FileClaim;
  struct Listing;
  class Watch;

  explicit FileExchange(FileExchangeOptions options)
      : options_(std::move(options)), lease_watch_(std::make_shared<LeaseWatch>(options_.lease)) {}

  [[nodiscard]] std::filesystem::path path_of(const std::string& name) const { return options_.directory / name; }
  [[nodiscard]] std::string request_name(std::string_view id) const;
  [[nodiscard]] std::string reply_name(std::string_view id) const;

  [[nodiscard]] Result<Listing> list() const;
  [[nodiscard]] Result<std::vector<std::string>> find_leftovers() const;
  [[nodiscard]] Result<std::set<std::string>> holders_of(std::string_view id) const;
  [[nodiscard]] Result<std::optional<std::string>> read_name(const std::string& name) const;
  [[nodiscard]] Result<std::optional<std::string>> posted_request(std::string_view id) const;
  [[nodiscard]] Result<void> give_back_expired(Listing& listing) const;
  [[nodiscard]] Result<bool> give_back_lost(const Listing& listing, const std::string& id,
                                            const std::string& holder) const;
  [[nodiscard]] Result<bool> take_away(const std::string& id, const std::string& holder) const;
  [[nodiscard]] Result<bool> claim(const std::string& id, const std::string& claim_name) const;
  [[nodiscard]] Result<void> keep_posted(std::string_view id, std::string_view request, const AskOptions& options,
                                         std::string& holder) const;

  FileExchangeOptions options_;
  std::shared_ptr<LeaseWatch> lease_watch_;
};

}  // namespace v0
}  // namespace kernelgen
