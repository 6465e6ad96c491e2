#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <unordered_set>

#include "detect/carried.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

constexpr std::uint32_t k_thread_bit = 1U << 31;

/// Whether a statement speaks of the threads of a whole grid or cluster.
bool names_group(const Tokens& tokens, Range range) {
  for (Position at = range.begin; at < range.end; ++at)
    for (const auto* word : {"this_grid", "grid_group", "this_cluster", "cluster_group"})
      if (tokens.is(at, word)) return true;
  return false;
}

}  // namespace

FunctionFlow::FunctionFlow(const Function& function, const Summaries& summaries, Side side)
    : function_(function), side_(side) {
  for (const auto& parameter : function.parameters) parameters_.push_back(names_.id(parameter.name));
  facts_ = read_facts(function, summaries, names_, side);
  count_ = names_.size();
  parent_.resize(count_);
  std::iota(parent_.begin(), parent_.end(), NameId{0});
  const auto nodes = function_.nodes.size();
  branch_begin_.assign(nodes, 0);
  branch_end_.assign(nodes, std::numeric_limits<std::uint32_t>::max());
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    while (!open.empty() && function_.nodes[open.back()].last <= i) open.pop_back();
    if (!open.empty()) {
      branch_begin_[i] = open.back();
      branch_end_[i] = function_.nodes[open.back()].last;
    }
    if (function_.nodes[i].kind == NodeKind::Branch) open.push_back(i);
  }
  find_conditions();
  find_aliases();
  find_owners();
}

void FunctionFlow::find_conditions() {
  constexpr std::size_t k_most = 16;
  asked_.resize(function_.nodes.size());
  for (std::size_t i = 0; i < function_.nodes.size(); ++i) {
    const auto& node = function_.nodes[i];
    if (node.kind != NodeKind::Branch) continue;
    for (Position at = node.tokens.begin; at < node.tokens.end && asked_[i].size() < k_most; ++at) {
      if (!function_.tokens->is_name(at)) continue;
      if (const auto name = names_.find(function_.tokens->list[at].text)) asked_[i].push_back(*name);
    }
  }
}

NameId FunctionFlow::root(NameId name) const {
  while (parent_[name] != name) name = parent_[name];
  return name;
}

/// Joins a pointer with what it is made of: p = q + n, p = odd ? q : r, and a pointer out of a table with the table.
template <class Join>
void FunctionFlow::join_sources(const Fact& fact, const std::vector<bool>& pointer, Join join) const {
  const bool chosen =
      std::any_of(fact.uses.begin(), fact.uses.end(), [](const Use& use) { return use.decides && !use.address; });
  // p += n only moves.
  bool first =
      std::none_of(fact.uses.begin(), fact.uses.end(), [&](const Use& use) { return use.name == fact.target; });
  for (const auto& use : fact.uses) {
    if (use.address || use.decides || use.rank != Rank::Additive || use.name == fact.target) continue;
    if (pointer[use.name] || fact.swaps || chosen || first) join(fact.target, use.name);
    const bool only = first && !pointer[use.name] && !fact.swaps && !chosen;
    first = false;
    if (only) break;
  }
}

void FunctionFlow::find_aliases() {
  std::vector<bool> pointer(count_, false);
  aliased_.assign(count_, false);
  for (const auto& fact : facts_) {
    if (fact.memory) pointer[fact.target] = true;
    for (const auto& use : fact.uses)
      if (use.memory) pointer[use.name] = true;
  }
  std::vector<std::uint32_t> size(count_, 1);
  const auto join = [&](NameId a, NameId b) {
    a = root(a);
    b = root(b);
    if (a == b) return;
    if (size[a] < size[b]) std::swap(a, b);
    parent_[b] = a;
    aliased_[a] = aliased_[b] = true;
    size[a] += size[b];
  };
  for (const auto& fact : facts_) {
    if (fact.memory || fact.target == k_return || !pointer[fact.target]) continue;
    if (carves_out(fact)) continue;
    join_sources(fact, pointer, join);
  }
}

