#include "bench/build_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <utility>
#include <vector>

#include "support/directory_tree.hpp"
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
    const auto size = measure_tree(keys[i].second);
    total += size.is_complete ? std::min(size.bytes, k_max_total + 1) : k_max_total + 1;
    if (i >= k_max_keys || total > k_max_total) remove_tree(keys[i].second);
  }
}

/// Opens a runner's directory to lock it for as long as it is in use. On file systems that cannot lock directories
/// (some network file systems), none counts as abandoned.
UniqueFd open_directory(const fs::path& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/// True for a directory, and false for a link to one, which a candidate may have left.
bool is_real_directory(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(fs::symlink_status(path, error));
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
    if (lock.valid() && lock_directory(lock, entry.path())) remove_tree(entry.path());
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
  return is_real_directory(directory / "kept" / key);
}

BuildCache::~BuildCache() { remove_tree(path_); }

void BuildCache::restore(std::string key, uid_t user) {
  key_ = std::move(key);
  std::error_code error;
  const auto home = directory_ / "kept" / key_;
  struct stat status {};
  if (::lstat(home.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return;
  // What another user built could not be replaced by this runner.
  if (status.st_uid == user)
    fs::rename(home, path_ / "kept", error);
  else
    remove_tree(home);
}

bool BuildCache::is_too_large() const {
  // All that the candidate can write here counts, not only what is kept of it.
  const auto size = measure_tree(path_);
  return !size.is_complete || size.bytes > k_most_growth;
}

void BuildCache::keep() noexcept try {
  if (key_.empty()) return;
  // The candidate may have left anything in its place, such as a link to what it could not reach itself.
  const auto size = measure_tree(path_ / "kept");
  if (!size.is_complete || !size.is_plain || size.bytes > k_max_bytes) return;
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
