#include "detect/vocabulary.hpp"

#include <algorithm>
#include <utility>

namespace kernelgen {
inline namespace v0 {
namespace detect {

bool mixes(std::string_view text) {
  constexpr std::array<std::string_view, 10> k_operators{"<", ">", "<=", ">=", "==", "!=", "<<", ">>", "in", "is"};
  return one_of(text, k_operators);
}

bool joins(std::string_view text) {
  constexpr std::array<std::string_view, 7> k_operators{"&&", "||", "and", "or", "&", "|", "^"};
  return one_of(text, k_operators);
}

bool is_maximum(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('_'), name.size()));
  constexpr std::array<std::string_view, 8> k_types{"", "f", "h", "u", "v", "ll", "ull", "i"};
  if (name == "arg_max" || name == "argmax" || name == "arg_min" || name == "argmin") return true;
  const auto at = std::min(name.find("max"), name.find("min"));
  const bool reduces = at > 0 && at != name.npos && name[at - 1] == '_' && name.size() == at + 3;  // warp_reduce_max
  return reduces || (at != name.npos && one_of(name.substr(0, at), k_types));
}

/// __float2half_rn, __low2float, __float_as_uint
static bool converts(std::string_view name) {
  if (name.substr(0, 2) != "__") return false;
  for (const auto* part : {"2half", "2float", "2bfloat", "22float", "_as_"})
    if (name.find(part) != name.npos) return true;
  return false;
}

bool passes_through(std::string_view name) {
  constexpr std::array<std::string_view, 34> k_names{"data",
                                                     "data_ptr",
                                                     "get",
                                                     "to",
                                                     "where",
                                                     "static_cast",
                                                     "reinterpret_cast",
                                                     "const_cast",
                                                     "float",
                                                     "double",
                                                     "int",
                                                     "broadcast_to",
                                                     "reshape",
                                                     "view",
                                                     "trans",
                                                     "expand_dims",
                                                     "cast",
                                                     "move",
                                                     "make_block_ptr",
                                                     "multiple_of",
                                                     "max_contiguous",
                                                     "make_float2",
                                                     "make_float4",
                                                     "range",
                                                     "static_range",
                                                     "map_shared_rank",
                                                     "__cvta_generic_to_shared",
                                                     "__cvta_shared_to_generic",
                                                     "contiguous",
                                                     "clone",
                                                     "abs",
                                                     "fabs",
                                                     "fabsf",
                                                     "__habs"};
  for (const auto* part : {"__shfl", "store", "copy", "fill"})
    if (name.substr(0, std::string_view(part).size()) == part) return true;
  return one_of(name, k_names) || is_maximum(name) || converts(name);
}

bool is_exponent(std::string_view name) {
  constexpr std::array<std::string_view, 17> k_names{"exp10f", "hexp",   "h2exp",  "exp",     "exp2",  "expf",
                                                     "exp2f",  "__expf", "log",    "log2",    "log1p", "expm1",
                                                     "log1pf", "logf",   "__logf", "__log2f", "log2f"};
  return one_of(name, k_names) || name.find("softmax") != name.npos || name.find("elford") != name.npos;
}

bool is_curved(std::string_view name) {
  if (is_exponent(name)) return true;
  name.remove_prefix(std::min(name.find_first_not_of('_'), name.size()));
  if (name.substr(0, 1) == "h" && name.size() > 3) name.remove_prefix(name[1] == '2' ? 2 : 1);
  constexpr std::array<std::string_view, 12> k_names{"tan", "sigmoid", "sin",  "cos", "sqrt", "rsqrt",
                                                     "pow", "erf",     "cbrt", "rcp", "asin", "acos"};
  return std::any_of(k_names.begin(), k_names.end(),
                     [&](std::string_view each) { return name.substr(0, each.size()) == each; });
}

Operation operation_of(std::string_view name) {
  if (name == "advance") return Operation::Sum;
  name.remove_prefix(std::min(name.find_first_not_of('_'), name.size()));
  if (name.substr(0, 3) == "cuC") name.remove_prefix(3);
  constexpr std::array<std::pair<std::string_view, Operation>, 7> k_operations{{{"add", Operation::Sum},
                                                                                {"dp4a", Operation::Fused},
                                                                                {"dp2a", Operation::Fused},
                                                                                {"sub", Operation::Sum},
                                                                                {"sum", Operation::Sum},
                                                                                {"mul", Operation::Product},
                                                                                {"fma", Operation::Fused}}};
  for (const auto& [text, operation] : k_operations) {
    const bool prefixed = name.substr(1, text.size()) == text && name.find_first_of("fhdui") == 0;
    if (!prefixed && name.substr(0, text.size()) != text) continue;
    auto rest = name.substr(text.size() + (prefixed ? 1 : 0));
    // A type, a number of elements and a way of rounding may follow: f, 2, _rn, _f32x2.
    rest.remove_prefix(rest.substr(0, 1) == "f" ? 1 : 0);
    rest.remove_prefix(std::min(rest.find_first_not_of("0123456789"), rest.size()));
    if (rest.empty() || (rest.front() == '_' && rest.size() < 7)) return operation;
  }
  return Operation::None;
}

bool draws_numbers(std::string_view name) {
  for (const auto* part : {"rand", "Rand", "RAND", "rng", "RNG"})
    if (name.find(part) != name.npos) return name.find("init") == name.npos && name.find("seed") == name.npos;
  return false;
}

bool scans_block(std::string_view name) {
  const bool inclusive = name.substr(0, 9) == "Inclusive" || name.substr(0, 9) == "Exclusive";
  return inclusive && name.size() > 9;
}

bool multiplies_matrices(std::string_view name) {
  return name == "dot" || name == "dot_scaled" || name.substr(0, 3) == "mm_" || name.find("mfma") != name.npos ||
         name.find("mma") != name.npos || name.find("MMA") != name.npos;
}

bool is_type(std::string_view name) {
  constexpr std::array<std::string_view, 15> k_names{"const", "volatile", "float",    "double", "int",
                                                     "long",  "short",    "unsigned", "signed", "char",
                                                     "void",  "bool",     "half",     "struct", "__half"};
  return one_of(name, k_names);
}

bool fetches(std::string_view name) {
  for (const auto* part : {"tex1D", "tex2D", "tex3D", "texCubemap"})
    if (name.substr(0, std::string_view(part).size()) == part) return true;
  return name.substr(0, 4) == "surf" && name.size() > 8 && name.substr(name.size() - 4) == "read";
}

bool loads(std::string_view name) {
  constexpr std::array<std::string_view, 6> k_names{"__ldg", "__ldcg", "__ldcs", "__ldca", "__ldcv", "__ldlu"};
  return one_of(name, k_names) || name.substr(0, 4) == "load";
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
