#pragma once

/// \file
/// The directories that the calls of this process write.

#include <filesystem>
#include <memory>
#include <stop_token>

#include <kernelgen/core/result.hpp>

namespace kernelgen_python {

/// Says, as long as it lives, that a call writes below a directory. A call that was stopped may go on writing for a
/// moment after its caller went on, and the locks of its journals would refuse the next call.
class DirectoryUse {
 public:
  struct Entry;

  /// Waits until no call that was stopped writes there any more. `stop` is the token of the new call: Cancelled when it
  /// is triggered. Calls that were not stopped are not waited for.
  [[nodiscard]] static kernelgen::Result<DirectoryUse> begin(const std::filesystem::path& directory,
                                                             const std::stop_token& stop);
  DirectoryUse(DirectoryUse&&) noexcept;
  DirectoryUse& operator=(DirectoryUse&&) = delete;
  ~DirectoryUse();

 private:
  explicit DirectoryUse(std::unique_ptr<Entry> entry);

  std::unique_ptr<Entry> entry_;
};

}  // namespace kernelgen_python
