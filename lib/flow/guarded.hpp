#pragma once

/// \file
/// Calls to the interfaces that the user of the library implements, and what their errors mean for a run.

#include <exception>
#include <string>
#include <utility>

#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace v0 {

/// What `call` throws becomes an Error.
template <class T, class Call>
Result<T> guarded(const char* what, Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (const std::exception& error) {
    return Error{ErrorCode::Internal, std::string(what) + " threw an exception: " + error.what()};
  } catch (...) {
    return Error{ErrorCode::Internal, std::string(what) + " threw something that is no exception"};
  }
}

/// Whether an error of the benchmarker ends the run: no candidate can be judged before a person has repaired something.
[[nodiscard]] inline bool ends_run(ErrorCode code) {
  switch (code) {
    case ErrorCode::Timeout:
    case ErrorCode::Unavailable:
    case ErrorCode::Protocol:
    case ErrorCode::Io:
      return false;
    default:
      return true;
  }
}

}  // namespace v0
}  // namespace kernelgen
