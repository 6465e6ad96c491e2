#include "flow/turns.hpp"

#include <utility>

namespace kernelgen {
inline namespace v0 {

Turns::Turn::~Turn() {
  const std::scoped_lock lock(turns_.mutex_);
  --count_;
  turns_.changed_.notify_all();
}

bool Turns::Turn::had_company() const {
  const std::scoped_lock lock(turns_.mutex_);
  return joined_ || turns_.begun_ != number_;
}

std::unique_ptr<Turns::Turn> Turns::beside(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, std::move(stop), [&] { return alone_ == 0 && waiting_ == 0; })) return nullptr;
  const bool joined = beside_ > 0;
  ++beside_;
  return std::make_unique<Turn>(*this, beside_, joined, ++begun_);
}

std::unique_ptr<Turns::Turn> Turns::alone(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  ++waiting_;
  const bool mine = changed_.wait(lock, std::move(stop), [&] { return alone_ == 0 && beside_ == 0; });
  --waiting_;
  // Who waits beside others looks at those who wait to be alone, and this one does no more.
  changed_.notify_all();
  if (!mine) return nullptr;
  ++alone_;
  return std::make_unique<Turn>(*this, alone_, false, ++begun_);
}

}  // namespace v0
}  // namespace kernelgen
