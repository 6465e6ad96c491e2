#include "support/file_exchange.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "support/files.hpp"
#include "support/random_id.hpp"
#include "support/shared_directory.hpp"
#include "support/sleep.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t k_max_id = 160;
constexpr std::string_view k_claim = ".claim.";
constexpr std::string_view k_expired = ".expired.";
/// Polls of the longest interval between two listings, which are too slow for every poll.
constexpr int k_polls_per_listing = 10;

/// Follows the name of a reply that was set aside.
constexpr std::string_view k_aside = ".old-";
/// An unusable answer, and the name of a claimant that was lost, are kept so that a person can look into it.
constexpr auto k_aside_age = std::chrono::hours{24 * 7};
/// Writing takes seconds, on a slow file system minutes.
constexpr auto k_temporary_age = std::chrono::hours{1};

/// Whether write_file_atomic() or SharedDirectory::now() made a file of this name. Other hidden files belong to the
/// file system or to people.
bool is_temporary_name(std::string_view name) {
  const auto is_hex = [](std::string_view text, std::size_t digits) {
    return text.size() == digits && text.find_first_not_of("0123456789abcdef") == text.npos;
  };
  constexpr std::string_view k_now = ".now-", k_end = ".tmp";
  constexpr std::size_t k_now_digits = 16, k_end_digits = 12;
  if (name.starts_with(k_now)) return is_hex(name.substr(k_now.size()), k_now_digits);
  if (!name.starts_with('.') || !name.ends_with(k_end)) return false;
  name.remove_suffix(k_end.size());
  const auto dot = name.rfind('.');
  return dot != name.npos && dot > 0 && is_hex(name.substr(dot + 1), k_end_digits);
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool is_holder(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), is_plain);
}

std::string claim_name(std::string_view id, std::string_view holder) {
  return std::string(id) + std::string(k_claim) + std::string(holder);
}

std::string expired_name(std::string_view id, std::string_view holder) {
  return std::string(id) + std::string(k_expired) + std::string(holder);
}

Result<void> check_id(std::string_view id) {
  if (is_exchange_id(id)) return {};
  return Error{ErrorCode::InvalidArgument,
               "not a name for a request: \"" + sanitize_line(id, 80) + "\" (letters, digits, '.', '_', '-')"};
}

}  // namespace

bool is_exchange_id(std::string_view id) {
  return !id.empty() && id.size() <= k_max_id && id.front() != '.' && id.front() != '-' &&
         std::all_of(id.begin(), id.end(), [](char c) { return is_plain(c) || c == '.'; });
}

std::string make_holder_name() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host.fill('\0');
  std::string name = std::string(host.data()).substr(0, 32);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !is_plain(c); }, '-');
  return name + "-" + std::to_string(::getpid()) + "-" + random_hex(4);
}

/// The files of the directory, by their meaning.
struct FileExchange::Listing {
  std::set<std::string> requests;
  std::set<std::string> replies;
  /// By id; several when a request was posted again during a claim.
  std::map<std::string, std::set<std::string>> claims;
  /// Holders of claims that were given back after their lease, by id.
  std::map<std::string, std::set<std::string>> expired;

  void add(const std::string& name, const FileExchangeOptions& options) {
    const auto add_id = [&](std::string id, std::set<std::string>& to) {
      if (is_exchange_id(id)) to.insert(std::move(id));
    };
    if (name.ends_with(options.request_suffix))
      return add_id(name.substr(0, name.size() - options.request_suffix.size()), requests);
    if (name.ends_with(options.reply_suffix))
      return add_id(name.substr(0, name.size() - options.reply_suffix.size()), replies);
    add_holder(name, k_claim, claims);
    add_holder(name, k_expired, expired);
  }

 private:
  static void add_holder(const std::string& name, std::string_view mark,
                         std::map<std::string, std::set<std::string>>& to) {
    const auto at = name.rfind(mark);
    if (at == std::string::npos) return;
    const auto holder = name.substr(at + mark.size());
    const auto id = name.substr(0, at);
    if (is_holder(holder) && is_exchange_id(id)) to[id].insert(holder);
  }
};

/// Watches one reply until its file has not changed for the quiet period.
class FileExchange::Watch {
 public:
  Watch(const FileExchange& exchange, std::string name) : exchange_(exchange), name_(std::move(name)) {}

