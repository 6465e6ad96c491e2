#include "detect/iteration.hpp"

#include <algorithm>
#include <functional>

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

/// Deeper branches and loops inside the analysed one are read as straight code; bounds the work.
constexpr std::size_t k_max_open = 20;
/// Meetings of one value with itself under equal conditions.
constexpr int k_max_hops = 4;
/// Pieces of memory that a condition asks about; bounds the work.
constexpr std::size_t k_max_asked = 8;

}  // namespace

Iteration::Iteration(const FunctionFlow& flow, std::uint32_t loop)
    : flow_(flow), loop_(loop), begin_(loop + 1), last_(flow.function_.nodes[loop].last) {
  const auto& facts = flow_.facts_;
  const auto by_node = [](const Fact& fact, std::uint32_t node) { return fact.node < node; };
  first_ = static_cast<std::uint32_t>(std::lower_bound(facts.begin(), facts.end(), loop_, by_node) - facts.begin());
  end_ = static_cast<std::uint32_t>(std::lower_bound(facts.begin(), facts.end(), last_, by_node) - facts.begin());
  regions_ = flow_.regions_in(loop_, first_, end_);
}

Iteration::Iteration(const FunctionFlow& flow)
    : flow_(flow),
      last_(static_cast<std::uint32_t>(flow.function_.nodes.size())),
      end_(static_cast<std::uint32_t>(flow.facts_.size())) {}

Iteration::~Iteration() {
  for (const auto id : ids_) flow_.numbers_[id] = FunctionFlow::k_no_number;
  for (const auto each : touched_) flow_.now_[each] = k_no_value;
}

void Iteration::read_body() {
  made_.resize(end_ - first_);
  pointers_.resize(end_ - first_);
  std::uint32_t last_use = 0;
  for (auto i = first_; i < end_; ++i) {
    const auto& uses = flow_.facts_[i].uses;
    if (uses.empty()) continue;
    if (last_use == 0) first_use_ = uses.front().id;
    last_use = uses.back().id + 1;
  }
  used_.resize(last_use - first_use_);
  find_whole_objects();
  find_shared_memory();
  if (begin_ != 0) find_moving();
  read_statements();
  if (begin_ != 0) close_cycles();
  sort_edges();
}

void Iteration::read_statements() {
  for (auto i = first_; i < end_; ++i)
    if (!flow_.facts_[i].memory) set_.insert(flow_.facts_[i].target);
  auto fact = first_;
  while (fact < end_ && !inside(flow_.facts_[fact])) (void)head_of(node_of(flow_.facts_[fact++].target, false));
  const auto& nodes = flow_.function_.nodes;
  for (auto node = begin_; node < last_; ++node) {
    while (!open_.empty() && nodes[open_.back().node].last <= node) close();
    const bool opens = nodes[node].kind != NodeKind::Plain && open_.size() < k_max_open;
    if (opens && nodes[node].kind == NodeKind::Loop) open(node);
    for (; fact < end_ && flow_.facts_[fact].node == node; ++fact) define(fact);
    if (flow_.barriers_[node]) pass_barrier();
    if (opens && nodes[node].kind == NodeKind::Branch) open(node);
  }
  while (!open_.empty()) close();
}

/// The last value of an iteration is the head of the next one.
void Iteration::close_cycles() {
  const auto count = static_cast<Value>(ids_.size());
  for (Value head = 0; head < count; ++head) {
    if (!is_head(head) || last_value(ids_[head]) == head) continue;
    connect(last_value(ids_[head]), head);
    carried_.push_back(head);
  }
}

void Iteration::sort_edges() {
  start_.assign(ids_.size() + 1, 0);
  for (const auto& edge : edges_) ++start_[edge.from + 1];
  for (std::size_t i = 1; i < start_.size(); ++i) start_[i] += start_[i - 1];
  std::vector<Edge> sorted(edges_.size());
  auto next = start_;
  for (const auto& edge : edges_) sorted[next[edge.from]++] = edge;
  edges_ = std::move(sorted);
}

