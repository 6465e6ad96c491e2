#include "compile/diagnostics.hpp"

#include <algorithm>
#include <array>
#include <boost/regex.hpp>
#include <charconv>
#include <cstdint>
#include <exception>

#include "compile/kernel_resources.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_max_diagnostics = 100;
constexpr std::size_t k_max_line = 4096;
constexpr std::size_t k_max_message = 1000;

int to_int(const std::string& text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string severity_of(const std::string& word) {
  if (word == "warning" || word == "note") return word;
  if (word == "remark") return "note";
  return "error";  // "fatal error", "sorry, unimplemented", "internal compiler error", "catastrophic error"
}

/// "f.cpp:3:5: error: ...", with and without column.
const boost::regex& located_line() {
  static const boost::regex pattern(
      R"(^([^:\s][^:]*):(\d{1,9}):(?:(\d{1,9}):)? (fatal error|error|warning|note|sorry, unimplemented|internal compiler error): (.*)$)");
  return pattern;
}

/// cudafe++ and cicc: "f.cu(3): error: ...", "f.cu(3): warning #177-D: ...".
const boost::regex& located_edg_line() {
  static const boost::regex pattern(
      R"(^([^:\s(][^:(]*)\((\d{1,9})\): (catastrophic error|internal error|error|warning|remark|note)(?: #\d{1,6}(?:-D)?)?: (.*)$)");
  return pattern;
}

/// Messages of ptxas and similar tools, which pad the severity: "ptxas error : ...", "ptxas /tmp/x.ptx, line 28; error
/// : ...", "nvcc fatal : ...".
const boost::regex& cuda_tool_line() {
  static const boost::regex pattern(
      R"(^(nvcc|cicc|ptxas|nvlink|fatbinary|cudafe\+\+)(?: [^;]{1,300};)? {0,8}(fatal|error|warning) {0,8}: (.*)$)");
  return pattern;
}

/// "c++: fatal error: ...", "clang: error: ...", "cc1plus: ..." and "ld.lld: error: ...": no place in the source.
const boost::regex& tool_line() {
  static const boost::regex pattern(R"(^([\w.+/-]+): (fatal error|error|warning|internal compiler error): (.*)$)");
  return pattern;
}

/// A linker's message; the text before it varies: the tool, the object file, a section.
const boost::regex& linker_line() {
  static const boost::regex pattern(
      R"((undefined reference to .*|undefined symbol: .*|multiple definition of .*|cannot find -l.*)$)");
  return pattern;
}

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(), [&](auto start) { return text.substr(0, start.size()) == start; });
}

/// Rewrites a message in terms of the source: demangled names, and decimal numbers.
std::string readable_message(std::string message) {
  // 'Entry function '_Z1kPf' uses too much shared data (0x493e0 bytes, 0x38c00 max)'
  static const boost::regex mangled(R"('(_Z\w{1,2000})')");
  static const boost::regex hexadecimal(R"(\b0x([0-9a-f]{1,15})\b(?= bytes| max))");
  boost::smatch match;
  if (boost::regex_search(message, match, mangled))
    message.replace(match.position(std::size_t{1}), match.length(1), demangle(match[1]));
  for (int numbers = 0; numbers < 8 && boost::regex_search(message, match, hexadecimal); ++numbers) {
    const std::string digits = match[1];
    std::uint64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    message.replace(match.position(std::size_t{0}), match.length(0), std::to_string(value));
  }
  return message;
}

bool parse_line(const std::string& line, std::vector<Diagnostic>& found) {
  boost::smatch match;
  Diagnostic one;
  if (boost::regex_match(line, match, located_line())) {
    one.severity = severity_of(match[4]);
    one.file = match[1];
    one.line = to_int(match[2]);
    one.column = match[3].matched ? to_int(match[3]) : 0;
    one.message = match[5];
    if (match[4] == "internal compiler error") one.message = "internal compiler error: " + one.message;
  } else if (boost::regex_match(line, match, located_edg_line())) {
    one.severity = severity_of(match[3]);
    one.file = match[1];
    one.line = to_int(match[2]);
    one.message = match[4];
    if (match[3] == "internal error") one.message = "internal compiler error: " + one.message;
  } else if (boost::regex_match(line, match, cuda_tool_line())) {
    if (starts_with_any(match[3].str(), {"Ptx assembly aborted"})) return false;
    one.severity = severity_of(match[2]);
    one.message = readable_message(match[3]);
  } else if (boost::regex_match(line, match, tool_line())) {
    // These only summarize earlier messages.
    if (starts_with_any(match[3].str(), {"ld returned", "linker command failed"})) return false;
    one.severity = severity_of(match[2]);
    one.message = match[3];
    if (match[2] == "internal compiler error") one.message = "internal compiler error: " + one.message;
  } else if (boost::regex_search(line, match, linker_line())) {
    one.severity = "error";
    one.message = match[1];
  } else {
    return false;
  }
  one.message = sanitize_line(one.message, k_max_message);
  one.file = sanitize_line(one.file, 300);
  found.push_back(std::move(one));
  return true;
}

struct Rule {
  std::string_view name;
  std::string_view text;
};