  Result<std::optional<std::string>> look() {
    const auto& options = exchange_.options_;
    KERNELGEN_TRY(const auto directory, SharedDirectory::open(options.directory));
    KERNELGEN_TRY(const auto now, directory.status(name_));
    if (!now) {
      last_.reset();
      return std::optional<std::string>{};
    }
    if (options.quiet_period.count() == 0) return directory.read(name_, options.max_bytes);
    if (last_ != now) {
      last_ = now;
      ++changes_;
      since_ = steady_clock::now();
      // A file that is older than that need not be watched. A time from another machine's clock, or in the future,
      // proves nothing, so such a file is watched.
      const auto time = directory.now();
      was_quiet_ = time && *time - now->modified >= options.quiet_period;
    }
    if (!was_quiet_ && steady_clock::now() - since_ < options.quiet_period) return std::optional<std::string>{};
    was_quiet_ = true;
    KERNELGEN_TRY(auto text, directory.read(name_, options.max_bytes));
    KERNELGEN_TRY(const auto afterwards, directory.status(name_));
    if (!text || trim(*text).empty() || afterwards != last_) return std::optional<std::string>{};
    return text;
  }

  /// Whether there is a reply that another look soon may find unchanged.
  [[nodiscard]] bool may_become_quiet() const { return last_ && !was_quiet_ && last_->size > 0 && changes_ <= 1; }

 private:
  const FileExchange& exchange_;
  std::string name_;
  std::optional<FileStatus> last_;
  steady_clock::time_point since_;
  bool was_quiet_ = false;
  int changes_ = 0;
};

Result<FileExchange> FileExchange::open(FileExchangeOptions options) {
  const auto suffix = [](const std::string& text) {
    return text.size() > 1 && text.size() <= 32 && text.front() == '.' &&
           std::all_of(text.begin(), text.end(), [](char c) { return is_plain(c) || c == '.'; });
  };
  if (!suffix(options.request_suffix) || !suffix(options.reply_suffix) ||
      options.request_suffix.ends_with(options.reply_suffix) || options.reply_suffix.ends_with(options.request_suffix))
    return Error{ErrorCode::InvalidArgument, "requests and replies need suffixes that tell them apart"};
  if (options.poll.count() <= 0 || options.lease.count() <= 0 || options.quiet_period.count() < 0)
    return Error{ErrorCode::InvalidArgument, "poll and lease take at least a millisecond"};
  KERNELGEN_CHECK(make_directories(options.directory));
  return FileExchange(std::move(options));
}

std::string FileExchange::request_name(std::string_view id) const { return std::string(id) + options_.request_suffix; }
std::string FileExchange::reply_name(std::string_view id) const { return std::string(id) + options_.reply_suffix; }
std::filesystem::path FileExchange::request_path(std::string_view id) const { return path_of(request_name(id)); }
std::filesystem::path FileExchange::reply_path(std::string_view id) const { return path_of(reply_name(id)); }

Result<FileExchange::Listing> FileExchange::list() const {
  KERNELGEN_TRY(const auto directory, SharedDirectory::open(options_.directory));
  KERNELGEN_TRY(const auto names, directory.names());
  Listing listing;
  for (const auto& name : names)
    if (name.front() != '.') listing.add(name, options_);
  return listing;
}

Result<std::set<std::string>> FileExchange::holders_of(std::string_view id) const {
  KERNELGEN_TRY(auto listing, list());
  return std::move(listing.claims[std::string(id)]);
}

Result<std::optional<std::string>> FileExchange::read_name(const std::string& name) const {
  KERNELGEN_TRY(const auto directory, SharedDirectory::open(options_.directory));
  return directory.read(name, options_.max_bytes);
}

/// Looks at both places. A claim may be made or given back between two looks, so the first place is looked at twice.
Result<std::optional<std::string>> FileExchange::posted_request(std::string_view id) const {
  KERNELGEN_TRY(auto content, read_name(request_name(id)));
  if (content) return content;
  KERNELGEN_TRY(const auto holders, holders_of(id));
  for (const auto& holder : holders) {
    KERNELGEN_TRY(content, read_name(claim_name(id, holder)));
    if (content) return content;
  }
  return read_name(request_name(id));
}

// ---- asking

Result<void> FileExchange::post(std::string_view id, std::string_view request) const {
  KERNELGEN_CHECK(check_id(id));
  if (request.size() > options_.max_bytes)
    return Error{ErrorCode::InvalidArgument,
                 "the request " + std::string(id) + " is larger than " + std::to_string(options_.max_bytes) + " bytes"};
  const auto posted = posted_request(id);
  // A request that is too large to be read was not posted by us.
  if (!posted && posted.error().code != ErrorCode::InvalidArgument) return posted.error();
  if (posted && *posted && **posted == request) return {};
  KERNELGEN_CHECK(withdraw(id));
  KERNELGEN_CHECK(set_reply_aside(id));
  return write_file_atomic(request_path(id), request);
}

