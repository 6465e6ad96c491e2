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

/// Wordings that mean one class of refusal.
struct RefusalClass {
  std::string_view name;
  boost::regex wordings;
};

/// Classes of refusals with the wordings of g++ 9 to 14, clang 11 to 19, and nvcc 12 and 13. A message that fits
/// several classes belongs to the first: what the tools themselves lack comes before what is wrong with the source, and
/// a message that names a cause ("redeclared") before one that names a place ("expected").
const std::vector<RefusalClass>& refusal_classes() {
  static const std::vector<RefusalClass> classes{
      {"compiler_crashed",
       boost::regex("internal compiler error|Killed signal terminated program|unable to execute command"
                    "|frontend command failed|virtual memory exhausted|out of memory allocating|died due to signal"
                    "|Memory allocation failure")},
      // The headers of kernelgen say this.
      {"unsupported", boost::regex("is not executed on the CPU")},
      {"resource:shared_memory", boost::regex("uses too much shared data|too much shared memory")},
      {"resource:registers", boost::regex("registers needed to compile|has register count|exceeds specified max reg"
                                          "|too many active live ranges")},
      {"link:undefined_symbol", boost::regex("[Uu]ndefined reference to|undefined symbol: |Unresolved extern")},
      {"missing_header", boost::regex("No such file or directory|file not found|cannot open source file")},
      {"host_function", boost::regex("calling a (constexpr )?__host__ function")},
      {"redefinition",
       boost::regex("multiple definition of|has already been (defined|declared)|is incompatible with previous"
                    "|redefinition of|redeclaration of|redeclared|conflicting (declaration|types)"
                    "|ambiguating new declaration|cannot be overloaded")},
      {"no_member", boost::regex("no member named|is not a member of|has no member \"")},
      {"undeclared_identifier",
       boost::regex("was not declared in this scope|undeclared identifier|undeclared \\(first use|has not been declared"
                    "|does not name a type|unknown type name|no (template|type) named|is undefined"
                    "|must be a class or namespace name|is not a template")},
      {"type",
       boost::regex(
           "cannot convert|could not convert|invalid (conversion|operands|type|use of)|cannot initialize"
           "|no (matching |match for|viable|instance of|suitable|operator \")|incompatible|too (few|many) arguments"
           "|discards qualifiers|drops 'const'|read-only|const-qualified|not assignable|cannot bind"
           "|is ambiguous|narrowing|incomplete type|cannot be used as a function|is not a (function|pointer)"
           "|(a value|argument) of type|expression must|call must be configured"
           "|return value type does not match|is not const")},
      {"syntax", boost::regex("expected |unrecognized token|missing closing quote|Not a name of any known instruction"
                              "|Parsing error|for instruction '|stray |unterminated|missing terminating|extraneous"
                              "|unknown directive|preprocessing directive|non-ASCII characters|unexpected character"
                              "|invalid (digit|suffix)|source file is not valid UTF-8")},
  };
  return classes;
}

std::string class_of(std::string_view message) {
  const auto& classes = refusal_classes();
  const auto found = std::find_if(classes.begin(), classes.end(), [&](const RefusalClass& one) {
    return boost::regex_search(message.begin(), message.end(), one.wordings);
  });
  return found == classes.end() ? "other" : std::string(found->name);
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