/// An object that is set as a whole is one value. One that is only read as a whole is what its members are.
void Iteration::find_whole_objects() {
  constexpr std::size_t k_max_members = 32;
  for (auto i = first_; i < end_; ++i) {
    const auto& fact = flow_.facts_[i];
    if (!fact.declares && flow_.has_members_[fact.target]) whole_.insert(fact.target);
    for (const auto& use : fact.uses)
      if (flow_.has_members_[use.name] && flow_.names_.parts(use.name).size() > k_max_members) whole_.insert(use.name);
  }
}

/// What the threads of a block have written by one name of their memory is there for its other names.
void Iteration::pass_barrier() {
  for (const auto node : shared_) {
    if (node < flow_.count_ || !flow_.of_block_[node - flow_.count_]) continue;
    if (const auto latest = now(key(Slot::Latest, node)); latest != k_no_value) set(key(Slot::Current, node), latest);
  }
}

/// Finds the variables of the loop, pointers that advance, and what is computed of them.
void Iteration::find_moving() {
  if (flow_.side_ == Side::Host) return;
  const auto advances = [](const Fact& fact) {
    return std::any_of(fact.uses.begin(), fact.uses.end(), [&](const Use& use) { return use.name == fact.target; });
  };
  std::unordered_set<NameId> reset;
  for (auto i = first_; i < end_; ++i)
    if (!flow_.facts_[i].memory && inside(flow_.facts_[i]) && !advances(flow_.facts_[i]))
      reset.insert(flow_.facts_[i].target);
  for (auto i = first_; i < end_; ++i) {
    const auto& fact = flow_.facts_[i];
    if (fact.memory) continue;
    const bool moves =
        !inside(fact) || (advances(fact) && reset.count(fact.target) == 0) ||
        std::any_of(fact.uses.begin(), fact.uses.end(), [&](const Use& use) {
          return !use.memory && !use.address && use.kind != DependenceKind::Arbitrary && moving_.count(use.name) != 0;
        });
    if (moves) moving_.insert(fact.target);
  }
}

/// Whether a fact writes memory of the caller at another place in every iteration: the other places keep what they
/// hold.
bool Iteration::streams(const Fact& fact) const {
  if (!fact.memory || fact.alternates || !flow_.is_parameter(fact.target)) return false;
  return std::any_of(fact.uses.begin(), fact.uses.end(), [&](const Use& use) {
    return use.of_target && use.address && !use.memory && moving_.count(use.name) != 0;
  });
}

