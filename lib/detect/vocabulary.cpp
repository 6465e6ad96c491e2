#include "detect/vocabulary.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {

bool mixes(std::string_view text) {
  constexpr std::array<std::string_view, 20> k_operators{"<", ">",  "<=", ">=", "==", "!=", "&&",  "||", "&",  "|",
                                                         "^", "<<", ">>", "%",  "//", "**", "and", "or", "in", "is"};
  return one_of(text, k_operators);
}

bool passes_through(std::string_view name) {
  constexpr std::array<std::string_view, 44> k_names{"data",
                                                     "data_ptr",
                                                     "get",
                                                     "to",
                                                     "max",
                                                     "min",
                                                     "maximum",
                                                     "minimum",
                                                     "fmax",
                                                     "fmaxf",
                                                     "fmin",
                                                     "fminf",
                                                     "where",
                                                     "static_cast",
                                                     "reinterpret_cast",
                                                     "const_cast",
                                                     "float",
                                                     "double",
                                                     "int",
                                                     "__half2float",
                                                     "__float2half",
                                                     "__float2half_rn",
                                                     "__bfloat162float",
                                                     "__float2bfloat16",
                                                     "broadcast_to",
                                                     "reshape",
                                                     "view",
                                                     "trans",
                                                     "expand_dims",
                                                     "cast",
                                                     "move",
                                                     "make_block_ptr",
                                                     "advance",
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
                                                     "clone"};
  return one_of(name, k_names) || name.substr(0, 6) == "__shfl";
}

bool is_exponent(std::string_view name) {
  constexpr std::array<std::string_view, 14> k_names{"exp",   "exp2",  "expf",   "exp2f", "__expf", "log",     "log2",
                                                     "log1p", "expm1", "log1pf", "logf",  "__logf", "__log2f", "log2f"};
  return one_of(name, k_names);
}

bool multiplies_matrices(std::string_view name) {
  return name == "dot" || name == "dot_scaled" || name.find("mfma") != name.npos || name.find("wmma") != name.npos;
}

bool is_type(std::string_view name) {
  constexpr std::array<std::string_view, 15> k_names{"const", "volatile", "float",    "double", "int",
                                                     "long",  "short",    "unsigned", "signed", "char",
                                                     "void",  "bool",     "half",     "struct", "__half"};
  return one_of(name, k_names) || (name.size() > 2 && name.substr(name.size() - 2) == "_t");
}

bool loads(std::string_view name) {
  constexpr std::array<std::string_view, 6> k_names{"__ldg", "__ldcg", "__ldcs", "__ldca", "__ldcv", "__ldlu"};
  return one_of(name, k_names);
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
