#include "detect/call_effects.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "detect/vocabulary.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

/// More arguments than any function or instruction has; keeps pairing them linear.
constexpr std::size_t k_max_arguments = 64;

constexpr std::array<std::string_view, 5> k_copies{"memcpy", "memmove", "memcpy_async", "__pipeline_memcpy_async",
                                                   "load_matrix_sync"};
constexpr std::array<std::string_view, 2> k_stores{"store_matrix_sync", "fill_fragment"};

bool starts(const Call& call, std::string_view prefix) { return call.name.substr(0, prefix.size()) == prefix; }

bool is_assembly(const Call& call) {
  return call.name == "asm" || call.name == "__asm__" || call.name == "volatile" || call.name == "__volatile__" ||
         call.name == "__asm";
}

bool empty(Range range) { return range.begin >= range.end; }

/// atomicAdd, atomicSub, __hip_atomic_fetch_add
bool adds(std::string_view name) {
  constexpr std::array<std::string_view, 4> k_names{"add", "Add", "sub", "Sub"};
  return std::any_of(k_names.begin(), k_names.end(),
                     [&](std::string_view each) { return name.find(each) != name.npos; });
}

/// 0, 0u, 0.f
bool is_zero(const Tokens& tokens, Range range) {
  const auto text = range.begin + 1 == range.end ? tokens.list[range.begin].text : std::string_view();
  return !text.empty() && text.front() == '0' && text.find_first_not_of("0.fFuUlL") == text.npos;
}

}  // namespace

void CallEffects::read(const Call& call, Range statement) {
  if (is_assembly(call)) return assembly(call);
  if (side_ == Side::Host && host_effect(call)) return;
  const bool qualified = is_device_operation(tokens_, call);
  const auto known = summaries_.find(call.name);
  if (!qualified && known != summaries_.end())
    return apply(known->second, arguments_of(tokens_, call, known->second.method));
  const auto arguments = split_tokens(tokens_, call.arguments, ",");
  if (stores_block(tokens_, call) && arguments.size() > 1) return store_block(call, arguments);
  if (call.name == "swap" && arguments.size() == 1 && call.first != call.name)
    return writer_.swap(object_of(tokens_, call), arguments[0]);
  if (tokens_.syntax == Syntax::CFamily && draws_numbers(call.name)) return draw(arguments);
  if (arguments.size() < 2) {
    const bool clears = call.name == "clear" && call.first == call.name;  // of CuTe
    if (arguments.empty() || tokens_.syntax != Syntax::CFamily) return;
    if (clears && is_plain(arguments[0]))
      set_whole(arguments[0]);
    else if (is_output(arguments[0]))
      (void)writer_.set(writer_.id(arguments[0].begin));  // zero(o)
    return;
  }
  const bool copies = one_of(call.name, k_copies);
  const bool fills = side_ == Side::Host && call.name.size() > 4 && call.name.substr(call.name.size() - 4) == "_out";
  if (fills) {  // at::mm_out(result, a, b)
    writer_.write(arguments[0], {arguments.begin() + 1, arguments.end()}, DependenceKind::Arbitrary, false);
  } else if (call.name == "memset") {
    const auto object = arguments[0].begin + 1;
    if (tokens_.is(arguments[0].begin, "&") && object + 1 == arguments[0].end)
      set_whole({object, object + 1});
    else
      writer_.write(arguments[0], {}, DependenceKind::Additive, false);
  } else if (qualified && call.name == "_experimental_descriptor_store" && arguments.size() > 2) {
    writer_.write(arguments[0], {arguments[1]}, DependenceKind::Additive, false);
  } else if (copies || (qualified && call.name == "store") || one_of(call.name, k_stores) || starts(call, "__st")) {
    writer_.write(arguments[0], {arguments[1]}, DependenceKind::Additive, copies);
  } else if (call.name.find("tomic") != call.name.npos) {
    const bool replaces = call.name == "atomicExch" || call.name == "atomic_xchg";
    if (!adds(call.name) || !is_zero(tokens_, arguments[1])) accumulate(arguments, !replaces);  // atomicAdd(p, 0) reads
  } else if (call.name == "swap") {
    writer_.swap(arguments[0], arguments[1]);
  } else if (call.name == "mma_sync" && arguments.size() > 3) {
    multiply_matrices(arguments);
  } else if (call.name == "gemm" && (arguments.size() == 4 || arguments.size() == 5) && is_plain(arguments.back())) {
    const auto sum = arguments.back();  // CuTe: gemm(mma, [sum,] a, b, sum)
    auto& fact = writer_.assign(sum, "+=", {sum.end, sum.end});
    for (auto factor = arguments.end() - 3; factor != arguments.end() - 1; ++factor)
      writer_.expressions().read(*factor, {.kind = DependenceKind::Arbitrary, .added = true}, fact.uses);
  } else if (tokens_.syntax == Syntax::CFamily) {
    const bool whole = side_ == Side::Device && is_whole(call, statement);
    if (whole && call.name == "fill" && is_plain(arguments[0]) && arguments.size() == 2) {  // of CuTe
      set_whole(arguments[0]);
      return;
    }
    if (whole && sets_constant(arguments)) {  // fill_regs<float, 2>(sum, 0.0f), neg_infty(m, -INFINITY)
      writer_.write(arguments[0], {}, DependenceKind::Additive, false);
      return;
    }
    if (whole && is_output(arguments[0]) && compute_first(call, arguments)) return;
    if (write_outputs(arguments) || side_ == Side::Host) return;
    if (scans_block(call.name))
      scan(arguments);
    else if (whole)
      (void)compute_first(call, arguments);
  }
}

