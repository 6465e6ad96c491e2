#include "detect/structure.hpp"

#include <algorithm>

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

bool contains(const Tokens& tokens, Range range, std::string_view name) {
  for (Position at = range.begin; at < range.end; ++at)
    if (tokens.is(at, name)) return true;
  return false;
}

/// A literal grid of one: 1, (1,), (1, 1, 1), dim3(1), {1}.
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

class StructureReader {
 public:
  StructureReader(std::string_view source, Target target) : target_(target) { read_texts(source); }

  Structure run() && {
    const auto count = s_.functions.size();
    s_.roles.assign(count, Role::Host);
    s_.calls.resize(count);
    for (std::size_t i = 0; i < count; ++i) s_.meanings[s_.functions[i].name].push_back(i);
    read_aliases();
    for (std::size_t i = 0; i < count; ++i) read_calls(i);
    find_kernels();
    for (std::size_t i = 0; i < count; ++i)
      if (s_.roles[i] == Role::Host) read_launches(i);
    spread_roles();
    return std::move(s_);
  }

 private:
  void read_texts(std::string_view source) {
    const bool python = target_ == Target::Triton || target_ == Target::Torch;
    add(python ? lex_python(source, 1) : lex_c(source, 1));
    if (!python) return;
    const auto strings = s_.texts.front().list;
    for (const auto& token : strings) {
      const bool device_code =
          token.kind == TokenKind::String && token.text.find('{') != token.text.npos &&
          (token.text.find("__global__") != token.text.npos || token.text.find("<<<") != token.text.npos);
      if (device_code) add(lex_c(token.text, token.line));
    }
  }

  void add(Tokens tokens) {
    s_.texts.push_back(std::move(tokens));
    const auto& kept = s_.texts.back();
    auto functions = kept.language == Language::Python ? parse_python(kept) : parse_c(kept);
    std::move(functions.begin(), functions.end(), std::back_inserter(s_.functions));
  }

  [[nodiscard]] const std::vector<std::size_t>& named(std::string_view name) const {
    static const std::vector<std::size_t> k_none;
    const auto found = s_.meanings.find(name);
    return found == s_.meanings.end() ? k_none : found->second;
  }

  /// Other names of functions: an object of a class stands for its forward, m.def("name", &function) for the function.
  void read_aliases() {
    std::unordered_map<std::string_view, std::vector<std::size_t>> classes;
    for (std::size_t i = 0; i < s_.functions.size(); ++i) {
      const auto& function = s_.functions[i];
      if (!function.scope.empty() && (function.name == "forward" || function.name == "__call__"))
        classes[function.scope].push_back(i);
    }
    for (const auto& tokens : s_.texts) {
      for (Position at = 0; at + 2 < tokens.size(); ++at) {
        if (tokens.is(at, "def") && tokens.is(at + 1, "(") && tokens.list[at + 2].kind == TokenKind::String) {
          const Position end = tokens.after_group(at + 1, tokens.size());
          for (Position p = at + 3; p < end; ++p)
            if (tokens.is_name(p) && s_.meanings.count(tokens.list[p].text) != 0)
              alias(tokens.list[at + 2].text, named(tokens.list[p].text));
        }
        if (!tokens.is_name(at) || !tokens.is(at + 1, "=") || !tokens.is_name(at + 2)) continue;
        Position value = at + 2;
        const auto found = classes.find(tokens.list[value].text);
        if (found != classes.end()) alias(tokens.list[at].text, found->second);
        if (tokens.list[at].text != tokens.list[value].text)
          kernel_aliases_[tokens.list[at].text] = tokens.list[value].text;
      }
    }
    for (const auto& [name, functions] : classes) alias(name, functions);
  }

  void alias(std::string_view name, const std::vector<std::size_t>& functions) {
    // The list may move when the name is a new one, and `functions` may lie in another name's list.
    const auto copy = functions;  // NOLINT(performance-unnecessary-copy-initialization)
    auto& list = s_.meanings[name];
    for (const auto function : copy)
      if (list.size() < k_max_meanings && std::find(list.begin(), list.end(), function) == list.end())
        list.push_back(function);
  }

  void read_calls(std::size_t index) {
    auto& calls = s_.calls[index];
    const auto& function = s_.functions[index];
    for (const auto& node : function.nodes) {
      for (const auto& call : calls_in(*function.tokens, node.tokens)) {
        const auto& meanings = named(call.name == "apply" && call.first != call.name ? call.first : call.name);
        for (std::size_t i = 0; i < std::min(meanings.size(), k_max_meanings); ++i)
          if (meanings[i] != index) calls.push_back(meanings[i]);
      }
    }
    std::sort(calls.begin(), calls.end());
    calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
  }

  [[nodiscard]] bool is_device_code(const Function& function, std::string_view mark) const {
    return function.specifiers.begin < function.specifiers.end && contains(*function.tokens, function.specifiers, mark);
  }

  void find_kernels() {
    std::vector<bool> called(s_.functions.size(), false);
    for (std::size_t i = 0; i < s_.functions.size(); ++i) {
      const auto& function = s_.functions[i];
      const bool python = function.tokens->language == Language::Python;
      if (target_ == Target::Cpp)
        s_.roles[i] = function.name == "kgen_run" ? Role::Kernel : Role::Host;
      else if (is_device_code(function, python ? "jit" : "__global__"))
        s_.roles[i] = Role::Kernel;
      else if (!python && is_device_code(function, "__device__"))
        s_.roles[i] = Role::DeviceFunction;
      if (python && s_.roles[i] == Role::Kernel)
        for (const auto callee : s_.calls[i]) called[callee] = true;
    }
    for (std::size_t i = 0; i < s_.functions.size(); ++i)
      if (called[i] && s_.roles[i] == Role::Kernel) s_.roles[i] = Role::DeviceFunction;
  }

