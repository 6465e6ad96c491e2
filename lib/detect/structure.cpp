#include "detect/structure.hpp"

#include <algorithm>

#include "detect/calls.hpp"
#include "detect/source_texts.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

bool contains(const Tokens& tokens, Range range, std::string_view name) {
  for (Position at = range.begin; at < range.end; ++at)
    if (tokens.is(at, name)) return true;
  return false;
}

/// Whether a grid is literally one: 1, (1,), (1, 1, 1), dim3(1), {1}.
bool is_one(const Tokens& tokens, Range range) {
  bool one = false;
  for (Position at = range.begin; at < range.end; ++at) {
    const auto& token = tokens.list[at];
    if (token.kind == TokenKind::Number && token.text != "1") return false;
    if (token.kind == TokenKind::Name && token.text != "dim3") return false;
    one = one || token.kind == TokenKind::Number;
  }
  return one;
}

/// Far more than any kernel has; the rest of a longer text is left out, to bound the time.
constexpr std::size_t k_max_texts = 1'000;
constexpr std::size_t k_max_functions = 10'000;
constexpr std::size_t k_max_statements = 10'000;  // of a function
constexpr Position k_max_statement = 10'000;      // tokens

void clip(Function& function) {
  if (function.nodes.size() > k_max_statements) function.nodes.resize(k_max_statements);
  const auto count = static_cast<std::uint32_t>(function.nodes.size());
  for (auto& node : function.nodes) {
    node.last = std::min(node.last, count);
    node.tokens.end = std::min(node.tokens.end, node.tokens.begin + k_max_statement);
  }
  while (!function.lambdas.empty() && function.lambdas.back().node >= count) function.lambdas.pop_back();
}

class StructureReader {
 public:
  StructureReader(std::string_view source, Target target, bool all_options)
      : target_(target), all_options_(all_options) {
    read_texts(source);
  }

  Structure run() && {
    const auto count = s_.functions.size();
    s_.function_kinds.assign(count, FunctionKind::Host);
    s_.calls.resize(count);
    for (std::size_t i = 0; i < count; ++i)
      if (auto& functions = s_.meanings[s_.functions[i].name]; functions.size() < k_max_meanings)
        functions.push_back(i);
    read_aliases(s_);
    s_.recursive.assign(count, false);
    for (std::size_t i = 0; i < count; ++i) read_calls(i);
    find_kernels();
    find_reachable();
    for (std::size_t i = 0; i < count; ++i)
      if (s_.function_kinds[i] == FunctionKind::Host) read_launches(i);
    spread_kinds();
    return std::move(s_);
  }

 private:
  void read_texts(std::string_view source) {
    const bool python = target_ == Target::Triton || target_ == Target::Torch;
    auto tokens = python ? lex_python(source, 1) : lex_c(source, 1, all_options_);
    auto texts = inline_texts(tokens, source);
    if (texts.size() > k_max_texts) texts.resize(k_max_texts);
    if (python) read_imports(tokens);
    add(std::move(tokens));
    for (auto& text : texts) {
      s_.sources.push_back(std::move(text.source));
      add(lex_c(s_.sources.back(), text.line));
    }
  }

  void add(Tokens tokens) {
    find_constants(tokens);
    s_.texts.push_back(std::move(tokens));
    const auto& kept = s_.texts.back();
    auto functions = kept.syntax == Syntax::Python ? parse_python(kept) : parse_c(kept);
    const auto room = k_max_functions - std::min(k_max_functions, s_.functions.size());
    if (functions.size() > room) functions.resize(room);
    for (auto& function : functions) clip(function);
    std::move(functions.begin(), functions.end(), std::back_inserter(s_.functions));
  }

  [[nodiscard]] const std::vector<std::size_t>& named(std::string_view name) const {
    static const std::vector<std::size_t> k_none;
    const auto found = s_.meanings.find(name);
    return found == s_.meanings.end() ? k_none : found->second;
  }