/// float* second = buffer + n, once, out of a buffer of this function: a region that nothing else touches.
bool FunctionFlow::carves_out(const Fact& fact) const {
  if (!fact.declares || function_.nodes[fact.node].depth != 0) return false;
  const auto& tokens = *function_.tokens;
  const auto range = function_.nodes[fact.node].tokens;
  bool moved = false;
  for (Position at = range.begin; at < range.end; ++at)
    moved = moved || tokens.is(at, "+") || (tokens.is(at, "[") && at > range.begin && tokens.is_name(at - 1));
  if (!moved || fact.uses.empty()) return false;
  return std::none_of(fact.uses.begin(), fact.uses.end(), [&](const Use& use) {
    return std::find(parameters_.begin(), parameters_.end(), use.name) != parameters_.end() && !use.address;
  });
}

void FunctionFlow::find_owners() {
  owners_.assign(count_, 0);
  std::uint32_t next = 1;
  const auto fresh = [&next] {
    const std::uint32_t bit = next;
    // Enough for three axes and their splits; more share a bit.
    next = next < (1U << 20) ? next << 1 : next;
    return bit;
  };
  for (NameId name = 0; name < count_; ++name) {
    const auto text = names_.text(name);
    const auto starts = [&](std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; };
    if (starts("blockIdx.") || starts("hipBlockIdx_")) owners_[name] = fresh();
    if (starts("threadIdx.") || starts("hipThreadIdx_")) owners_[name] = k_thread_bit;
  }
  std::unordered_set<std::string_view> grids;
  for (const auto& fact : facts_)
    if (!fact.memory && fact.declares && function_.tokens->language == Language::C &&
        names_group(*function_.tokens, function_.nodes[fact.node].tokens))
      grids.insert(names_.text(fact.target));
  // Facts of one statement follow each other: each statement is looked at once.
  std::uint32_t seen = std::numeric_limits<std::uint32_t>::max();
  bool asks = false;
  const auto asks_for_program = [&](std::uint32_t index) {
    if (index == seen) return asks;
    seen = index;
    const auto& node = function_.nodes[index];
    const auto calls = node.kind == NodeKind::Plain ? calls_in(*function_.tokens, node.tokens) : std::vector<Call>{};
    asks = std::any_of(calls.begin(), calls.end(), [&](const Call& call) {
      return call.name == "program_id" || call.name == "block_rank" || call.name == "cluster_block_rank" ||
             (call.name == "thread_rank" && grids.count(call.first) != 0);
    });
    return asks;
  };
  for (const auto& fact : facts_) {
    if (fact.memory) continue;
    std::uint32_t mask = 0;
    for (const auto& use : fact.uses) {
      const auto owner = owners_[use.name];
      // pid // n and pid % n are two ways to tell programs apart.
      if (!use.memory && owner != 0 && use.name != fact.target)
        mask |= use.rank == Rank::Operand && !use.address ? (fresh() | (owner & k_thread_bit)) : owner;
    }
    if (asks_for_program(fact.node)) mask |= fresh();
    owners_[fact.target] |= mask;
  }
}

void FunctionFlow::add_edges(std::uint32_t index, std::vector<Edge>& edges,
                             std::vector<std::pair<NameId, NameId>>& decisions) const {
  const auto& fact = facts_[index];
  const NameId target = node_of(fact.target, fact.memory);
  const auto branch = branch_begin_[fact.node];
  if (branch_end_[fact.node] <= asked_.size())
    for (const auto name : asked_[branch]) decisions.emplace_back(node_of(name, false), target);
  for (const auto& use : fact.uses) {
    const NameId from = node_of(use.name, use.memory);
    if (use.decides) {
      decisions.emplace_back(from, target);
      continue;
    }
    edges.push_back({from, target, use.rank, use.address, use.memory, index, use.term, use.factor, use.of_target,
                     use.launched, use.access != 0 && use.access == fact.access});
  }
}

