#pragma once

/// \file
/// Questions and answers as files in a directory that several machines may share. Nothing but rename and file times is
/// asked of the file system: no locks, no notification, no agreement of the machines' clocks.
///
///     ID.request      appears by rename. An answered request stays beside its reply: it says what the reply answers
///     ID.claim.WHO    the request in the hands of WHO (renamed, so exactly one gets it); touched while WHO works. One
///                     that was not touched for the length of a lease is given back by rename
///     ID.reply        appears by rename, or, where people write it, counts once it has settled
///     .ANYTHING       on its way to one of the above, or left by a writer that died; never read
///
/// ".request" and ".reply" stand for suffixes that the owner of the directory chooses.

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/result.hpp>
#include <kernelgen/core/waiting.hpp>

namespace kernelgen {
inline namespace v0 {

/// How a directory is used. Both sides must agree on the suffixes.
struct FileExchangeOptions {
  std::filesystem::path directory;
  /// Such as ".request.json".
  std::string request_suffix;
  std::string reply_suffix;
  /// Larger files are refused, whichever way they go.
  std::size_t max_bytes = 64u << 20;
  /// A reply counts once it was not empty and left alone for so long. 0 where replies appear by rename.
  std::chrono::milliseconds settle{0};
  /// How often to look.
  std::chrono::milliseconds poll{200};
  /// A claim that was not touched for so long belongs to nobody. Claimants touch theirs every quarter of it.
  std::chrono::milliseconds lease{60'000};
};

/// Letters, digits, '.', '_', '-'; neither a dot nor a dash in front; 1 to 160 of them.
[[nodiscard]] bool is_exchange_id(std::string_view id);

/// A name for one claimant that no other process has: "host-pid-random".
[[nodiscard]] std::string make_holder_name();

/// Whether a claim is still its holder's.
enum class ClaimState {
  Held,
  Lost,  ///< withdrawn by the asker, or taken for abandoned and given back
};

/// One request of an exchange, as its files tell it.
struct ExchangeEntry {
  std::string id;
  /// The name of the claimant; empty: the request waits.
  std::string holder{};
  /// Time since the request appeared, or since its claimant gave its last sign of life.
  std::chrono::nanoseconds age{0};
};

/// What lies in an exchange, each list with the oldest first.
struct ExchangeContent {
  std::vector<ExchangeEntry> waiting{};
  std::vector<ExchangeEntry> claimed{};
  /// Claims whose lease is over.
  std::vector<ExchangeEntry> expired{};
  std::size_t answered = 0;
  /// Names of files that nothing will read again; see FileExchange::remove_leftovers().
  std::vector<std::string> leftovers{};
};

class FileExchange;

/// A request in our hands. Nothing happens to it at the end of this object's life: give it back or answer it, else its
/// lease runs out. Thread-safe; the exchange outlives it.
class FileClaim {
 public:
  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  /// The content of the request. InvalidArgument for one that is too large.
  [[nodiscard]] Result<std::string> read() const;
  /// Renews the lease.
  [[nodiscard]] Result<ClaimState> refresh() const;
  /// Publishes the reply and puts the request beside it. Lost: somebody else answers, and nothing was written.
  [[nodiscard]] Result<ClaimState> publish(std::string_view reply) const;
  /// For somebody else to answer.
  [[nodiscard]] Result<void> give_back() const;

 private:
  friend class FileExchange;
  FileClaim(const FileExchange& exchange, std::string id, std::string holder)
      : exchange_(&exchange), id_(std::move(id)), holder_(std::move(holder)) {}
  const FileExchange* exchange_;
  std::string id_;
  std::string holder_;
};

/// How to wait for a reply.
struct AskOptions {
  Waiting waiting = Waiting::Wait;
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
  /// Called, from the thread that asks, with the holder each time somebody claims the request.
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

  /// Puts the request there unless the same one is there already; a reply to another request of this name is set aside
  /// (as ID.reply.old-...), and whoever works on that one finds it withdrawn.
  [[nodiscard]] Result<void> post(std::string_view id, std::string_view request) const;

  /// post(), then the reply, at once when it is there. A request that vanishes meanwhile is posted again.
  /// Pending with Waiting::Return; Timeout; Cancelled; NotFound when the directory is gone. In all these cases the
  /// request stays, so that a later ask() finds its reply.
  [[nodiscard]] Result<std::string> ask(std::string_view id, std::string_view request, const AskOptions& options,
                                        const std::stop_token& stop) const;

  /// The reply if there is one that has settled, to whichever request.
  [[nodiscard]] Result<std::optional<std::string>> find_reply(std::string_view id) const;

  /// Nobody wants the answer any more. A claimant notices when it renews its lease. Fine when there is none.
  [[nodiscard]] Result<void> withdraw(std::string_view id) const;

  /// Takes an unusable reply out of the way, to ID.reply.old-...; fine when there is none.
  [[nodiscard]] Result<void> set_reply_aside(std::string_view id) const;

  /// Claims the oldest request that is neither answered nor claimed, after giving back those with expired leases.
  [[nodiscard]] Result<std::optional<FileClaim>> claim_next(std::string_view holder) const;

  /// A look that changes nothing.
  [[nodiscard]] Result<ExchangeContent> inspect() const;

  /// Removes what writers that died left behind for more than an hour, and replies that were set aside for more than a
  /// week. Returns how many files that were.
  [[nodiscard]] Result<int> remove_leftovers() const;

 private:
  friend class FileClaim;
  struct Listing;
  class Watch;

  explicit FileExchange(FileExchangeOptions options) : options_(std::move(options)) {}

  [[nodiscard]] std::filesystem::path path_of(const std::string& name) const { return options_.directory / name; }
  [[nodiscard]] std::string request_name(std::string_view id) const;
  [[nodiscard]] std::string reply_name(std::string_view id) const;

  [[nodiscard]] Result<Listing> list() const;
  [[nodiscard]] Result<std::vector<std::string>> find_leftovers() const;
  [[nodiscard]] Result<std::set<std::string>> holders_of(std::string_view id) const;
  [[nodiscard]] Result<std::optional<std::string>> read_name(const std::string& name) const;
  [[nodiscard]] Result<std::optional<std::string>> posted_request(std::string_view id) const;
  [[nodiscard]] Result<void> give_back_expired(Listing& listing) const;
  [[nodiscard]] Result<bool> claim(const std::string& id, const std::string& claim_name) const;
  [[nodiscard]] Result<void> keep_posted(std::string_view id, std::string_view request, const AskOptions& options,
                                         std::string& holder) const;

  FileExchangeOptions options_;
};

}  // namespace v0
}  // namespace kernelgen
