#pragma once

#include <string>

#include <kernelgen/core/result.hpp>

#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {

/// Standard error of a helper process, kept in a memory file: it never blocks the writer and needs no reader.
class MemoryLog {
 public:
  [[nodiscard]] static Result<MemoryLog> create();
  [[nodiscard]] int fd() const { return fd_.get(); }
  /// The last line, sanitized and capped: Python's last line names the exception. Empty when nothing was written.
  [[nodiscard]] std::string last_line() const;

 private:
  explicit MemoryLog(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace v0
}  // namespace kernelgen
