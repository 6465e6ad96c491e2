#include "compile/content_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <vector>

#include "support/errno_error.hpp"
#include "support/file_lock.hpp"
#include "support/files.hpp"
#include "support/sha256.hpp"
#include "support/try.hpp"
#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

constexpr WriteOptions k_object_options{.mode = 0444, .durability = Durability::Rename};
/// Age after which a build folder is abandoned; longer than any compilation.
constexpr std::chrono::hours k_abandoned{24};
constexpr std::size_t k_max_hashed_bytes = std::size_t{4} << 20;

struct Entry {
  fs::file_time_type used;
  fs::path path;
  std::uint64_t bytes = 0;
};

/// Lists files. Others may remove files meanwhile; those that cannot be examined are skipped.
std::vector<Entry> list_files(const fs::path& directory) {
  std::vector<Entry> entries;
  std::error_code error;
  auto place = fs::recursive_directory_iterator(directory, fs::directory_options::skip_permission_denied, error);
  while (!error && place != fs::recursive_directory_iterator()) {
    std::error_code gone;
    Entry entry{place->last_write_time(gone), place->path(), 0};
    if (!gone && place->symlink_status(gone).type() == fs::file_type::regular) {
      entry.bytes = place->file_size(gone);
      if (!gone) entries.push_back(std::move(entry));
    }
    place.increment(error);
  }
  return entries;
}

void remove_abandoned_builds(const fs::path& builds, fs::file_time_type now) {
  std::error_code error;
  std::vector<fs::path> old;
  for (auto place = fs::directory_iterator(builds, error); !error && place != fs::directory_iterator();
       place.increment(error)) {
    std::error_code gone;
    const auto changed = place->last_write_time(gone);
    if (!gone && now - changed > k_abandoned) old.push_back(place->path());
  }
  for (const auto& path : old) fs::remove_all(path, error);
}

}  // namespace

fs::path content_path(const fs::path& root, const std::string& digest, const std::string& extension) {
  return root / "objects" / digest.substr(0, 2) / (digest + extension);
}

Result<fs::path> publish_content(const fs::path& root, std::string_view content, const std::string& extension) {
  const std::string digest = sha256_hex(content);
  auto path = content_path(fs::absolute(root), digest, extension);
  const auto there = sha256_file(path);
  if (there.has_value() && *there == digest) {
    mark_used(path);
    return path;
  }
  KERNELGEN_CHECK(make_directories(path.parent_path()));
  KERNELGEN_CHECK(write_file_atomic(path, content, k_object_options));
  return path;
}

Result<std::string> digest_of_folder(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    if (at->is_regular_file(error)) files.push_back(at->path());
  if (error) return Error{ErrorCode::NotFound, "cannot read " + directory.string() + ": " + error.message(), {}};
  std::sort(files.begin(), files.end());
  std::string text;
  for (const auto& file : files) {
    KERNELGEN_TRY(const auto content, read_file(file, k_max_hashed_bytes));
    text += file.lexically_relative(directory).string() + ' ' + sha256_hex(content) + '\n';
  }
  return sha256_hex(text);
}

void mark_used(const fs::path& file) { ::utimensat(AT_FDCWD, file.c_str(), nullptr, AT_SYMLINK_NOFOLLOW); }

Result<Eviction> evict(const fs::path& root, const EvictionLimits& limits) {
  const fs::path lock_path = root / ".evicting";
  const UniqueFd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.valid()) return errno_error(errno, "cannot lock " + lock_path.string());
  KERNELGEN_TRY(const bool locked, try_lock(lock.get(), lock_path.string()));
  if (!locked) return Eviction{};
  // Time is read from the file system's clock, which also stamps the files.
  ::futimens(lock.get(), nullptr);
  std::error_code error;
  const auto now = fs::last_write_time(lock_path, error);
  if (error) return Error{ErrorCode::Io, "cannot examine " + lock_path.string() + ": " + error.message(), {}};
  remove_abandoned_builds(root / "builds", now);

  auto entries = list_files(root / "objects");
  auto results = list_files(root / "results");
  entries.insert(entries.end(), std::make_move_iterator(results.begin()), std::make_move_iterator(results.end()));
  Eviction done;
  for (const auto& entry : entries) done.bytes_left += entry.bytes;
  if (done.bytes_left <= limits.max_bytes) return done;
  const std::uint64_t goal = limits.max_bytes - limits.max_bytes / 10;
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::tie(a.used, a.path) < std::tie(b.used, b.path); });
  for (const auto& entry : entries) {
    if (done.bytes_left <= goal || now - entry.used < limits.keep_idle) break;
    // The file was used after it was listed, so another process needs it.
    if (fs::last_write_time(entry.path, error) != entry.used || error) continue;
    if (!fs::remove(entry.path, error)) continue;
    done.bytes_left -= entry.bytes;
    ++done.files_removed;
  }
  return done;
}

}  // namespace v0
}  // namespace kernelgen
