#include "detect/program.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

constexpr std::uint32_t k_no_node = std::numeric_limits<std::uint32_t>::max();

class PythonParser {
 public:
  explicit PythonParser(const Tokens& tokens) : tokens_(tokens) {}

  std::vector<Function> run() && {
    functions_.push_back({});
    functions_.front().tokens = &tokens_;
    for (Position at = 0; at < tokens_.size();) at = line(at);
    while (!open_.empty()) close();
    return std::move(functions_);
  }

 private:
  /// A compound statement that is being read.
  struct Open {
    std::size_t function;  // index of the function that gets its statements
    std::uint32_t node;    // k_no_node for def and class
    std::string_view scope;
    int indent;
    int loops;
  };

  Position line(Position at) {
    const auto kind = tokens_.list[at].kind;
    if (kind == TokenKind::Indent) ++indent_;
    if (kind == TokenKind::Dedent) {
      --indent_;
      while (!open_.empty() && open_.back().indent > indent_) close();
    }
    if (kind == TokenKind::Indent || kind == TokenKind::Dedent || kind == TokenKind::Newline) return at + 1;
    Position end = at;
    while (end < tokens_.size() && tokens_.list[end].kind != TokenKind::Newline) ++end;
    statements({at, end});
    return end;
  }

  void close() {
    const auto& top = open_.back();
    if (top.node != k_no_node) {
      auto& nodes = functions_[top.function].nodes;
      nodes[top.node].last = static_cast<std::uint32_t>(nodes.size());
    }
    open_.pop_back();
  }

  /// The end of the part that begins at `at`: a `separator` outside of brackets, or the end.
  [[nodiscard]] Position part_end(Position at, Position end, std::string_view separator) const {
    while (at < end && !tokens_.is(at, separator)) at = tokens_.after_group(at, end);
    return at;
  }

  void statements(Range range) {
    colon_ = range.begin;
    while (range.begin < range.end) {
      if (tokens_.is(range.begin, "@")) {
        if (decorators_.begin == decorators_.end) decorators_.begin = range.begin;
        decorators_.end = range.end;
        return;
      }
      if (is_compound(range)) {
        const Position colon = header_end(range);
        compound({range.begin, colon});
        if (colon + 1 >= range.end) return;
        const auto depth = open_.size();
        statements_inline({colon + 1, range.end});
        while (open_.size() >= depth && !open_.empty()) close();
        return;
      }
      const Position end = part_end(range.begin, range.end, ";");
      add({range.begin, end}, NodeKind::Plain, LoopKind::None);
      range.begin = end + 1;
    }
  }

  /// The suite after a colon on the same line: simple statements only.
  void statements_inline(Range range) {
    while (range.begin < range.end) {
      const Position end = part_end(range.begin, range.end, ";");
      add({range.begin, end}, NodeKind::Plain, LoopKind::None);
      range.begin = end + 1;
    }
  }

  [[nodiscard]] bool is_compound(Range line) {
    for (const auto* word : {"for", "while", "if", "elif", "else", "def", "class", "with", "try", "except", "finally",
                             "async", "match", "case"}) {
      if (!tokens_.is(line.begin, word)) continue;
      // The next colon of the line, so that each is searched for once.
      if (colon_ <= line.begin) colon_ = part_end(line.begin, line.end, ":");
      return colon_ < line.end;
    }
    return false;
  }

  [[nodiscard]] Position header_end(Range range) const {
    Position colon = range.begin;
    for (bool lambda = false; colon < range.end; colon = tokens_.after_group(colon, range.end)) {
      if (tokens_.is(colon, "lambda")) lambda = true;
      if (!tokens_.is(colon, ":")) continue;
      if (!lambda) break;
      lambda = false;
    }
    return colon;
  }

  void compound(Range header) {
    if (tokens_.is(header.begin, "async")) ++header.begin;
    if (tokens_.is(header.begin, "def")) return define(header);
    Open entry{current(), k_no_node, scope(), indent_ + 1, loops()};
    if (tokens_.is(header.begin, "class")) {
      entry.scope = tokens_.is_name(header.begin + 1) ? tokens_.list[header.begin + 1].text : std::string_view();
      decorators_ = {};
    } else if (tokens_.is(header.begin, "for") || tokens_.is(header.begin, "while")) {
      const auto kind = tokens_.is(header.begin, "for") ? LoopKind::For : LoopKind::While;
      entry.node = add({header.begin + 1, header.end}, NodeKind::Loop, kind);
      ++entry.loops;
    } else if (tokens_.is(header.begin, "with") || tokens_.is(header.begin, "try")) {  // goes straight on
      (void)add({header.begin + 1, header.end}, NodeKind::Plain, LoopKind::None);
    } else {
      entry.node = add({header.begin + 1, header.end}, NodeKind::Branch, LoopKind::None);
    }
    open_.push_back(entry);
  }

  void define(Range header) {
    Function function;
    function.tokens = &tokens_;
    function.name = tokens_.is_name(header.begin + 1) ? tokens_.list[header.begin + 1].text : std::string_view();
    function.scope = scope();
    function.specifiers = decorators_;
    function.line = tokens_.list[header.begin].line;
    decorators_ = {};
    Position at = header.begin + 2;
    if (tokens_.is(at, "(")) {
      const Position end = std::max(tokens_.after_group(at, header.end), at + 2) - 1;
      for (++at; at < end; at = part_end(at, end, ",") + 1) {
        while (tokens_.is(at, "*") || tokens_.is(at, "**")) ++at;
        // Device functions of Triton get values and pointers; they store through the pointers.
        if (tokens_.is_name(at)) function.parameters.push_back({tokens_.list[at].text, false});
      }
    }
    functions_.push_back(std::move(function));
    open_.push_back({functions_.size() - 1, k_no_node, {}, indent_ + 1, 0});
  }

  [[nodiscard]] std::size_t current() const { return open_.empty() ? 0 : open_.back().function; }
  [[nodiscard]] std::string_view scope() const { return open_.empty() ? std::string_view() : open_.back().scope; }
  [[nodiscard]] int loops() const { return open_.empty() ? 0 : open_.back().loops; }

  std::uint32_t add(Range tokens, NodeKind kind, LoopKind loop) {
    auto& nodes = functions_[current()].nodes;
    const auto index = static_cast<std::uint32_t>(nodes.size());
    nodes.push_back(
        {kind, loop, tokens, index + 1, tokens_.list[std::min(tokens.begin, tokens_.size() - 1)].line, loops()});
    return index;
  }

  const Tokens& tokens_;
  std::vector<Function> functions_;
  std::vector<Open> open_;
  Range decorators_;
  int indent_ = 0;
  Position colon_ = 0;
};

}  // namespace

std::vector<Function> parse_python(const Tokens& tokens) { return PythonParser(tokens).run(); }

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
