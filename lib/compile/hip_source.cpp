#include "compile/hip_source.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "compile/hip_tokens.hpp"
#include "detect/cursor.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::string_view k_no_assembly =
    "static_assert(false, \"inline assembly of a device is not executed on the CPU: this kernel needs an AMD GPU\")";
constexpr std::string_view k_amdgcn_prefix = "__builtin_amdgcn_";
/// Built-in functions of one source that become errors. A source must not become much longer.
constexpr int k_most_refused = 100;

/// Names that g++ lacks, or has in other forms or later: its C++ has _Float16 from version 13 on.
constexpr std::array<std::string_view, 5> k_clang_names{"ext_vector_type", "__ext_vector_type__", "_Float16", "__fp16",
                                                        "__bf16"};
constexpr std::array<std::string_view, 6> k_clang_prefixes{"__builtin_elementwise_", "__builtin_reduce_",
                                                           "__builtin_bitreverse",   "__builtin_rotate",
                                                           "__builtin_masked_",      "__builtin_vectorelements"};

/// Tokens of one launch at most: a source must not make the rewriting of it take long.
constexpr std::size_t k_most_scanned = 4096;

class Rewriter {
 public:
  Rewriter(std::string_view source, const BuiltinNames& builtins)
      : source_(source), tokens_(source), builtins_(builtins) {}