/// Whether nothing that the caller left behind the pointer is read before it is written anew.
bool FunctionFlow::overwrites(NameId name) const {
  for (const auto& fact : facts_) {
    for (const auto& use : fact.uses)
      if (use.memory && root(use.name) == root(name)) return false;
    if (fact.memory && fact.target == name && fact.uses.size() <= 1 && branch_begin_[fact.node] == 0 &&
        branch_end_[fact.node] == std::numeric_limits<std::uint32_t>::max())
      return true;
  }
  return false;
}

/// Whether the function writes, or has kernels write, what is neither its own nor given to it.
bool FunctionFlow::has_side_effects() const {
  std::vector<bool> own(count_, false);
  for (const auto parameter : parameters_) own[parameter] = true;
  const bool python = function_.tokens->language == Language::Python;
  for (const auto& fact : facts_)
    own[fact.target] = own[fact.target] || fact.declares ||
                       (python && !fact.memory && !fact.gathers && names_.text(fact.target).substr(0, 5) != "self.");
  own[k_return] = true;
  return std::any_of(facts_.begin(), facts_.end(), [&](const Fact& fact) { return !own[fact.target]; });
}

Summary FunctionFlow::summarize() const {
  constexpr std::size_t k_max_parameters = 24;
  constexpr std::size_t k_max_effects = 48;
  Summary summary;
  for (const auto& parameter : function_.parameters) summary.parameters.push_back(parameter.name);
  summary.side_effects = side_ == Side::Host && has_side_effects();
  std::vector<Edge> edges;
  std::vector<std::pair<NameId, NameId>> decisions;
  for (std::uint32_t i = 0; i < facts_.size(); ++i) add_edges(i, edges, decisions);
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.from < b.from; });
  const auto parameters = std::min(function_.parameters.size(), k_max_parameters);
  const auto& ids = parameters_;
  for (std::size_t i = 0; i < parameters; ++i) {
    for (const bool memory : {false, true}) {
      if (memory && overwrites(ids[i])) continue;
      std::vector<std::uint8_t> reached(2 * count_, 0);  // 1 + rank
      std::vector<NameId> queue;
      const NameId start = node_of(ids[i], memory);
      reached[start] = 1;
      queue.push_back(start);
      while (!queue.empty()) {
        const NameId at = queue.back();
        queue.pop_back();
        auto edge =
            std::lower_bound(edges.begin(), edges.end(), at, [](const Edge& e, NameId n) { return e.from < n; });
        for (; edge != edges.end() && edge->from == at; ++edge) {
          if (edge->address && edge->to != k_return) continue;
          const auto rank =
              std::max<std::uint8_t>(reached[at], static_cast<std::uint8_t>(1 + static_cast<int>(edge->rank)));
          if (reached[edge->to] >= rank) continue;
          reached[edge->to] = rank;
          queue.push_back(edge->to);
        }
      }
      const auto add = [&](NameId node, Effect effect) {
        if (reached[node] == 0 || summary.effects.size() >= k_max_effects) return;
        effect.from = i;
        effect.from_memory = memory;
        effect.rank = static_cast<Rank>(reached[node] - 1);
        summary.effects.push_back(effect);
      };
      add(k_return, {.returns = true});
      for (std::size_t to = 0; to < parameters; ++to) {
        if (memory_of(ids[to]) != start) add(memory_of(ids[to]), {.to = to, .to_memory = true});
        if (ids[to] != start && function_.parameters[to].by_reference) add(ids[to], {.to = to, .to_memory = false});
      }
      // Onto itself, or onto a parameter that shares its memory: only when the memory really is written from itself.
      if (!memory) continue;
      auto edge =
          std::lower_bound(edges.begin(), edges.end(), start, [](const Edge& e, NameId n) { return e.from < n; });
      bool itself = false;
      for (; edge != edges.end() && edge->from == start; ++edge)
        itself = itself || (edge->to == start && !edge->address);
      for (std::size_t to = 0; itself && to < parameters; ++to)
        if (memory_of(ids[to]) == start) add(start, {.to = to, .to_memory = true});
    }
  }
  return summary;
}

bool FunctionFlow::is_parameter(NameId id) const {
  return std::any_of(parameters_.begin(), parameters_.end(), [&](NameId p) { return root(p) == root(id); });
}

