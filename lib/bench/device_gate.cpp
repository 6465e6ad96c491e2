#include "bench/device_gate.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>

#include "support/errno_error.hpp"
#include "support/file_lock.hpp"
#include "support/sleep.hpp"
#include "support/try.hpp"
#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

Error cancelled() { return {ErrorCode::Cancelled, "cancelled while waiting for the device"}; }

Result<UniqueFd> open_lock(const std::string& path) {
  // Without O_CREAT first: Linux refuses to "create" another user's file in a sticky directory.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid() && errno == ENOENT) {
    fd.reset(::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    // Workers of all users meet here, whatever the umask of the first one.
    if (fd.valid()) ::fchmod(fd.get(), 0666);
  }
  if (!fd.valid()) return errno_error(errno, "cannot open the device lock " + path);
  return fd;
}

class LocalGate final : public DeviceGate {
 public:
  LocalGate(std::string lock_file, std::chrono::milliseconds build_patience)
      : lock_file_(std::move(lock_file)), build_patience_(build_patience) {}

  Result<std::unique_ptr<Hold>> acquire_shared(std::stop_token stop) override {
    return join(Clock::time_point::max(), std::move(stop));
  }

  Result<std::unique_ptr<Hold>> acquire_for_build(std::stop_token stop) override {
    return join(Clock::now() + build_patience_, std::move(stop));
  }

  Result<std::unique_ptr<Hold>> acquire_exclusive(std::stop_token stop) override {
    std::unique_lock lock(mutex_);
    ++waiting_;
    bool mine = false;
    while (!(mine = !exclusive_ && blocking_until() <= Clock::now()) && !stop.stop_requested()) {
      const auto has_changed = [this, seen = version_] { return version_ != seen; };
      const auto until = exclusive_ ? Clock::time_point::max() : blocking_until();
      if (until == Clock::time_point::max()) {
        changed_.wait(lock, stop, has_changed);
      } else {
        changed_.wait_until(lock, stop, until, has_changed);
      }
    }
    --waiting_;
    notify();
    if (!mine) return cancelled();
    exclusive_ = true;
    lock.unlock();
    auto hold = std::make_unique<ExclusiveHold>(*this);
    KERNELGEN_TRY(auto file, open_lock(lock_file_));
    const auto never = std::chrono::steady_clock::now() + k_forever;
    KERNELGEN_CHECK(wait_for_lock(file.get(), "the device lock " + lock_file_, never, stop));
    hold->file = std::move(file);
    return std::unique_ptr<Hold>(std::move(hold));
  }

 private:
  using Clock = std::chrono::steady_clock;
  /// When each sharing hold stops excluding measurements.
  using Sharing = std::multiset<Clock::time_point>;

  class SharedHold final : public Hold {
   public:
    SharedHold(LocalGate& gate, Sharing::iterator place) : gate_(gate), place_(place) {}
    SharedHold(const SharedHold&) = delete;
    SharedHold& operator=(const SharedHold&) = delete;
    ~SharedHold() override {
      const std::scoped_lock lock(gate_.mutex_);
      gate_.sharing_.erase(place_);
      gate_.notify();
    }

   private:
    LocalGate& gate_;
    Sharing::iterator place_;
  };

  class ExclusiveHold final : public Hold {
   public:
    explicit ExclusiveHold(LocalGate& gate) : gate_(gate) {}
    ExclusiveHold(const ExclusiveHold&) = delete;
    ExclusiveHold& operator=(const ExclusiveHold&) = delete;
    ~ExclusiveHold() override {
      file.reset();
      const std::scoped_lock lock(gate_.mutex_);
      gate_.exclusive_ = false;
      gate_.notify();
    }
    UniqueFd file;

   private:
    LocalGate& gate_;
  };

  Result<std::unique_ptr<Hold>> join(Clock::time_point until, std::stop_token stop) {
    std::unique_lock lock(mutex_);
    // A waiting measurement goes first, or a stream of compilations would starve it.
    if (!changed_.wait(lock, stop, [&] { return !exclusive_ && waiting_ == 0; })) return cancelled();
    return std::unique_ptr<Hold>(std::make_unique<SharedHold>(*this, sharing_.insert(until)));
  }

  /// Requires: the mutex is held.
  void notify() {
    ++version_;
    changed_.notify_all();
  }

  /// Until when the sharing holds exclude a measurement. Requires: the mutex is held.
  [[nodiscard]] Clock::time_point blocking_until() const {
    return sharing_.empty() ? Clock::time_point::min() : *sharing_.rbegin();
  }

  const std::string lock_file_;
  const std::chrono::milliseconds build_patience_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::uint64_t version_ = 0;
  Sharing sharing_;
  bool exclusive_ = false;
  int waiting_ = 0;
};

}  // namespace

std::unique_ptr<DeviceGate> make_device_gate(std::string lock_file, std::chrono::milliseconds build_patience) {
  return std::make_unique<LocalGate>(std::move(lock_file), build_patience);
}

bool is_held(const std::string& lock_file) {
  const UniqueFd fd(::open(lock_file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  // A shared lock, so that two readers do not see each other; it ends with the descriptor.
  if (!fd.valid()) return false;
  const auto locked = try_lock(fd.get(), lock_file, LockKind::Shared);
  return locked && !*locked;
}

}  // namespace v0
}  // namespace kernelgen
