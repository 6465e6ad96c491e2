#pragma once

#include <memory>

#include "bench/evaluation.hpp"

namespace kernelgen {
inline namespace v0 {

/// POSIX shared memory without names: memory files whose size is sealed, so that no holder can make another one's
/// access fault by shrinking them.
[[nodiscard]] std::unique_ptr<SharedMemorySource> make_shared_memory_source();

}  // namespace v0
}  // namespace kernelgen
