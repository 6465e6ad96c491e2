#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <numeric>
#include <unordered_set>

#include "detect/calls.hpp"
#include "detect/function_flow.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

constexpr std::uint32_t k_thread_bit = 1U << 31;

/// Whether a statement names the threads of a whole grid or cluster.
bool names_group(const Tokens& tokens, Range range) {
  for (Position at = range.begin; at < range.end; ++at)
    for (const auto* word : {"this_grid", "grid_group", "this_cluster", "cluster_group"})
      if (tokens.is(at, word)) return true;
  return false;
}

/// A number for the place that an expression leads to, unless that is just another pointer: buffer + n, &buffer[n], odd
/// ? a : b. Brackets and casts do not count.
std::optional<std::uint64_t> place_of(const Tokens& tokens, Range value) {
  std::uint64_t number = 1469598103934665603U;
  bool moves = false;
  for (Position at = value.begin; at < value.end; ++at) {
    const auto text = tokens.list[at].text;
    const bool plain = text == "(" || text == ")" || text == "]" || text == "&" || text == "const" || text == "float";
    const bool offset = text == "+" || text == "[";
    moves = moves || offset || text == "-" || text == "?" || text == "if";
    if (!plain && !offset) number = (number ^ std::hash<std::string_view>{}(text)) * 1099511628211U;
  }
  return moves ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<Function> as_loop(const Function& function) {
  const auto& tokens = *function.tokens;
  if (tokens.syntax != Syntax::CFamily) return std::nullopt;
  int calls = 0;
  for (const auto& node : function.nodes) {
    for (const auto& call : calls_in(tokens, node.tokens)) {
      if (call.name != function.name || call.first != call.name) continue;
      ++calls;
      for (Position at = call.at; at < call.arguments.end; ++at)
        for (const auto* word : {"/", ">>", "<<", "<"})
          if (tokens.is(at, word)) return std::nullopt;
    }
  }
  if (calls != 1) return std::nullopt;
  Function loop = function;
  loop.nodes.insert(loop.nodes.begin(), Node{NodeKind::Loop, LoopKind::While, {}, 0, function.line, 0});
  for (auto& node : loop.nodes) ++node.last;
  loop.nodes.front().last = static_cast<std::uint32_t>(loop.nodes.size());
  for (auto node = loop.nodes.begin() + 1; node != loop.nodes.end(); ++node) ++node->depth;
  for (auto& lambda : loop.lambdas) ++lambda.node;
  return loop;
}

FunctionFlow::FunctionFlow(const Function& function, const Summaries& summaries, Side side)
    : function_(function), side_(side) {
  for (const auto& parameter : function.parameters) (void)names_.id(parameter.name);
  facts_ = read_facts(function, summaries, names_, side);
  for (std::uint32_t i = 0; i < facts_.size(); ++i) {
    facts_[i].id = i;
    for (auto& use : facts_[i].uses) use.id = use_count_++;
  }
  for (const auto& parameter : function.parameters) {
    parameters_.push_back(names_.parts(names_.id(parameter.name)));
    given_.insert(parameters_.back().begin(), parameters_.back().end());
  }
  count_ = names_.size();
  owners_ = names_.owners();
  has_members_.assign(count_, false);
  for (NameId name = 0; name < count_; ++name)
    if (owners_[name] != name) has_members_[owners_[name]] = true;
  numbers_.assign(2 * count_, k_no_number);
  now_.assign(6 * count_, k_no_number);
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
  of_parameter_.assign(count_, false);
  for (const auto parameter : given_) of_parameter_[root(parameter)] = true;
  if (side_ == Side::Device) find_places();
  find_divergence();
  find_indices();
  find_block_memory();
}

void FunctionFlow::find_conditions() {
  constexpr std::size_t k_max_condition_names = 16;
  const auto is_order = [&](Position at) {
    const auto& tokens = *function_.tokens;
    return tokens.is(at, "<") || tokens.is(at, ">") || tokens.is(at, "<=") || tokens.is(at, ">=");
  };
  conditions_.resize(function_.nodes.size());
  orders_.resize(function_.nodes.size());
  for (std::size_t i = 0; i < function_.nodes.size(); ++i) {
    const auto& node = function_.nodes[i];
    for (Position at = node.tokens.begin; at < node.tokens.end && !orders_[i]; ++at) orders_[i] = is_order(at);
    if (node.kind != NodeKind::Branch) continue;
    for (Position at = node.tokens.begin; at < node.tokens.end && conditions_[i].size() < k_max_condition_names; ++at) {
      if (!function_.tokens->is_name(at)) continue;
      if (const auto name = names_.find(function_.tokens->list[at].text))
        conditions_[i].push_back({*name, side_ == Side::Device && function_.tokens->is(at + 1, "[")});
    }
  }
}

NameId FunctionFlow::root(NameId name) const {
  while (parent_[name] != name) name = parent_[name];
  return name;
}

/// Joins a pointer with its sources: p = q + n, p = odd ? q : r, and a pointer from a table with the table.
template <class Join>
void FunctionFlow::join_sources(const Fact& fact, const std::vector<bool>& pointer, Join join) const {
  const bool chosen = std::any_of(fact.uses.begin(), fact.uses.end(),
                                  [](const Use& use) { return use.is_select_condition && !use.address; });
  // p += n only moves the pointer.
  bool first =
      std::none_of(fact.uses.begin(), fact.uses.end(), [&](const Use& use) { return use.name == fact.target; });
  for (const auto& use : fact.uses) {
    if (use.address || use.is_select_condition || use.kind != DependenceKind::Additive || use.name == fact.target)
      continue;
    if (pointer[use.name] || fact.swaps || chosen || first) join(fact.target, use.name);
    const bool only = first && !pointer[use.name] && !fact.swaps && !chosen;
    first = false;
    if (only) break;
  }
}

/// Finds the facts that let pointers take turns: old = from; from = to; to = old, or swap(from, to).
void FunctionFlow::find_rotations(const std::vector<bool>& pointer) {
  rotates_.assign(facts_.size(), false);
  const auto copies = [&](const Fact& fact) {
    const auto range = fact.expression;
    return range.end == range.begin + 1 && function_.tokens->is_name(range.begin) && fact.uses.size() == 1;
  };
  std::unordered_set<NameId> sources;
  for (const auto& fact : facts_)
    if (copies(fact)) sources.insert(fact.uses.front().name);
  for (std::size_t i = 0; i < facts_.size(); ++i) {
    const auto& fact = facts_[i];
    const bool turns = copies(fact) && sources.count(fact.target) != 0 && !(fact.declares && pointer[fact.target]);
    rotates_[i] =
        side_ == Side::Device && !fact.memory && function_.nodes[fact.node].depth > 0 && (fact.swaps || turns);
  }
}

void FunctionFlow::find_aliases() {
  std::vector<bool> pointer(count_, false);
  aliased_.assign(count_, false);
  for (const auto& fact : facts_) {
    if (fact.memory) pointer[fact.target] = pointer[owners_[fact.target]] = true;
    for (const auto& use : fact.uses)
      if (use.memory) pointer[use.name] = pointer[owners_[use.name]] = true;
  }
  find_rotations(pointer);
  for (auto fact = facts_.rbegin(); fact != facts_.rend(); ++fact) {  // a pointer is made of a pointer
    if (side_ == Side::Host || fact->memory || fact->copies || !pointer[fact->target] || fact->uses.empty()) continue;
    const auto& use = fact->uses.front();
    const bool moves =
        std::any_of(fact->uses.begin(), fact->uses.end(), [&](const Use& each) { return each.name == fact->target; });
    if (!moves && !use.address && !use.is_select_condition && use.kind == DependenceKind::Additive)
      pointer[use.name] = true;
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
  derived_.assign(count_, false);
  std::vector<bool> of_caller(count_, false);
  for (const auto parameter : given_) of_caller[parameter] = pointer[parameter];
  std::vector<std::size_t> regions;  // the facts that make them
  for (const bool rotating : {false, true}) {
    for (std::size_t i = 0; i < facts_.size(); ++i) {
      const auto& fact = facts_[i];
      if (fact.memory || fact.copies || fact.target == k_return || !pointer[fact.target] || rotates_[i] != rotating)
        continue;
      // A variable of an inner block that is called like a parameter is another one.
      const bool hides = fact.declares && side_ == Side::Device && given_.count(fact.target) != 0;
      if (!hides && is_disjoint_region(fact, of_caller)) regions.push_back(i);
      if (hides || (!regions.empty() && regions.back() == i)) continue;
      join_sources(fact, pointer, join);
      derived_[fact.target] = true;
      for (const auto& use : fact.uses)
        if (!use.address && of_caller[use.name]) of_caller[fact.target] = true;
    }
    if (rotating) break;
    // What is read before it is written was filled by another name: the regions of that buffer overlap.
    const auto unwritten = read_first(pointer);
    std::unordered_map<NameId, std::vector<std::size_t>> buffers;  // by root: their regions
    std::unordered_set<NameId> overlapping;
    for (const auto i : regions) {
      const auto buffer = root(facts_[i].uses.front().name);
      buffers[buffer].push_back(i);
      if (unwritten[root(facts_[i].target)] || unwritten[buffer]) overlapping.insert(buffer);
    }
    for (const auto buffer : overlapping)
      for (const auto i : buffers[buffer]) join_sources(facts_[i], pointer, join);
    apart_ = parent_;
  }
}

/// By root: whether memory is read before anything is written to it by its names. Something else has filled it.
std::vector<bool> FunctionFlow::read_first(const std::vector<bool>& pointer) const {
  std::vector<bool> seen(count_, false);
  std::vector<bool> read(count_, false);
  for (const auto& fact : facts_) {
    if (!fact.memory && pointer[fact.target]) continue;  // &p[i] is only a place
    for (const auto& use : fact.uses) {
      if (!use.memory || seen[root(use.name)]) continue;
      seen[root(use.name)] = read[root(use.name)] = true;
    }
    if (fact.memory) seen[root(fact.target)] = true;
  }
  return read;
}

/// float* second = buffer + n, once, from a buffer of this function: a region with no other access.
bool FunctionFlow::is_disjoint_region(const Fact& fact, const std::vector<bool>& of_caller) const {
  if (!fact.declares || function_.nodes[fact.node].depth != 0) return false;
  const auto& tokens = *function_.tokens;
  const auto range = function_.nodes[fact.node].tokens;
  bool moved = false;
  for (Position at = range.begin; at < range.end; ++at)
    moved = moved || tokens.is(at, "+") || (tokens.is(at, "[") && at > range.begin && tokens.is_name(at - 1));
  if (!moved || fact.uses.empty()) return false;
  return std::none_of(fact.uses.begin(), fact.uses.end(),
                      [&](const Use& use) { return !use.address && of_caller[use.name]; });
}

void FunctionFlow::find_divergence() {
  divergence_mask_.assign(count_, 0);
  std::uint32_t next = 1;
  const auto fresh = [&next] {
    const std::uint32_t bit = next;
    // Enough bits for three axes and their splits; further ways share a bit.
    next = next < (1U << 20) ? next << 1 : next;
    return bit;
  };
  for (NameId name = 0; name < count_; ++name) {
    const auto text = names_.text(name);
    const auto starts = [&](std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; };
    if (starts("hipBlockIdx_")) divergence_mask_[name] = fresh();
    if (starts("hipThreadIdx_")) divergence_mask_[name] = k_thread_bit;
  }
  if (const auto block = names_.find("blockIdx"))
    for (const auto axis : names_.parts(*block)) divergence_mask_[axis] = fresh();
  if (const auto thread = names_.find("threadIdx"))
    for (const auto axis : names_.parts(*thread)) divergence_mask_[axis] = k_thread_bit;
  std::unordered_set<std::string_view> grids;
  for (const auto& fact : facts_)
    if (!fact.memory && fact.declares && function_.tokens->syntax == Syntax::CFamily &&
        names_group(*function_.tokens, function_.nodes[fact.node].tokens))
      grids.insert(names_.text(fact.target));
  // The facts of a statement are adjacent, so each statement is visited once.
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
      const auto divergence = divergence_mask_[use.name];
      // pid // n and pid % n are two ways to distinguish programs.
      if (!use.memory && divergence != 0 && use.name != fact.target)
        mask |= use.kind == DependenceKind::Arbitrary && !use.address ? (fresh() | (divergence & k_thread_bit))
                                                                      : divergence;
    }
    if (asks_for_program(fact.node)) mask |= fresh();
    divergence_mask_[fact.target] |= mask;
  }
}