  [[nodiscard]] std::size_t kernel_named(std::string_view name) const {
    for (int hop = 0; hop < 3; ++hop) {
      for (const auto index : named(name))
        if (s_.roles[index] != Role::Host && s_.functions[index].name == name) return index;
      const auto other = kernel_aliases_.find(name);
      if (other == kernel_aliases_.end()) break;
      name = other->second;
    }
    return s_.functions.size();
  }

  void read_launches(std::size_t index) {
    const auto& function = s_.functions[index];
    const auto& tokens = *function.tokens;
    for (std::uint32_t node = 0; node < function.nodes.size(); ++node) {
      const Range range = function.nodes[node].tokens;
      for (Position at = range.begin; at < range.end; ++at) {
        if (tokens.language == Language::Python)
          python_launch(index, node, at, range.end);
        else if (tokens.is(at, "<<<"))
          chevron_launch(index, node, at, range);
      }
      if (tokens.language == Language::Python) continue;
      for (const auto& call : calls_in(tokens, range)) api_launch(index, node, call);
    }
  }

  void python_launch(std::size_t index, std::uint32_t node, Position at, Position end) {
    const auto& tokens = *s_.functions[index].tokens;
    if (!tokens.is_name(at) || !tokens.is(at + 1, "[")) return;
    const Position after = tokens.after_group(at + 1, end);
    if (!tokens.is(after, "(")) return;
    launch(index, node, tokens.list[at].text, tokens.list[at].line, {at + 2, after - 1});
  }

  void chevron_launch(std::size_t index, std::uint32_t node, Position at, Range range) {
    const auto& tokens = *s_.functions[index].tokens;
    Position name = at;
    int depth = 0;
    // Back over template arguments.
    while (name > range.begin) {
      --name;
      if (tokens.is(name, ">")) ++depth;
      if (tokens.is(name, "<"))
        --depth;
      else if (depth == 0 && tokens.is_name(name))
        break;
    }
    const auto parts = split_tokens(tokens, {at + 1, range.end}, ",");
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
  [[nodiscard]] bool one_program(std::size_t index, Range grid) const {
    const auto& function = s_.functions[index];
    const auto& tokens = *function.tokens;
    if (is_one(tokens, grid)) return true;
    if (grid.end != grid.begin + 1 || !tokens.is_name(grid.begin)) return false;
    const auto name = tokens.list[grid.begin].text;
    bool one = false;
    for (const auto& node : function.nodes) {
      for (Position at = node.tokens.begin; at + 1 < node.tokens.end; ++at) {
        if (!tokens.is(at, name)) continue;
        Range value{at + 1, node.tokens.end};
        if (tokens.is(at + 1, "="))
          ++value.begin;
        else if (!(tokens.is(at + 1, "(") || tokens.is(at + 1, "{")) || !tokens.is(at - 1, "dim3"))
          continue;
        if (tokens.is(value.begin, "lambda"))
          while (value.begin < value.end && !tokens.is(value.begin++, ":")) {
          }
        one = is_one(tokens, value);
        if (!one) return false;
      }
    }
    return one;
  }

  /// Kernels that a launch leads to, or all when no launch is seen; then everything that they call.
  void spread_roles() {
    if (!s_.launches.empty()) {
      std::vector<bool> mentioned(s_.functions.size(), false);
      for (const auto& launch : s_.launches) mentioned[launch.kernel] = true;
      for (std::size_t i = 0; i < s_.functions.size(); ++i) {
        if (mentioned[i])
          s_.roles[i] = Role::Kernel;
        else if (s_.roles[i] == Role::Kernel)
          s_.roles[i] = Role::DeviceFunction;
      }
    }
    std::vector<std::uint8_t> state(s_.functions.size(), 0);
    std::vector<std::pair<std::size_t, std::size_t>> path;
    for (std::size_t begin = 0; begin < s_.functions.size(); ++begin) {
      if (s_.roles[begin] != Role::Kernel || state[begin] != 0) continue;
      path.emplace_back(begin, 0);
      state[begin] = 1;
      while (!path.empty()) {
        const auto at = path.back().first;
        if (path.back().second < s_.calls[at].size()) {
          const auto callee = s_.calls[at][path.back().second++];
          if (state[callee] != 0) continue;
          state[callee] = 1;
          if (s_.roles[callee] == Role::Host) s_.roles[callee] = Role::DeviceFunction;
          path.emplace_back(callee, 0);
          continue;
        }
        s_.callees_first.push_back(at);
        path.pop_back();
      }
    }
  }

  static constexpr std::size_t k_max_meanings = 8;
  Target target_;
  Structure s_;
  std::unordered_map<std::string_view, std::string_view> kernel_aliases_;
};

}  // namespace

Structure read_structure(std::string_view source, Target target) { return StructureReader(source, target).run(); }

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
      waits = waits || call.name.substr(0, 6) == "atomic" || call.name == "load" || call.name.substr(0, 2) == "ld";
    }
    // A loop that does little but look at memory until somebody else has written it.
    const bool loop = statement.kind == NodeKind::Loop && statement.loop != LoopKind::For;
    if (loop && statement.last <= node + 3 &&
        (waits || contains(tokens, statement.tokens, "*") || contains(tokens, statement.tokens, "[")))
      sites.push_back({node, statement.line, "spin", true});
  }
  return sites;
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
