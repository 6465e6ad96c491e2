#include <algorithm>
#include <cctype>

#include "prompt/error_kinds.hpp"
#include "prompt/error_text.hpp"
#include "prompt/known_names.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_max_type = 200;

/// A type without what two spellings of it differ in, and without const.
std::string bare_type(std::string_view type) {
  std::string kept(type.substr(0, k_max_type));
  for (const std::string_view word : {"const", "struct ", "class ", "union ", "enum ", "__restrict__", "__restrict"})
    for (auto at = kept.find(word); at != kept.npos; at = kept.find(word)) kept.erase(at, word.size());
  kept.erase(std::remove_if(kept.begin(), kept.end(), [](unsigned char c) { return std::isspace(c) != 0; }),
             kept.end());
  return kept;
}

/// The types that a message quotes, each as what it stands for: "long *" of "'int64_t *' (aka 'long *')".
std::vector<std::string_view> quoted_types(std::string_view message) {
  std::vector<std::string_view> types;
  for (std::size_t begin = 0; types.size() < 4;) {
    const auto open = message.find_first_of("'\"", begin);
    const auto close = open == message.npos ? message.npos : message.find(message[open], open + 1);
    if (close == message.npos) break;
    const auto type = message.substr(open + 1, close - open - 1);
    const bool explains = open >= 4 && message.substr(open - 4, 4) == "aka ";
    if (explains && !types.empty()) {
      types.back() = type;
    } else {
      types.push_back(type);
    }
    begin = close + 1;
  }
  return types;
}

/// What a message says is converted, and into what.
struct Conversion {
  std::string_view from, to;
};

/// Of "invalid conversion from 'A' to 'B'" and of clang's "cannot initialize a variable of type 'B' with an lvalue of
/// type 'A'", which names the target first.
Conversion conversion_of(std::string_view message) {
  const auto types = quoted_types(message);
  if (types.size() < 2) return {};
  const bool target_first = contains(message, "cannot initialize") || contains(message, "assigning to");
  return target_first ? Conversion{types[1], types[0]} : Conversion{types[0], types[1]};
}

/// "invalid conversion from 'const float*' to 'float*'": what only a const keeps apart. Everything else about pointers
/// converts into void*.
bool only_const_differs(std::string_view message) {
  const auto [from, to] = conversion_of(message);
  const auto bare_from = bare_type(from), bare_to = bare_type(to);
  if (from == to || bare_from.empty() || !(contains(from, "const") || contains(to, "const"))) return false;
  return bare_from == bare_to || (bare_to == "void*" && contains(from, "const") && bare_from.back() == '*');
}

/// What a note says of the argument that no overload takes.
std::string_view refused_argument(std::string_view notes) {
  const auto found = notes.find("no known conversion ");
  return found == notes.npos ? std::string_view() : notes.substr(found, notes.find('\n', found) - found);
}

/// A pointer to void that is taken for one to something else: a cast is missing, whether it is handed over or assigned.
bool is_from_void(std::string_view message) { return bare_type(conversion_of(message).from) == "void*"; }

/// Whether the name that a message is about has a header of its own: "'thread' is not a member of 'std'".
bool has_header(std::string_view reason) {
  for (int i = 0; i < 2; ++i)
    if (!header_of(quoted(reason, i), Target::Cpp).empty()) return true;
  return false;
}

/// What is missing is a name of a namespace other than std: its header was left out, or it is another namespace's.
/// Of std, most names are known; what is not is no name of the library.
bool lacks_name_of_namespace(std::string_view reason) {
  for (const std::string_view words : {"namespace \"", "in namespace '", "in the global namespace"}) {
    const auto found = reason.find(words);
    if (found != reason.npos && !reason.substr(found + words.size()).starts_with("std")) return true;
  }
  // g++ does not say what kind of scope it is.
  for (const std::string_view name : {"cooperative_groups", "cg", "nvcuda", "wmma", "cub", "thrust", "cuda", "rocwmma"})
    if (contains(reason, "is not a member of '" + std::string(name) + "'") ||
        contains(reason, "is not a member of '" + std::string(name) + "::"))
      return true;
  return contains(reason, "is not a member of '::'");
}

/// "kernel<<grid, block>>(x)", "kernel<<<grid, block>>(x)": a launch whose chevrons are not three and three.
bool is_malformed_launch(std::string_view code) {
  const auto run = [&](std::size_t at, char mark) {
    return std::min(code.find_first_not_of(mark, at), code.size()) - at;
  };
  const auto open = code.find("<<");
  if (open == code.npos || open == 0) return false;
  const auto opened = run(open, '<');
  for (auto close = code.find(">>", open); close != code.npos; close = code.find(">>", close + run(close, '>'))) {
    const auto closed = run(close, '>');
    const auto next = close + closed;
    if (next >= code.size() || code[next] != '(') continue;
    return (opened != 3 || closed != 3) && contains(code.substr(open, close - open), ",");
  }
  return false;
}