void FunctionFlow::find_block_memory() {
  const auto& tokens = *function_.tokens;
  std::vector<bool> roots(count_, false);
  barriers_.assign(function_.nodes.size(), false);
  for (std::size_t i = 0; i < function_.nodes.size(); ++i) {
    const auto& node = function_.nodes[i];
    const Position begin = node.tokens.begin + (tokens.is(node.tokens.begin, "extern") ? 1U : 0U);
    for (Position at = begin; tokens.is(begin, "__shared__") && at < node.tokens.end; ++at)
      if (const auto name = tokens.is_name(at) ? names_.find(tokens.list[at].text) : std::nullopt)
        roots[root(*name)] = true;
    barriers_[i] = node.kind == NodeKind::Plain && tokens.syntax == Syntax::CFamily &&
                   (tokens.is(node.tokens.begin, "__syncthreads") || tokens.is(node.tokens.begin + 2, "sync"));
  }
  of_block_.assign(count_, false);
  for (NameId name = 0; name < count_; ++name) of_block_[name] = roots[root(name)];
}

void FunctionFlow::find_indices() {
  indices_.assign(count_, false);
  values_.assign(count_, false);
  std::vector<std::vector<std::uint32_t>> made(count_);  // by name: the facts that set it
  for (const auto& fact : facts_)
    if (!fact.memory) made[fact.target].push_back(fact.id);
  const auto close = [&](std::vector<bool>& marked, std::vector<NameId> queue) {
    while (!queue.empty()) {
      const auto name = queue.back();
      queue.pop_back();
      if (marked[name]) continue;
      marked[name] = true;
      if (owners_[name] != name) queue.push_back(owners_[name]);
      for (const auto fact : made[name])
        for (const auto& use : facts_[fact].uses)
          if (!use.address && !use.memory) queue.push_back(use.name);
    }
  };
  std::vector<NameId> chosen, stored;
  for (const auto& fact : facts_) {
    const bool stores = fact.memory || fact.target == k_return || given_.count(fact.target) != 0;
    for (const auto& use : fact.uses) {
      if (use.memory) continue;
      if (use.address) chosen.push_back(use.name);
      if (!use.address && stores) stored.push_back(use.name);
    }
  }
  close(indices_, std::move(chosen));
  close(values_, std::move(stored));
}

