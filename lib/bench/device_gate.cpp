#include "bench/device_gate.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "support/errno_error.hpp"
#include "support/fair_shared_mutex.hpp"
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
    // Workers of all users share the file, whatever the umask of the first one.
    if (fd.valid()) ::fchmod(fd.get(), 0666);
  }
  if (!fd.valid()) return errno_error(errno, "cannot open the device lock " + path);
  return fd;
}

class LocalGate final : public DeviceGate {
 public:
  LocalGate(std::string lock_file, std::chrono::milliseconds build_blocks_for)
      : lock_file_(std::move(lock_file)), build_blocks_for_(build_blocks_for) {}

  Result<std::unique_ptr<Lock>> acquire_shared(std::stop_token stop) override {
    return make_lock(mutex_.lock_shared(std::move(stop)));
  }

  Result<std::unique_ptr<Lock>> acquire_for_build(std::stop_token stop) override {
    return make_lock(mutex_.lock_shared(std::move(stop), FairSharedMutex::Clock::now() + build_blocks_for_));
  }

  Result<std::unique_ptr<Lock>> acquire_exclusive(std::stop_token stop) override {
    auto lock = mutex_.lock_exclusive(stop);
    if (lock == nullptr) return cancelled();
    KERNELGEN_TRY(auto file, open_lock(lock_file_));
    const auto never = std::chrono::steady_clock::now() + k_forever;
    KERNELGEN_CHECK(wait_for_lock(file.get(), "the device lock " + lock_file_, never, stop));
    return make_lock(std::move(lock), std::move(file));
  }

  bool is_held() override { return mutex_.is_locked() || is_measuring(lock_file_); }

 private:
  /// A lock within this process; if it is exclusive, with the lock against other processes.
  struct LocalLock final : Lock {
    std::unique_ptr<FairSharedMutex::Lock> lock;
    UniqueFd file;
  };

  static Result<std::unique_ptr<Lock>> make_lock(std::unique_ptr<FairSharedMutex::Lock> lock, UniqueFd file = {}) {
    if (lock == nullptr) return cancelled();
    auto held = std::make_unique<LocalLock>();
    held->lock = std::move(lock);
    held->file = std::move(file);
    return std::unique_ptr<Lock>(std::move(held));
  }

  const std::string lock_file_;
  const std::chrono::milliseconds build_blocks_for_;
  FairSharedMutex mutex_;
};

}  // namespace

std::unique_ptr<DeviceGate> make_device_gate(std::string lock_file, std::chrono::milliseconds build_blocks_for) {
  return std::make_unique<LocalGate>(std::move(lock_file), build_blocks_for);
}

bool is_measuring(const std::string& lock_file) {
  const UniqueFd fd(::open(lock_file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  // A shared lock, so that two readers do not see each other; it ends with the descriptor.
  if (!fd.valid()) return false;
  const auto locked = try_lock(fd.get(), lock_file, LockKind::Shared);
  return locked && !*locked;
}

}  // namespace v0
}  // namespace kernelgen