bool FunctionFlow::is_geometric(std::uint32_t loop) const {
  const auto& node = function_.nodes[loop];
  const auto& tokens = *function_.tokens;
  const auto scales = [&](Position at) {
    for (const auto* word : {"<<=", ">>=", "*=", "/=", "//="})
      if (tokens.is(at, word)) return true;
    const bool binary = tokens.is(at, "<<") || tokens.is(at, ">>") || tokens.is(at, "*") || tokens.is(at, "/");
    // i = i * 2
    return binary && at >= 3 && tokens.is(at - 2, "=") && tokens.is_name(at - 1) &&
           tokens.is(at - 3, tokens.list[at - 1].text);
  };
  if (node.loop == LoopKind::For && tokens.language == Language::C) {
    const auto parts = split_tokens(tokens, node.tokens, ";");
    for (Position at = parts.size() == 3 ? parts[2].begin : node.tokens.end; at < node.tokens.end; ++at)
      if (scales(at)) return true;
  }
  // The variable is what a power of two is made of: 1 << step.
  std::vector<std::string_view> variables;
  const Position in = node.tokens.begin;
  for (Position at = in; at < std::min(node.tokens.end, in + 12); ++at)
    if (tokens.is_name(at)) variables.push_back(tokens.list[at].text);
  const auto is_variable = [&](Position at) {
    return tokens.is_name(at) && std::find(variables.begin(), variables.end(), tokens.list[at].text) != variables.end();
  };
  for (auto i = loop; i < node.last; ++i) {
    const auto& inner = function_.nodes[i];
    const Position end = std::min(inner.tokens.end, inner.tokens.begin + 64);
    for (Position at = inner.tokens.begin; at < end; ++at) {
      if (tokens.is(at, "<<") && at > 0 && tokens.is(at - 1, "1") && is_variable(at + 1)) return true;
      const bool loops = node.loop != LoopKind::For && inner.depth == node.depth + 1 && inner.kind == NodeKind::Plain;
      if (loops && at == inner.tokens.begin + 1 && is_variable(at - 1) &&
          (scales(at) || (tokens.is(at, "=") && scales(at + 2))))
        return true;
    }
  }
  return false;
}

bool FunctionFlow::is_short(std::uint32_t loop) const {
  constexpr int k_few = 16;
  const auto& node = function_.nodes[loop];
  const auto& tokens = *function_.tokens;
  if (node.loop != LoopKind::For) return false;
  int largest = 0;
  bool counts = false;
  const auto number = [&](Position at) {
    int value = 0;
    const auto text = tokens.list[at].text;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) value = k_few + 1;
    largest = std::max(largest, value);
    counts = true;
  };
  if (tokens.language == Language::Python) {
    for (const auto& call : calls_in(tokens, node.tokens)) {
      if (call.name != "range" && call.name != "static_range") return false;
      for (Position at = call.arguments.begin; at < call.arguments.end; ++at) {
        if (tokens.list[at].kind == TokenKind::Number) number(at);
        if (tokens.list[at].kind == TokenKind::Name) return false;
      }
    }
    return counts && largest <= k_few;
  }
  // Both ends must be literal: for (t = n - 1; t >= 0; --t) is as long as n.
  const auto parts = split_tokens(tokens, node.tokens, ";");
  if (parts.size() < 2) return false;
  const auto count = [&](Range range, TokenKind kind) {
    return std::count_if(tokens.list.begin() + range.begin, tokens.list.begin() + range.end,
                         [&](const Token& token) { return token.kind == kind; });
  };
  Range start = parts[0];
  while (start.begin < start.end && !tokens.is(start.begin, "=")) ++start.begin;
  if (count(start, TokenKind::Number) != 1 || count(start, TokenKind::Name) != 0) return false;
  if (count(parts[1], TokenKind::Name) > 1) return false;
  for (const auto part : {start, parts[1]})
    for (Position at = part.begin; at < part.end; ++at)
      if (tokens.list[at].kind == TokenKind::Number) number(at);
  return counts && largest <= k_few;
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
