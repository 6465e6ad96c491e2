#pragma once

/// \file
/// Follows a journal that another process writes, perhaps on another machine.

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace v0 {

/// What a look at the journal has found.
enum class TailChange {
  None,       ///< no whole line was added
  Lines,      ///< lines were added
  Restarted,  ///< it is another journal than before: what was read of it no longer counts, and it is read from the
              ///< start
};

/// Reads the lines that were added to a file. The position moves over whole lines only, so that a torn last line, which
/// its writer may cut off, is read again.
class JournalTail {
 public:
  explicit JournalTail(std::filesystem::path file) : file_(std::move(file)) {}

  /// Gives whole new lines to `take`, up to about `max_bytes`. If the journal was replaced, or has lost lines that were
  /// read, `restart` is called first. Errors: NotFound; those of reading; InvalidArgument for a line that is longer
  /// than any event.
  [[nodiscard]] Result<TailChange> read(std::uint64_t max_bytes, const std::function<void()>& restart,
                                        const std::function<void(std::string_view line)>& take);

  /// End of the last whole line that was read.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  /// Bytes that were there at the last look and are not read yet, a torn last line among them.
  [[nodiscard]] std::uint64_t unread() const { return size_ > offset_ ? size_ - offset_ : 0; }
  /// True if the last look found the end of what is there.
  [[nodiscard]] bool at_end() const { return at_end_; }

 private:
  [[nodiscard]] Result<bool> is_continued(int fd) const;
  [[nodiscard]] Result<std::uint64_t> read_lines(int fd, std::uint64_t max_bytes,
                                                 const std::function<void(std::string_view)>& take);
  void remember(std::string_view lines);

  const std::filesystem::path file_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t size_ = 0;
  bool at_end_ = false;
  /// End of what was looked at, a torn last line included, and when the file was written then. Nothing new is there
  /// while both stay.
  std::uint64_t seen_size_ = 0;
  timespec seen_time_{};
  /// The last bytes before `offset_`. Another file, or the same one written anew, has others there.
  std::string mark_;
};

}  // namespace v0
}  // namespace kernelgen
