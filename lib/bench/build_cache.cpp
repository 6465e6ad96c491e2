#include "bench/build_cache.hpp"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include "support/file_lock.hpp"
#include "support/files.hpp"
#include "support/random_id.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

/// A torch extension takes about 1 MB, a Triton kernel 100 kB.
constexpr std::uintmax_t k_max_bytes = 256u << 20;
/// While a candidate builds, compilers write temporary files as well.
constexpr std::uintmax_t k_most_growth = std::uintmax_t{2} << 30;
constexpr std::size_t k_max_keys = 512;
/// For the builds of all keys together.
constexpr std::uintmax_t k_max_total = std::uintmax_t{8} << 30;
constexpr std::chrono::minutes k_new{1};

/// The size of all files; the largest number where a directory refuses to be read, which no compiler's does.
std::uintmax_t bytes_below(const fs::path& directory) {
  std::uintmax_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unreadable;
    if (entry->is_symlink(unreadable) || !entry->is_regular_file(unreadable)) continue;
    const auto size = entry->file_size(unreadable);
    if (!unreadable) bytes += size;
  }
  return error == std::errc::permission_denied ? std::numeric_limits<std::uintmax_t>::max() : bytes;
}

void evict_oldest(const fs::path& kept) {
  std::vector<std::pair<fs::file_time_type, fs::path>> keys;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(kept, error)) {
    std::error_code gone;
    const auto time = entry.last_write_time(gone);
    if (!gone) keys.emplace_back(time, entry.path());
  }
  if (keys.size() <= std::min<std::uintmax_t>(k_max_keys, k_max_total / k_max_bytes)) return;
  std::sort(keys.rbegin(), keys.rend());
  std::uintmax_t total = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    total += std::min(bytes_below(keys[i].second), k_max_total + 1);
    if (i >= k_max_keys || total > k_max_total) fs::remove_all(keys[i].second, error);
  }
}

/// Opens a runner's directory to lock it for as long as it is in use. On file systems that cannot lock directories
/// (some network file systems), none counts as abandoned.
UniqueFd open_directory(const fs::path& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/// Locks the directory; true if no other worker uses it.
bool lock_directory(const UniqueFd& directory, const fs::path& path) {
  const auto locked = try_lock(directory.get(), path.string());
  return locked && *locked;
}

void remove_orphans(const fs::path& work_directories) {
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (const auto& entry : fs::directory_iterator(work_directories, error)) {
    std::error_code gone;
    const auto time = entry.last_write_time(gone);
    // A directory that was just created may not be locked yet.
    if (gone || now - time < k_new) continue;
    const auto lock = open_directory(entry.path());
    if (lock.valid() && lock_directory(lock, entry.path())) fs::remove_all(entry.path(), gone);
  }
}

}  // namespace

Result<std::unique_ptr<BuildCache>> BuildCache::make(const fs::path& directory) {
  auto path = directory / "places" / random_id();
  KERNELGEN_CHECK(make_directories(path));
  KERNELGEN_CHECK(make_directories(directory / "kept"));
  auto lock = open_directory(path);
  if (lock.valid()) static_cast<void>(lock_directory(lock, path));
  remove_orphans(directory / "places");
  return std::unique_ptr<BuildCache>(new BuildCache(directory, std::move(path), std::move(lock)));
}

bool BuildCache::is_kept(const fs::path& directory, const std::string& key) {
  std::error_code error;
  return fs::is_directory(directory / "kept" / key, error);
}

BuildCache::~BuildCache() {
  std::error_code error;
  fs::remove_all(path_, error);
}

void BuildCache::restore(std::string key) {
  key_ = std::move(key);
  std::error_code error;
  fs::rename(directory_ / "kept" / key_, path_ / "kept", error);
}

bool BuildCache::is_too_large() const { return bytes_below(path_ / "kept") > k_most_growth; }

void BuildCache::keep() noexcept try {
  if (key_.empty() || bytes_below(path_ / "kept") > k_max_bytes) return;
  const auto home = directory_ / "kept" / std::exchange(key_, {});
  std::error_code error;
  // Another evaluation of the same candidate may have kept its builds first.
  fs::rename(path_ / "kept", home, error);
  if (error) return;
  fs::last_write_time(home, fs::file_time_type::clock::now(), error);
  evict_oldest(directory_ / "kept");
} catch (const std::exception&) {
  // Builds that are not kept are built again.
}

}  // namespace v0
}  // namespace kernelgen
