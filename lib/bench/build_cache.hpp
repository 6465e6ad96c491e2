#pragma once

/// \file
/// The builds of Python candidates (Triton kernels, torch extensions), kept for the next evaluation of the very same
/// candidate. A runner can write to its own place only, so a candidate can spoil no builds but its own.
///
///     DIR/places/RANDOM/kept    the builds of one runner, mounted into its sandbox; locked by its worker
///     DIR/kept/KEY              kept builds; moved to a place before LOAD, and back when the runner has ended

#include <filesystem>
#include <memory>
#include <string>

#include <kernelgen/core/result.hpp>

#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {

/// The place of one runner's builds. The destructor removes it with its contents.
class BuildCache {
 public:
  /// Makes an empty place below `directory`, and removes places of workers that were killed.
  [[nodiscard]] static Result<std::unique_ptr<BuildCache>> make(const std::filesystem::path& directory);
  /// Whether builds are kept for this key.
  [[nodiscard]] static bool is_kept(const std::filesystem::path& directory, const std::string& key);
  ~BuildCache();
  BuildCache(const BuildCache&) = delete;
  BuildCache& operator=(const BuildCache&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Moves the builds kept for this key into the place. Builds that are missing or cannot be moved cost time only.
  void restore(std::string key);
  /// Begins builds for this key without the kept ones, which stay for other evaluations.
  void start(std::string key) { key_ = std::move(key); }
  /// Keeps the builds of the place under the key, unless they are too large or there are kept ones; the oldest keys
  /// make room. Requires: the runner has ended.
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
