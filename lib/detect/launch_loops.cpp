#include <algorithm>
#include <optional>

#include "detect/calls.hpp"
#include "detect/function_flow.hpp"
#include "detect/structure.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

constexpr std::size_t k_max_effects = 128;

class LaunchLoopFinder {
 public:
  LaunchLoopFinder(const Structure& structure, const Summaries& device) : s_(structure), summaries_(device) {
    for (auto& [name, summary] : summaries_) summary.launches = true;
    name_kernels();
  }

  std::vector<LaunchLoop> run() && {
    find_launching();
    find_changing_members();
    names_of_.resize(s_.functions.size());
    for (const auto& [name, functions] : s_.meanings)
      for (const auto function : functions) names_of_[function].push_back(name);
    for (const auto& launch : s_.launches) sites_[launch.function][launch.node] = s_.functions[launch.kernel].name;
    for (const auto& [function, node] : s_.replays) sites_[function][node] = "replay";
    for (const auto index : callees_first()) inspect(index);
    std::sort(loops_.begin(), loops_.end(), [](const LaunchLoop& a, const LaunchLoop& b) { return a.line < b.line; });
    return std::move(loops_);
  }

 private:
  /// A kernel from a table, or one of several with one name: the launch has the effects of all of them.
  void name_kernels() {
    for (const auto& [name, functions] : s_.meanings) {
      for (const auto index : functions) {
        const auto& kernel = s_.functions[index];
        if (s_.function_kinds[index] != FunctionKind::Kernel || kernel.name == name) continue;
        const auto known = summaries_.find(kernel.name);
        if (known == summaries_.end()) continue;
        const auto summary = known->second;  // the table may grow
        merge(summaries_[name], summary);
      }
    }
  }

  /// Finds functions that launch kernels, directly or through calls.
  void find_launching() {
    launching_.assign(s_.functions.size(), false);
    std::vector<std::vector<std::size_t>> callers(s_.functions.size());
    for (std::size_t i = 0; i < s_.calls.size(); ++i)
      for (const auto callee : s_.calls[i]) callers[callee].push_back(i);
    called_.resize(s_.functions.size());
    for (std::size_t i = 0; i < callers.size(); ++i) called_[i] = !callers[i].empty();
    std::vector<std::size_t> queue;
    for (const auto& launch : s_.launches) queue.push_back(launch.function);
    for (const auto& replay : s_.replays) queue.push_back(replay.first);
    while (!queue.empty()) {
      const auto at = queue.back();
      queue.pop_back();
      if (launching_[at] || s_.function_kinds[at] != FunctionKind::Host) continue;
      launching_[at] = true;
      queue.insert(queue.end(), callers[at].begin(), callers[at].end());
    }
  }

  /// Members that methods other than the constructor set: data, not layers.
  void find_changing_members() {
    for (const auto& function : s_.functions) {
      if (function.name == "__init__" || function.tokens->syntax != Syntax::Python) continue;
      const auto& tokens = *function.tokens;
      for (const auto& node : function.nodes) {
        if (node.kind != NodeKind::Plain) continue;
        Position end = node.tokens.begin;
        while (end < node.tokens.end && !tokens.is(end, "=")) ++end;
        for (Position at = node.tokens.begin; at + 2 < end && end < node.tokens.end; ++at)
          if (tokens.is(at, "self") && tokens.is(at + 1, ".")) changing_members_.insert(tokens.list[at + 2].text);
      }
    }
  }

  /// Launching functions, each after its callees.
  [[nodiscard]] std::vector<std::size_t> callees_first() const {
    std::vector<std::size_t> order;
    std::vector<bool> seen(s_.functions.size(), false);
    std::vector<std::pair<std::size_t, std::size_t>> path;
    for (std::size_t begin = 0; begin < s_.functions.size(); ++begin) {
      if (!launching_[begin] || seen[begin]) continue;
      seen[begin] = true;
      path.emplace_back(begin, 0);
      while (!path.empty()) {
        const auto at = path.back().first;
        if (path.back().second == s_.calls[at].size()) {
          order.push_back(at);
          path.pop_back();
          continue;
        }
        const auto callee = s_.calls[at][path.back().second++];
        if (!launching_[callee] || seen[callee]) continue;
        seen[callee] = true;
        path.emplace_back(callee, 0);
      }
    }
    return order;
  }

