#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

#include "detect/carried.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

constexpr std::uint32_t k_thread_bit = 1U << 31;

}  // namespace

FunctionFlow::FunctionFlow(const Function& function, const Summaries& summaries) : function_(function) {
  for (const auto& parameter : function.parameters) parameters_.push_back(names_.id(parameter.name));
  facts_ = read_facts(function, summaries, names_);
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
  find_aliases();
  find_owners();
}

NameId FunctionFlow::root(NameId name) const {
  while (parent_[name] != name) name = parent_[name];
  return name;
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
    for (const auto& use : fact.uses) {
      // A pointer out of a table stands for the table.
      const bool source = !use.address && use.rank == Rank::Additive && use.name != fact.target;
      if (!source || (!pointer[use.name] && fact.uses.size() > 1 && !fact.swaps && use.name != fact.uses.front().name))
        continue;
      join(fact.target, use.name);
      if (!fact.swaps && !pointer[use.name]) break;
    }
  }
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
    if (text.substr(0, 9) == "blockIdx.") owners_[name] = fresh();
    if (text.substr(0, 10) == "threadIdx.") owners_[name] = k_thread_bit;
  }
  // Facts of one statement follow each other: each statement is looked at once.
  std::uint32_t seen = std::numeric_limits<std::uint32_t>::max();
  bool asks = false;
  const auto asks_for_program = [&](std::uint32_t index) {
    if (index == seen) return asks;
    seen = index;
    const auto& node = function_.nodes[index];
    const auto calls = node.kind == NodeKind::Plain ? calls_in(*function_.tokens, node.tokens) : std::vector<Call>{};
    asks = std::any_of(calls.begin(), calls.end(), [](const Call& call) { return call.name == "program_id"; });
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

void FunctionFlow::add_edges(std::uint32_t index, std::vector<Edge>& edges) const {
  const auto& fact = facts_[index];
  const NameId target = fact.memory ? memory_of(fact.target) : fact.target;
  for (const auto& use : fact.uses) {
    const NameId from = use.memory ? memory_of(use.name) : use.name;
    edges.push_back({from, target, use.rank, use.address, use.memory, index, use.term, use.factor});
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

Summary FunctionFlow::summarize() const {
  constexpr std::size_t k_max_parameters = 24;
  constexpr std::size_t k_max_effects = 48;
  Summary summary;
  std::vector<Edge> edges;
  for (std::uint32_t i = 0; i < facts_.size(); ++i) add_edges(i, edges);
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.from < b.from; });
  const auto parameters = std::min(function_.parameters.size(), k_max_parameters);
  const auto& ids = parameters_;
  for (std::size_t i = 0; i < parameters; ++i) {
    for (const bool memory : {false, true}) {
      if (memory && overwrites(ids[i])) continue;
      std::vector<std::uint8_t> reached(2 * count_, 0);  // 1 + rank
      std::vector<NameId> queue;
      const NameId start = memory ? memory_of(ids[i]) : ids[i];
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
        if (!function_.parameters[to].by_reference && function_.tokens->language == Language::C) continue;
        if (memory_of(ids[to]) != start) add(memory_of(ids[to]), {.to = to, .to_memory = true});
        if (ids[to] != start && function_.parameters[to].by_reference) add(ids[to], {.to = to, .to_memory = false});
      }
      // Onto itself: only when the memory really is written from itself.
      if (!memory) continue;
      auto edge =
          std::lower_bound(edges.begin(), edges.end(), start, [](const Edge& e, NameId n) { return e.from < n; });
      bool itself = false;
      for (; edge != edges.end() && edge->from == start; ++edge)
        itself = itself || (edge->to == start && !edge->address);
      if (itself) add(start, {.to = i, .to_memory = true});
    }
  }
  return summary;
}

bool FunctionFlow::is_parameter(NameId id) const {
  return std::any_of(parameters_.begin(), parameters_.end(), [&](NameId p) { return root(p) == root(id); });
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
  const auto parts = split_tokens(tokens, node.tokens, ";");
  if (parts.size() < 2) return false;
  for (Position at = parts[1].begin; at < parts[1].end; ++at)
    if (tokens.list[at].kind == TokenKind::Number) number(at);
  int names = 0;
  for (Position at = parts[1].begin; at < parts[1].end; ++at) names += tokens.is_name(at) ? 1 : 0;
  for (Position at = parts[0].begin; at < parts[0].end; ++at)
    if (tokens.list[at].kind == TokenKind::Number) number(at);
  return counts && names <= 1 && largest <= k_few;
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
