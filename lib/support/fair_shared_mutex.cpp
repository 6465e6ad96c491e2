#include "support/fair_shared_mutex.hpp"

#include <utility>

namespace kernelgen {
inline namespace v0 {

FairSharedMutex::Lock::Lock(FairSharedMutex& owner, std::optional<Clock::time_point> blocks_until)
    : owner_(owner), joined_(!owner.shared_.empty()), number_(++owner.begun_) {
  if (blocks_until) {
    entry_ = owner.shared_.insert(*blocks_until);
  } else {
    owner.exclusive_ = true;
  }
}

FairSharedMutex::Lock::~Lock() {
  const std::scoped_lock lock(owner_.mutex_);
  if (entry_) {
    owner_.shared_.erase(*entry_);
  } else {
    owner_.exclusive_ = false;
  }
  owner_.notify();
}

bool FairSharedMutex::Lock::overlapped() const {
  const std::scoped_lock lock(owner_.mutex_);
  return joined_ || owner_.begun_ != number_;
}

bool FairSharedMutex::is_locked() {
  const std::scoped_lock lock(mutex_);
  return exclusive_ || waiting_ > 0 || !shared_.empty();
}

void FairSharedMutex::notify() {
  ++version_;
  changed_.notify_all();
}

FairSharedMutex::Clock::time_point FairSharedMutex::blocked_until() const {
  return shared_.empty() ? Clock::time_point::min() : *shared_.rbegin();
}

std::unique_ptr<FairSharedMutex::Lock> FairSharedMutex::lock_shared(std::stop_token stop,
                                                                    Clock::time_point blocks_until) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, std::move(stop), [&] { return !exclusive_ && waiting_ == 0; })) return nullptr;
  return std::make_unique<Lock>(*this, blocks_until);
}

std::unique_ptr<FairSharedMutex::Lock> FairSharedMutex::lock_exclusive(std::stop_token stop) {
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
  // Shared requests look at the number of those that wait here, and this one waits no more.
  notify();
  return mine ? std::make_unique<Lock>(*this, std::nullopt) : nullptr;
}

}  // namespace v0
}  // namespace kernelgen