  void inspect(std::size_t index) {
    const auto& nodes = s_.functions[index].nodes;
    const bool loops =
        std::any_of(nodes.begin(), nodes.end(), [](const Node& node) { return node.kind == NodeKind::Loop; });
    std::optional<FunctionFlow> flow;
    if (loops || called_[index]) flow.emplace(s_.functions[index], summaries_, Side::Host);
    if (s_.reachable[index]) find_loops(index, flow ? &*flow : nullptr);
    if (called_[index]) publish(index, *flow);
  }

  /// Publishes the summary for callers, under every name of the function.
  void publish(std::size_t index, const FunctionFlow& flow) {
    const auto& function = s_.functions[index];
    auto summary = flow.summarize();
    summary.launches = true;
    const bool method = !function.scope.empty() && !function.parameters.empty() &&
                        (function.parameters.front().name == "self" || function.parameters.front().name == "ctx");
    if (method) drop_first(summary);
    for (const auto name : names_of_[index]) merge(summaries_[name], summary);
  }

  static void drop_first(Summary& summary) {
    std::vector<Effect> effects;
    for (auto effect : summary.effects) {
      if (effect.from == 0 || (!effect.returns && effect.to == 0)) continue;
      --effect.from;
      effect.to = effect.returns ? 0 : effect.to - 1;
      effects.push_back(effect);
    }
    summary.effects = std::move(effects);
    summary.parameters.erase(summary.parameters.begin());
  }

  static void merge(Summary& into, const Summary& from) {
    into.effects.insert(into.effects.end(), from.effects.begin(), from.effects.end());
    if (into.effects.size() > k_max_effects) into.effects.resize(k_max_effects);
    if (into.parameters.empty()) into.parameters = from.parameters;
    into.launches = true;
    into.side_effects = into.side_effects || from.side_effects;
    into.writes_others = into.writes_others || from.writes_others;
  }

  /// How a statement launches kernels.
  struct Site {
    std::string_view through;    // empty: not at all
    bool certain = true;         // the flow knows all effects of the launch
    bool writes_others = false;  // what it writes may be read by another launch
    bool iterates = false;       // it calls a function that repeats its argument in a loop
  };

  /// `flow` may be missing where there are no loops.
  void find_loops(std::size_t index, const FunctionFlow* flow) {
    const auto& function = s_.functions[index];
    const auto skipped = find_script_nodes(function);
    std::vector<std::uint32_t> open;
    std::vector<std::uint8_t> carries(function.nodes.size(), k_unknown);
    find_lambdas(index);
    std::vector<std::uint32_t> sites(function.nodes.size() + 1, 0);  // by node: those before it
    for (std::uint32_t node = 0; node < function.nodes.size(); ++node)
      sites[node + 1] = sites[node] + (site_of(index, node).through.empty() ? 0U : 1U);
    for (std::uint32_t node = 0; node < function.nodes.size(); ++node) {
      while (!open.empty() && function.nodes[open.back()].last <= node) open.pop_back();
      if (skipped[node]) continue;
      const auto& statement = function.nodes[node];
      if (statement.kind == NodeKind::Loop && !flow->is_short(node) && !flow->is_geometric(node)) open.push_back(node);
      const auto site = site_of(index, node);
      if (site.through.empty()) continue;
      if (s_.recursive[index]) loops_.push_back({index, function.line, function.name, true});
      if (site.iterates) loops_.push_back({index, statement.line, site.through, true});
      if (has_comprehension(*function.tokens, statement.tokens))
        loops_.push_back(
            {index, statement.line, site.through,
             !site.certain || site.writes_others || has_assignment_expression(*function.tokens, statement.tokens)});
      for (auto loop = open.rbegin(); loop != open.rend() && loop != open.rbegin() + k_max_loops; ++loop) {
        if (carries[*loop] == k_unknown)
          carries[*loop] = flow->carries_launches(*loop) && !flow->iterates_over_members(*loop, changing_members_)
                               ? k_carries
                               : k_independent;
        const bool several = sites[function.nodes[*loop].last] - sites[*loop] > 1;
        const bool certain = site.certain && !(site.writes_others && several);
        const bool carried =
            carries[*loop] == k_carries || (!certain && !flow->iterates_over_members(*loop, changing_members_));
        loops_.push_back({index, function.nodes[*loop].line, site.through, carried});
        if (carried || loops_.size() > k_max_effects) break;
      }
    }
  }