Result<void> FileExchange::keep_posted(std::string_view id, std::string_view request, const AskOptions& options,
                                       std::string& holder) const {
  KERNELGEN_TRY(const auto holders, holders_of(id));
  if (!holders.empty() && *holders.begin() != holder) {
    holder = *holders.begin();
    if (options.on_claimed) options.on_claimed(holder);
  }
  if (!holders.empty()) return {};
  KERNELGEN_TRY(const auto posted, posted_request(id));
  if (posted) return {};
  KERNELGEN_TRY(const auto directory, SharedDirectory::open(options_.directory));
  KERNELGEN_TRY(const auto reply, directory.status(reply_name(id)));
  return reply ? Result<void>() : write_file_atomic(request_path(id), request);
}

Result<std::string> FileExchange::ask(std::string_view id, std::string_view request, const AskOptions& options,
                                      const std::stop_token& stop) const {
  if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled"};
  KERNELGEN_CHECK(post(id, request));
  Watch watch(*this, reply_name(id));
  std::string holder;
  const auto began = steady_clock::now();
  auto next_listing = began;
  while (true) {
    KERNELGEN_TRY(auto reply, watch.look());
    if (reply) return *std::move(reply);
    if (options.waiting == Waiting::Return && !watch.may_become_quiet())
      return Error{ErrorCode::Pending, "there is no " + reply_path(id).string() + " yet"};
    const auto now = steady_clock::now();
    auto next = now + next_poll(std::chrono::duration_cast<std::chrono::milliseconds>(now - began), options_.poll);
    if (options.deadline) {
      if (now >= *options.deadline)
        return Error{ErrorCode::Timeout, "there is no " + reply_path(id).string() + " in time"};
      next = std::min(next, *options.deadline);
    }
    if (now >= next_listing) {
      KERNELGEN_CHECK(keep_posted(id, request, options, holder));
      next_listing = now + k_polls_per_listing * options_.poll;
    }
    if (!sleep_until(next, stop)) return Error{ErrorCode::Cancelled, "cancelled"};
  }
}

Result<std::optional<std::string>> FileExchange::find_reply(std::string_view id) const {
  KERNELGEN_CHECK(check_id(id));
  return Watch(*this, reply_name(id)).look();
}

Result<void> FileExchange::withdraw(std::string_view id) const {
  KERNELGEN_CHECK(check_id(id));
  KERNELGEN_TRY(const auto directory, SharedDirectory::open(options_.directory));
  KERNELGEN_CHECK(directory.remove(request_name(id)));
  KERNELGEN_TRY(auto listing, list());
  for (const auto& holder : listing.claims[std::string(id)]) KERNELGEN_CHECK(directory.remove(claim_name(id, holder)));
  for (const auto& holder : listing.expired[std::string(id)])
    KERNELGEN_CHECK(directory.remove(expired_name(id, holder)));
  // A claim may have been given back meanwhile.
  KERNELGEN_CHECK(directory.remove(request_name(id)));
  return {};
}

Result<void> FileExchange::set_reply_aside(std::string_view id) const {
  KERNELGEN_CHECK(check_id(id));
  KERNELGEN_TRY(const auto directory, SharedDirectory::open(options_.directory));
  KERNELGEN_CHECK(directory.rename(reply_name(id), reply_name(id) + std::string(k_aside) + random_hex(4)));
  return {};
}

// ---- answering

/// Gives back an unanswered claim with an expired lease. False if its holder has answered or given it back
/// meanwhile.
Result<bool> FileExchange::take_away(const std::string& id, const std::string& holder) const {
  KERNELGEN_TRY(const auto directory, SharedDirectory::open(options_.directory));
  // The mark comes first: without it, a second evaluation would not be told from a first one.
  KERNELGEN_CHECK(write_file_atomic(path_of(expired_name(id, holder)), "", {.durability = Durability::Rename}));
  KERNELGEN_TRY(const bool given_back, directory.rename(claim_name(id, holder), request_name(id)));
  if (given_back) return true;
  KERNELGEN_TRY(const auto listing, list());
  // Another claimant may have taken it away first; its mark is the same file.
  const auto requests = listing.requests.contains(id) && !listing.replies.contains(id);
  if (!requests && !listing.claims.contains(id)) KERNELGEN_CHECK(directory.remove(expired_name(id, holder)));
  return false;
}