  void read_calls(std::size_t index) {
    auto& calls = s_.calls[index];
    const auto& function = s_.functions[index];
    for (const auto& node : function.nodes) {
      for (const auto& call : calls_in(*function.tokens, node.tokens)) {
        const auto& meanings = named(call.name == "apply" && call.first != call.name ? call.first : call.name);
        for (const auto callee : meanings)
          if (callee != index) calls.push_back(callee);
        if (calls_itself(index, call)) s_.recursive[index] = true;
      }
      read_mentions(index, node.tokens);
    }
    std::sort(calls.begin(), calls.end());
    calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
  }

  /// A function that is passed by name may be called: reduce(step, xs).
  void read_mentions(std::size_t index, Range range) {
    const auto& tokens = *s_.functions[index].tokens;
    if (has_jit(s_.functions[index]) || is_device_code(s_.functions[index], "__global__") ||
        is_device_code(s_.functions[index], "__device__"))
      return;
    for (Position at = range.begin; at < range.end; ++at) {
      if (!tokens.is_name(at) || tokens.is(at + 1, "(") || tokens.is(at + 1, "=")) continue;
      if (at > range.begin && tokens.is(at - 1, ".") && !tokens.is(at - 2, "self")) continue;
      for (const auto function : named(tokens.list[at].text))
        if (function != index && !s_.functions[function].name.empty()) s_.calls[index].push_back(function);
    }
  }

  /// self.name, and not self.other.name.
  static bool is_of_self(const Tokens& tokens, Position at) {
    return at > 1 && tokens.is(at - 1, ".") && tokens.is(at - 2, "self") && !(at > 2 && tokens.is(at - 3, "."));
  }

  /// Whether a call by the name of a function of C++ means another one of that name: a kernel that is launched, or one
  /// with as many parameters as there are arguments.
  [[nodiscard]] bool means_another(std::size_t index, const Call& call) const {
    const auto& tokens = *s_.functions[index].tokens;
    if (tokens.syntax != Syntax::CFamily) return false;
    if (tokens.is(call.arguments.begin - 2, ">>>") && !is_device_code(s_.functions[index], "__global__")) return true;
    const auto given = split_tokens(tokens, call.arguments, ",").size();
    if (s_.functions[index].parameters.size() == given) return false;
    const auto& meanings = named(call.name);
    return std::any_of(meanings.begin(), meanings.end(), [&](std::size_t other) {
      return other != index && s_.functions[other].parameters.size() == given;
    });
  }

  [[nodiscard]] bool calls_itself(std::size_t index, const Call& call) const {
    const auto& function = s_.functions[index];
    return !function.name.empty() && call.name == function.name && !means_another(index, call) &&
           (function.scope.empty() ? call.first == call.name : is_of_self(*function.tokens, call.at));
  }

  /// @triton.jit, @jit(...): the decorator's own name, even if an import renames it.
  static bool has_jit(const Function& function) {
    const auto& tokens = *function.tokens;
    for (Position at = function.specifiers.begin; at < function.specifiers.end; ++at) {
      if (!tokens.is(at, "@") || !tokens.is_name(at + 1)) continue;
      Position last = at + 1;
      while (tokens.is(last + 1, ".") && tokens.is_name(last + 2)) last += 2;
      if (is_jit(tokens, at + 1, last)) return true;
    }
    return false;
  }

  static bool is_jit(const Tokens& tokens, Position first, Position last) {
    const auto has = [](const std::vector<std::string_view>& list, std::string_view name) {
      return std::find(list.begin(), list.end(), name) != list.end();
    };
    const auto name = tokens.list[last].text;
    if (first == last) return has(tokens.jit_names, name) && !has(tokens.foreign, name);
    return name == "jit" && !tokens.is(first, "torch") && !tokens.is(first, "numba") && !tokens.is(first, "jax");
  }