/// Finds pointers into buffers that one statement of the loop sets, and nothing else does. Equal expressions are equal
/// places.
void FunctionFlow::find_places() {
  std::vector<std::uint32_t> times(count_, 0);
  for (const auto& fact : facts_)
    if (!fact.memory) ++times[fact.target];
  std::unordered_map<std::uint64_t, NameId> places;
  for (const auto& fact : facts_) {
    if (fact.memory || times[fact.target] != 1 || !aliased_[fact.target] || given_.count(fact.target) != 0) continue;
    if (function_.nodes[fact.node].depth == 0) continue;
    if (const auto place = place_of(*function_.tokens, fact.expression))
      set_once_[fact.target] = {fact.node, places.try_emplace(*place, fact.target).first->second};
  }
}

/// Pointers that only a loop around this one exchanges lead to different regions in it.
void FunctionFlow::separate(std::uint32_t first, std::uint32_t end, Regions& regions) const {
  std::unordered_set<NameId> turning;
  for (auto i = first; i < end; ++i)
    if (rotates_[i]) turning.insert(root(facts_[i].target));
  const auto see = [&](NameId name) {
    if (turning.count(root(name)) != 0) return;
    NameId apart = name;
    while (apart_[apart] != apart) apart = apart_[apart];
    if (apart != root(name)) regions.emplace(name, apart);
  };
  for (auto i = first; i < end; ++i) {
    if (facts_[i].memory) see(facts_[i].target);
    for (const auto& use : facts_[i].uses)
      if (use.memory) see(use.name);
  }
}

