#include "flow/shared_budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "flow/option_text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using std::chrono::milliseconds;

/// Time after which a request that waits for another process looks again.
constexpr milliseconds k_poll{500};

double fraction_of(double used, double limit) { return limit > 0 ? used / limit : 1; }

Error used_up(const std::string& limit) {
  return {ErrorCode::Pending, "the campaign's budget of " + limit + " is used up"};
}

Error too_small(const std::string& limit, const std::string& spent, const std::string& most) {
  return {ErrorCode::Pending, "the campaign's budget of " + limit + " does not allow another request: " + spent +
                                  " are spent, and the request may need " + most};
}

}  // namespace

SharedBudget::Reservation::Reservation(Reservation&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)), id_(other.id_), time_left_(other.time_left_) {}

SharedBudget::Reservation& SharedBudget::Reservation::operator=(Reservation&& other) noexcept {
  if (this == &other) return *this;
  release();
  owner_ = std::exchange(other.owner_, nullptr);
  id_ = other.id_;
  time_left_ = other.time_left_;
  return *this;
}

void SharedBudget::Reservation::settle(const Spending& used) {
  if (auto* owner = std::exchange(owner_, nullptr); owner != nullptr) owner->settle(id_, used);
}

void SharedBudget::Reservation::settle_in_full() {
  if (auto* owner = std::exchange(owner_, nullptr); owner != nullptr) owner->settle(id_, std::nullopt);
}

void SharedBudget::Reservation::release() noexcept { settle({}); }

SharedBudget::SharedBudget(CampaignLimits limits, Spending spent, milliseconds time, TimeSource clock)
    : limits_(limits), time_before_(time), clock_(std::move(clock)), began_(clock_()), spent_before_(spent) {}

SharedBudget::SharedBudget(CampaignLimits limits, std::unique_ptr<BudgetLedger> ledger, TimeSource clock)
    : limits_(limits),
      time_before_(ledger->start().milliseconds),
      clock_(std::move(clock)),
      began_(milliseconds(ledger->start().began)),
      spent_before_(ledger->start().spent),
      ledger_(std::move(ledger)) {}

Result<SharedBudget::Reservation> SharedBudget::reserve(const Spending& most, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto id = ++last_id_;
  waiting_.push_back(id);
  std::optional<Error> refused;
  const auto may_go_on = [&] {
    if (waiting_.front() == id) return try_to_reserve(id, most, refused);
    refused = reason_to_refuse(most);
    return refused.has_value();
  };
  bool goes_on = false;
  if (ledger_) {
    // Other processes do not wake this one.
    while (!goes_on && !stop.stop_requested()) goes_on = changed_.wait_for(lock, stop, k_poll, may_go_on);
  } else {
    goes_on = changed_.wait(lock, stop, may_go_on);
  }
  waiting_.erase(std::find(waiting_.begin(), waiting_.end(), id));
  // The next one may be able to go on now.
  changed_.notify_all();
  if (!goes_on) return Error{ErrorCode::Cancelled, "interrupted while waiting for the campaign's budget"};
  if (refused) return *std::move(refused);
  std::optional<milliseconds> time_left;
  if (limits_.time) time_left = std::max(*limits_.time - elapsed(), milliseconds{1});
  return Reservation(*this, id, time_left);
}

bool SharedBudget::try_to_reserve(std::uint64_t id, const Spending& most, std::optional<Error>& refused) {
  const auto decided = update_ledger([&](const BudgetShare& others) -> std::optional<BudgetShare> {
    others_ = others;
    refused = reason_to_refuse(most);
    auto sum = sum_of_reservations();
    sum += others_.reserved;
    sum += most;
    if (refused || !fits(sum)) return std::nullopt;
    reservations_[id] = most;
    return BudgetShare{spent_, sum_of_reservations()};
  });
  if (!decided) {
    reservations_.erase(id);
    refused = decided.error();
  }
  return refused || reservations_.contains(id);
}

Result<void> SharedBudget::update_ledger(const BudgetLedger::Decision& decide) {
  if (ledger_) return ledger_->update(decide);
  static_cast<void>(decide({}));
  return {};
}

void SharedBudget::settle(std::uint64_t id, const std::optional<Spending>& used) {
  const std::scoped_lock lock(mutex_);
  const auto reservation = reservations_.extract(id);
  spent_ += used ? *used : reservation.mapped();
  // If the ledger cannot be written, the others count the reservation until the next time.
  static_cast<void>(update_ledger([&](const BudgetShare& others) {
    others_ = others;
    return std::optional(BudgetShare{spent_, sum_of_reservations()});
  }));
  changed_.notify_all();
}

Spending SharedBudget::spent() const {
  const std::scoped_lock lock(mutex_);
  return sum_of_spending();
}

Spending SharedBudget::reserved() const {
  const std::scoped_lock lock(mutex_);
  return sum_of_reservations();
}

milliseconds SharedBudget::time() const {
  const std::scoped_lock lock(mutex_);
  return elapsed();
}

double SharedBudget::used_fraction() const {
  const std::scoped_lock lock(mutex_);
  const auto spent = sum_of_spending();
  double most = 0;
  const auto consider = [&](const auto& limit, auto used) {
    if (limit) most = std::max(most, fraction_of(static_cast<double>(used), static_cast<double>(*limit)));
  };
  consider(limits_.requests, spent.requests);
  consider(limits_.tokens, spent.tokens);
  consider(limits_.cost, spent.cost);
  if (limits_.time)
    most = std::max(most, fraction_of(static_cast<double>(elapsed().count()),
                                      static_cast<double>(milliseconds(*limits_.time).count())));
  return most;
}

Spending SharedBudget::sum_of_reservations() const {
  Spending sum;
  for (const auto& [id, reserved] : reservations_) sum += reserved;
  return sum;
}

Spending SharedBudget::sum_of_spending() const {
  auto sum = spent_before_;
  sum += spent_;
  sum += others_.spent;
  return sum;
}

bool SharedBudget::fits(const Spending& sum) const {
  const auto spent = sum_of_spending();
  return (!limits_.requests || spent.requests + sum.requests <= *limits_.requests) &&
         (!limits_.tokens || spent.tokens + sum.tokens <= *limits_.tokens) &&
         (!limits_.cost || spent.cost + sum.cost <= *limits_.cost);
}

milliseconds SharedBudget::elapsed() const {
  session_ = std::max(session_, std::chrono::duration_cast<milliseconds>(clock_() - began_));
  return time_before_ + session_;
}

std::optional<Error> SharedBudget::reason_to_refuse(const Spending& most) const {
  constexpr double k_minute = 60;
  if (limits_.time && elapsed() >= *limits_.time)
    return used_up(fmt::format("{:.3g} minutes", static_cast<double>(limits_.time->count()) / k_minute));
  if (fits(most)) return std::nullopt;
  const auto spent = sum_of_spending();
  if (limits_.requests && spent.requests + most.requests > *limits_.requests)
    return used_up(std::to_string(*limits_.requests) + " requests");
  if (limits_.tokens && spent.tokens + most.tokens > *limits_.tokens)
    return too_small(std::to_string(*limits_.tokens) + " tokens", std::to_string(spent.tokens),
                     std::to_string(most.tokens));
  return too_small("cost " + to_text(*limits_.cost), to_text(spent.cost), to_text(most.cost));
}

}  // namespace v0
}  // namespace kernelgen
