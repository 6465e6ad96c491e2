#pragma once

#include <memory>

#include "bench/evaluation.hpp"

namespace kernelgen {
inline namespace v0 {

/// Makes unnamed memory files. Their size is sealed, so that no holder can shrink them and make the access of another
/// holder fault.
[[nodiscard]] std::unique_ptr<SharedMemorySource> make_shared_memory_source();

}  // namespace v0
}  // namespace kernelgen
