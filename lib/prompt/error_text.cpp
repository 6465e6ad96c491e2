#include "prompt/error_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_max_lines = 12;
constexpr std::size_t k_max_line = 400;
constexpr std::size_t k_max_reason = 4000;
constexpr std::size_t k_max_note_lines = 12;
constexpr std::size_t k_max_errors = 4;
// More lines than any real kernel has.
constexpr std::size_t k_max_link_lines = 4096;
constexpr std::string_view k_caused_by = "caused by ";

/// Takes the first line off `text`, without a list, because a text may have a million empty lines.
std::string_view take_line(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  auto line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

void keep(std::vector<std::string>& lines, std::string_view line) {
  if (lines.size() < k_max_lines && !trim(line).empty()) lines.emplace_back(line.substr(0, k_max_line));
}

/// A place in the candidate's file: "  line 24, in forward: kernel[grid](x)".
bool is_place(std::string_view line) {
  return line.starts_with("  line ") && line.size() > 7 && std::isdigit(static_cast<unsigned char>(line[7])) != 0;
}

std::string_view code_of_place(std::string_view line) {
  const auto colon = line.find(": ");
  return colon == line.npos ? std::string_view() : line.substr(colon + 2);
}

/// A line with nothing but the mark below a quoted source line.
bool is_caret(std::string_view line) {
  line = trim(line);
  return !line.empty() && line.front() == '^' && line.find_first_not_of("^~") == line.npos;
}

/// "CompilationError: at 7:8:" of "a call failed: CompilationError: at 7:8:"; the type ends with the first colon.
std::string_view without_step(std::string_view line) {
  constexpr std::string_view k_failed = "failed: ";
  constexpr std::size_t k_longest_step = 40;
  const auto found = line.find(k_failed);
  return found < k_longest_step ? line.substr(found + k_failed.size()) : line;
}

bool is_type_name(std::string_view text) {
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) != 0 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

/// "at 7:8:" begins a quotation of the kernel.
bool is_position(std::string_view text) {
  return text.starts_with("at ") && text.size() > 3 && std::isdigit(static_cast<unsigned char>(text[3])) != 0;
}

/// One exception of a chain: its own lines, without the places in the candidate.
struct Link {
  std::string type;
  std::string reason;
  std::string kernel_code;
  bool in_kernel = false;
  std::vector<std::string_view> lines;
};

Link read_link(const std::vector<std::string_view>& lines) {
  Link link;
  if (lines.empty()) return link;
  const auto first = without_step(lines.front());
  const auto colon = first.find(':');
  if (colon != first.npos && is_type_name(first.substr(0, colon))) link.type = std::string(first.substr(0, colon));
  const auto message = link.type.empty() ? first : trim(first.substr(colon + 1));
  const auto caret = std::find_if(lines.begin(), lines.end(), is_caret);
  link.in_kernel = is_position(message);
  if (link.type == "CompilationError" && !link.in_kernel) {
    // A kernel without a place: its source, a blank line, the reason.
    auto blank = std::find_if(lines.rbegin(), lines.rend(), [](auto line) { return trim(line).empty(); }).base();
    for (auto line = blank == lines.begin() ? lines.end() : blank; line != lines.end(); ++line) {
      link.reason.append(link.reason.empty() ? "" : "\n").append(*line);
      link.lines.push_back(*line);
    }
    if (!link.reason.empty()) return link;
  }
  if (!link.in_kernel || caret == lines.end()) {
    link.reason = std::string(first);
    link.lines.push_back(lines.front());
    for (std::size_t i = 1; i < lines.size() && !link.in_kernel; ++i) {
      link.reason.append("\n").append(lines[i]);
      link.lines.push_back(lines[i]);
    }
    return link;
  }
  link.lines.push_back(lines.front());
  if (caret != lines.begin()) {
    const auto quoted = *(caret - 1);
    const auto column = caret->find('^');
    link.kernel_code = std::string(column < quoted.size() ? quoted.substr(column) : trim(quoted));
    link.lines.push_back(quoted);
  }
  link.lines.push_back(*caret);
  for (auto line = caret + 1; line != lines.end(); ++line) {
    if (!link.reason.empty()) link.reason.push_back('\n');
    link.reason.append(*line);
    link.lines.push_back(*line);
  }
  return link;
}

/// Where the message begins after "f.cu(3): error: ", "f.cpp:3:5: fatal error: ", "ptxas error   : ", "/tmp/x.s:34:
/// Error: "; npos for a line without an error.
std::size_t begin_of_error(std::string_view line) {
  static constexpr auto k_marks = std::to_array<std::string_view>(
      {": error: ", ": fatal error: ", ": catastrophic error: ", ": internal error: ", ": internal compiler error: ",
       ": sorry, unimplemented: ", "; error   : ", "; fatal   : ", ": Error: ", "ptxas error   : ", "ptxas fatal   : ",
       "nvlink error   : ", "nvlink fatal   : ", "nvcc fatal   : ", "cicc error   : ", "ld.lld: error: ",
       "lld: error: "});
  // A place and a severity precede the message; anything longer is data.
  const auto head = line.substr(0, k_max_line * 4);
  std::size_t begin = head.npos;
  for (const auto mark : k_marks) {
    const auto found = head.find(mark);
    if (found != head.npos) begin = std::min(begin, found + mark.size());
  }
  if (begin != head.npos) return begin;
  if (head.starts_with("error: ")) return 7;
  if (head.starts_with("LLVM ERROR: ")) return 12;
  for (const std::string_view words : {"undefined reference to ", "undefined symbol: ", "multiple definition of ",
                                       "cannot find -l", "relocation R_"}) {
    const auto found = head.find(words);
    if (found != head.npos) return found;
  }
  return head.npos;
}

/// Lines that only summarize earlier ones.
bool is_summary(std::string_view message) {
  for (const std::string_view words :
       {"ld returned", "linker command failed", "Ptx assembly aborted", "command failed due to signal",
        "clang frontend command failed", "too many errors emitted"})
    if (contains(message, words)) return true;
  return false;
}

std::string plain_quotes(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto mark = text.substr(i, 3);
    if (mark == "\xe2\x80\x98" || mark == "\xe2\x80\x99") {
      plain.push_back('\'');
      i += 2;
    } else {
      plain.push_back(text[i]);
    }
  }
  return plain;
}