  /// Lambdas that launch kernels: calling one is a launch.
  void find_lambdas(std::size_t index) {
    lambdas_.clear();
    const auto& function = s_.functions[index];
    for (const auto& lambda : function.lambdas) {
      for (auto node = lambda.node + 1; node < function.nodes[lambda.node].last; ++node) {
        auto site = site_of(index, node);
        if (site.through.empty()) continue;
        lambdas_.emplace(lambda.name, site);
        break;
      }
    }
    // launch = lambda t: kernel[grid](x[t], h) is an expression with effects that are not followed.
    const auto& tokens = *function.tokens;
    for (std::uint32_t node = 0; tokens.syntax == Syntax::Python && node < function.nodes.size(); ++node) {
      const Position at = function.nodes[node].tokens.begin;
      if (!tokens.is_name(at) || !tokens.is(at + 1, "=") || !tokens.is(at + 2, "lambda")) continue;
      const auto site = site_of(index, node);
      if (!site.through.empty()) lambdas_.emplace(tokens.list[at].text, Site{site.through, false, false});
    }
  }

  [[nodiscard]] Site site_of(std::size_t index, std::uint32_t node) const {
    const auto& function = s_.functions[index];
    const auto& tokens = *function.tokens;
    const Range range = function.nodes[node].tokens;
    Site site;
    if (const auto known = sites_.find(index); known != sites_.end())
      if (const auto found = known->second.find(node); found != known->second.end()) {
        site.through = found->second;
        site.certain = site.through != "replay" && !has_argument_array(tokens, range);
      }
    for (const auto& call : calls_in(tokens, range)) {
      if (const auto lambda = lambdas_.find(call.first); lambda != lambdas_.end() && site.through.empty())
        site = lambda->second;
      const auto name = call.name == "apply" ? call.first : call.name;
      const bool launches = is_launching_name(name, index);
      if (launches && site.through.empty()) site.through = call.name;
      if (const auto known = summaries_.find(name); launches && known != summaries_.end()) {
        site.certain = site.certain && !known->second.side_effects;
        site.writes_others = site.writes_others || known->second.writes_others;
      }
      if (!calls_argument_in_loop(call, tokens)) continue;
      for (Position at = call.arguments.begin; at < call.arguments.end; ++at)
        if (tokens.is_name(at) && !tokens.is(at + 1, "(") && is_launching_name(tokens.list[at].text, index))
          site.iterates = true;
      // The statements of a lambda follow as nodes of their own.
      for (auto inner = node + 1; inner < function.nodes[node].last && !site.iterates; ++inner)
        if (const auto known = sites_.find(index); known != sites_.end() && known->second.count(inner) != 0)
          site.iterates = true;
      if (site.iterates) site.through = call.name;
    }
    return site;
  }

  [[nodiscard]] bool is_launching_name(std::string_view name, std::size_t from) const {
    const auto found = s_.meanings.find(name);
    return found != s_.meanings.end() &&
           std::any_of(found->second.begin(), found->second.end(),
                       [&](std::size_t callee) { return launching_[callee] && callee != from; });
  }

  /// Whether a function calls one of its arguments in a loop.
  [[nodiscard]] bool calls_argument_in_loop(const Call& call, const Tokens& tokens) const {
    if (tokens.syntax == Syntax::Python && (call.name == "reduce" || call.name == "accumulate")) return true;
    const auto found = s_.meanings.find(call.name);
    if (found == s_.meanings.end()) return false;
    return std::any_of(found->second.begin(), found->second.end(),
                       [&](std::size_t callee) { return calls_parameter_in_loop(s_.functions[callee]); });
  }

  static bool calls_parameter_in_loop(const Function& function) {
    if (function.parameters.empty()) return false;
    std::uint32_t end = 0;
    for (std::uint32_t node = 0; node < function.nodes.size(); ++node) {
      if (function.nodes[node].kind == NodeKind::Loop) end = std::max(end, function.nodes[node].last);
      if (node >= end) continue;
      for (const auto& call : calls_in(*function.tokens, function.nodes[node].tokens))
        for (const auto& parameter : function.parameters)
          if (parameter.name == call.name && call.first == call.name) return true;
    }
    return false;
  }