/// Gives back the claim of a holder that was lost. True if the request waits again.
Result<bool> FileExchange::give_back_lost(const Listing& listing, const std::string& id,
                                          const std::string& holder) const {
  if (!listing.replies.contains(id)) return take_away(id, holder);
  // An answered request is only put beside its answer.
  KERNELGEN_TRY(const auto directory, SharedDirectory::open(options_.directory));
  KERNELGEN_CHECK(directory.rename(claim_name(id, holder), request_name(id)));
  return false;
}

Result<void> FileExchange::give_back_of(std::string_view holder) const {
  KERNELGEN_TRY(const auto listing, list());
  for (const auto& [id, holders] : listing.claims)
    if (holders.contains(std::string(holder))) KERNELGEN_CHECK(give_back_lost(listing, id, std::string(holder)));
  return {};
}

Result<void> FileExchange::give_back_expired(Listing& listing) const {
  std::set<std::string> names;
  for (const auto& [id, holders] : listing.claims)
    for (const auto& holder : holders) names.insert(claim_name(id, holder));
  lease_watch_->keep_only(names);
  if (listing.claims.empty()) return {};
  KERNELGEN_TRY(const auto directory, SharedDirectory::open(options_.directory));
  KERNELGEN_TRY(const auto now, directory.now());
  for (auto& [id, holders] : listing.claims) {
    std::set<std::string> live;
    for (const auto& holder : holders) {
      KERNELGEN_TRY(const auto claim, directory.status(claim_name(id, holder)));
      if (!claim) continue;
      if (!lease_watch_->has_expired(claim_name(id, holder), claim->modified, now - claim->modified)) {
        live.insert(holder);
        continue;
      }
      KERNELGEN_TRY(const bool waits_again, give_back_lost(listing, id, holder));
      if (waits_again) listing.requests.insert(id);
    }
    holders = std::move(live);
  }
  return {};
}

/// True if the claim succeeded.
Result<bool> FileExchange::claim(const std::string& id, const std::string& name) const {
  KERNELGEN_TRY(const auto directory, SharedDirectory::open(options_.directory));
  // A rename keeps the file's time: without this touch, the claim of an old request would expire at once.
  KERNELGEN_TRY(const bool there, directory.touch(request_name(id)));
  if (!there) return false;
  KERNELGEN_TRY(const bool renamed, directory.rename(request_name(id), name));
  if (renamed) return true;
  // After a lost answer, NFS repeats the rename, and then does not find the file. No other process makes this name.
  KERNELGEN_TRY(const auto claim, directory.status(name));
  return claim.has_value();
}

Result<std::optional<FileClaim>> FileExchange::claim_next(std::string_view holder) const {
  if (!is_holder(holder)) return Error{ErrorCode::InvalidArgument, "not a name for a claimant"};
  KERNELGEN_TRY(auto listing, list());
  KERNELGEN_CHECK(give_back_expired(listing));
  KERNELGEN_TRY(const auto directory, SharedDirectory::open(options_.directory));
  std::vector<std::pair<std::chrono::nanoseconds, std::string>> waiting;
  for (const auto& id : listing.requests) {
    if (listing.replies.contains(id) || !listing.claims[id].empty()) continue;
    KERNELGEN_TRY(const auto request, directory.status(request_name(id)));
    if (request) waiting.emplace_back(request->modified, id);
  }
  std::sort(waiting.begin(), waiting.end());
  for (const auto& [modified, id] : waiting) {
    KERNELGEN_TRY(const bool ours, claim(id, claim_name(id, holder)));
    if (!ours) continue;
    // Between our listing and our claim, another claimant may have answered the request and put it back, or taken it
    // away from a third one.
    KERNELGEN_TRY(auto fresh, list());
    const auto& expired = fresh.expired[id];
    FileClaim found(*this, id, std::string(holder), {expired.begin(), expired.end()});
    if (!fresh.replies.contains(id)) return std::optional<FileClaim>{std::move(found)};
    KERNELGEN_CHECK(found.give_back());
  }
  return std::optional<FileClaim>{};
}

