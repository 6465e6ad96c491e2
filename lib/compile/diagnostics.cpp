#include "compile/diagnostics.hpp"

#include <algorithm>
#include <array>
#include <boost/regex.hpp>
#include <charconv>
#include <exception>

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
  return "error";  // "fatal error", "sorry, unimplemented", "internal compiler error"
}

/// "f.cpp:3:5: error: ...", with and without column.
const boost::regex& located_line() {
  static const boost::regex pattern(
      R"(^([^:\s][^:]*):(\d{1,9}):(?:(\d{1,9}):)? (fatal error|error|warning|note|sorry, unimplemented|internal compiler error): (.*)$)");
  return pattern;
}

/// "c++: fatal error: ...", "clang: error: ...", "cc1plus: ..." and "ld.lld: error: ...": no place in the source.
const boost::regex& tool_line() {
  static const boost::regex pattern(R"(^([\w.+/-]+): (fatal error|error|warning|internal compiler error): (.*)$)");
  return pattern;
}

/// What ld writes before its message varies: the tool, the object file, a section.
const boost::regex& linker_line() {
  static const boost::regex pattern(
      R"((undefined reference to .*|undefined symbol: .*|multiple definition of .*|cannot find -l.*)$)");
  return pattern;
}

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(), [&](auto start) { return text.substr(0, start.size()) == start; });
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
  } else if (boost::regex_match(line, match, tool_line())) {
    // These only sum up what was said before.
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

// The first rule that fits decides; wordings of g++ 9 to 14 and clang 11 to 19.
constexpr auto k_rules = std::to_array<Rule>({
    {"compiler_crashed", "internal compiler error"},
    {"compiler_crashed", "Killed signal terminated program"},
    {"compiler_crashed", "unable to execute command"},
    {"compiler_crashed", "frontend command failed"},
    {"compiler_crashed", "virtual memory exhausted"},
    {"compiler_crashed", "out of memory allocating"},
    {"link:undefined_symbol", "undefined reference to"},
    {"link:undefined_symbol", "undefined symbol: "},
    {"redefinition", "multiple definition of"},
    {"missing_header", "No such file or directory"},
    {"missing_header", "file not found"},
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
    {"undeclared_identifier", "was not declared in this scope"},
    {"undeclared_identifier", "undeclared identifier"},
    {"undeclared_identifier", "undeclared (first use"},
    {"undeclared_identifier", "has not been declared"},
    {"undeclared_identifier", "does not name a type"},
    {"undeclared_identifier", "unknown type name"},
    {"undeclared_identifier", "no template named"},
    {"undeclared_identifier", "no type named"},
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
    {"syntax", "expected "},
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
  // A crash is often preceded by ordinary errors, and follows from none of them.
  for (const auto& one : diagnostics)
    if (one.severity == "error" && class_of(one.message) == "compiler_crashed") return "compiler_crashed";
  for (const auto& one : diagnostics)
    if (one.severity == "error") return class_of(one.message);
  return class_of(log.substr(0, 1u << 16));
}

}  // namespace v0
}  // namespace kernelgen
