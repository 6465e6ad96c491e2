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

/// One line of a recording.
struct RecordedReply {
  int schema = k_recording_schema;
  std::string id;
  std::string fingerprint;
  Reply reply;
};

/// Formats a line, with its line end.
[[nodiscard]] std::string write_recorded_reply(const RecordedReply& recorded);
/// Parses a line. InvalidArgument for other content, Unsupported for an unknown schema.
[[nodiscard]] Result<RecordedReply> parse_recorded_reply(std::string_view line);

/// Replies by request id, oldest first.
using Recording = std::map<std::string, std::vector<RecordedReply>, std::less<>>;
/// Reads the whole file. Damage anywhere but in a torn last line is an error that names the line.
[[nodiscard]] Result<Recording> read_recording(const std::filesystem::path& file);

/// Appends to a recording. Thread-safe, also towards other processes.
class RecordingFile {
 public:
  /// Creates the file when it is missing.
  [[nodiscard]] static Result<std::unique_ptr<RecordingFile>> open(const std::filesystem::path& file);

  /// The reply is on disk when this returns. A torn last line of an earlier crash is cut off first; a line that cannot
  /// be written whole is removed again.
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