/// Finds the memory that has several names in the loop: a write by one of them says little about the others.
void Iteration::find_shared_memory() {
  std::vector<std::pair<NameId, NameId>> names;
  const bool host = flow_.side_ == Side::Host;
  for (auto i = first_; i < end_; ++i) {
    const auto& fact = flow_.facts_[i];
    if (host || fact.memory) names.emplace_back(node_of(fact.target, fact.memory), fact.target);
    for (const auto& use : fact.uses)
      if (host || use.memory) names.emplace_back(node_of(use.name, use.memory), use.name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (std::size_t i = 1; i < names.size(); ++i)
    if (names[i].first == names[i - 1].first) shared_.push_back(names[i].first);
}

Value Iteration::add_value(NameId node, bool stale) {
  ids_.push_back(node);
  stale_.push_back(stale);
  defined_at_.push_back(0);
  meetings_.push_back({});
  return static_cast<Value>(ids_.size() - 1);
}

Value Iteration::head_of(NameId node) {
  auto& number = flow_.numbers_[node];
  if (number == FunctionFlow::k_no_number) {
    number = add_value(node, true);
    touched_.push_back(key(Slot::Current, node));
    flow_.now_[key(Slot::Current, node)] = number;
  }
  return number;
}

void Iteration::set(Key key, Value value) {
  log_.push_back({key, now(key)});
  if (now(key) == k_no_value) touched_.push_back(key);
  flow_.now_[key] = value;
}

void Iteration::connect(Value from, Value to) { edges_.push_back({.from = from, .to = to}); }

/// One value that is any of `sources`.
Value Iteration::meet(NameId node, const std::vector<Value>& sources) {
  const bool one = std::all_of(sources.begin(), sources.end(), [&](Value source) { return source == sources.front(); });
  if (one) return sources.front();
  const auto value =
      add_value(node, std::any_of(sources.begin(), sources.end(), [&](Value source) { return bool{stale_[source]}; }));
  for (const auto source : sources) connect(source, value);
  return value;
}

/// Under the condition of a definition, the value is that definition.
Value Iteration::resolve(Value value) const {
  for (int hop = 0; hop < k_max_hops; ++hop) {
    const auto& meeting = meetings_[value];
    if (meeting.condition == 0 ||
        std::find(conditions_.begin(), conditions_.end(), meeting.condition) == conditions_.end())
      break;
    value = meeting.arm;
  }
  return value;
}

Value Iteration::read(NameId name, bool memory) {
  const auto node = node_of(name, memory);
  if (flow_.has_members_[name] && whole_.count(name) == 0) {
    std::vector<Value> members;
    for (const auto part : flow_.names_.parts(name))
      for (const bool each : {false, true}) members.push_back(read_part(part, each));
    return meet(node, members);
  }
  return read_part(name, memory);
}

Value Iteration::read_part(NameId name, bool memory) {
  const auto node = node_of(name, memory);
  (void)head_of(node);
  if (const auto mine = now(own(name, memory)); mine != k_no_value) {
    const auto latest = now(key(Slot::Latest, node));
    return latest == k_no_value ? resolve(mine) : meet(node, {resolve(mine), resolve(latest)});
  }
  return resolve(now(key(Slot::Current, node)));
}

void Iteration::define(std::uint32_t index) {
  const auto& fact = flow_.facts_[index];
  const auto node = node_of(fact.target, fact.memory);
  const auto before = read(fact.target, fact.memory);
  const auto target = add_value(node, false);
  add_uses(index, target);
  made_[index - first_] = target;
  if (!fact.memory) memory_read_[fact.target] = memory_read(fact);
  pointers_[index - first_] = fact.memory ? read(fact.target, false) : target;
  defined_at_[target] = fact.location_hash;
  // Another element, or another member, leaves what this iteration has put into the rest.
  const bool partial = fact.partial || merged(fact.target) != fact.target;
  const bool rest = (partial || (fact.memory && defined_at_[before] != fact.location_hash)) && !stale_[before];
  const bool keeps = (fact.target == k_return && fact.element == 0) || fact.swaps || fact.appends || fact.alternates ||
                     (partial && flow_.side_ == Side::Host);
  if (rest || keeps || streams(fact)) {
    connect(before, target);
    stale_[target] = stale_[before];
  }
  const auto current = key(Slot::Current, node);
  const auto declared = memory_of(fact.target);
  if (std::binary_search(shared_.begin(), shared_.end(), node)) {
    set(own(fact.target, fact.memory), target);
    set(key(Slot::Latest, node), target);
    // A write to all of it, by the name that the others are made of, leaves nothing.
    const bool whole = !flow_.derived_[fact.target] && !keeps && !rest &&
                       std::none_of(fact.uses.begin(), fact.uses.end(),
                                    [&](const Use& use) { return use.of_target && use.name != fact.target; });
    set(current, whole ? target : meet(node, {now(current), target}));
  } else {
    set(current, target);
  }
  if (!fact.declares) return;
  for (const auto part : flow_.has_members_[fact.target] ? flow_.names_.parts(fact.target) : std::vector<NameId>()) {
    if (part == fact.target) continue;
    (void)head_of(node_of(part, false));
    const auto value = add_value(node_of(part, false), false);
    connect(target, value);
    set(key(Slot::Current, node_of(part, false)), value);
  }
  if (flow_.aliased_[fact.target] || declared == node) return;
  (void)head_of(declared);
  const auto value = add_value(declared, false);
  if (fact.copies) connect(target, value);
  set(key(Slot::Current, declared), value);
}

void Iteration::add_uses(std::uint32_t index, Value target) {
  const auto& fact = flow_.facts_[index];
  decide(fact, target);
  for (const auto& use : fact.uses) {
    const auto value = read(use.name, use.memory);
    used_[use.id - first_use_] = {value, use.memory ? read(use.name, false) : value};
    if (use.is_select_condition) continue;
    const bool partial = flow_.side_ == Side::Host && (fact.partial || merged(fact.target) != fact.target);
    edges_.push_back({value, target, index, &use, use.of_target, partial});
  }
}

/// Records which values choose the target: those of the innermost branch and of selections. A condition with names that
/// also choose the place only guards the access, as in i < n ? x[i] : 0.
void Iteration::decide(const Fact& fact, Value target) {
  std::vector<NameId> guards;
  for (const auto& use : fact.uses)
    if (use.address && !use.memory) guards.push_back(use.name);
  std::sort(guards.begin(), guards.end());
  const auto add = [&](NameId name, bool memory, bool compares) {
    if (memory || !std::binary_search(guards.begin(), guards.end(), name))
      decisions_.push_back({read(name, memory), target, compares});
  };
  if (flow_.branch_end_[fact.node] <= flow_.conditions_.size()) {
    const auto branch = flow_.branch_begin_[fact.node];
    for (const auto& asked : flow_.conditions_[branch]) add(asked.name, asked.memory, flow_.orders_[branch]);
  }
  for (const auto& use : fact.uses)
    if (use.is_select_condition) add(use.name, use.memory, flow_.orders_[fact.node]);
}

void Iteration::open(std::uint32_t node) {
  Open entry;
  entry.node = node;
  entry.mark = log_.size();
  if (flow_.function_.nodes[node].kind == NodeKind::Loop) {
    open_loop(entry);
  } else {
    if (pending_.arms != 0) {
      entry.chain = std::move(pending_);
      pending_ = {};
      entry.chain.complete = !flow_.function_.tokens->is(flow_.function_.nodes[node].tokens.begin - 1, "elif");
    } else {
      entry.chain.condition = condition_of(node);
      entry.chain.guard = is_guard(node);
      if (entry.chain.guard) entry.chain.asked = asked_memory(node);
      conditions_.push_back(entry.chain.condition);
    }
  }
  open_.push_back(std::move(entry));
}

/// What a nested loop sets is, at its start, the value from before or that of its last iteration.
void Iteration::open_loop(Open& entry) {
  const auto& facts = flow_.facts_;
  const auto before = [](const Fact& fact, std::uint32_t node) { return fact.node < node; };
  auto fact = std::lower_bound(facts.begin() + first_, facts.begin() + end_, entry.node, before);
  std::vector<Key> keys;
  for (const auto last = flow_.function_.nodes[entry.node].last; fact != facts.begin() + end_ && fact->node < last;
       ++fact) {
    const auto node = node_of(fact->target, fact->memory);
    (void)head_of(node);
    for (const auto each : {key(Slot::Current, node), key(Slot::Latest, node), own(fact->target, fact->memory)})
      if (now(each) != k_no_value) keys.push_back(each);
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (const auto each : keys) {
    const auto former = now(each);
    const auto value = add_value(ids_[former], stale_[former]);
    connect(former, value);
    set(each, value);
    entry.entries.push_back({each, value});
  }
}

void Iteration::close() {
  auto entry = std::move(open_.back());
  open_.pop_back();
  if (flow_.function_.nodes[entry.node].kind == NodeKind::Loop)
    close_loop(entry);
  else
    close_arm(entry);
}

/// A loop is taken to run at least once: what it sets is set behind it.
void Iteration::close_loop(Open& entry) {
  for (const auto& [each, value] : entry.entries)
    if (now(each) != value) connect(now(each), value);
}

void Iteration::close_arm(Open& entry) {
  auto& chain = entry.chain;
  if (chain.arms == 0) conditions_.pop_back();
  const auto first = chain.changes.size();
  for (auto i = entry.mark; i < log_.size(); ++i) chain.changes.push_back({{log_[i].key, 0}, chain.arms});
  std::sort(chain.changes.begin() + static_cast<std::ptrdiff_t>(first), chain.changes.end(),
            [](const auto& a, const auto& b) { return a.first.key < b.first.key; });
  chain.changes.erase(std::unique(chain.changes.begin() + static_cast<std::ptrdiff_t>(first), chain.changes.end(),
                                  [](const auto& a, const auto& b) { return a.first.key == b.first.key; }),
                      chain.changes.end());
  for (auto i = first; i < chain.changes.size(); ++i) chain.changes[i].first.value = now(chain.changes[i].first.key);
  while (log_.size() > entry.mark) {
    flow_.now_[log_.back().key] = log_.back().value;
    log_.pop_back();
  }
  ++chain.arms;
  const auto next = flow_.function_.nodes[entry.node].last;
  if (!chain.complete && next < last_ && is_else(next) && flow_.branch_begin_[next] == flow_.branch_begin_[entry.node])
    pending_ = std::move(chain);
  else
    join(chain);
}

void Iteration::join(const Chain& chain) {
  auto changes = chain.changes;
  std::stable_sort(changes.begin(), changes.end(),
                   [](const auto& a, const auto& b) { return a.first.key < b.first.key; });
  for (std::size_t i = 0; i < changes.size();) {
    const auto each = changes[i].first.key;
    const bool first_arm = changes[i].second == 0;
    const auto arm = changes[i].first.value;
    std::vector<Value> sources;
    for (; i < changes.size() && changes[i].first.key == each; ++i) sources.push_back(changes[i].first.value);
    const auto node = ids_[arm];
    // if (x > top[i]) top[i] = x keeps what it asks about.
    const bool fills = chain.guard && node >= flow_.count_ &&
                       std::find(chain.asked.begin(), chain.asked.end(), node) == chain.asked.end();
    if (!fills && !(chain.complete && sources.size() == chain.arms)) {
      if (now(each) == k_no_value) continue;  // no definition of this name
      sources.push_back(now(each));
    }
    const auto value = meet(node, sources);
    if (value != arm && first_arm) meetings_[value] = {chain.condition, arm};
    set(each, value);
  }
}

/// Whether a branch is another arm of the one before.
bool Iteration::is_else(std::uint32_t node) const {
  const auto& tokens = *flow_.function_.tokens;
  const auto& branch = flow_.function_.nodes[node];
  if (branch.kind != NodeKind::Branch) return false;
  const auto at = branch.tokens.begin;
  if (tokens.syntax == Syntax::CFamily) return branch.tokens.end == at && tokens.is(at, "else");
  return at > 0 && (tokens.is(at - 1, "else") || tokens.is(at - 1, "elif"));
}

/// A number for a condition and the values of its names; 0 for none.
std::uint64_t Iteration::condition_of(std::uint32_t node) {
  const auto& tokens = *flow_.function_.tokens;
  const auto range = flow_.function_.nodes[node].tokens;
  if (range.begin >= range.end) return 0;
  std::uint64_t number = 1469598103934665603U;
  const auto add = [&](std::uint64_t part) { number = (number ^ part) * 1099511628211U; };
  for (Position at = range.begin; at < range.end; ++at) add(std::hash<std::string_view>{}(tokens.list[at].text));
  for (const auto& asked : flow_.conditions_[node]) add(read(asked.name, asked.memory));
  return number | 1U;
}

/// Whether a branch keeps out threads, or elements beyond the end: what it fills is filled.
bool Iteration::is_guard(std::uint32_t node) const {
  const auto& names = flow_.conditions_[node];
  return !chooses_iterations(node) ||
         std::none_of(names.begin(), names.end(), [&](const auto& asked) { return set_.count(asked.name) != 0; });
}

std::vector<NameId> Iteration::memory_read(const Fact& fact) const {
  std::vector<NameId> found;
  for (const auto& use : fact.uses) {
    if (!use.memory || use.address || found.size() == k_max_asked) continue;
    const auto node = node_of(use.name, true);
    if (std::find(found.begin(), found.end(), node) == found.end()) found.push_back(node);
  }
  return found;
}

/// The memory that a condition reads, by itself or by a variable that the iteration has set before.
std::vector<NameId> Iteration::asked_memory(std::uint32_t node) const {
  std::vector<NameId> asked;
  for (const auto& each : flow_.conditions_[node]) {
    if (asked.size() >= k_max_asked) break;
    if (each.memory) asked.push_back(node_of(each.name, true));
    const auto read = memory_read_.find(each.name);
    if (!each.memory && read != memory_read_.end()) asked.insert(asked.end(), read->second.begin(), read->second.end());
  }
  return asked;
}

bool Iteration::chooses_iterations(std::uint32_t branch) const {
  const auto& tokens = *flow_.function_.tokens;
  const auto range = flow_.function_.nodes[branch].tokens;
  for (Position at = range.begin; at < range.end; ++at)
    if (tokens.is(at, "!=")) return false;
  return !flow_.orders_[branch];
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