  /// cudaLaunchKernel(f, grid, block, arguments, ...): the content of the array is unknown.
  static bool has_argument_array(const Tokens& tokens, Range range) {
    for (const auto& call : calls_in(tokens, range)) {
      const bool generic = call.name.find("LaunchKernelEx") != call.name.npos || call.name == "hipLaunchKernelGGL";
      if (!generic && (call.name.find("LaunchKernel") != call.name.npos ||
                       call.name.find("LaunchCooperativeKernel") != call.name.npos))
        return true;
    }
    return false;
  }

  /// [f(x) for x in y] is a loop without a statement of its own.
  static bool has_comprehension(const Tokens& tokens, Range range) {
    if (tokens.syntax != Syntax::Python) return false;
    for (Position at = range.begin + 1; at < range.end; ++at)
      if (tokens.is(at, "for")) return true;
    return false;
  }

  /// [h := f(x, h) for x in y]
  static bool has_assignment_expression(const Tokens& tokens, Range range) {
    for (Position at = range.begin; at < range.end; ++at)
      if (tokens.is(at, ":=")) return true;
    return false;
  }

  static constexpr std::uint8_t k_unknown = 0;
  static constexpr std::uint8_t k_carries = 1;
  static constexpr std::uint8_t k_independent = 2;
  static constexpr int k_max_loops = 4;
  const Structure& s_;
  Summaries summaries_;
  std::vector<bool> launching_;
  std::vector<bool> called_;
  std::vector<std::vector<std::string_view>> names_of_;  // by function
  std::unordered_set<std::string_view> changing_members_;
  std::unordered_map<std::size_t, std::unordered_map<std::uint32_t, std::string_view>> sites_;
  std::unordered_map<std::string_view, Site> lambdas_;  // lambdas of the current function
  std::vector<LaunchLoop> loops_;
};

}  // namespace

std::vector<LaunchLoop> find_launch_loops(const Structure& structure, const Summaries& device) {
  if (structure.launches.empty() && structure.replays.empty()) return {};
  return LaunchLoopFinder(structure, device).run();
}

bool FunctionFlow::iterates_over_members(std::uint32_t loop,
                                         const std::unordered_set<std::string_view>& changing) const {
  const auto& tokens = *function_.tokens;
  const auto& node = function_.nodes[loop];
  if (tokens.syntax != Syntax::Python || node.loop != LoopKind::For) return false;
  Position in = node.tokens.begin;
  while (in < node.tokens.end && !tokens.is(in, "in")) ++in;
  std::vector<std::string_view> variables;
  for (Position at = node.tokens.begin; at < in; ++at)
    if (tokens.is_name(at)) variables.push_back(tokens.list[at].text);
  bool members = false;
  bool counts = false;
  for (Position at = in + 1; at < node.tokens.end; ++at) {
    if (!tokens.is_name(at) || tokens.is(at - 1, ".")) continue;
    if (tokens.is(at, "self") && tokens.is_name(at + 2) && changing.count(tokens.list[at + 2].text) != 0) return false;
    counts = counts || tokens.is(at, "range");
    members = members || tokens.is(at, "self");
    if (!tokens.is(at, "self") && !tokens.is(at + 1, "(")) return false;
  }
  if (!members) return false;
  bool used = false;
  for (auto inner = loop + 1; inner < node.last; ++inner) {
    const auto range = function_.nodes[inner].tokens;
    for (Position at = range.begin; at < range.end; ++at) {
      const bool variable =
          tokens.is_name(at) && std::find(variables.begin(), variables.end(), tokens.list[at].text) != variables.end();
      if (variable && counts && !tokens.is(at - 1, "[")) return false;
      used = used || variable;
      if (!variable || !tokens.is(at - 1, "[")) continue;
      Position base = at - 1;
      while (base > range.begin && (tokens.is_name(base - 1) || tokens.is(base - 1, "."))) --base;
      if (!tokens.is(base, "self") || changing.count(tokens.list[base + 2].text) != 0) return false;
    }
  }
  return used;
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