/// The regions in the facts `first` to `end` of a loop. A buffer that is also used by another name stays one region.
Regions FunctionFlow::regions_in(std::uint32_t loop, std::uint32_t first, std::uint32_t end) const {
  Regions regions;
  if (parent_ != apart_) separate(first, end, regions);
  if (set_once_.empty()) return regions;
  std::unordered_set<NameId> whole;
  const auto see = [&](NameId name) {
    const auto found = set_once_.find(name);
    if (found != set_once_.end() && (found->second.node < loop || found->second.node >= function_.nodes[loop].last))
      regions.insert_or_assign(name, found->second.place);
    else
      whole.insert(root(name));
  };
  for (auto i = first; i < end; ++i) {
    if (facts_[i].memory) see(facts_[i].target);
    for (const auto& use : facts_[i].uses)
      if (use.memory) see(use.name);
  }
  for (auto region = regions.begin(); region != regions.end();)
    region = whole.count(root(region->first)) != 0 && set_once_.count(region->first) != 0 ? regions.erase(region)
                                                                                          : std::next(region);
  return regions;
}

/// Whether the function, or a kernel that it launches, writes something that is neither its own nor an argument.
FunctionFlow::SideEffects FunctionFlow::side_effects() const {
  std::vector<bool> own(count_, false);
  for (const auto parameter : given_) own[parameter] = true;
  const bool python = function_.tokens->syntax == Syntax::Python;
  for (const auto& fact : facts_)
    own[fact.target] = own[fact.target] || fact.declares ||
                       (python && !fact.memory && !fact.appends && names_.text(fact.target).substr(0, 5) != "self.");
  own[k_return] = true;
  for (const auto& node : function_.nodes) {  // nonlocal h: the h of the enclosing function
    const auto& tokens = *function_.tokens;
    const Position at = node.tokens.begin;
    if (!python || node.kind != NodeKind::Plain || !(tokens.is(at, "nonlocal") || tokens.is(at, "global"))) continue;
    for (Position p = at + 1; p < node.tokens.end; ++p)
      if (const auto name = names_.find(tokens.list[p].text)) own[*name] = false;
  }
  SideEffects effects;
  std::vector<bool> read(count_, false);
  for (const auto& fact : facts_)
    for (const auto& use : fact.uses) read[use.name] = read[use.name] || !use.of_target;
  for (const auto& fact : facts_) {
    effects.writes = effects.writes || !own[fact.target];
    effects.reads = effects.reads || (!own[fact.target] && read[fact.target]);
  }
  return effects;
}

std::size_t FunctionFlow::facts_in(std::uint32_t loop) const {
  const auto before = [](const Fact& fact, std::uint32_t node) { return fact.node < node; };
  const auto first = std::lower_bound(facts_.begin(), facts_.end(), loop, before);
  return static_cast<std::size_t>(std::lower_bound(first, facts_.end(), function_.nodes[loop].last, before) - first);
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
