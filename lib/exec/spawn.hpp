#pragma once

#include <sys/types.h>

#include <vector>

#include <kernelgen/core/result.hpp>
#include <kernelgen/exec/child.hpp>

#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {

/// A process that was started and not waited for yet.
struct Spawned {
  pid_t pid = -1;
  /// Invalid on kernels without pidfd_open.
  UniqueFd pidfd;
};

/// Starts a program as leader of its own process group; returns once it has been executed, or with the reason why not.
/// Only the given descriptors exist in it, and 0, 1, 2 as /dev/null unless given.
[[nodiscard]] Result<Spawned> spawn_process(const ChildRequest& request,
                                            const std::vector<InheritedDescriptor>& inherited);

}  // namespace v0
}  // namespace kernelgen
