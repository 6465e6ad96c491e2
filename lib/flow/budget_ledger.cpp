#include "flow/budget_ledger.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/describe.hpp>
#include <boost/json.hpp>
#include <cerrno>

#include <fmt/format.h>

#include "support/errno_error.hpp"
#include "support/files.hpp"
#include "support/json_text.hpp"
#include "support/random_id.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {

BOOST_DESCRIBE_STRUCT(Spending, (), (requests, tokens, cost))
BOOST_DESCRIBE_STRUCT(BudgetShare, (), (spent, reserved))
BOOST_DESCRIBE_STRUCT(LedgerSession, (), (id, has_ended, share))
BOOST_DESCRIBE_STRUCT(LedgerStart, (), (spent, milliseconds, began))
BOOST_DESCRIBE_STRUCT(LedgerState, (), (terms, start, sessions))

namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_max_ledger_bytes = 16u << 20;
/// The first process reads all journals meanwhile.
constexpr std::chrono::minutes k_longest_wait{5};

fs::path alive_file(const fs::path& directory, const std::string& id) {
  return directory / (".budget." + id + ".lock");
}

/// Whether the process of a session is alive: it holds its lock.
Result<bool> is_alive(const fs::path& directory, const LedgerSession& session) {
  if (session.has_ended) return false;
  const auto name = alive_file(directory, session.id).string();
  const UniqueFd fd(::open(name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid() && errno == ENOENT) return false;
  if (!fd.valid()) return errno_error(errno, "cannot open " + name);
  KERNELGEN_TRY(const bool is_free, try_lock(fd.get(), name));
  return !is_free;
}

/// Counts the reservations of processes that have died as spent.
Result<void> settle_dead(const fs::path& directory, const std::string& own, LedgerState& state) {
  for (auto& session : state.sessions) {
    if (session.has_ended || session.id == own) continue;
    KERNELGEN_TRY(const bool alive, is_alive(directory, session));
    if (alive) continue;
    session.has_ended = true;
    session.share.spent += std::exchange(session.share.reserved, {});
    std::error_code ignored;
    fs::remove(alive_file(directory, session.id), ignored);
  }
  return {};
}

const LedgerSession* find_alive(const LedgerState& state) {
  const auto found = std::find_if(state.sessions.begin(), state.sessions.end(),
                                  [](const auto& session) { return !session.has_ended; });
  return found == state.sessions.end() ? nullptr : &*found;
}

BudgetShare sum_of_others(const LedgerState& state, const std::string& own) {
  BudgetShare sum;
  for (const auto& session : state.sessions) {
    if (session.id == own) continue;
    sum.spent += session.share.spent;
    sum.reserved += session.share.reserved;
  }
  return sum;
}

Error other_terms(const fs::path& directory, const LedgerSession& session, const std::string& difference) {
  const auto text = read_file(alive_file(directory, session.id));
  const auto holder = text ? read_lock_holder(*text) : std::nullopt;
  const auto name = holder ? fmt::format(" (process {} on {})", holder->pid, holder->host) : "";
  return {ErrorCode::Busy,
          fmt::format("another kgen{} works on the campaign in {} with the {}; give both the same options, "
                      "or wait until that one ends",
                      name, directory.string(), difference)};
}

Result<void> write_text(int fd, const std::string& text, const std::string& name) {
  if (::lseek(fd, 0, SEEK_SET) != 0) return errno_error(errno, "cannot write " + name);
  return write_all(fd, text, name);
}

}  // namespace

/// The ledger, locked until this ends.
struct BudgetLedger::OpenFile {
  std::string name;
  UniqueFd fd{};
  std::string text{};
  LedgerState state{};

