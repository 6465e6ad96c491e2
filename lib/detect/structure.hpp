#pragma once

/// \file
/// A whole source: its functions, which of them run on the device, and where the host starts them.

#include <deque>
#include <unordered_map>
#include <vector>

#include <kernelgen/core/candidate.hpp>

#include "detect/facts.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {

enum class Role : std::uint8_t { Host, Kernel, DeviceFunction };

struct Launch {
  std::size_t function = 0;  ///< that launches
  std::uint32_t node = 0;
  std::size_t kernel = 0;
  int line = 0;
  /// The grid is one program, by a literal.
  bool one_program = false;
};

/// A loop of the host in which a kernel is launched, directly or by a function that it calls.
struct LaunchLoop {
  std::size_t function = 0;
  int line = 0;
  std::string_view through;  ///< the kernel, or the function that is called
};

/// Borrows the source.
struct Structure {
  std::deque<Tokens> texts;
  std::vector<Function> functions;
  std::vector<Role> roles;                      ///< by function
  std::vector<std::vector<std::size_t>> calls;  ///< by function: indices of functions
  /// What a called name may stand for: functions by name, and objects of a class for its forward().
  std::unordered_map<std::string_view, std::vector<std::size_t>> meanings;
  std::vector<Launch> launches;
  std::vector<std::size_t> callees_first;  ///< device functions, so that summaries can be built in this order
};

[[nodiscard]] Structure read_structure(std::string_view source, Target target);
/// Loops of a literal handful of iterations (layers, directions) are left out.
[[nodiscard]] std::vector<LaunchLoop> find_launch_loops(const Structure& structure);

/// A synchronization; `grid`: programs wait for each other.
struct BarrierSite {
  std::uint32_t node = 0;
  int line = 0;
  std::string_view name;
  bool grid = false;
};
[[nodiscard]] std::vector<BarrierSite> find_barriers(const Function& function);

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
