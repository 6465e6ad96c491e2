#pragma once

/// \file
/// BudgetLedger: what the processes that share a campaign's budget have spent and reserved.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kernelgen/core/result.hpp>
#include <kernelgen/store/journal.hpp>

#include "flow/spending.hpp"
#include "support/file_lock.hpp"

namespace kernelgen {
inline namespace v0 {

/// Facts in which processes that share a budget must agree, as `name value` pairs in a fixed order.
using CampaignTerms = std::vector<std::pair<std::string, std::string>>;

/// The part of a budget that one process has used, or that all others have.
struct BudgetShare {
  Spending spent;
  /// The most that its requests in flight can use.
  Spending reserved;
};

/// A process in the ledger.
struct LedgerSession {
  /// Its lock file, which names it, is .budget.<id>.lock.
  std::string id;
  /// True once it has ended or died; it then reserves nothing.
  bool has_ended = false;
  BudgetShare share;
};

/// The spending before the first of the processes that share a budget began.
struct LedgerStart {
  Spending spent;
  /// Time of the campaign before, in milliseconds.
  std::int64_t milliseconds = 0;
  /// When the first of them began, in milliseconds since 1970.
  std::int64_t began = 0;
};

/// The content of a ledger.
struct LedgerState {
  CampaignTerms terms;
  LedgerStart start;
  std::vector<LedgerSession> sessions;
};

/// One line of JSON without its end.
[[nodiscard]] std::string to_json(const LedgerState& state);
/// Reads it, up to the first line end. An empty text is an empty ledger; InvalidArgument for damage.
[[nodiscard]] Result<LedgerState> parse_ledger(std::string_view text);
/// The first term that differs, in a few words: "limit of cost 5, and this one has 10". Nothing if they agree.
[[nodiscard]] std::optional<std::string> difference_of(const CampaignTerms& theirs, const CampaignTerms& own);

/// How a process joins.
struct LedgerRequest {
  std::filesystem::path directory;
  CampaignTerms terms;
  /// What the journals tell. Called under the ledger's lock, and only if no other process is in the ledger.
  std::function<LedgerStart()> read_start;
};

/// The file `directory`/.budget.json, with which processes share the budget of a campaign. It is its own lock:
/// a process holds it while it changes the file, so that no two decide at once, and a network file system reads it
/// anew. A process is alive as long as it holds the lock file of its own; the reservations of a dead one count as
/// spent. The first process begins the ledger anew from the journals. One thread at a time.
class BudgetLedger {
 public:
  /// Busy when another process with other terms is alive, naming it and the first difference. Other errors are those of
  /// the files.
  [[nodiscard]] static Result<std::unique_ptr<BudgetLedger>> join(const LedgerRequest& request);

  BudgetLedger(const BudgetLedger&) = delete;
  BudgetLedger& operator=(const BudgetLedger&) = delete;
  /// Leaves. What was spent still counts for the others.
  ~BudgetLedger();

  [[nodiscard]] const LedgerStart& start() const { return start_; }

  /// Decides from the sum of what others use on the own share; nothing leaves it as it is.
  using Decision = std::function<std::optional<BudgetShare>(const BudgetShare& others)>;
  /// Runs `decide` while no other process can, and writes what it decided. An error means that nothing was written.
  Result<void> update(const Decision& decide);

 private:
  struct OpenFile;
  BudgetLedger(std::filesystem::path directory, CampaignTerms terms, std::string id, LockFile alive);
  /// Adds the own share to the state, and writes it.
  Result<void> write(OpenFile& file, bool has_ended) const;
  void leave();

  const std::filesystem::path directory_;
  const CampaignTerms terms_;
  const std::string id_;
  const LockFile alive_;
  bool has_joined_ = false;
  LedgerStart start_;
  BudgetShare share_;
};

}  // namespace v0
}  // namespace kernelgen
