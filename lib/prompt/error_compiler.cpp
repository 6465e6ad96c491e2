#include <algorithm>
#include <cctype>

#include "prompt/error_steps.hpp"
#include "prompt/error_text.hpp"
#include "prompt/known_names.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_max_type = 200;

/// A type without const, and without the differences between two spellings of it.
std::string bare_type(std::string_view type) {
  std::string kept(type.substr(0, k_max_type));
  for (const std::string_view word : {"const", "struct ", "class ", "union ", "enum ", "__restrict__", "__restrict"})
    for (auto at = kept.find(word); at != kept.npos; at = kept.find(word)) kept.erase(at, word.size());
  kept.erase(std::remove_if(kept.begin(), kept.end(), [](unsigned char c) { return std::isspace(c) != 0; }),
             kept.end());
  return kept;
}

/// The types that a message quotes, with aliases resolved: "long *" of "'int64_t *' (aka 'long *')".
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

/// The types of a conversion.
struct Conversion {
  std::string_view from, to;
};

/// Reads "invalid conversion from 'A' to 'B'" and clang's "cannot initialize a variable of type 'B' with an lvalue of
/// type 'A'", which names the target first.
Conversion conversion_of(std::string_view message) {
  const auto types = quoted_types(message);
  if (types.size() < 2) return {};
  const bool target_first = contains(message, "cannot initialize") || contains(message, "assigning to");
  return target_first ? Conversion{types[1], types[0]} : Conversion{types[0], types[1]};
}

/// "invalid conversion from 'const float*' to 'float*'": whether only const makes the difference. All other pointers
/// convert to void*.
bool only_const_differs(std::string_view message) {
  const auto [from, to] = conversion_of(message);
  const auto bare_from = bare_type(from), bare_to = bare_type(to);
  if (from == to || bare_from.empty() || !(contains(from, "const") || contains(to, "const"))) return false;
  return bare_from == bare_to || (bare_to == "void*" && contains(from, "const") && bare_from.back() == '*');
}

/// The part of a note about the argument that no overload accepts.
std::string_view refused_argument(std::string_view notes) {
  const auto found = notes.find("no known conversion ");
  return found == notes.npos ? std::string_view() : notes.substr(found, notes.find('\n', found) - found);
}

/// A pointer to void where another pointer is needed: a cast is missing, at an argument or at an assignment.
bool is_from_void(std::string_view message) { return bare_type(conversion_of(message).from) == "void*"; }

/// Whether the name in a message has a header of its own: "'thread' is not a member of 'std'".
bool has_header(std::string_view reason) {
  for (int i = 0; i < 2; ++i)
    if (!header_of(quoted(reason, i), Target::Cpp).empty()) return true;
  return false;
}

/// Messages that say little: the subject is in their notes.
bool is_vague(std::string_view reason) {
  return contains(reason, "no matching ") || contains(reason, "no instance of");
}

/// Classes that depend on the types in a message, or on names of the standard library.
std::string refine(std::string_view name, const CompilerFailure& failure) {
  const std::string_view reason = failure.reason;
  const bool converts = name == "cxx.conversion" || name == "cxx.call";
  if (is_vague(reason) || converts) {
    const auto converted = is_vague(reason) ? refused_argument(failure.notes) : reason;
    if (only_const_differs(converted)) return "cxx.const";
    if (is_from_void(converted)) return "cxx.conversion";
  }
  if (name == "cxx.no_member" && contains(reason, "std") && has_header(reason)) return "cxx.undeclared";
  return std::string(name);
}

/// One family of errors has a class for each side.
std::string_view on_side_of(Target target, std::string_view name) {
  const bool host = traits_of(target).device == TargetDevice::Cpu;
  if (name == "device.assembly" && host) return "cxx.assembler";
  if (name == "cxx.assembler" && !host) return "device.assembly";
  if (name == "cxx.target_intrinsic" && !host) return "device.architecture";
  return name;
}

}  // namespace

std::string_view quoted(std::string_view text, int n) {
  while (true) {
    const auto open = text.find_first_of("'\"");
    const auto close = open == text.npos ? text.npos : text.find(text[open], open + 1);
    if (close == text.npos) return {};
    if (n-- == 0) return text.substr(open + 1, close - open - 1);
    text.remove_prefix(close + 1);
  }
}

ClassifiedError classify_compiler_log(std::string_view log, Target target) {
  const auto failure = read_compiler_failure(log);
  ClassifiedError found{"cxx.other", failure.reason, failure.lines, {}};
  // A crash often follows ordinary errors, but is not caused by them.
  if (contains(log, ": internal compiler error: ") || contains(log, "died due to signal")) {
    found.error_class = "compiler.crashed";
    return found;
  }
  if (failure.reason.empty()) {
    found.reason = std::string(log.substr(0, k_max_fingerprint));
    return found;
  }
  found.message = {traits_of(target).device == TargetDevice::Cpu ? ErrorTool::HostCompiler : ErrorTool::GpuCompiler,
                   failure.reason, failure.code + "\n" + failure.notes + "\n" + failure.others};
  const auto name = class_of_message(*found.message);
  // An assembler's message is about an instruction, whatever its words.
  const bool of_assembly = failure.by_assembler && (name.empty() || name.starts_with("cxx."));
  const auto refined = of_assembly ? std::string("device.assembly") : refine(name, failure);
  if (!refined.empty()) found.error_class = on_side_of(target, refined);
  return found;
}

}  // namespace v0
}  // namespace kernelgen
