#pragma once

/// \file
/// Requests and their parts as JSON values. The rules of core/json.hpp hold here, too.

#include <kernelgen/bench/benchmarker.hpp>

#include "bench/protocol.hpp"
#include "core/json.hpp"

namespace kernelgen {
inline namespace v0 {

/// An Error as JSON. Error itself has no JSON form, because Result<Error> would be ambiguous.
struct WireError {
  ErrorCode code = ErrorCode::Internal;
  std::string message;
  std::vector<std::string> context;
};

KERNELGEN_JSON_TYPE_(extern, EvaluationOptions)
KERNELGEN_JSON_TYPE_(extern, EvaluationRequest)
KERNELGEN_JSON_TYPE_(extern, EvaluationProgress)
KERNELGEN_JSON_TYPE_(extern, Prebuilt)
KERNELGEN_JSON_TYPE_(extern, HelloMessage)
KERNELGEN_JSON_TYPE_(extern, WireError)

}  // namespace v0
}  // namespace kernelgen
