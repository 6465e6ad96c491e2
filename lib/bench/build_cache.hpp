#pragma once

/// \file
/// Caches the builds of Python candidates (Triton kernels, torch extensions) for the next evaluation of the same
/// candidate. A runner can write only to its own directory, so a candidate can damage no builds but its own. Only
/// builds of plain directories and files are kept, and no link in them is followed here.
///
///     DIR/places/RANDOM/kept    the work directory of one runner, mounted into its sandbox; locked by its worker
///     DIR/kept/KEY              the store; builds move to a work directory before LOAD, and back when the runner has
///     ended

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>

#include <kernelgen/core/result.hpp>

#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {

/// The work directory of one runner's builds. The destructor removes it with its contents.
class BuildCache {
 public:
  /// Creates an empty directory below `directory`, and removes those of workers that were killed.
  [[nodiscard]] static Result<std::unique_ptr<BuildCache>> make(const std::filesystem::path& directory);
  /// True if builds are cached for this key.
  [[nodiscard]] static bool is_kept(const std::filesystem::path& directory, const std::string& key);
  ~BuildCache();
  BuildCache(const BuildCache&) = delete;
  BuildCache& operator=(const BuildCache&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Moves the builds that are cached for this key into the directory. Builds that are missing, cannot be moved, or do
  /// not belong to `user`, as which the runner runs, only cost time.
  void restore(std::string key, uid_t user);
  /// Starts new builds for this key; the cached ones stay for other evaluations.
  void start(std::string key) { key_ = std::move(key); }
  /// True if the builds have grown beyond what a candidate may write; see also keep().
  [[nodiscard]] bool is_too_large() const;
  /// Moves the builds to the cache, unless they are too large, hold links or special files, or the key has some; the
  /// oldest keys are evicted.
  /// Requires: the runner has ended.
  void keep() noexcept;

 private:
  BuildCache(std::filesystem::path directory, std::filesystem::path path, UniqueFd lock)
      : directory_(std::move(directory)), path_(std::move(path)), lock_(std::move(lock)) {}

  std::filesystem::path directory_;
  std::filesystem::path path_;
  UniqueFd lock_;
  std::string key_;
};

}  // namespace v0
}  // namespace kernelgen
