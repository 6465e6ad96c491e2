#pragma once

/// \file
/// What Python candidates build for themselves (Triton's kernels, torch's extensions), kept for the next evaluation of
/// the very same candidate. A runner can write to its own place only, so a candidate can spoil nobody's builds but its
/// own.
///
///     DIR/places/RANDOM/kept    one runner's, mounted into its sandbox; locked by its worker
///     DIR/kept/KEY              moved there before its LOAD, and back when it has ended

#include <filesystem>
#include <memory>
#include <string>

#include <kernelgen/core/result.hpp>

#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {

/// The place of one runner. The destructor removes it with what is in it.
class BuildPlace {
 public:
  /// Made empty below `directory`. Places of workers that were killed are removed on the way.
  [[nodiscard]] static Result<std::unique_ptr<BuildPlace>> make(const std::filesystem::path& directory);
  /// Whether something was kept for this key.
  [[nodiscard]] static bool is_kept(const std::filesystem::path& directory, const std::string& key);
  ~BuildPlace();
  BuildPlace(const BuildPlace&) = delete;
  BuildPlace& operator=(const BuildPlace&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Brings what was kept for this key. Nothing to bring, and what cannot be brought, costs time only.
  void bring(std::string key);
  /// For what is built anew under this key; what is kept stays for who needs it meanwhile.
  void start(std::string key) { key_ = std::move(key); }
  /// Keeps what is there for the key, unless it is too large or something is kept for it; the oldest keys make room.
  /// Requires: the runner has ended.
  void keep() noexcept;

 private:
  BuildPlace(std::filesystem::path directory, std::filesystem::path path, UniqueFd lock)
      : directory_(std::move(directory)), path_(std::move(path)), lock_(std::move(lock)) {}

  std::filesystem::path directory_;
  std::filesystem::path path_;
  UniqueFd lock_;
  std::string key_;
};

}  // namespace v0
}  // namespace kernelgen