// The first rule that fits decides; wordings of g++ 9 to 14, clang 11 to 19, and nvcc 12 and 13.
constexpr auto k_rules = std::to_array<Rule>({
    {"compiler_crashed", "internal compiler error"},
    {"compiler_crashed", "Killed signal terminated program"},
    {"compiler_crashed", "unable to execute command"},
    {"compiler_crashed", "frontend command failed"},
    {"compiler_crashed", "virtual memory exhausted"},
    {"compiler_crashed", "out of memory allocating"},
    {"compiler_crashed", "died due to signal"},
    {"compiler_crashed", "Memory allocation failure"},
    {"resource:shared_memory", "uses too much shared data"},
    {"resource:shared_memory", "too much shared memory"},
    {"resource:registers", "registers needed to compile"},
    {"resource:registers", "has register count"},
    {"resource:registers", "exceeds specified max reg"},
    {"resource:registers", "too many active live ranges"},
    {"link:undefined_symbol", "undefined reference to"},
    {"link:undefined_symbol", "undefined symbol: "},
    {"link:undefined_symbol", "Unresolved extern"},
    {"link:undefined_symbol", "Undefined reference to"},
    {"redefinition", "multiple definition of"},
    {"missing_header", "No such file or directory"},
    {"missing_header", "file not found"},
    {"missing_header", "cannot open source file"},
    {"host_function", "calling a __host__ function"},
    {"host_function", "calling a constexpr __host__ function"},
    {"redefinition", "has already been defined"},
    {"redefinition", "has already been declared"},
    {"redefinition", "is incompatible with previous"},
    {"redefinition", "redefinition of"},
    {"redefinition", "redeclaration of"},
    {"redefinition", "redeclared"},
    {"redefinition", "conflicting declaration"},
    {"redefinition", "conflicting types"},
    {"redefinition", "ambiguating new declaration"},
    {"redefinition", "cannot be overloaded"},
    {"no_member", "has no member named"},
    {"no_member", "no member named"},
    {"no_member", "is not a member of"},
    {"no_member", "has no member \""},
    {"undeclared_identifier", "was not declared in this scope"},
    {"undeclared_identifier", "undeclared identifier"},
    {"undeclared_identifier", "undeclared (first use"},
    {"undeclared_identifier", "has not been declared"},
    {"undeclared_identifier", "does not name a type"},
    {"undeclared_identifier", "unknown type name"},
    {"undeclared_identifier", "no template named"},
    {"undeclared_identifier", "no type named"},
    {"undeclared_identifier", "is undefined"},
    {"undeclared_identifier", "must be a class or namespace name"},
    {"undeclared_identifier", "is not a template"},
    {"type", "cannot convert"},
    {"type", "could not convert"},
    {"type", "invalid conversion"},
    {"type", "cannot initialize"},
    {"type", "no matching "},
    {"type", "no match for"},
    {"type", "no viable"},
    {"type", "invalid operands"},
    {"type", "incompatible"},
    {"type", "too few arguments"},
    {"type", "too many arguments"},
    {"type", "discards qualifiers"},
    {"type", "drops 'const'"},
    {"type", "read-only"},
    {"type", "const-qualified"},
    {"type", "not assignable"},
    {"type", "cannot bind"},
    {"type", "is ambiguous"},
    {"type", "narrowing"},
    {"type", "invalid type"},
    {"type", "incomplete type"},
    {"type", "cannot be used as a function"},
    {"type", "is not a function"},
    {"type", "is not a pointer"},
    {"type", "invalid use of"},
    {"type", "a value of type"},
    {"type", "argument of type"},
    {"type", "no instance of"},
    {"type", "no suitable"},
    {"type", "no operator \""},
    {"type", "expression must"},
    {"type", "call must be configured"},
    {"type", "return value type does not match"},
    {"type", "is not const"},
    {"syntax", "expected "},
    {"syntax", "unrecognized token"},
    {"syntax", "missing closing quote"},
    {"syntax", "Not a name of any known instruction"},
    {"syntax", "Parsing error"},
    {"syntax", "for instruction '"},
    {"syntax", "stray "},
    {"syntax", "unterminated"},
    {"syntax", "missing terminating"},
    {"syntax", "extraneous"},
    {"syntax", "unknown directive"},
    {"syntax", "preprocessing directive"},
    {"syntax", "non-ASCII characters"},
    {"syntax", "unexpected character"},
    {"syntax", "invalid digit"},
    {"syntax", "invalid suffix"},
    {"syntax", "source file is not valid UTF-8"},
});

std::string class_of(std::string_view message) {
  for (const Rule& rule : k_rules)
    if (message.find(rule.text) != std::string_view::npos) return std::string(rule.name);
  return "other";
}

}  // namespace

std::vector<Diagnostic> parse_diagnostics(std::string_view log) {
  std::vector<Diagnostic> found;
  for (const std::string_view line : split_lines(log)) {
    if (found.size() >= k_max_diagnostics) break;
    if (line.empty() || line.front() == ' ') continue;  // quoted source and carets
    try {
      parse_line(std::string(line.substr(0, k_max_line)), found);
    } catch (const std::exception&) {
      // Boost.Regex gives up on lines that would take too long; such a line is in the log anyway.
    }
  }
  return found;
}

std::string classify_refusal(const std::vector<Diagnostic>& diagnostics, std::string_view log) {
  // Ordinary errors often precede a crash without causing it.
  for (const auto& one : diagnostics)
    if (one.severity == "error" && class_of(one.message) == "compiler_crashed") return "compiler_crashed";
  for (const auto& one : diagnostics)
    if (one.severity == "error") return class_of(one.message);
  return class_of(log.substr(0, 1u << 16));
}

}  // namespace v0
}  // namespace kernelgen
