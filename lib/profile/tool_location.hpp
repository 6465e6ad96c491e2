#pragma once

/// \file
/// Where a profiler's program is, or why there is none.

#include <string>
#include <utility>
#include <variant>

#include <kernelgen/core/profile.hpp>

namespace kernelgen {
inline namespace v0 {

/// The path of a program, or the reason why it cannot be used.
class ToolLocation {
 public:
  ToolLocation(std::string path) : found_(std::move(path)) {}
  ToolLocation(ProfileUnavailable why) : found_(std::move(why)) {}
  explicit operator bool() const { return found_.index() == 0; }
  /// Requires: found.
  const std::string& operator*() const { return std::get<0>(found_); }
  /// Requires: not found.
  [[nodiscard]] const ProfileUnavailable& error() const { return std::get<1>(found_); }

 private:
  std::variant<std::string, ProfileUnavailable> found_;
};

}  // namespace v0
}  // namespace kernelgen