/// Lines of gas, ptxas, and clang's own assembler.
bool is_of_assembler(std::string_view line) {
  const auto head = line.substr(0, k_max_line * 4);
  return contains(head, ": Error: ") || contains(head, "; error   : ") || contains(head, "; fatal   : ") ||
         head.starts_with("ptxas ") || head.starts_with("<inline asm>:") ||
         contains(head, "instantiated into assembly here");
}

/// The source's line and its mark, in the ways that g++, clang and nvcc show them. clang does not indent the line,
/// which comes right after the message.
bool is_quotation(std::string_view line, bool after_error) {
  if (line.starts_with(" ") || is_caret(line)) return true;
  return after_error && !contains(line, ": ") && !contains(line, " generated") && !contains(line, "compilation ");
}

}  // namespace

PythonFailure read_python_failure(std::string_view text) {
  PythonFailure failure;
  std::vector<std::vector<std::string_view>> chain(1);
  std::vector<std::string_view> places;
  text = text.substr(0, k_max_text);
  while (!text.empty()) {
    const auto line = take_line(text);
    if (line.starts_with(k_caused_by)) {
      chain.push_back({line.substr(k_caused_by.size())});
    } else if (is_place(line)) {
      places.push_back(line);
    } else if (chain.back().size() < k_max_link_lines) {
      chain.back().push_back(line);
    }
  }
  if (!places.empty()) failure.candidate_line = std::string(code_of_place(places.back()));
  // The innermost exception with a reason decides: the outer ones only tell where it was called from.
  for (std::size_t i = 0; i < chain.size(); ++i) {
    auto link = read_link(chain[i]);
    if (i == 0) failure.type = link.type;
    failure.in_kernel = failure.in_kernel || link.in_kernel;
    if (!link.kernel_code.empty()) failure.kernel_code = std::move(link.kernel_code);
    if (trim(link.reason).empty()) continue;
    failure.reason = link.reason.substr(0, k_max_reason);
    failure.lines.clear();
    for (const auto line : link.lines) keep(failure.lines, line);
  }
  for (const std::string_view type : {"InterpreterError", "CompilationError", "UnsupportedLanguageConstruct"})
    failure.in_kernel = failure.in_kernel || failure.type == type;
  if (!places.empty()) keep(failure.lines, places.back());
  return failure;
}

CompilerFailure read_compiler_failure(std::string_view log) {
  CompilerFailure failure;
  std::size_t errors = 0;
  std::size_t notes = 0;
  std::size_t quoted = 0;
  bool after_error = false;
  log = log.substr(0, k_max_text);
  while (!log.empty()) {
    const auto line = take_line(log);
    const auto begin = begin_of_error(line);
    const bool quotes = begin == line.npos && is_quotation(line, after_error);
    after_error = begin != line.npos;
    if (begin != line.npos && !is_summary(line)) {
      ++errors;
      const auto message = plain_quotes(trim(line.substr(begin, k_max_line)));
      if (errors == 1) {
        failure.reason = message;
      } else if (errors <= 2 * k_max_errors) {
        failure.others.append(message).push_back('\n');
      }
      if (errors <= k_max_errors) keep(failure.lines, line);
      quoted = 0;
    } else if (errors > 0 && errors <= k_max_errors && quoted < 2 && quotes) {
      keep(failure.lines, line);
      ++quoted;
    }
    if (errors == 1 && quoted < 3) {
      failure.by_assembler = failure.by_assembler || is_of_assembler(line);
      if (quotes && failure.code.size() < k_max_reason) failure.code.append(line.substr(0, k_max_line)).push_back('\n');
    }
    if (begin == line.npos && errors == 1 && notes < k_max_note_lines) {
      failure.notes.append(plain_quotes(line.substr(0, k_max_line))).push_back('\n');
      ++notes;
    }
  }
  return failure;
}

}  // namespace v0
}  // namespace kernelgen
