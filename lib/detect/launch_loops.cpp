#include <algorithm>

#include "detect/carried.hpp"
#include "detect/structure.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

/// Functions that launch, themselves or through what they call.
std::vector<bool> find_launching(const Structure& structure) {
  std::vector<bool> launching(structure.functions.size(), false);
  std::vector<std::vector<std::size_t>> callers(structure.functions.size());
  for (std::size_t i = 0; i < structure.calls.size(); ++i)
    for (const auto callee : structure.calls[i]) callers[callee].push_back(i);
  std::vector<std::size_t> queue;
  for (const auto& launch : structure.launches) queue.push_back(launch.function);
  while (!queue.empty()) {
    const auto at = queue.back();
    queue.pop_back();
    if (launching[at] || structure.roles[at] != Role::Host) continue;
    launching[at] = true;
    queue.insert(queue.end(), callers[at].begin(), callers[at].end());
  }
  return launching;
}

/// [f(x) for x in y] is a loop without a statement of its own.
bool has_comprehension(const Tokens& tokens, Range range) {
  if (tokens.language != Language::Python) return false;
  for (Position at = range.begin + 1; at < range.end; ++at)
    if (tokens.is(at, "for")) return true;
  return false;
}

}  // namespace

std::vector<LaunchLoop> find_launch_loops(const Structure& structure) {
  std::vector<LaunchLoop> loops;
  const auto launching = find_launching(structure);
  std::size_t next = 0;
  for (std::size_t index = 0; index < structure.functions.size(); ++index) {
    if (!launching[index]) continue;
    const auto& function = structure.functions[index];
    std::unordered_map<std::uint32_t, std::string_view> sites;
    // Launches stand in the order of their functions.
    for (; next < structure.launches.size() && structure.launches[next].function <= index; ++next)
      if (structure.launches[next].function == index)
        sites[structure.launches[next].node] = structure.functions[structure.launches[next].kernel].name;
    const FunctionFlow flow(function, {});
    std::vector<std::uint32_t> open;
    for (std::uint32_t node = 0; node < function.nodes.size(); ++node) {
      while (!open.empty() && function.nodes[open.back()].last <= node) open.pop_back();
      const auto& statement = function.nodes[node];
      if (statement.kind == NodeKind::Loop && !flow.is_short(node)) open.push_back(node);
      std::string_view through;
      if (const auto site = sites.find(node); site != sites.end()) through = site->second;
      for (const auto& call : calls_in(*function.tokens, statement.tokens)) {
        const auto found = structure.meanings.find(call.name == "apply" ? call.first : call.name);
        if (found == structure.meanings.end() || !through.empty()) continue;
        const bool launches = std::any_of(found->second.begin(), found->second.end(),
                                          [&](std::size_t callee) { return launching[callee] && callee != index; });
        if (launches) through = call.name;
      }
      if (through.empty()) continue;
      if (!open.empty())
        loops.push_back({index, function.nodes[open.back()].line, through});
      else if (has_comprehension(*function.tokens, statement.tokens))
        loops.push_back({index, statement.line, through});
    }
  }
  return loops;
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
