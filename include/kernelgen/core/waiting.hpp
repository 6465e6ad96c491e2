#pragma once

/// \file
/// What to do while work is done elsewhere.

#include <kernelgen/core/api.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Whether to wait for what is done elsewhere, or to come back with ErrorCode::Pending and ask again some day.
enum class Waiting { Wait, Return };

}  // namespace v0
}  // namespace kernelgen
