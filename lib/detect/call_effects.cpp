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

}  // namespace

void CallEffects::read(const Call& call) {
  if (is_assembly(call)) return assembly(call);
  if (side_ == Side::Host && host_effect(call)) return;
  const bool qualified = is_device_operation(tokens_, call);
  const auto known = summaries_.find(call.name);
  if (!qualified && known != summaries_.end())
    return apply(known->second, arguments_of(tokens_, call, known->second.method));
  const auto arguments = split_tokens(tokens_, call.arguments, ",");
  if (call.name == "swap" && arguments.size() == 1 && call.first != call.name)
    return writer_.swap(object_of(tokens_, call), arguments[0]);
  if (arguments.size() < 2) return;
  const bool copies = one_of(call.name, k_copies);
  const bool fills = side_ == Side::Host && call.name.size() > 4 && call.name.substr(call.name.size() - 4) == "_out";
  if (fills) {  // at::mm_out(result, a, b)
    writer_.write(arguments[0], {arguments.begin() + 1, arguments.end()}, DependenceKind::Arbitrary, false);
  } else if (call.name == "memset") {
    writer_.write(arguments[0], {}, DependenceKind::Additive, false);
  } else if (copies || (qualified && call.name == "store") || one_of(call.name, k_stores) || starts(call, "__st")) {
    writer_.write(arguments[0], {arguments[1]}, DependenceKind::Additive, copies);
  } else if (starts(call, "atomic")) {
    accumulate(arguments, call.name != "atomicExch" && call.name != "atomic_xchg");
  } else if (call.name == "swap") {
    writer_.swap(arguments[0], arguments[1]);
  } else if (call.name == "mma_sync" && arguments.size() > 3) {
    multiply_matrices(arguments);
  } else if (tokens_.syntax == Syntax::CFamily) {
    write_through_addresses(arguments);
  }
}

/// fragment d = a b + c
void CallEffects::multiply_matrices(const std::vector<Range>& arguments) {
  auto& fact = writer_.write(arguments[0], {arguments[3]}, DependenceKind::Additive, false);
  for (auto& use : fact.uses) use.added = true;
  for (const auto factor : {arguments[1], arguments[2]})
    writer_.expressions().read(factor, {.kind = DependenceKind::Arbitrary}, fact.uses);
}

/// f(a, &b): an unknown function computes b from all of its arguments, and f(a, b) does where b has no value yet.
void CallEffects::write_through_addresses(const std::vector<Range>& arguments) {
  if (arguments.size() > k_max_arguments) return;
  std::vector<Range> unset, inputs;
  for (const auto argument : arguments) (is_output(argument) ? unset : inputs).push_back(argument);
  for (const auto argument : unset) {
    if (!is_output(argument)) continue;  // given twice
    auto& fact = writer_.add(writer_.id(argument.begin));
    for (const auto input : inputs) writer_.expressions().read(input, {.kind = DependenceKind::Arbitrary}, fact.uses);
  }
  for (const auto argument : arguments) {
    if (!tokens_.is(argument.begin, "&")) continue;
    std::vector<Range> others;
    for (const auto other : arguments)
      if (other.begin != argument.begin) others.push_back(other);
    writer_.write(argument, others, DependenceKind::Arbitrary, false);
  }
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
  for (const auto output : outputs) {
    auto& fact = writer_.assign(output, keeps ? "+=" : "=", {output.end, output.end});
    for (const auto input : inputs)
      operand(input, output, has("ld.") || has("ldmatrix"), has("mapa") || has("mov"), fact);
  }
}

void CallEffects::operand(Range input, Range output, bool loads, bool moves, Fact& fact) {
  if (loads) return writer_.expressions().read_memory(input, {}, fact.uses);
  const bool same =
      input.end - input.begin == output.end - output.begin &&
      std::equal(tokens_.list.begin() + input.begin, tokens_.list.begin() + input.end,
                 tokens_.list.begin() + output.begin, [](const Token& a, const Token& b) { return a.text == b.text; });
  writer_.expressions().read(
      input, {.kind = moves || same ? DependenceKind::Additive : DependenceKind::Arbitrary, .added = same}, fact.uses);
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