  static Result<OpenFile> open(const fs::path& directory, int flags) {
    OpenFile file{.name = (directory / ".budget.json").string()};
    file.fd.reset(::open(file.name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!file.fd.valid()) return errno_error(errno, "cannot open " + file.name);
    const auto deadline = std::chrono::steady_clock::now() + k_longest_wait;
    KERNELGEN_TRY(const bool locked, wait_for_lock(file.fd.get(), file.name, deadline, {}));
    if (!locked)
      return Error{ErrorCode::Busy, "another kgen has locked " + file.name + " for minutes; end it if it hangs"};
    KERNELGEN_TRY(file.text, read_all(file.fd.get(), k_max_ledger_bytes, file.name));
    auto state = parse_ledger(file.text);
    if (!state)
      return Error{ErrorCode::InvalidArgument, file.name + " is damaged (" + state.error().to_line() +
                                                   "); remove it once no kgen works on this campaign"};
    file.state = *std::move(state);
    return file;
  }

  /// Replaces the first line. A reader stops at its end, so that what a longer text left behind is harmless.
  Result<void> replace(const std::string& content) {
    if (auto written = write_text(fd.get(), content, name); !written) {
      // The old text needs no space that it does not have.
      static_cast<void>(write_text(fd.get(), text, name));
      return written;
    }
    static_cast<void>(::ftruncate(fd.get(), static_cast<off_t>(content.size())));
    return {};
  }
};

std::string to_json(const LedgerState& state) { return boost::json::serialize(boost::json::value_from(state)); }

Result<LedgerState> parse_ledger(std::string_view text) {
  const auto line = text.substr(0, text.find('\n'));
  if (line.empty()) return LedgerState{};
  KERNELGEN_TRY(const auto value, parse_json(line));
  auto state = boost::json::try_value_to<LedgerState>(value);
  if (state.has_error()) return Error{ErrorCode::InvalidArgument, "not a ledger: " + state.error().message()};
  return *std::move(state);
}

std::optional<std::string> difference_of(const CampaignTerms& theirs, const CampaignTerms& own) {
  const auto value_in = [](const CampaignTerms& terms, const std::string& name) -> std::string {
    const auto found = std::find_if(terms.begin(), terms.end(), [&](const auto& term) { return term.first == name; });
    return found == terms.end() ? "none" : found->second;
  };
  const auto text = [&](const std::string& name) {
    return fmt::format("{} {}, and this one has {}", name, value_in(theirs, name), value_in(own, name));
  };
  for (const auto& [name, value] : own)
    if (value_in(theirs, name) != value) return text(name);
  for (const auto& [name, value] : theirs)
    if (value_in(own, name) != value) return text(name);
  return std::nullopt;
}

BudgetLedger::BudgetLedger(fs::path directory, CampaignTerms terms, std::string id, LockFile alive)
    : directory_(std::move(directory)), terms_(std::move(terms)), id_(std::move(id)), alive_(std::move(alive)) {}

BudgetLedger::~BudgetLedger() {
  if (has_joined_) leave();
  std::error_code ignored;
  fs::remove(alive_file(directory_, id_), ignored);
}

Result<std::unique_ptr<BudgetLedger>> BudgetLedger::join(const LedgerRequest& request) {
  const auto& directory = request.directory;
  const auto id = random_id();
  KERNELGEN_TRY(auto alive, LockFile::acquire({.file = alive_file(directory, id),
                                               .resource = "the session " + id,
                                               .advice = "start this kgen again"}));
  std::unique_ptr<BudgetLedger> ledger(new BudgetLedger(directory, request.terms, id, std::move(alive)));
  KERNELGEN_TRY(auto file, OpenFile::open(directory, O_RDWR | O_CREAT));
  KERNELGEN_CHECK(settle_dead(directory, id, file.state));
  if (const auto* other = find_alive(file.state)) {
    if (const auto difference = difference_of(file.state.terms, request.terms))
      return other_terms(directory, *other, *difference);
  } else {
    file.state = {.terms = request.terms, .start = request.read_start(), .sessions = {}};
  }
  ledger->start_ = file.state.start;
  KERNELGEN_CHECK(ledger->write(file, false));
  ledger->has_joined_ = true;
  return ledger;
}

Result<void> BudgetLedger::update(const Decision& decide) {
  KERNELGEN_TRY(auto file, OpenFile::open(directory_, O_RDWR | O_CREAT));
  KERNELGEN_CHECK(settle_dead(directory_, id_, file.state));
  const auto decided = decide(sum_of_others(file.state, id_));
  if (!decided) return {};
  const auto before = std::exchange(share_, *decided);
  auto written = write(file, false);
  if (!written) share_ = before;
  return written;
}

Result<void> BudgetLedger::write(OpenFile& file, bool has_ended) const {
  auto& state = file.state;
  const auto is_own = [&](const LedgerSession& session) { return session.id == id_; };
  auto own = std::find_if(state.sessions.begin(), state.sessions.end(), is_own);
  if (own == state.sessions.end()) {
    // At the start, and after the file was removed.
    if (state.terms.empty()) {
      state.terms = terms_;
      state.start = start_;
    }
    own = state.sessions.insert(own, LedgerSession{.id = id_, .share = {}});
  }
  own->has_ended = has_ended;
  own->share = share_;
  return file.replace(to_json(state) + '\n');
}

void BudgetLedger::leave() {
  share_.spent += std::exchange(share_.reserved, {});
  auto file = OpenFile::open(directory_, O_RDWR);
  // The others find this process dead, and count the same.
  if (!file || !settle_dead(directory_, id_, file->state)) return;
  static_cast<void>(write(*file, true));
  // The next process begins from the journals.
  if (find_alive(file->state) == nullptr) static_cast<void>(::ftruncate(file->fd.get(), 0));
}

}  // namespace v0
}  // namespace kernelgen
