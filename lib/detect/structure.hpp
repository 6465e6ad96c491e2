#pragma once

/// \file
/// A whole source: its functions, which of them run on the device, and where the host starts them.

#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <kernelgen/core/candidate.hpp>

#include "detect/facts.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {

/// Functions that one name may stand for; more are not told apart.
inline constexpr std::size_t k_max_meanings = 16;

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
  /// What an iteration makes is taken by the next.
  bool carries = true;
};

/// Borrows the source.
struct Structure {
  std::deque<std::string> sources;  ///< texts inside the text
  std::deque<Tokens> texts;
  std::vector<Function> functions;
  std::vector<Role> roles;                      ///< by function
  std::vector<std::vector<std::size_t>> calls;  ///< by function: indices of functions
  /// What a called name may stand for: functions by name, and objects of a class for its forward().
  std::unordered_map<std::string_view, std::vector<std::size_t>> meanings;
  std::vector<Launch> launches;
  /// Statements that start what was recorded before: a function and a node.
  std::vector<std::pair<std::size_t, std::uint32_t>> replays;
  std::vector<bool> recursive;  ///< by function: calls itself
  /// By function: whether the program can come there; all when its entry is not known.
  std::vector<bool> reachable;
  std::vector<std::size_t> callees_first;  ///< device functions, so that summaries can be built in this order
};

[[nodiscard]] Structure read_structure(std::string_view source, Target target);
/// Adds to Structure::meanings what else functions are called.
void read_aliases(Structure& structure);
/// By node: whether it stands under `if __name__ == "__main__"`.
[[nodiscard]] std::vector<bool> find_script_nodes(const Function& function);
/// Loops of a literal handful of iterations (layers, directions) are left out. `device` says what kernels do.
[[nodiscard]] std::vector<LaunchLoop> find_launch_loops(const Structure& structure, const Summaries& device);

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
