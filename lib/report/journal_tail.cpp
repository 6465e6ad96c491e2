#include "report/journal_tail.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "support/errno_error.hpp"
#include "support/try.hpp"
#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_chunk = 1u << 20;
/// Records with thousands of samples stay far below this.
constexpr std::size_t k_max_line = 256u << 20;
constexpr std::size_t k_mark_bytes = 256;

/// Reads up to `count` bytes at a position; fewer at the end of the file.
Result<std::string> read_at(int fd, std::uint64_t offset, std::size_t count, const std::filesystem::path& file) {
  std::string bytes(count, '\0');
  std::size_t done = 0;
  while (done < count) {
    const auto got = ::pread(fd, bytes.data() + done, count - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error(errno, "cannot read " + file.string());
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace

Result<bool> JournalTail::is_continued(int fd) const {
  if (size_ < offset_) return false;
  KERNELGEN_TRY(const auto found, read_at(fd, offset_ - mark_.size(), mark_.size(), file_));
  return found == mark_;
}

void JournalTail::remember(std::string_view lines) {
  mark_.append(lines.substr(lines.size() - std::min(lines.size(), k_mark_bytes)));
  if (mark_.size() > k_mark_bytes) mark_.erase(0, mark_.size() - k_mark_bytes);
}

Result<std::uint64_t> JournalTail::read_lines(int fd, std::uint64_t max_bytes,
                                              const std::function<void(std::string_view)>& take) {
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;
  std::string text;
  while (bytes < max_bytes) {
    KERNELGEN_TRY(const auto chunk, read_at(fd, offset_ + text.size(), k_chunk, file_));
    const auto before = text.size();
    text += chunk;
    std::size_t begin = 0;
    for (auto end = text.find('\n', before); end != text.npos; end = text.find('\n', begin)) {
      take(std::string_view(text).substr(begin, end - begin));
      begin = end + 1;
      ++lines;
    }
    remember(std::string_view(text).substr(0, begin));
    offset_ += begin;
    bytes += begin;
    text.erase(0, begin);
    at_end_ = chunk.size() < k_chunk;
    if (text.size() > k_max_line)
      return Error{ErrorCode::InvalidArgument, file_.string() + " has a line that is longer than any event"};
    if (at_end_) break;
  }
  size_ = std::max(size_, offset_ + text.size());
  seen_size_ = offset_ + text.size();
  return lines;
}

Result<TailChange> JournalTail::read(std::uint64_t max_bytes, const std::function<void()>& restart,
                                     const std::function<void(std::string_view line)>& take) {
  // Opening it makes a network file system ask for its present size.
  const UniqueFd fd(::open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.valid()) return errno_error(errno, "cannot open " + file_.string());
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return errno_error(errno, "cannot read " + file_.string());
  if (!S_ISREG(status.st_mode)) return Error{ErrorCode::InvalidArgument, file_.string() + " is no file"};
  const bool is_known = inode_ != 0;
  const bool is_same = status.st_dev == device_ && status.st_ino == inode_;
  device_ = status.st_dev;
  inode_ = status.st_ino;
  size_ = static_cast<std::uint64_t>(status.st_size);
  const bool is_untouched = status.st_mtim.tv_sec == seen_time_.tv_sec && status.st_mtim.tv_nsec == seen_time_.tv_nsec;
  seen_time_ = status.st_mtim;
  if (is_same && at_end_ && seen_size_ == size_ && is_untouched) return TailChange::None;
  bool is_continued_here = is_same;
  if (is_same) {
    KERNELGEN_TRY(is_continued_here, is_continued(fd.get()));
  }
  const bool restarts = is_known && !is_continued_here;
  if (restarts) {
    restart();
    offset_ = 0;
    mark_.clear();
  }
  KERNELGEN_TRY(const auto lines, read_lines(fd.get(), max_bytes, take));
  if (restarts) return TailChange::Restarted;
  return lines > 0 ? TailChange::Lines : TailChange::None;
}

}  // namespace v0
}  // namespace kernelgen
