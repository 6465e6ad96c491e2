#pragma once

/// \file
/// Safe calls to interfaces that the user of the library implements, and the effect of their errors on a run.

#include <exception>
#include <string>
#include <utility>

#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace v0 {

/// Calls `call` and turns an exception into an Error.
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

/// True if an error of the benchmarker ends the run, because no candidate can be judged before a person has fixed
/// something.
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
