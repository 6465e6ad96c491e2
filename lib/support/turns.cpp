#include "support/turns.hpp"

#include <utility>

namespace kernelgen {
inline namespace v0 {

Turns::Turn::Turn(Turns& turns, std::optional<Clock::time_point> patience)
    : turns_(turns), joined_(!turns.shared_.empty()), number_(++turns.begun_) {
  if (patience) {
    place_ = turns.shared_.insert(*patience);
  } else {
    turns.exclusive_ = true;
  }
}

Turns::Turn::~Turn() {
  const std::scoped_lock lock(turns_.mutex_);
  if (place_) {
    turns_.shared_.erase(*place_);
  } else {
    turns_.exclusive_ = false;
  }
  turns_.notify();
}

bool Turns::Turn::overlapped() const {
  const std::scoped_lock lock(turns_.mutex_);
  return joined_ || turns_.begun_ != number_;
}

void Turns::notify() {
  ++version_;
  changed_.notify_all();
}

Turns::Clock::time_point Turns::blocked_until() const {
  return shared_.empty() ? Clock::time_point::min() : *shared_.rbegin();
}

std::unique_ptr<Turns::Turn> Turns::shared(std::stop_token stop, Clock::time_point patience) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, std::move(stop), [&] { return !exclusive_ && waiting_ == 0; })) return nullptr;
  return std::make_unique<Turn>(*this, patience);
}

std::unique_ptr<Turns::Turn> Turns::exclusive(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  ++waiting_;
  bool mine = false;
  while (!(mine = !exclusive_ && blocked_until() <= Clock::now()) && !stop.stop_requested()) {
    const auto has_changed = [this, seen = version_] { return version_ != seen; };
    const auto until = exclusive_ ? Clock::time_point::max() : blocked_until();
    if (until == Clock::time_point::max()) {
      changed_.wait(lock, stop, has_changed);
    } else {
      changed_.wait_until(lock, stop, until, has_changed);
    }
  }
  --waiting_;
  // Requests for shared turns look at the number of those that wait here, and this one waits no more.
  notify();
  return mine ? std::make_unique<Turn>(*this, std::nullopt) : nullptr;
}

}  // namespace v0
}  // namespace kernelgen
