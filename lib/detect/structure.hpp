#pragma once

/// \file
/// The structure of a source: its functions, which of them run on the device, and where the host launches them.

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

/// Limit of the functions that one name may refer to; more are not distinguished.
inline constexpr std::size_t k_max_meanings = 16;

enum class FunctionKind : std::uint8_t { Host, Kernel, DeviceFunction };

struct Launch {
  std::size_t function = 0;  ///< index of the launching function
  std::uint32_t node = 0;
  std::size_t kernel = 0;
  int line = 0;
  /// The grid is one program, by a literal.
  bool one_program = false;
};

/// A loop of the host that launches a kernel, directly or through a function.
struct LaunchLoop {
  std::size_t function = 0;
  int line = 0;
  std::string_view through;  ///< the kernel, or the called function
  /// An iteration takes the result of the previous one.
  bool carries = true;
};

/// The structure of a source. Borrows it.
struct Structure {
  std::deque<std::string> sources;  ///< texts inside the text
  std::deque<Tokens> texts;
  std::vector<Function> functions;
  std::vector<FunctionKind> function_kinds;     ///< by function
  std::vector<std::vector<std::size_t>> calls;  ///< by function: indices of functions
  /// The functions that a called name may refer to: functions by name, and objects of a class for its
  /// forward().
  std::unordered_map<std::string_view, std::vector<std::size_t>> meanings;
  std::vector<Launch> launches;
  /// Statements that replay recorded launches: a function and a node.
  std::vector<std::pair<std::size_t, std::uint32_t>> replays;
  std::vector<bool> recursive;  ///< by function: whether it calls itself
  /// By function: whether the program can reach it; all when its entry point is unknown.
  std::vector<bool> reachable;
  std::vector<std::size_t> callees_first;  ///< device functions, in the order for building summaries
};

/// `all_options`: see lex_c().
[[nodiscard]] Structure read_structure(std::string_view source, Target target, bool all_options = false);
/// Adds other names of functions to Structure::meanings.
void read_aliases(Structure& structure);
/// By node: whether it is under `if __name__ == "__main__"`.
[[nodiscard]] std::vector<bool> find_script_nodes(const Function& function);
/// Loops with a literal handful of iterations (layers, directions) are left out. `device` has the summaries of kernels.
[[nodiscard]] std::vector<LaunchLoop> find_launch_loops(const Structure& structure, const Summaries& device);

/// A synchronization; `grid`: of all programs with each other.
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
