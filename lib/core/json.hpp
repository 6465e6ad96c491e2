#pragma once

/// \file
/// Value types as JSON values. Private: Boost.JSON stays out of the public headers.
///
/// Members carry the names of the C++ members; durations add their unit ("timeout_ms", "duration_ns"); an absent
/// optional is null; enums are names; numbers that JSON lacks are "nan", "inf" and "-inf"; text that is not UTF-8 gets
/// U+FFFD in place of the offending bytes.

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include <kernelgen/core/action.hpp>
#include <kernelgen/core/record.hpp>
#include <kernelgen/core/result.hpp>

#include "support/json_text.hpp"

namespace kernelgen {
inline namespace v0 {

template <class T>
[[nodiscard]] boost::json::value to_value(const T& object);

/// Reads a value. Unknown members are ignored, missing ones keep their defaults. A member of the wrong type is
/// InvalidArgument with its path ("cases[2].outcome.kind: ...").
template <class T>
[[nodiscard]] Result<T> from_value(const boost::json::value& json);

// Instantiated in json.cpp; for other types include core/json_codec.hpp, which reads and writes any structure that
// BOOST_DESCRIBE_STRUCT describes.
#define KERNELGEN_JSON_TYPE_(prefix, type)                        \
  prefix template boost::json::value to_value<type>(const type&); \
  prefix template Result<type> from_value<type>(const boost::json::value&);
#define KERNELGEN_JSON_TYPES_(prefix)            \
  KERNELGEN_JSON_TYPE_(prefix, TaskSource)       \
  KERNELGEN_JSON_TYPE_(prefix, TaskDescription)  \
  KERNELGEN_JSON_TYPE_(prefix, TensorSpec)       \
  KERNELGEN_JSON_TYPE_(prefix, Candidate)        \
  KERNELGEN_JSON_TYPE_(prefix, Outcome)          \
  KERNELGEN_JSON_TYPE_(prefix, CompileReport)    \
  KERNELGEN_JSON_TYPE_(prefix, Tolerance)        \
  KERNELGEN_JSON_TYPE_(prefix, OutputError)      \
  KERNELGEN_JSON_TYPE_(prefix, CaseResult)       \
  KERNELGEN_JSON_TYPE_(prefix, WeightReport)     \
  KERNELGEN_JSON_TYPE_(prefix, TimingReport)     \
  KERNELGEN_JSON_TYPE_(prefix, EvaluationRecord) \
  KERNELGEN_JSON_TYPE_(prefix, Reply)            \
  KERNELGEN_JSON_TYPE_(prefix, Analysis)         \
  KERNELGEN_JSON_TYPE_(prefix, Action)           \
  KERNELGEN_JSON_TYPE_(prefix, ActionResult)
KERNELGEN_JSON_TYPES_(extern)

}  // namespace v0
}  // namespace kernelgen
