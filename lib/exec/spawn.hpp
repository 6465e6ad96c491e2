#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include <kernelgen/core/result.hpp>
#include <kernelgen/exec/process.hpp>

namespace kernelgen {
inline namespace v0 {

/// The effect on a child when the *thread* that started it ends: Linux ties the death signal to that thread.
enum class ParentDeath {
  Kill,    ///< the leader is killed; start it from a thread that lives as long as it should
  Ignore,  ///< the child lives on; for children that watch a socket of their parent themselves
};

/// A descriptor that the child gets, and its number there. All others are closed in the child.
struct InheritedDescriptor {
  int parent = 0;
  int child = 0;
};

/// One program to start.
struct ChildRequest {
  /// argv; the first entry is looked up on the PATH of `environment` unless it has a slash.
  std::vector<std::string> command{};
  /// The whole environment of the child; see clean_environment().
  std::map<std::string, std::string> environment{};
  /// Empty: the caller's.
  std::string working_directory{};
  ResourceLimits limits{};
  ParentDeath parent_death = ParentDeath::Kill;
};

/// Starts a program as leader of its own process group and returns its pid once it has been executed, or why it could
/// not be. Descriptors 0, 1 and 2 are /dev/null unless they are among `inherited`. The caller reaps the program.
/// Errors: MissingTool, PermissionDenied, NotFound (working directory), InvalidArgument, Unavailable (no process left).
[[nodiscard]] Result<pid_t> spawn_process(const ChildRequest& request,
                                          const std::vector<InheritedDescriptor>& inherited);

}  // namespace v0
}  // namespace kernelgen
