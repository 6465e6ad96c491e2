#pragma once

/// \file
/// What to do while somebody else has the work.

namespace kernelgen {
inline namespace v0 {

/// Whether to wait for what is done elsewhere, or to come back with ErrorCode::Pending and ask again some day.
enum class Waiting { Wait, Return };

}  // namespace v0
}  // namespace kernelgen