Result<ExchangeContent> FileExchange::inspect() const {
  KERNELGEN_TRY(const auto listing, list());
  KERNELGEN_TRY(const auto directory, SharedDirectory::open(options_.directory));
  KERNELGEN_TRY(const auto now, directory.now());
  ExchangeContent content;
  const auto by_age = [](const auto& a, const auto& b) { return a.age > b.age; };
  for (const auto& id : listing.requests) {
    if (listing.replies.contains(id)) {
      ++content.answered;
      continue;
    }
    KERNELGEN_TRY(const auto request, directory.status(request_name(id)));
    if (request) content.waiting.push_back({.id = id, .age = now - request->modified});
  }
  for (const auto& [id, holders] : listing.claims) {
    for (const auto& holder : holders) {
      KERNELGEN_TRY(const auto claim, directory.status(claim_name(id, holder)));
      if (!claim) continue;
      const auto age = now - claim->modified;
      (age > options_.lease ? content.expired : content.claimed).push_back({.id = id, .holder = holder, .age = age});
    }
  }
  for (auto* entries : {&content.waiting, &content.claimed, &content.expired})
    std::stable_sort(entries->begin(), entries->end(), by_age);
  KERNELGEN_TRY(content.leftovers, find_leftovers());
  return content;
}

Result<std::vector<std::string>> FileExchange::find_leftovers() const {
  KERNELGEN_TRY(const auto directory, SharedDirectory::open(options_.directory));
  KERNELGEN_TRY(const auto names, directory.names());
  KERNELGEN_TRY(const auto now, directory.now());
  std::vector<std::string> leftovers;
  for (const auto& name : names) {
    const bool is_aside = name.find(options_.reply_suffix + std::string(k_aside)) != name.npos;
    const bool is_mark = !name.starts_with('.') && name.find(k_expired) != name.npos;
    if (!is_aside && !is_mark && !is_temporary_name(name)) continue;
    KERNELGEN_TRY(const auto file, directory.status(name));
    const auto age = is_aside || is_mark ? k_aside_age : k_temporary_age;
    if (file && now - file->modified > age) leftovers.push_back(name);
  }
  std::sort(leftovers.begin(), leftovers.end());
  return leftovers;
}

Result<int> FileExchange::remove_leftovers() const {
  KERNELGEN_TRY(const auto leftovers, find_leftovers());
  KERNELGEN_TRY(const auto directory, SharedDirectory::open(options_.directory));
  int removed = 0;
  for (const auto& name : leftovers) {
    KERNELGEN_TRY(const bool was_there, directory.remove(name));
    removed += was_there ? 1 : 0;
  }
  return removed;
}

Result<std::string> FileClaim::read() const {
  KERNELGEN_TRY(auto content, exchange_->read_name(claim_name(id_, holder_)));
  if (!content) return Error{ErrorCode::NotFound, "the request " + id_ + " was withdrawn"};
  return *std::move(content);
}

Result<ClaimState> FileClaim::refresh() const {
  KERNELGEN_TRY(const auto directory, SharedDirectory::open(exchange_->options_.directory));
  KERNELGEN_TRY(const bool there, directory.touch(claim_name(id_, holder_)));
  return there ? ClaimState::Held : ClaimState::Lost;
}

Result<ClaimState> FileClaim::publish(std::string_view reply) const {
  if (reply.size() > exchange_->options_.max_bytes)
    return Error{ErrorCode::InvalidArgument,
                 "the reply is larger than " + std::to_string(exchange_->options_.max_bytes) + " bytes"};
  // With a fresh lease, no other claimant takes the request while we write.
  KERNELGEN_TRY(const auto state, refresh());
  if (state == ClaimState::Lost) return ClaimState::Lost;
  // A network file system may show us an old directory, in which the claim that was taken away is still ours.
  KERNELGEN_TRY(const auto directory, SharedDirectory::open(exchange_->options_.directory));
  KERNELGEN_TRY(const auto answered, directory.status(exchange_->reply_name(id_)));
  if (answered) {
    KERNELGEN_CHECK(give_back());
    return ClaimState::Answered;
  }
  KERNELGEN_CHECK(write_file_atomic(exchange_->reply_path(id_), reply));
  KERNELGEN_CHECK(give_back());
  return ClaimState::Held;
}

Result<void> FileClaim::give_back() const {
  KERNELGEN_TRY(const auto directory, SharedDirectory::open(exchange_->options_.directory));
  KERNELGEN_CHECK(directory.rename(claim_name(id_, holder_), exchange_->request_name(id_)));
  return {};
}

}  // namespace v0
}  // namespace kernelgen