/// Sets a variable that is given by its name, and what it holds.
void CallEffects::set_whole(Range name) {
  (void)writer_.set(writer_.id(name.begin));
  writer_.write(name, {}, DependenceKind::Additive, false);
}

/// description.store([row, column], value)
void CallEffects::store_block(const Call& call, const std::vector<Range>& arguments) {
  std::vector<Use> uses;
  const auto object = writer_.target_of(object_of(tokens_, call), uses);
  uses.clear();
  writer_.expressions().read(arguments[0], {.kind = DependenceKind::Arbitrary, .address = true, .of_target = true},
                             uses);
  (void)writer_.expressions().group_from(uses, 0);
  writer_.expressions().read(arguments[1], {}, uses);
  auto& fact = writer_.add(object.name);
  fact.memory = true;
  fact.location_hash = writer_.expressions().hash(arguments[0]);
  fact.uses = std::move(uses);
}

/// fragment d = a b + c
void CallEffects::multiply_matrices(const std::vector<Range>& arguments) {
  auto& fact = writer_.write(arguments[0], {arguments[3]}, DependenceKind::Additive, false);
  for (auto& use : fact.uses) use.added = true;
  for (const auto factor : {arguments[1], arguments[2]})
    writer_.expressions().read(factor, {.kind = DependenceKind::Arbitrary}, fact.uses);
}

/// The state of a generator of random numbers, unless that only counts.
void CallEffects::draw(const std::vector<Range>& arguments) {
  for (const auto argument : arguments) {
    const bool address = tokens_.is(argument.begin, "&");
    if (!address && argument.begin != arguments.front().begin) continue;
    const Position name = argument.begin + (address ? 1U : 0U);
    if (name >= argument.end || !tokens_.is_name(name) || tokens_.counters.count(tokens_.list[name].text) != 0)
      continue;
    const auto* variable = writer_.variable(writer_.id(name));
    if (!address && !writer_.is_writable(writer_.id(name)) && variable == nullptr) continue;
    if (variable != nullptr && variable->constant) continue;  // the number of a thread
    auto& fact = writer_.write(argument, {}, DependenceKind::Additive, false);
    fact.uses.push_back({.name = fact.target,
                         .kind = DependenceKind::Arbitrary,
                         .memory = fact.memory,
                         .location_hash = fact.location_hash,
                         .curved = true});
  }
}

/// Scan(input, output, ..., total): the total of the tiles so far goes on.
void CallEffects::scan(const std::vector<Range>& arguments) {
  const Use added{.added = true};
  const auto last = arguments.back();
  const bool total = arguments.size() > 2 && last.end == last.begin + 1 && tokens_.is_name(last.begin);
  if (!tokens_.is_name(arguments[1].begin)) return;
  if (total) writer_.read_argument(arguments[0], added, writer_.assign(last, "+=", {last.end, last.end}).uses);
  auto& output = writer_.set(writer_.id(arguments[1].begin));
  writer_.read_argument(arguments[0], added, output.uses);
  if (total) writer_.expressions().read(last, added, output.uses);
}

/// Whether a call is all of a statement, and not one of a method: warp::copy(a, b).
bool CallEffects::is_whole(const Call& call, Range statement) const {
  if (call.arguments.end + 1 != statement.end) return false;
  for (Position at = statement.begin; at < call.at;) {
    const Position after = tokens_.is(at, "<") ? tokens_.after_template(at, call.at) : at + 1;
    if (after == at || !(tokens_.is_name(at) || tokens_.is(at, "::") || tokens_.is(at, "<"))) return false;
    at = after;
  }
  return true;
}

