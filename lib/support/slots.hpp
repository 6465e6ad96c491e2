#pragma once

/// \file
/// A limit on how many do something at once.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>

namespace kernelgen {
inline namespace v0 {

/// Thread-safe. It must outlive what it gave.
class Slots {
 public:
  /// Requires: count > 0.
  explicit Slots(int count) : count_(count), free_(count) {}

  class Slot {
   public:
    explicit Slot(Slots& slots) : slots_(slots) {}
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot() {
      const std::scoped_lock lock(slots_.mutex_);
      ++slots_.free_;
      slots_.changed_.notify_one();
    }

   private:
    Slots& slots_;
  };

  /// From now on so many; whoever has a slot keeps it. Requires: count > 0.
  void limit(int count) {
    const std::scoped_lock lock(mutex_);
    free_ += count - count_;
    count_ = count;
    changed_.notify_all();
  }

  /// Null if it was stopped while it waited.
  [[nodiscard]] std::unique_ptr<Slot> take(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, std::move(stop), [&] { return free_ > 0; })) return nullptr;
    --free_;
    return std::make_unique<Slot>(*this);
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  int count_;
  /// Below 0 where more have one than there are now.
  int free_;
};

}  // namespace v0
}  // namespace kernelgen