  /// kernel = triton.jit(function)
  void read_jit_calls() {
    const auto& tokens = s_.texts.front();
    if (tokens.syntax != Syntax::Python) return;
    for (Position at = 1; at + 2 < tokens.size(); ++at) {
      if (!tokens.is(at, "jit") || !tokens.is(at - 1, ".") || !tokens.is(at + 1, "(") || !tokens.is_name(at + 2))
        continue;
      if (!is_jit(tokens, at - 2, at)) continue;
      for (const auto index : named(tokens.list[at + 2].text))
        if (s_.functions[index].name == tokens.list[at + 2].text) s_.function_kinds[index] = FunctionKind::Kernel;
    }
  }

  [[nodiscard]] bool is_device_code(const Function& function, std::string_view mark) const {
    return function.specifiers.begin < function.specifiers.end && contains(*function.tokens, function.specifiers, mark);
  }

  void find_kernels() {
    read_jit_calls();
    std::vector<bool> called(s_.functions.size(), false);
    for (std::size_t i = 0; i < s_.functions.size(); ++i) {
      const auto& function = s_.functions[i];
      const bool python = function.tokens->syntax == Syntax::Python;
      if (s_.function_kinds[i] == FunctionKind::Kernel) continue;
      if (target_ == Target::Cpp)
        s_.function_kinds[i] = function.name == "kgen_run" ? FunctionKind::Kernel : FunctionKind::Host;
      else if (python ? has_jit(function) : is_device_code(function, "__global__"))
        s_.function_kinds[i] = FunctionKind::Kernel;
      else if (!python && is_device_code(function, "__device__"))
        s_.function_kinds[i] = FunctionKind::DeviceFunction;
      if (python && s_.function_kinds[i] == FunctionKind::Kernel)
        for (const auto callee : s_.calls[i]) called[callee] = true;
    }
    for (std::size_t i = 0; i < s_.functions.size(); ++i)
      if (called[i] && s_.function_kinds[i] == FunctionKind::Kernel)
        s_.function_kinds[i] = FunctionKind::DeviceFunction;
  }

  /// Follows every named function from the class ModelNew of a Python file, or from the ABI's kgen_run.
  void find_reachable() {
    std::vector<std::size_t> queue;
    for (std::size_t i = 0; i < s_.functions.size(); ++i)
      if (s_.functions[i].scope == "ModelNew" || s_.functions[i].name == "kgen_run") queue.push_back(i);
    has_entry_ = !queue.empty();
    s_.reachable.assign(s_.functions.size(), queue.empty());
    for (std::size_t i = 0; i < s_.functions.size() && !queue.empty(); ++i)
      if (s_.functions[i].name.empty() || s_.functions[i].name.substr(0, 5) == "kgen_") queue.push_back(i);
    std::vector<bool> inside(s_.functions.size(), false);
    while (!queue.empty()) {
      const auto at = queue.back();
      queue.pop_back();
      if (inside[at]) continue;
      inside[at] = s_.reachable[at] = true;
      const auto& function = s_.functions[at];
      const auto skipped = find_script_nodes(function);
      for (std::uint32_t node = 0; node < function.nodes.size(); ++node) {
        const auto range = function.nodes[node].tokens;
        if (skipped[node]) continue;
        for (Position p = range.begin; p < range.end; ++p)
          if (function.tokens->list[p].kind == TokenKind::Name)
            for (const auto next : named(function.tokens->list[p].text))
              if (!inside[next]) queue.push_back(next);
      }
    }
  }

  [[nodiscard]] std::size_t kernel_named(std::string_view name) const {
    for (const bool own : {true, false})
      for (const auto index : named(name))
        if (s_.function_kinds[index] != FunctionKind::Host && (!own || s_.functions[index].name == name)) return index;
    return s_.functions.size();
  }