/// A variable of this thread, and numbers or constants: an unknown function can only set it to them.
bool CallEffects::sets_constant(const std::vector<Range>& arguments) const {
  const auto first = arguments.front();
  if (first.end != first.begin + 1 || !tokens_.is_name(first.begin)) return false;
  const auto* variable = writer_.variable(writer_.id(first.begin));
  if (variable == nullptr || variable->shared || variable->constant || !variable->array) return false;
  return std::all_of(arguments.begin() + 1, arguments.end(), [&](Range argument) {
    return std::none_of(
        tokens_.list.begin() + argument.begin, tokens_.list.begin() + argument.end, [](const Token& token) {
          return token.kind == TokenKind::Name &&
                 std::any_of(token.text.begin(), token.text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
        });
  });
}

/// name, name.member
bool CallEffects::is_plain(Range argument) const {
  const auto size = argument.end - argument.begin;
  return tokens_.is_name(argument.begin) && (size == 1 || (size == 3 && tokens_.is(argument.begin + 1, ".")));
}

/// mul(o, a, b), mma_AB(o, a, b), row_max(m, s, m): a function that is named like an operation, where
/// the call's result is not used, computes its first argument. It stores in the memory of a parameter. Returns false
/// for another one.
bool CallEffects::compute_first(const Call& call, const std::vector<Range>& arguments) {
  const auto first = arguments.front();
  bool place = false;  // p + i, a[i]
  for (Position at = first.begin; at < first.end; ++at) {
    if (tokens_.is(at, "(")) return false;
    place = place || tokens_.is(at, "+") || tokens_.is(at, "[");
  }
  if (!tokens_.is_name(first.begin)) return false;
  Call operation = call;
  for (const std::string_view axis : {"row_", "col_"})
    if (call.name.substr(0, axis.size()) == axis) operation.name.remove_prefix(axis.size());
  const bool known = operation_of(operation.name) != Operation::None || multiplies_matrices(operation.name) ||
                     is_exponent(operation.name) || passes_through(operation.name) || loads(operation.name);
  if (!known) return false;
  const auto name = writer_.id(first.begin);
  const auto* variable = writer_.variable(name);
  const bool stores = writer_.is_writable(name) && call.name.find("store") != call.name.npos;
  if (!stores && (variable == nullptr || variable->constant)) return false;
  if (place && call.name.substr(0, 4) == "load") return false;  // from there
  const bool adds = multiplies_matrices(call.name) && arguments.size() == 3 && call.name.substr(0, 3) != "mm_";
  auto& fact = stores || place ? writer_.write(first, {}, DependenceKind::Additive, false)
                               : writer_.assign(first, adds ? "+=" : "=", {first.end, first.end});
  if (first.end == first.begin + 1 && !stores) fact.memory = variable->array;
  auto& expressions = writer_.expressions();
  const auto product = expressions.new_product();
  std::vector<std::size_t> sources;
  for (std::size_t i = 1; i < std::min(arguments.size(), k_max_arguments); ++i) {
    const auto argument = arguments[i];
    auto role = expressions.operand_role(operation, i - 1, false, {});
    if (role.product_id != 0) role.product_id = product;
    if (argument.begin < argument.end && tokens_.list[argument.begin].text == tokens_.list[first.begin].text &&
        multiplies_matrices(operation.name)) {  // the sum, or another register of it
      if (same(argument, first)) writer_.expressions().read(argument, {.added = true}, fact.uses);
      continue;
    }
    if (tokens_.is(argument.begin, "{")) {  // coordinates in a parameter's memory
      expressions.read(argument, {.kind = DependenceKind::Arbitrary, .address = true, .of_target = stores}, fact.uses);
    } else if (!stores && is_plain(argument) && writer_.is_parameter(writer_.id(argument.begin))) {
      expressions.read_memory(argument, role, fact.uses);
      sources.push_back(fact.uses.size());
    } else {
      writer_.read_argument(argument, role, fact.uses);
    }
  }
  const auto group = expressions.group_from(fact.uses, 0);
  for (const auto source : sources)
    if (source > 0) fact.uses[source - 1].place_id = group;
  return true;
}

/// f(a, &b): an unknown function computes b from all of its arguments, and f(a, b) does where b has no value yet.
/// Returns whether it computes anything.
bool CallEffects::write_outputs(const std::vector<Range>& arguments) {
  if (arguments.size() > k_max_arguments) return true;
  std::vector<Range> outputs;
  for (const auto argument : arguments)
    if (is_output(argument)) outputs.push_back(argument);
  for (const auto output : outputs) {
    if (!is_output(output)) continue;  // given twice
    auto& fact = writer_.set(writer_.id(output.begin));
    for (const auto argument : arguments)
      if (!is_scratch(argument) &&
          std::none_of(outputs.begin(), outputs.end(), [&](Range each) { return each.begin == argument.begin; }))
        writer_.read_argument(argument, {.kind = DependenceKind::Arbitrary}, fact.uses);
  }
  bool writes = !outputs.empty();
  for (const auto argument : arguments) {
    if (!is_written_address(argument, arguments.front())) continue;
    writes = true;
    std::vector<Range> others;
    for (const auto other : arguments)
      if (other.begin != argument.begin) others.push_back(other);
    writer_.write(argument, others, DependenceKind::Arbitrary, false);
  }
  return writes;
}

/// &name of a variable of this thread; of shared memory, and of elements, only the first argument.
bool CallEffects::is_written_address(Range argument, Range first) const {
  const Position name = argument.begin + 1;
  if (!tokens_.is(argument.begin, "&") || !tokens_.is_name(name) || name >= argument.end) return false;
  const bool element = std::any_of(tokens_.list.begin() + name, tokens_.list.begin() + argument.end,
                                   [](const Token& token) { return token.text == "["; });
  const auto* variable = writer_.variable(writer_.id(name));
  return argument.begin == first.begin || side_ == Side::Host ||
         (!element && variable != nullptr && !variable->shared && !variable->constant);
}

/// The shared memory that a function of the block works in.
bool CallEffects::is_scratch(Range argument) const {
  if (argument.end != argument.begin + 1 || !tokens_.is_name(argument.begin)) return false;
  const auto* variable = writer_.variable(writer_.id(argument.begin));
  return variable != nullptr && variable->shared;
}

bool CallEffects::is_output(Range argument) const {
  return argument.end == argument.begin + 1 && tokens_.is_name(argument.begin) &&
         writer_.is_unset(writer_.id(argument.begin));
}

/// Launches by functions of the runtime, and copies.
bool CallEffects::host_effect(const Call& call) {
  auto arguments = split_tokens(tokens_, call.arguments, ",");
  const bool generic = call.name == "hipLaunchKernelGGL";
  if (generic || call.name.find("LaunchKernelEx") != call.name.npos) {
    const std::size_t kernel = generic ? 0 : 1;
    const std::size_t first = generic ? 5 : 2;
    if (arguments.size() <= first) return true;
    for (Position at = arguments[kernel].begin; at < arguments[kernel].end; ++at) {
      const auto known = summaries_.find(tokens_.list[at].text);
      if (known == summaries_.end()) continue;
      arguments.erase(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(first));
      apply(known->second, arguments);
      return true;
    }
    return true;
  }
  if (call.name.find("Memcpy") == call.name.npos || arguments.size() < 2) return false;
  writer_.write(arguments[0], {arguments[1]}, DependenceKind::Additive, true);
  return true;
}

/// Extended assembly: "text" : outputs : inputs : clobbers.
void CallEffects::assembly(const Call& call) {
  std::string_view text;
  std::vector<Range> outputs;
  std::vector<Range> inputs;
  int section = 0;
  bool keeps = false;
  for (Position at = call.arguments.begin; at < call.arguments.end; at = tokens_.after_group(at, call.arguments.end)) {
    const auto& token = tokens_.list[at];
    if (tokens_.is(at, ":") || tokens_.is(at, "::")) section += static_cast<int>(token.text.size());
    if (token.kind == TokenKind::String && section == 0 && text.empty()) text = token.text;
    if (token.kind == TokenKind::String && section == 1) keeps = keeps || token.text.find('+') != token.text.npos;
    if (!tokens_.is(at, "(")) continue;
    const Range operand{at + 1, std::max(tokens_.after_group(at, call.arguments.end) - 1, at + 1)};
    if (section == 1) outputs.push_back(operand);
    if (section == 2) inputs.push_back(operand);
  }
  if (outputs.size() > k_max_arguments || inputs.size() > k_max_arguments) return;  // no instruction has so many
  const auto has = [&](std::string_view part) { return text.find(part) != text.npos; };
  if (outputs.empty() && !inputs.empty() && (has("st.") || has("red.") || has("atom"))) {
    std::vector<Range> values;  // without further places, such as a barrier's
    for (std::size_t i = 1; i < inputs.size(); ++i)
      if (!has("[%" + std::to_string(i) + "]")) values.push_back(inputs[i]);
    writer_.write(inputs[0], values, DependenceKind::Additive, false);
    return;
  }
  // d = a b + c: the last operands are added, each to the output of its number.
  const bool multiplies = has("mma.") && !keeps && inputs.size() > outputs.size();
  const auto added = multiplies ? inputs.size() - outputs.size() : inputs.size();
  for (std::size_t number = 0; number < outputs.size(); ++number) {
    const auto output = outputs[number];
    auto& fact = writer_.assign(output, keeps ? "+=" : "=", {output.end, output.end});
    const Use role{.kind = has("mapa") || has("mov") ? DependenceKind::Additive : DependenceKind::Arbitrary};
    for (std::size_t i = 0; i < added; ++i) {
      if (has("ld.") || has("ldmatrix"))
        writer_.expressions().read_memory(inputs[i], {}, fact.uses);
      else
        operand(inputs[i], output, outputs, role, fact);
    }
    if (multiplies) writer_.expressions().read(inputs[added + number], {.added = true}, fact.uses);
  }
}

/// Whether two parts of the text are equal.
bool CallEffects::same(Range a, Range b) const {
  const auto& list = tokens_.list;
  return std::equal(list.begin() + a.begin, list.begin() + a.end, list.begin() + b.begin, list.begin() + b.end,
                    [](const Token& x, const Token& y) { return x.text == y.text; });
}

/// An input that is the output as well is one to add to; what is added to another output says nothing about this one.
void CallEffects::operand(Range input, Range output, const std::vector<Range>& outputs, Use role, Fact& fact) {
  const bool own = same(input, output);
  if (!own && std::any_of(outputs.begin(), outputs.end(), [&](Range other) { return same(input, other); })) return;
  if (own) role = {.added = true};
  writer_.expressions().read(input, role, fact.uses);
}

void CallEffects::accumulate(const std::vector<Range>& arguments, bool reads) {
  auto& fact = writer_.write(arguments[0], {arguments[1]}, DependenceKind::Additive, false);
  if (!reads) return;
  const auto place = fact.uses.empty() ? 0U : fact.uses.front().chooses;
  fact.uses.push_back({.name = fact.target,
                       .memory = fact.memory,
                       .location_hash = fact.location_hash,
                       .place_id = place,
                       .added = true});
}

/// Adds one fact for each argument that the function writes; the function reads all its arguments before.
void CallEffects::apply(const Summary& summary, const std::vector<Range>& given) {
  const auto arguments = by_position(tokens_, summary.parameters, given);
  for (std::size_t to = 0; to < std::min(arguments.size(), k_max_arguments); ++to) {
    const auto product = writer_.expressions().new_products(summary);
    for (const bool memory : {false, true}) {
      std::vector<Use> uses;
      for (const auto& effect : summary.effects) {
        const bool mine = !effect.returns && effect.to == to && effect.to_memory == memory &&
                          (summary.launches || !effect.role.is_select_condition);
        if (!mine || effect.from >= arguments.size() || empty(arguments[to]) || empty(arguments[effect.from])) continue;
        if (uses.empty()) {
          auto& fact = writer_.write(arguments[to], {}, DependenceKind::Additive, false);
          fact.memory = fact.memory && memory;
          uses = std::move(fact.uses);
        }
        const std::size_t first = uses.size();
        const auto role = ExpressionReader::argument_role({}, effect, product);
        if (effect.from_memory)
          writer_.expressions().read_memory(arguments[effect.from], role, uses);
        else
          writer_.expressions().read(arguments[effect.from], role, uses);
        for (std::size_t i = first; i < uses.size(); ++i) uses[i].launched = summary.launches;
      }
      if (!uses.empty()) writer_.facts().back().uses = std::move(uses);
    }
  }
}

void CallEffects::append_arguments(const Call& call, Range statement) {
  if (call.first == call.name || call.at < 2 || call.arguments.end + 1 < statement.end) return;
  const Range object = object_of(tokens_, call);
  if (empty(object) || object.begin != statement.begin || tokens_.is_module(call.first)) return;
  std::vector<Use> address;
  const auto target = writer_.target_of(object, address);
  auto& fact = writer_.add(target.name);
  fact.appends = true;
  writer_.expressions().read(call.arguments, {.kind = DependenceKind::Arbitrary}, fact.uses);
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
