#pragma once

/// \file
/// SharedBudget: the budget of a campaign, which its runs spend together.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

#include <kernelgen/core/result.hpp>
#include <kernelgen/flow/campaign.hpp>

#include "flow/budget_ledger.hpp"
#include "flow/spending.hpp"

namespace kernelgen {
inline namespace v0 {

/// The limits of a campaign. The most that a request can use is reserved before it is sent, and replaced by what it has
/// used afterwards, so that the limits hold however many requests are in flight. Thread-safe. Outlives its
/// reservations.
class SharedBudget {
 public:
  /// `spent` and `time` are what the campaign has used before. The time of day is that of the journals.
  SharedBudget(CampaignLimits limits, Spending spent, std::chrono::milliseconds time, TimeSource clock);
  /// The same budget for all processes of the ledger.
  SharedBudget(CampaignLimits limits, std::unique_ptr<BudgetLedger> ledger, TimeSource clock);

  /// The share of one request. Its destructor releases what was not settled.
  class Reservation {
   public:
    Reservation(SharedBudget& owner, std::uint64_t id, std::optional<std::chrono::milliseconds> time_left)
        : owner_(&owner), id_(id), time_left_(time_left) {}
    Reservation(Reservation&& other) noexcept;
    Reservation& operator=(Reservation&& other) noexcept;
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;
    ~Reservation() { release(); }

    /// Replaces the reservation by what the request has used.
    void settle(const Spending& used);
    /// Counts everything that was reserved as used, because it is unknown what the request has cost.
    void settle_in_full();
    /// Time until the end of the budget for time; unset: there is none.
    [[nodiscard]] std::optional<std::chrono::milliseconds> time_left() const { return time_left_; }

   private:
    void release() noexcept;

    SharedBudget* owner_;
    std::uint64_t id_;
    std::optional<std::chrono::milliseconds> time_left_;
  };

  /// Reserves `most` for a request; waits while it fits only without what others have reserved, oldest request first.
  /// Pending, naming the limit, if it does not fit even when all others use nothing of theirs. Cancelled when stopped.
  /// Also the errors of the ledger.
  [[nodiscard]] Result<Reservation> reserve(const Spending& most, const std::stop_token& stop);

  /// The spending of this process and of the others; that of the others is as old as the last look at the ledger.
  [[nodiscard]] Spending spent() const;
  /// The sum of this process's reservations that are not settled.
  [[nodiscard]] Spending reserved() const;
  /// Time of the campaign in all its sessions.
  [[nodiscard]] std::chrono::milliseconds time() const;
  /// The largest used fraction of a limit; 0 without limits.
  [[nodiscard]] double used_fraction() const;

 private:
  /// These require that the mutex is held.
  [[nodiscard]] Spending sum_of_reservations() const;
  [[nodiscard]] Spending sum_of_spending() const;
  /// Reserves `most`, or says why that is never possible. False: neither, for now.
  bool try_to_reserve(std::uint64_t id, const Spending& most, std::optional<Error>& refused);
  Result<void> update_ledger(const BudgetLedger::Decision& decide);
  [[nodiscard]] bool fits(const Spending& sum) const;
  [[nodiscard]] std::chrono::milliseconds elapsed() const;
  /// Why a request that needs `most` can never be sent; nothing if it can.
  [[nodiscard]] std::optional<Error> reason_to_refuse(const Spending& most) const;

  void settle(std::uint64_t id, const std::optional<Spending>& used);

  const CampaignLimits limits_;
  const std::chrono::milliseconds time_before_;
  const TimeSource clock_;
  const std::chrono::system_clock::time_point began_;
  mutable std::mutex mutex_;
  /// The latest time of this session, because the clock may be set back.
  mutable std::chrono::milliseconds session_{0};
  std::condition_variable_any changed_;
  const Spending spent_before_;
  /// What this process has spent.
  Spending spent_;
  /// What the other processes use.
  BudgetShare others_;
  const std::unique_ptr<BudgetLedger> ledger_;
  std::map<std::uint64_t, Spending> reservations_;
  /// Ids of the requests that wait, oldest first.
  std::deque<std::uint64_t> waiting_;
  std::uint64_t last_id_ = 0;
};

}  // namespace v0
}  // namespace kernelgen
