#pragma once

/// \file
/// The choice between waiting for work that is done elsewhere and returning at once.

#include <kernelgen/core/api.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Wait for the result, or return ErrorCode::Pending so that the caller asks again later.
enum class Waiting { Wait, Return };

}  // namespace v0
}  // namespace kernelgen
