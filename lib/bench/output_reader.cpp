#include "bench/output_reader.hpp"

#include <fmt/format.h>
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

Result<OutputReader> OutputReader::map(const RunnerJob& job) {
  const auto bytes = job.exchange_bytes;
  const auto further = static_cast<std::uint64_t>(std::max(job.slots, 1) - 1) * job.slot_bytes;
  for (const auto& output : job.outputs)
    if (further > bytes || output.bytes > bytes - further || output.offset > bytes - further - output.bytes)
      return Error{ErrorCode::Internal, "an output lies outside of the exchange memory"};
  void* arena =
      ::mmap(nullptr, std::max<std::uint64_t>(bytes, 1), PROT_READ | PROT_WRITE, MAP_SHARED, job.exchange_fd, 0);
  if (arena == MAP_FAILED) return errno_error(errno, "cannot map the exchange memory");
  return OutputReader(static_cast<std::byte*>(arena), std::max<std::uint64_t>(bytes, 1), job);
}

OutputReader::OutputReader(std::byte* arena, std::uint64_t mapped, const RunnerJob& job)
    : arena_(arena),
      mapped_(mapped),
      outputs_(job.outputs),
      slots_(static_cast<std::uint64_t>(std::max(job.slots, 1))),
      slot_bytes_(job.slot_bytes),
      exchange_(mapped_file_of(job.exchange_fd)) {}

OutputReader::OutputReader(OutputReader&& other) noexcept
    : arena_(std::exchange(other.arena_, nullptr)),
      mapped_(other.mapped_),
      outputs_(std::move(other.outputs_)),
      slots_(other.slots_),
      slot_bytes_(other.slot_bytes_),
      exchange_(other.exchange_) {}

OutputReader& OutputReader::operator=(OutputReader&& other) noexcept {
  std::swap(arena_, other.arena_);
  std::swap(mapped_, other.mapped_);
  std::swap(outputs_, other.outputs_);
  std::swap(slots_, other.slots_);
  std::swap(slot_bytes_, other.slot_bytes_);
  std::swap(exchange_, other.exchange_);
  return *this;
}

OutputReader::~OutputReader() {
  if (arena_ != nullptr) ::munmap(arena_, mapped_);
}

int OutputReader::read(pid_t pid, int slot, std::span<const std::uint64_t> addresses) const {
  if (outputs_.empty() || addresses.empty() || addresses.size() % outputs_.size() != 0 ||
      addresses.size() > slots_ * outputs_.size())
    return EINVAL;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto& [offset, bytes] = outputs_[i % outputs_.size()];
    const auto place = offset + (static_cast<std::uint64_t>(slot) + i / outputs_.size()) % slots_ * slot_bytes_;
    if (const int error = read_process_memory(pid, addresses[i], {arena_ + place, bytes}); error != 0) return error;
  }
  return 0;
}

std::optional<std::string> OutputReader::find_foreign_memory(pid_t pid,
                                                             std::span<const std::uint64_t> addresses) const {
  std::vector<MemoryRange> ranges(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) ranges[i] = {addresses[i], outputs_[i % outputs_.size()].bytes};
  const auto found = kernelgen::find_foreign_memory(pid, ranges, exchange_);
  if (!found) return std::nullopt;
  return fmt::format("output {} lies in {}", found->range % outputs_.size(), describe_mapping(found->mapping));
}

std::uint64_t OutputReader::bytes() const {
  std::uint64_t total = 0;
  for (const auto& output : outputs_) total += output.bytes;
  return total;
}

}  // namespace v0
}  // namespace kernelgen
