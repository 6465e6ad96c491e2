#include "bench/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "device/cgroups.hpp"
#include "support/errno_error.hpp"
#include "support/files.hpp"
#include "support/try.hpp"
#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

class FdBlock final : public SharedMemorySource::Block {
 public:
  FdBlock(UniqueFd fd, std::uint64_t bytes) : fd_(std::move(fd)), bytes_(bytes) {}
  int fd() const override { return fd_.get(); }
  SharedMemory memory() const override { return {fd_.get(), bytes_}; }
  Result<std::string> text() const override {
    std::string bytes(bytes_, '\0');
    std::size_t count = 0;
    while (count < bytes.size()) {
      const auto got = ::pread(fd_.get(), bytes.data() + count, bytes.size() - count, static_cast<off_t>(count));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno_error(errno, "cannot read shared memory");
      if (got == 0) break;
      count += static_cast<std::size_t>(got);
    }
    bytes.resize(std::min(count, bytes.find('\0')));
    return bytes;
  }

 private:
  UniqueFd fd_;
  std::uint64_t bytes_;
};

Result<UniqueFd> make_memory_file(const std::string& name) {
  UniqueFd fd(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return errno_error(errno, "cannot make shared memory");
  return fd;
}

class MemoryFiles final : public SharedMemorySource {
 public:
  std::uint64_t available_bytes() const override { return available_memory(); }

  Result<std::unique_ptr<Block>> allocate(const std::string& name, std::uint64_t bytes) override {
    KERNELGEN_TRY(auto fd, make_memory_file(name));
    if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
      return errno_error(errno, fmt::format("cannot make shared memory of {} bytes", bytes));
    if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
      return errno_error(errno, "cannot seal shared memory");
    return std::unique_ptr<Block>(std::make_unique<FdBlock>(std::move(fd), bytes));
  }

  Result<std::unique_ptr<Block>> publish(const std::string& name, std::string_view text) override {
    KERNELGEN_TRY(auto fd, make_memory_file(name));
    KERNELGEN_CHECK(write_all(fd.get(), text, name));
    if (::lseek(fd.get(), 0, SEEK_SET) != 0 ||
        ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
      return errno_error(errno, "cannot seal shared memory");
    return std::unique_ptr<Block>(std::make_unique<FdBlock>(std::move(fd), text.size()));
  }

  Result<std::unique_ptr<Block>> open_file(const std::string& path) override {
    // A copy, because a runner opens its descriptor again, which a file that it may not see would not allow.
    KERNELGEN_TRY(const auto content, read_file(path));
    return publish("kernelgen-code", content);
  }
};

}  // namespace

std::unique_ptr<SharedMemorySource> make_shared_memory_source() { return std::make_unique<MemoryFiles>(); }

}  // namespace v0
}  // namespace kernelgen