  std::string run() && {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].is_string) continue;
      const auto text = tokens_.text(i);
      if (text == "<<<") {
        rewrite_launch(i);
      } else if (tokens_.is_name(i)) {
        rewrite_name(i, text);
      }
    }
    return apply();
  }

 private:
  struct Edit {
    std::size_t begin;
    std::size_t end;
    std::string text;
  };

  void rewrite_name(std::size_t i, std::string_view text) {
    if (text == "__shared__") return rewrite_shared(i);
    if (text == "asm" || text == "__asm__" || text == "__asm") return refuse_assembly(i);
    if (text == "hipLaunchCooperativeKernel" || text == "hipLaunchKernel") return strip_casts(i);
    if (text == "ext_vector_type") return rewrite_vector_type(i);
    // The standard library writes __attribute__((__noinline__)), so the word cannot be a macro.
    if (text == "__noinline__" && (i == 0 || !tokens_.is(i - 1, "(")))
      return replace(i, i, "__attribute__((noinline))");
    if (text.starts_with(k_amdgcn_prefix) && tokens_.is(i + 1, "(") && !builtins_.contains(text)) refuse_builtin(i);
  }

  /// `kernel<<<grid, block, bytes, stream>>>(arguments)`. A lambda calls the kernel, because the compiler may have to
  /// deduce its template arguments.
  void rewrite_launch(std::size_t open) {
    const auto kernel = begin_of_kernel(open);
    const auto close = end_of_configuration(open);
    if (!kernel || !close) return;
    insert(tokens_[*kernel].begin, "kgen_hip::kgen_kernel([&](auto&... kgen_a) { ");
    replace(open, open, "(kgen_a...); }).kgen_on(");
    replace(*close, *close + 2, ")");
    // A parameter may be a pointer, and the type of NULL is an integer.
    const auto arguments = *close + 3;
    for (std::size_t i = arguments; i < tokens_.partner(arguments) && i < tokens_.size(); ++i)
      if (tokens_.is(i, "NULL")) replace(i, i, "nullptr");
  }

  /// The first token of the expression that ends before `<<<`: ns::kernel<T>, or (kernel<T>).
  [[nodiscard]] std::optional<std::size_t> begin_of_kernel(std::size_t open) const {
    std::size_t at = open;
    while (at > 0) {
      if (tokens_.is(at - 1, ">")) {
        const auto angle = begin_of_template_arguments(at - 1);
        if (!angle || *angle == 0) return std::nullopt;
        at = *angle;
      }
      if (tokens_.is(at - 1, ")") && tokens_.partner(at - 1) < at - 1) {
        at = tokens_.partner(at - 1);
        if (at == 0 || !tokens_.is_name(at - 1)) return at;
      }
      if (!tokens_.is_name(at - 1)) return std::nullopt;
      --at;
      if (at == 0 || !(tokens_.is(at - 1, "::") || tokens_.is(at - 1, "."))) return at;
      --at;
      if (at == 0 || !(tokens_.is_name(at - 1) || tokens_.is(at - 1, ">"))) return at;
    }
    return std::nullopt;
  }

  /// The `<` of template arguments that end at `close`.
  [[nodiscard]] std::optional<std::size_t> begin_of_template_arguments(std::size_t close) const {
    int depth = 0;
    for (std::size_t at = close + 1; at-- > 0 && close - at < k_most_scanned;) {
      if (tokens_.is(at, ">")) ++depth;
      if (tokens_.is(at, ")") || tokens_.is(at, "]")) {
        if (tokens_.partner(at) > at) return std::nullopt;
        at = tokens_.partner(at);
      }
      if (tokens_.is(at, "<") && --depth == 0) return at;
      if (tokens_.is(at, ";") || tokens_.is(at, "{") || tokens_.is(at, "}")) return std::nullopt;
    }
    return std::nullopt;
  }

  /// The first of the three `>` that end a configuration: the last ones before the arguments.
  [[nodiscard]] std::optional<std::size_t> end_of_configuration(std::size_t open) const {
    for (std::size_t at = open + 1; at + 3 < tokens_.size() && at < open + k_most_scanned; ++at) {
      if (tokens_.is(at, ";") || tokens_.is(at, "}") || tokens_[at].directive != tokens_[open].directive)
        return std::nullopt;
      if ((tokens_.is(at, "(") || tokens_.is(at, "[") || tokens_.is(at, "{")) && tokens_.partner(at) < tokens_.size())
        at = tokens_.partner(at);
      if (is_end_of_launch(at)) return at;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool is_end_of_launch(std::size_t at) const {
    for (std::size_t i = at; i < at + 3; ++i)
      if (!tokens_.is(i, ">") || (i > at && tokens_[i].begin != tokens_[i - 1].end)) return false;
    return tokens_.is(at + 3, "(");
  }

  /// A variable of the block: dynamic memory when it is `extern`, else one of a size that the scheduler is told.
  void rewrite_shared(std::size_t shared) {
    std::size_t begin = shared;
    bool is_extern = false;
    while (begin > 0 && is_part_of_declaration(begin - 1, shared))
      is_extern = tokens_.is(--begin, "extern") || is_extern;
    // One declaration is rewritten once, so that no source makes much more text than it has.
    if (shared < end_of_shared_) return;
    std::size_t end = shared;
    while (end < tokens_.size() && !tokens_.is(end, ";")) end = next(end);
    end_of_shared_ = end;
    if (end >= tokens_.size() || tokens_[end].directive != tokens_[shared].directive) return;
    if (is_extern) return rewrite_dynamic(begin, end);
    // __shared__ is a keyword here, behind which C++ takes an attribute but no alignas.
    for (auto at = shared + 1; at < end; at = next(at))
      if (tokens_.is(at, "alignas")) replace(at, at, "__align__");
    if (!tokens_.is_in_function(shared) || tokens_[shared].directive != 0) return;
    std::string names;
    for (const auto name : declared_names(shared + 1, end)) {
      names += names.empty() ? "" : ", ";
      names += tokens_.text(name);
    }
    if (!names.empty()) insert(tokens_[end].end, " kgen_hip::note_lds(" + names + ");");
  }

  /// True for a word or an attribute that stands before `__shared__` in its declaration.
  [[nodiscard]] bool is_part_of_declaration(std::size_t at, std::size_t shared) const {
    return tokens_[at].directive == tokens_[shared].directive && tokens_.is_name(at) &&
           (tokens_.is(at, "extern") || tokens_.is(at, "static") || tokens_.is(at, "volatile"));
  }

  /// The token after a bracket group, or the next one.
  [[nodiscard]] std::size_t next(std::size_t at) const {
    const bool opens = tokens_.is(at, "(") || tokens_.is(at, "[") || tokens_.is(at, "{");
    return opens && tokens_.partner(at) < tokens_.size() ? tokens_.partner(at) + 1 : at + 1;
  }

  [[nodiscard]] bool is_attribute(std::size_t at) const {
    return tokens_.is(at, "__align__") || tokens_.is(at, "alignas") || tokens_.is(at, "__attribute__");
  }

  /// The names that a declaration introduces: those before a bound, an initializer, a comma or the end.
  [[nodiscard]] std::vector<std::size_t> declared_names(std::size_t begin, std::size_t end) const {
    std::vector<std::size_t> names;
    int angles = 0;
    for (std::size_t at = begin; at < end; at = next(at)) {
      if (tokens_.is(at, "<")) ++angles;
      if (tokens_.is(at, ">")) --angles;
      if (!tokens_.is_name(at) || angles > 0 || at == begin) continue;
      const bool is_tag = tokens_.is(at - 1, "struct") || tokens_.is(at - 1, "union") || tokens_.is(at - 1, "class");
      for (const std::string_view follows : {"[", ",", ";", "=", "{"})
        if (!is_tag && tokens_.is(at + 1, follows)) names.push_back(at);
    }
    return names;
  }

  /// `extern __shared__ T name[];` from `begin` to its semicolon.
  void rewrite_dynamic(std::size_t begin, std::size_t end) {
    std::string type;
    std::size_t name = tokens_.size();
    for (std::size_t at = begin; at < end; ++at) {
      if (is_attribute(at)) {
        at = next(at + 1) - 1;
      } else if (tokens_.is(at, "[")) {
        break;
      } else if (!tokens_.is(at, "extern") && !tokens_.is(at, "__shared__")) {
        if (name < tokens_.size()) type += std::string(tokens_.text(name)) + ' ';
        name = at;
      }
    }
    if (name >= tokens_.size() || type.empty() || !tokens_.is_name(name)) return;
    const auto variable = std::string(tokens_.text(name));
    replace(begin, end,
            tokens_.is_in_function(begin) || tokens_[begin].directive != 0
                ? type + "* const " + variable + " = kgen_hip::dynamic_lds<" + type + ">();"
                : "static kgen_hip::DynamicArray<" + type + "> " + variable + ";");
  }

  /// Assembly without text orders memory accesses, and may stay.
  void refuse_assembly(std::size_t at) {
    auto open = at + 1;
    while (tokens_.is_name(open)) ++open;
    if (!tokens_.is(open, "(") || tokens_.partner(open) >= tokens_.size()) return;
    const bool is_empty =
        tokens_.text(open + 1) == "\"\"" && !(open + 2 < tokens_.size() && tokens_[open + 2].is_string);
    if (!is_empty) replace(at, tokens_.partner(open), k_no_assembly);
  }

  /// A function in its place fails when it is called, with a message that names it. What it would return is unknown.
  void refuse_builtin(std::size_t at) {
    if (++refused_ > k_most_refused) return;
    replace(at, at,
            "[](auto... kgen_a) { static_assert(kgen_hip::k_never<decltype(kgen_a)...>, \"" +
                std::string(tokens_.text(at)) +
                " is not executed on the CPU: this kernel needs an AMD GPU\"); return kgen_hip::Anything(); }");
  }

  /// The kernel of a launch by address, without casts to void pointers: a type says which parameters it has.
  void strip_casts(std::size_t function) {
    const auto open = function + 1;
    if (!tokens_.is(open, "(")) return;
    auto at = open + 1;
    if (tokens_.is(at, "(") && is_void_pointer(at + 1, tokens_.partner(at))) {
      replace(at, tokens_.partner(at), "");
    } else if (tokens_.is(at, "reinterpret_cast") || tokens_.is(at, "static_cast")) {
      auto close = at + 1;
      while (close < tokens_.size() && !tokens_.is(close, ">")) ++close;
      if (is_void_pointer(at + 2, close)) replace(at, close, "");
    }
  }

  [[nodiscard]] bool is_void_pointer(std::size_t begin, std::size_t end) const {
    if (end >= tokens_.size()) return false;
    begin += tokens_.is(begin, "const") ? 1 : 0;
    return tokens_.is(begin, "void") && tokens_.is(begin + 1, "*") && begin + 2 == end;
  }

  /// `typedef T name __attribute__((ext_vector_type(N)))`, `using name = T __attribute__((...))` and
  /// `using name = __attribute__((...)) T`. g++ has to know the size of T.
  void rewrite_vector_type(std::size_t at) {
    std::size_t attribute = at;
    while (attribute > 0 && !tokens_.is(attribute, "__attribute__")) --attribute;
    const auto count = at + 1;
    if (!tokens_.is(attribute + 1, "(") || !tokens_.is(count, "(") || tokens_.partner(count) >= tokens_.size()) return;
    std::size_t first = attribute;
    while (first > 0 && !is_end_of_statement(first - 1)) --first;
    std::string_view type;
    if (tokens_.is(first, "typedef") && attribute >= first + 3) {
      type = tokens_.between(first + 1, attribute - 2);
    } else if (tokens_.is(first, "using") && attribute > first + 3) {
      type = tokens_.between(first + 3, attribute - 1);
    } else if (const auto close = tokens_.partner(attribute + 1); close + 1 < tokens_.size()) {
      auto last = close + 1;
      while (last + 1 < tokens_.size() && !is_end_of_statement(last + 1)) ++last;
      // `typedef __attribute__((...)) T name`.
      if (tokens_.is(first, "typedef") && last > close + 1) --last;
      type = tokens_.between(close + 1, last);
    }
    if (type.empty()) return;
    const auto number = tokens_.between(count, tokens_.partner(count));
    replace(at, tokens_.partner(count), "KGEN_HIP_VECTOR_TYPE(" + std::string(number) + ", " + std::string(type) + ")");
  }

  [[nodiscard]] bool is_end_of_statement(std::size_t at) const {
    return tokens_.is(at, ";") || tokens_.is(at, "{") || tokens_.is(at, "}");
  }

  void insert(std::size_t place, std::string text) { edits_.push_back({place, place, std::move(text)}); }

  /// Replaces the tokens from `first` to `last`. Line ends among them stay.
  void replace(std::size_t first, std::size_t last, std::string_view text) {
    std::string replacement(text);
    for (auto place = tokens_[first].begin; place < tokens_[last].end; ++place)
      if (source_[place] == '\n') replacement += tokens_[first].directive != 0 ? "\\\n" : "\n";
    edits_.push_back({tokens_[first].begin, tokens_[last].end, std::move(replacement)});
  }

  /// The text with all edits. An edit inside a replaced part is dropped.
  std::string apply() {
    std::stable_sort(edits_.begin(), edits_.end(), [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
    std::string result;
    std::size_t done = 0;
    for (const auto& edit : edits_) {
      if (edit.begin < done) continue;
      result += source_.substr(done, edit.begin - done);
      result += edit.text;
      done = edit.end;
    }
    return result += source_.substr(done);
  }

  std::string_view source_;
  HipTokens tokens_;
  const BuiltinNames& builtins_;
  std::vector<Edit> edits_;
  int refused_ = 0;
  /// The end of the declaration of shared memory that was rewritten last.
  std::size_t end_of_shared_ = 0;
};

}  // namespace

std::string rewrite_hip_for_cpu(std::string_view source, const BuiltinNames& builtins) {
  return Rewriter(source, builtins).run();
}

BuiltinNames find_amdgcn_builtins(std::string_view text) {
  BuiltinNames names;
  for (auto at = text.find(k_amdgcn_prefix); at != text.npos; at = text.find(k_amdgcn_prefix, at + 1)) {
    auto end = at;
    while (end < text.size() && detect::is_name_part(text[end])) ++end;
    names.emplace(text.substr(at, end - at));
  }
  return names;
}

std::optional<std::string> find_clang_extension(std::string_view source) {
  const HipTokens tokens(source);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens.is_name(i)) continue;
    const auto name = tokens.text(i);
    const auto begins_name = [&](std::string_view prefix) { return name.starts_with(prefix); };
    if (std::find(k_clang_names.begin(), k_clang_names.end(), name) != k_clang_names.end() ||
        std::any_of(k_clang_prefixes.begin(), k_clang_prefixes.end(), begins_name))
      return std::string(name);
  }
  return std::nullopt;
}

}  // namespace v0
}  // namespace kernelgen
