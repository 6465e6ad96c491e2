#pragma once

/// \file
/// A limit on concurrent work.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>

namespace kernelgen {
inline namespace v0 {

/// A counting semaphore with an adjustable limit. Thread-safe. It must outlive its slots.
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

  /// Changes the number of slots; slots that were taken stay valid. Requires: count > 0.
  void limit(int count) {
    const std::scoped_lock lock(mutex_);
    free_ += count - count_;
    count_ = count;
    changed_.notify_all();
  }

  /// Waits for a free slot. Null when stopped.
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
  /// Negative while more slots are taken than the limit allows.
  int free_;
};

}  // namespace v0
}  // namespace kernelgen