  void read_launches(std::size_t index) {
    const auto& function = s_.functions[index];
    const auto& tokens = *function.tokens;
    if (!s_.reachable[index]) return;
    const auto skipped = find_script_nodes(function);
    for (std::uint32_t node = 0; node < function.nodes.size(); ++node) {
      const Range range = function.nodes[node].tokens;
      if (skipped[node]) continue;
      for (Position at = range.begin; at < range.end; ++at) {
        if (tokens.syntax == Syntax::Python)
          python_launch(index, node, at, range.end);
        else if (tokens.is(at, "<<<"))
          chevron_launch(index, node, at, range);
      }
      for (const auto& call : calls_in(tokens, range)) {
        if (call.name == "replay" || call.name.find("GraphLaunch") != call.name.npos)
          s_.replays.emplace_back(index, node);
        if (tokens.syntax == Syntax::CFamily) api_launch(index, node, call);
      }
    }
  }

  void python_launch(std::size_t index, std::uint32_t node, Position at, Position end) {
    const auto& tokens = *s_.functions[index].tokens;
    if (!tokens.is_name(at)) return;
    const auto name = tokens.list[at].text;
    if (tokens.is(at + 1, "(")) return python_call(index, node, at, end);
    if (tokens.is(at + 1, ".") && tokens.is(at + 2, "run") && tokens.is(at + 3, "("))
      return launch(index, node, name, tokens.list[at].line, {});
    if (!tokens.is(at + 1, "[")) return;
    const Position after = tokens.after_group(at + 1, end);
    if (!tokens.is(after, "(")) return;
    launch(index, node, tokens.list[at].text, tokens.list[at].line, {at + 2, after - 1});
  }

  /// A call of a name for a kernel with its grid, or for a loaded kernel: kernel((grid,), (block,), ...).
  void python_call(std::size_t index, std::uint32_t node, Position at, Position end) {
    const auto& tokens = *s_.functions[index].tokens;
    const auto name = tokens.list[at].text;
    const auto kernel = kernel_named(name);
    if (kernel == s_.functions.size() || s_.functions[kernel].name == name) return;
    const auto after = std::max(tokens.after_group(at + 1, end), at + 3);
    const auto arguments = split_tokens(tokens, {at + 2, after - 1}, ",");
    const bool loaded = s_.functions[kernel].tokens->syntax == Syntax::CFamily && !arguments.empty();
    launch(index, node, name, tokens.list[at].line, loaded ? arguments[0] : Range{});
  }

  void chevron_launch(std::size_t index, std::uint32_t node, Position at, Range range) {
    const auto& tokens = *s_.functions[index].tokens;
    Position name = at;
    int depth = 0;
    // Skips template arguments backwards.
    while (name > range.begin && at - name < k_longest_name) {
      --name;
      if (tokens.is(name, ">")) ++depth;
      if (tokens.is(name, "<"))
        --depth;
      else if (depth == 0 && tokens.is_name(name))
        break;
    }
    const Position end = tokens.launch_end(at, range.end);
    if (end == range.end) return;
    const auto parts = split_tokens(tokens, {at + 1, end}, ",");
    if (!parts.empty() && tokens.is_name(name))
      launch(index, node, tokens.list[name].text, tokens.list[at].line, parts[0]);
  }

  void api_launch(std::size_t index, std::uint32_t node, const Call& call) {
    const bool api = call.name.find("LaunchKernel") != call.name.npos ||
                     call.name.find("LaunchCooperativeKernel") != call.name.npos || call.name == "hipLaunchKernelGGL";
    if (!api) return;
    const auto& tokens = *s_.functions[index].tokens;
    const auto arguments = split_tokens(tokens, call.arguments, ",");
    for (std::size_t i = 0; i < std::min<std::size_t>(arguments.size(), 2); ++i) {
      for (Position at = arguments[i].begin; at < arguments[i].end; ++at) {
        if (!tokens.is_name(at) || kernel_named(tokens.list[at].text) == s_.functions.size()) continue;
        return launch(index, node, tokens.list[at].text, tokens.list[call.at].line,
                      i + 1 < arguments.size() ? arguments[i + 1] : Range{});
      }
    }
  }

