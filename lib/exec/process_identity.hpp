#pragma once

#include <string>
#include <string_view>

namespace kernelgen {
inline namespace v0 {

/// Names this process among all that ever run: the boot of its machine, its PID namespace, its number, and when it
/// started. Empty where the system does not tell one of these.
[[nodiscard]] std::string process_identity();

/// Whether the process with this identity has certainly ended. False for a process that this one could not see: on
/// another machine, or in another container.
[[nodiscard]] bool has_certainly_ended(std::string_view identity);

}  // namespace v0
}  // namespace kernelgen
