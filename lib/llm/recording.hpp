#pragma once

/// \file
/// Recorded replies: JSON lines, one request each.
///
///     {"schema":1,"id":"seed1","fingerprint":"9f...","reply":{"text":"...","finish":"stop","usage":{...},...}}
///
/// Lines are only ever appended. A last line without its end was torn by a crash and is ignored, unless it is whole.

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kernelgen/core/prompt.hpp>
#include <kernelgen/core/result.hpp>

#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {

inline constexpr int k_recording_schema = 1;

/// One line.
struct RecordedReply {
  int schema = k_recording_schema;
  std::string id;
  std::string fingerprint;
  Reply reply;
};

/// With its line end.
[[nodiscard]] std::string write_recorded_reply(const RecordedReply& recorded);
/// InvalidArgument for what is no recorded reply, Unsupported for a schema that is not known.
[[nodiscard]] Result<RecordedReply> parse_recorded_reply(std::string_view line);

/// By request, oldest first.
using Recording = std::map<std::string, std::vector<RecordedReply>, std::less<>>;
/// The whole file. Damage anywhere but in a torn last line is an error that names the line.
[[nodiscard]] Result<Recording> read_recording(const std::filesystem::path& file);

/// Appends to a recording. Thread-safe, also towards other processes.
class RecordingFile {
 public:
  /// Makes the file when it is missing.
  [[nodiscard]] static Result<std::unique_ptr<RecordingFile>> open(const std::filesystem::path& file);

  /// On disk when it returns. A torn last line of an earlier crash is cut off first; what cannot be written whole is
  /// taken back.
  [[nodiscard]] Result<void> append(const RecordedReply& recorded);

 private:
  RecordingFile(UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}
  Result<void> append_locked(std::string line);

  std::mutex mutex_;
  UniqueFd fd_;
  std::string name_;
};

}  // namespace v0
}  // namespace kernelgen