  void launch(std::size_t index, std::uint32_t node, std::string_view name, int line, Range grid) {
    const auto kernel = kernel_named(name);
    if (kernel == s_.functions.size()) return;
    s_.launches.push_back({index, node, kernel, line, one_program(index, grid)});
  }

  /// Literally one, or a name that this function sets to one and to nothing else.
  [[nodiscard]] bool one_program(std::size_t index, Range grid) {
    const auto& tokens = *s_.functions[index].tokens;
    if (is_one(tokens, grid)) return true;
    if (grid.end != grid.begin + 1 || !tokens.is_name(grid.begin)) return false;
    if (ones_of_ != index) find_ones(index);
    const auto found = ones_.find(tokens.list[grid.begin].text);
    return found != ones_.end() && found->second;
  }

  /// Finds the names that a function sets to one, and to nothing else.
  void find_ones(std::size_t index) {
    const auto& function = s_.functions[index];
    const auto& tokens = *function.tokens;
    ones_of_ = index;
    ones_.clear();
    for (const auto& node : function.nodes) {
      for (Position at = node.tokens.begin; at + 1 < node.tokens.end; ++at) {
        if (!tokens.is_name(at)) continue;
        Range value{at + 1, node.tokens.end};
        if (tokens.is(at + 1, "="))
          ++value.begin;
        else if (!(tokens.is(at + 1, "(") || tokens.is(at + 1, "{")) || !tokens.is(at - 1, "dim3"))
          continue;
        if (tokens.is(value.begin, "lambda"))
          while (value.begin < value.end && !tokens.is(value.begin++, ":")) {
          }
        constexpr Position k_longest = 32;  // tokens; a longer value is not one
        const bool one = value.end - value.begin <= k_longest && is_one(tokens, value);
        const auto [known, added] = ones_.try_emplace(tokens.list[at].text, one);
        known->second = known->second && one;
      }
    }
  }

  /// Finds the kernels of the launches, or those that the program can reach when no launch is seen; then everything
  /// that they call.
  void spread_kinds() {
    for (std::size_t i = 0; i < s_.functions.size() && has_entry_ && s_.launches.empty(); ++i)
      if (s_.function_kinds[i] == FunctionKind::Kernel && !s_.reachable[i]) s_.function_kinds[i] = FunctionKind::Host;
    if (!s_.launches.empty()) {
      std::vector<bool> mentioned(s_.functions.size(), false);
      for (const auto& launch : s_.launches) mentioned[launch.kernel] = true;
      for (std::size_t i = 0; i < s_.functions.size(); ++i) {
        if (mentioned[i])
          s_.function_kinds[i] = FunctionKind::Kernel;
        else if (s_.function_kinds[i] == FunctionKind::Kernel)
          s_.function_kinds[i] = FunctionKind::DeviceFunction;
      }
    }
    std::vector<std::uint8_t> state(s_.functions.size(), 0);
    std::vector<std::pair<std::size_t, std::size_t>> path;
    for (std::size_t begin = 0; begin < s_.functions.size(); ++begin) {
      if (s_.function_kinds[begin] != FunctionKind::Kernel || state[begin] != 0) continue;
      path.emplace_back(begin, 0);
      state[begin] = 1;
      while (!path.empty()) {
        const auto at = path.back().first;
        if (path.back().second < s_.calls[at].size()) {
          const auto callee = s_.calls[at][path.back().second++];
          if (state[callee] != 0) continue;
          state[callee] = 1;
          if (s_.function_kinds[callee] == FunctionKind::Host) s_.function_kinds[callee] = FunctionKind::DeviceFunction;
          path.emplace_back(callee, 0);
          continue;
        }
        s_.callees_first.push_back(at);
        path.pop_back();
      }
    }
  }

