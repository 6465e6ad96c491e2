#include "bench/output_reader.hpp"

#include <sys/mman.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "support/errno_error.hpp"

namespace kernelgen {
inline namespace v0 {

int read_process_memory(pid_t pid, std::uint64_t address, std::span<std::byte> into) {
  while (!into.empty()) {
    const iovec local{into.data(), into.size()};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the other process, never dereferenced here.
    const iovec remote{reinterpret_cast<void*>(address), into.size()};
    // A large read stops short at 2 GiB, or at the page before one that cannot be read.
    const auto count = ::process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return EFAULT;
    into = into.subspan(static_cast<std::size_t>(count));
    address += static_cast<std::uint64_t>(count);
  }
  return 0;
}

Result<OutputReader> OutputReader::map(int exchange_fd, std::uint64_t bytes, std::vector<ByteRange> outputs) {
  for (const auto& output : outputs)
    if (output.bytes > bytes || output.offset > bytes - output.bytes)
      return Error{ErrorCode::Internal, "an output lies outside of the exchange memory"};
  void* arena = ::mmap(nullptr, std::max<std::uint64_t>(bytes, 1), PROT_READ | PROT_WRITE, MAP_SHARED, exchange_fd, 0);
  if (arena == MAP_FAILED) return errno_error(errno, "cannot map the exchange memory");
  return OutputReader(static_cast<std::byte*>(arena), std::max<std::uint64_t>(bytes, 1), std::move(outputs));
}

OutputReader::OutputReader(std::byte* arena, std::uint64_t mapped, std::vector<ByteRange> outputs)
    : arena_(arena), mapped_(mapped), outputs_(std::move(outputs)) {}

OutputReader::OutputReader(OutputReader&& other) noexcept
    : arena_(std::exchange(other.arena_, nullptr)), mapped_(other.mapped_), outputs_(std::move(other.outputs_)) {}

OutputReader& OutputReader::operator=(OutputReader&& other) noexcept {
  std::swap(arena_, other.arena_);
  std::swap(mapped_, other.mapped_);
  std::swap(outputs_, other.outputs_);
  return *this;
}

OutputReader::~OutputReader() {
  if (arena_ != nullptr) ::munmap(arena_, mapped_);
}

int OutputReader::read(pid_t pid, std::span<const std::uint64_t> addresses) const {
  if (addresses.size() != outputs_.size()) return EINVAL;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const auto& [offset, bytes] = outputs_[i];
    if (const int error = read_process_memory(pid, addresses[i], {arena_ + offset, bytes}); error != 0) return error;
  }
  return 0;
}

std::uint64_t OutputReader::bytes() const {
  std::uint64_t total = 0;
  for (const auto& output : outputs_) total += output.bytes;
  return total;
}

}  // namespace v0
}  // namespace kernelgen
