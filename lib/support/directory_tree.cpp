#include "support/directory_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/random_id.hpp"
#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// Deeper directories are moved up before they are removed: each level takes a descriptor.
constexpr std::size_t k_most_depth = 32;
constexpr std::uintmax_t k_block_bytes = 512;  // of st_blocks

UniqueFd open_directory(int parent, const char* name) {
  // Not O_PATH: the descriptor is read. A FIFO would block without O_NONBLOCK, were it opened at all.
  return UniqueFd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
}

/// The names in a directory, without "." and "..", and `most` of them at most.
std::vector<std::string> names_in(int directory, std::size_t most) {
  std::vector<std::string> names;
  UniqueFd copy(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(copy.valid() ? ::fdopendir(copy.get()) : nullptr, ::closedir);
  if (!stream) return names;
  static_cast<void>(copy.release());
  while (names.size() < most) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream.
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name(static_cast<const char*>(entry->d_name));
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

class Measurement {
 public:
  explicit Measurement(const TreeLimits& limits) : limits_(limits) {}

  TreeSize measure(const std::filesystem::path& path) {
    add_directory(open_directory(AT_FDCWD, path.c_str()), 0);
    return size_;
  }

 private:
  void add_directory(const UniqueFd& directory, std::size_t depth) {
    if (!directory.valid() || depth > limits_.depth) {
      size_.is_complete = false;
      return;
    }
    // One more than the limit shows that there are more.
    for (const auto& name : names_in(directory.get(), limits_.entries - entries_ + 1)) {
      if (++entries_ > limits_.entries) size_.is_complete = false;
      if (!size_.is_complete) return;
      add_entry(directory.get(), name, depth);
    }
  }

  void add_entry(int parent, const std::string& name, std::size_t depth) {
    struct stat status {};
    // It may have been removed meanwhile.
    if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (S_ISDIR(status.st_mode)) return add_directory(open_directory(parent, name.c_str()), depth + 1);
    if (!S_ISREG(status.st_mode) || status.st_nlink != 1) size_.is_plain = false;
    if (!S_ISREG(status.st_mode)) return;
    size_.bytes += std::max(static_cast<std::uintmax_t>(status.st_size),
                            static_cast<std::uintmax_t>(status.st_blocks) * k_block_bytes);
  }

  TreeLimits limits_;
  TreeSize size_;
  std::size_t entries_ = 0;
};

/// Removes what lies in one directory, which is opened anew until it is empty, or nothing more can be removed.
class Removal {
 public:
  explicit Removal(int top) : top_(top) {}

  /// Deeper directories than `k_most_depth` are moved to the top.
  void clear(int directory, std::size_t depth) {
    for (const auto& name : names_in(directory, std::size_t(-1))) remove(directory, name.c_str(), depth);
  }

  /// True if something was moved to the top since this was last asked.
  bool take_moved() { return std::exchange(has_moved_, false); }

 private:
  void remove(int parent, const char* name, std::size_t depth) {
    if (::unlinkat(parent, name, 0) == 0 || (errno != EISDIR && errno != EPERM)) return;
    if (depth == k_most_depth) {
      has_moved_ = ::renameat(parent, name, top_, random_id().c_str()) == 0 || has_moved_;
      return;
    }
    auto directory = open_directory(parent, name);
    // A mode can keep its owner out. What is no directory did not get this far.
    if (!directory.valid() && errno == EACCES && ::fchmodat(parent, name, S_IRWXU, 0) == 0)
      directory = open_directory(parent, name);
    if (!directory.valid()) return;
    static_cast<void>(::fchmod(directory.get(), S_IRWXU));
    clear(directory.get(), depth + 1);
    static_cast<void>(::unlinkat(parent, name, AT_REMOVEDIR));
  }

  int top_;
  bool has_moved_ = false;
};

}  // namespace

TreeSize measure_tree(const std::filesystem::path& path, const TreeLimits& limits) {
  return Measurement(limits).measure(path);
}

void remove_tree(const std::filesystem::path& path) noexcept try {
  if (::unlink(path.c_str()) == 0) return;
  auto top = open_directory(AT_FDCWD, path.c_str());
  if (!top.valid() && errno == EACCES && ::chmod(path.c_str(), S_IRWXU) == 0)
    top = open_directory(AT_FDCWD, path.c_str());
  if (!top.valid()) return;
  static_cast<void>(::fchmod(top.get(), S_IRWXU));
  Removal removal(top.get());
  do {
    removal.clear(top.get(), 0);
  } while (removal.take_moved());
  static_cast<void>(::rmdir(path.c_str()));
} catch (const std::exception&) {
  // Memory ran out; what is left is removed with the next orphans.
}

}  // namespace v0
}  // namespace kernelgen