  static constexpr Position k_longest_name = 64;  // tokens, with template arguments
  Target target_;
  bool all_options_;
  Structure s_;
  bool has_entry_ = false;                                         ///< a class ModelNew or a function kgen_run
  std::size_t ones_of_ = std::numeric_limits<std::size_t>::max();  ///< the function that ones_ describes
  std::unordered_map<std::string_view, bool> ones_;
};

}  // namespace

Structure read_structure(std::string_view source, Target target, bool all_options) {
  return StructureReader(source, target, all_options).run();
}

std::vector<bool> find_script_nodes(const Function& function) {
  std::vector<bool> found(function.nodes.size(), false);
  if (!function.name.empty() || function.tokens->syntax != Syntax::Python) return found;
  for (std::uint32_t i = 0; i < function.nodes.size(); ++i) {
    const auto& node = function.nodes[i];
    if (node.kind != NodeKind::Branch || !contains(*function.tokens, node.tokens, "__name__")) continue;
    for (; i + 1 < node.last; ++i) found[i] = true;
    found[i] = true;
  }
  return found;
}

namespace {

bool reads_memory(const Call& call) {
  return call.name.find("atomic") != call.name.npos || call.name == "load" || call.name.substr(0, 2) == "ld";
}

/// while (seen < goal) { seen = load(flag); sleep(); }: whether the body of a loop only reads memory, without other
/// work.
bool only_reads(const Function& function, std::uint32_t loop) {
  const auto& tokens = *function.tokens;
  bool reads = false;
  for (auto node = loop + 1; node < function.nodes[loop].last; ++node) {
    const auto& statement = function.nodes[node];
    if (statement.kind != NodeKind::Plain) return false;
    bool idle = true;
    for (const auto& call : calls_in(tokens, statement.tokens)) {
      reads = reads || reads_memory(call);
      idle = idle && (reads_memory(call) || call.name.find("sleep") != call.name.npos || call.name == "asm");
    }
    if (!idle) return false;
  }
  return reads;
}

}  // namespace

std::vector<BarrierSite> find_barriers(const Function& function) {
  const auto& tokens = *function.tokens;
  std::vector<BarrierSite> sites;
  std::unordered_map<std::string_view, bool> grids;
  for (std::uint32_t node = 0; node < function.nodes.size(); ++node) {
    const auto& statement = function.nodes[node];
    bool grid = false;
    for (const auto* word : {"this_grid", "grid_group", "this_cluster", "cluster_group"})
      grid = grid || contains(tokens, statement.tokens, word);
    for (Position at = statement.tokens.begin; grid && at < statement.tokens.end; ++at)
      if (tokens.is_name(at)) grids[tokens.list[at].text] = true;
    bool waits = false;
    for (const auto& call : calls_in(tokens, statement.tokens)) {
      const bool block = call.name == "__syncthreads" || call.name == "__syncwarp" || call.name == "debug_barrier";
      if (block) sites.push_back({node, tokens.list[call.at].line, call.name, false});
      if (call.name == "sync" || call.name == "barrier_wait") {
        bool all = grids.count(call.first) != 0;
        for (Position at = call.arguments.begin; at < call.arguments.end; ++at)
          all = all || grids.count(tokens.list[at].text) != 0;
        sites.push_back({node, tokens.list[call.at].line, call.name, all});
      }
      waits = waits || reads_memory(call);
    }
    // A loop that does little but read memory until another thread has written it.
    const bool loop = statement.kind == NodeKind::Loop && statement.loop != LoopKind::For;
    if (loop && statement.last <= node + 3 &&
        (waits || contains(tokens, statement.tokens, "*") || contains(tokens, statement.tokens, "[") ||
         only_reads(function, node)))
      sites.push_back({node, statement.line, "spin", true});
  }
  return sites;
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
