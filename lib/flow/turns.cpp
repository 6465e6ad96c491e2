#include "flow/turns.hpp"

#include <utility>

namespace kernelgen {
inline namespace v0 {

Turns::Turn::~Turn() {
  const std::scoped_lock lock(turns_.mutex_);
  --count_;
  turns_.changed_.notify_all();
}

bool Turns::Turn::overlapped() const {
  const std::scoped_lock lock(turns_.mutex_);
  return joined_ || turns_.begun_ != number_;
}

std::unique_ptr<Turns::Turn> Turns::shared(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, std::move(stop), [&] { return exclusive_ == 0 && waiting_ == 0; })) return nullptr;
  const bool joined = shared_ > 0;
  ++shared_;
  return std::make_unique<Turn>(*this, shared_, joined, ++begun_);
}

std::unique_ptr<Turns::Turn> Turns::exclusive(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  ++waiting_;
  const bool mine = changed_.wait(lock, std::move(stop), [&] { return exclusive_ == 0 && shared_ == 0; });
  --waiting_;
  // Requests for shared turns look at the number of those that wait here, and this one waits no more.
  changed_.notify_all();
  if (!mine) return nullptr;
  ++exclusive_;
  return std::make_unique<Turn>(*this, exclusive_, false, ++begun_);
}

}  // namespace v0
}  // namespace kernelgen
