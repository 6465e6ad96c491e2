#include "bench/device_gate.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>

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
  explicit LocalGate(std::string lock_file) : lock_file_(std::move(lock_file)) {}

  Result<std::unique_ptr<Hold>> share(std::stop_token stop) override {
    std::unique_lock lock(mutex_);
    // A waiting measurement goes first, or a stream of compilations would starve it.
    if (!changed_.wait(lock, stop, [&] { return !alone_ && waiting_ == 0; })) return cancelled();
    ++sharing_;
    return std::unique_ptr<Hold>(std::make_unique<Release>(*this, sharing_));
  }

  Result<std::unique_ptr<Hold>> alone(std::stop_token stop) override {
    std::unique_lock lock(mutex_);
    ++waiting_;
    const bool mine = changed_.wait(lock, stop, [&] { return !alone_ && sharing_ == 0; });
    --waiting_;
    changed_.notify_all();
    if (!mine) return cancelled();
    alone_ = 1;
    lock.unlock();
    auto hold = std::make_unique<Release>(*this, alone_);
    KERNELGEN_TRY(auto file, open_lock(lock_file_));
    const auto never = std::chrono::steady_clock::now() + k_forever;
    KERNELGEN_CHECK(wait_for_lock(file.get(), "the device lock " + lock_file_, never, stop));
    hold->file = std::move(file);
    return std::unique_ptr<Hold>(std::move(hold));
  }

 private:
  class Release final : public Hold {
   public:
    Release(LocalGate& gate, int& count) : gate_(gate), count_(count) {}
    Release(const Release&) = delete;
    Release& operator=(const Release&) = delete;
    ~Release() override {
      file.reset();
      const std::scoped_lock lock(gate_.mutex_);
      --count_;
      gate_.changed_.notify_all();
    }
    UniqueFd file;

   private:
    LocalGate& gate_;
    int& count_;
  };

  const std::string lock_file_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  int sharing_ = 0;
  int alone_ = 0;
  int waiting_ = 0;
};

}  // namespace

std::unique_ptr<DeviceGate> make_device_gate(std::string lock_file) {
  return std::make_unique<LocalGate>(std::move(lock_file));
}

bool is_held(const std::string& lock_file) {
  const UniqueFd fd(::open(lock_file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  // Shared, so that those who look do not see each other; it ends with the descriptor.
  if (!fd.valid()) return false;
  const auto locked = try_lock(fd.get(), lock_file, LockKind::Shared);
  return locked && !*locked;
}

}  // namespace v0
}  // namespace kernelgen