/// "kernel[grid, block](x)", as in Triton. A lambda has no name in front of its bracket.
bool is_bracket_launch(std::string_view code) {
  const auto close = code.find("](");
  const auto open = code.rfind('[', close);
  return close != code.npos && open != code.npos && open > 0 &&
         (std::isalnum(static_cast<unsigned char>(code[open - 1])) != 0 || code[open - 1] == '_');
}

/// Messages about a token or an operand can be about the chevrons of a launch.
bool may_be_launch(std::string_view error_class) {
  return error_class.empty() || error_class == "cxx.operands" || error_class == "cxx.syntax" ||
         error_class == "cxx.conversion" || error_class == "cxx.call" || error_class == "cxx.template";
}

/// Messages that say little: what they are about stands in their notes.
bool is_vague(std::string_view reason) {
  return contains(reason, "no matching ") || contains(reason, "no instance of");
}

/// Whether what was refused is a launch of a kernel that is not written as one.
bool is_broken_launch(std::string_view name, const CompilerFailure& failure) {
  if (name == "cxx.operands" && is_bracket_launch(failure.code)) return true;
  return may_be_launch(name) && (contains(failure.others, "\">>>\"") || is_malformed_launch(failure.code));
}

std::string refine(std::string_view name, const CompilerFailure& failure, Target target) {
  const std::string_view reason = failure.reason;
  if (target != Target::Cpp && is_broken_launch(name, failure)) return "device.launch_syntax";
  if (contains(failure.code, "#error")) return "cxx.static_assert";
  if (is_vague(reason)) {
    const auto argument = refused_argument(failure.notes);
    if (only_const_differs(argument)) return "cxx.const";
    if (is_from_void(argument)) return "cxx.conversion";
    if (contains(reason, "instance of function template") && contains(failure.notes, "failed deduction"))
      return "cxx.template";
    const auto noted = first_match(compiler_note_rules(), failure.notes + failure.others);
    return std::string(noted.empty() ? name : noted);
  }
  const bool converts = name == "cxx.conversion" || name == "cxx.call";
  if (converts && only_const_differs(reason)) return "cxx.const";
  if (converts && is_from_void(reason)) return "cxx.conversion";
  if (name == "cxx.conversion" && contains(failure.notes, "initializing argument")) return "cxx.call";
  if (name == "cxx.no_member" && (lacks_name_of_namespace(reason) || (contains(reason, "std") && has_header(reason))))
    return "cxx.undeclared";
  // clang reads on before it says that the type does not exist.
  if (reason.starts_with("expected ") && contains(failure.others, "in namespace '")) return "cxx.undeclared";
  return std::string(name);
}

/// One family of errors has a class for each side.
std::string_view on_side_of(Target target, std::string_view name) {
  const bool host = target == Target::Cpp;
  if (name == "device.assembly" && host) return "cxx.assembler";
  if (name == "cxx.assembler" && !host) return "device.assembly";
  if (name == "cxx.target_intrinsic" && !host) return "device.architecture";
  return name;
}

}  // namespace

std::string_view first_match(std::span<const ErrorRule> rules, std::string_view text) {
  const auto found =
      std::find_if(rules.begin(), rules.end(), [&](const ErrorRule& rule) { return matches(text, rule.pattern); });
  return found == rules.end() ? std::string_view() : found->error_class;
}

std::string_view quoted(std::string_view text, int n) {
  while (true) {
    const auto open = text.find_first_of("'\"");
    const auto close = open == text.npos ? text.npos : text.find(text[open], open + 1);
    if (close == text.npos) return {};
    if (n-- == 0) return text.substr(open + 1, close - open - 1);
    text.remove_prefix(close + 1);
  }
}

Found classify_compiler_log(std::string_view log, Target target) {
  const auto failure = read_compiler_failure(log);
  Found found{"cxx.other", failure.reason, failure.lines};
  // A crash is often preceded by ordinary errors, and follows from none of them.
  if (contains(log, ": internal compiler error: ") || contains(log, "died due to signal")) {
    found.error_class = "compiler.crashed";
    return found;
  }
  if (failure.reason.empty()) {
    found.reason = std::string(log.substr(0, k_max_fingerprint));
    return found;
  }
  const auto name = first_match(compiler_rules(), failure.reason);
  // What an assembler says is about an instruction, in whatever words.
  const bool of_assembly = failure.by_assembler && (name.empty() || name.starts_with("cxx."));
  const auto refined = of_assembly ? std::string("device.assembly") : refine(name, failure, target);
  if (!refined.empty()) found.error_class = on_side_of(target, refined);
  return found;
}

}  // namespace v0
}  // namespace kernelgen
