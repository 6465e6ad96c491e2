#pragma once

/// \file
/// Errors of the machinery (disk full, tool missing, cancelled) as values. The result of an experiment, such as "does
/// not compile", is an Outcome, never an Error.

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <kernelgen/core/api.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// The kind of a failure. Branch on this, never on the text.
enum class ErrorCode {
  InvalidArgument,   ///< the caller passed something that cannot work
  NotFound,          ///< a file or name that does not exist
  PermissionDenied,  ///< the operating system refused
  NoSpace,           ///< disk or memory file full
  Io,                ///< any other input or output failure
  MissingTool,       ///< a compiler, Python or library is not installed
  MissingDevice,     ///< a device that is not there
  UnsuitableDevice,  ///< the device does not run kernels of this target
  Timeout,           ///< a deadline passed
  Cancelled,         ///< the stop token was triggered
  Protocol,          ///< a peer broke the protocol
  Unavailable,       ///< a helper process died or does not answer; trying again may work
  Unsupported,       ///< not implemented, or not possible with this version
  InvalidTask,       ///< the task file cannot be used; the message gives the reason
  OutOfMemory,       ///< the task needs more memory, of the machine or of its device, than is available
  Busy,              ///< another process holds the resource
  PromptTooLong,     ///< a model takes only shorter prompts
  Pending,           ///< work done elsewhere is not finished, and the caller did not want to wait
  Internal,          ///< a bug in kernelgen
};

/// The stable name, for example "missing_tool".
[[nodiscard]] std::string_view to_string(ErrorCode code);
[[nodiscard]] std::optional<ErrorCode> parse_error_code(std::string_view name);

/// One failure: a code to branch on, a line for the user, and its context.
struct Error {
  ErrorCode code = ErrorCode::Internal;
  /// One line: what failed, with which input, and what to do about it.
  std::string message;
  /// The operations that were under way, innermost first. Filled by Result::context().
  std::vector<std::string> context = {};

  /// "loading task relu.py: no such file", outermost context first.
  [[nodiscard]] std::string to_line() const;
};

/// Thrown by Result::value() on an error; the library throws nothing else.
class BadResult : public std::runtime_error {
 public:
  /// what() is Error::to_line().
  explicit BadResult(Error error);
  /// The error that the result held.
  [[nodiscard]] const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

/// A value or an Error, spelled like std::expected, except that a temporary gives its value instead of a reference.
template <class T>
class [[nodiscard]] Result {
 public:
  /// The type of the value.
  using value_type = T;

  /// Success.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  /// Failure.
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  /// Whether there is a value.
  [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }
  /// Whether there is a value.
  explicit operator bool() const noexcept { return has_value(); }

  /// @{
  /// The value. Requires: has_value(). A temporary gives the value itself, because a reference into it
  /// would be dangling in `for (auto& row : read_rows().value())`.
  [[nodiscard]] T& operator*() & { return *std::get_if<0>(&state_); }
  [[nodiscard]] const T& operator*() const& { return *std::get_if<0>(&state_); }
  [[nodiscard]] T operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }
  /// @}

  /// @{
  /// The error. Requires: !has_value().
  [[nodiscard]] Error& error() & { return *std::get_if<1>(&state_); }
  [[nodiscard]] const Error& error() const& { return *std::get_if<1>(&state_); }
  [[nodiscard]] Error error() && { return std::move(*std::get_if<1>(&state_)); }
  /// @}

  /// @{
  /// The value; throws BadResult when there is none.
  [[nodiscard]] T& value() & {
    if (!has_value()) throw BadResult(error());
    return **this;
  }
  [[nodiscard]] const T& value() const& {
    if (!has_value()) throw BadResult(error());
    return **this;
  }
  [[nodiscard]] T value() && {
    if (!has_value()) throw BadResult(std::move(error()));
    return std::move(**this);
  }
  /// @}

  /// Adds the operation that was under way to an error; a value stays unchanged.
  [[nodiscard]] Result context(std::string what) && {
    if (!has_value()) error().context.push_back(std::move(what));
    return std::move(*this);
  }

 private:
  std::variant<T, Error> state_;
};

/// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  /// The type of the value.
  using value_type = void;

  /// Success.
  Result() = default;
  /// Failure.
  Result(Error error) : error_(std::in_place_index<1>, std::move(error)) {}

  /// Whether it is a success.
  [[nodiscard]] bool has_value() const noexcept { return error_.index() == 0; }
  /// Whether it is a success.
  explicit operator bool() const noexcept { return has_value(); }

  /// @{
  /// The error. Requires: !has_value().
  [[nodiscard]] Error& error() & { return *std::get_if<1>(&error_); }
  [[nodiscard]] const Error& error() const& { return *std::get_if<1>(&error_); }
  [[nodiscard]] Error error() && { return std::move(*std::get_if<1>(&error_)); }
  /// @}

  /// Throws BadResult when this is an error.
  void value() const {
    if (!has_value()) throw BadResult(error());
  }
  /// Adds what was being done to an error.
  [[nodiscard]] Result context(std::string what) && {
    if (!has_value()) error().context.push_back(std::move(what));
    return std::move(*this);
  }

 private:
  std::variant<std::monostate, Error> error_;
};

}  // namespace v0
}  // namespace kernelgen
