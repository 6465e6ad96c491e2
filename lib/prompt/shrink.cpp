#include "prompt/shrink.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>

#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_max_configs = 32;
constexpr std::size_t k_max_constants = 6;
constexpr std::size_t k_max_alternatives = 4;
constexpr std::int64_t k_min_operand = 16;
/// Triton's default.
constexpr std::int64_t k_default_stages = 3;
constexpr std::int64_t k_max_value = 1 << 20;
/// Triton passes the accumulator through shared memory before storing it: as a whole, in all observed cases, up to 128
/// KiB.
constexpr double k_max_accumulator_bytes = 128 * 1024;

bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Whether a name looks like the size of a tile: BLOCK_M, BM, TILE_K, BLOCK_SIZE_N, block_k.
bool is_tile_name(std::string_view name) {
  std::string upper;
  for (const char c : name) upper.push_back(static_cast<char>(std::toupper(static_cast<unsigned char>(c))));
  if (upper.rfind("BLOCK", 0) == 0 || upper.rfind("TILE", 0) == 0) return true;
  return upper == "BM" || upper == "BN" || upper == "BK" || upper == "BS" || upper == "BD";
}

bool is_stages(std::string_view name) { return name == "num_stages"; }

/// 'M' of "BLOCK_SIZE_M"; 0 for a name without a dimension.
char dimension_of(std::string_view name) {
  const char last = static_cast<char>(std::toupper(static_cast<unsigned char>(name.back())));
  const bool apart = name.size() == 2 || (name.size() > 2 && name[name.size() - 2] == '_');
  return apart && (last == 'M' || last == 'N' || last == 'K') ? last : '\0';
}

struct NamedNumber {
  std::string_view name;
  std::int64_t value = 0;
  std::size_t end = 0;
};

/// The next "NAME = 64", "NAME=64", "'NAME': 64" or "NAME: tl.constexpr = 64" from `from` on.
std::optional<NamedNumber> next_assignment(std::string_view text, std::size_t from) {
  for (std::size_t at = from; at < text.size();) {
    if (!is_name_char(text[at])) {
      ++at;
      continue;
    }
    const auto begin = at;
    while (at < text.size() && is_name_char(text[at])) ++at;
    const auto name = text.substr(begin, at - begin);
    if (!is_tile_name(name) && !is_stages(name)) continue;
    auto rest = at;
    const auto skip = [&](std::string_view characters) {
      while (rest < text.size() && characters.find(text[rest]) != characters.npos) ++rest;
    };
    skip("'\" ");
    if (text.substr(rest, 15) == ": tl.constexpr ") rest += 15;
    if (rest >= text.size() || (text[rest] != '=' && text[rest] != ':') || text.substr(rest, 2) == "==") continue;
    ++rest;
    skip(" ");
    std::int64_t value = 0;
    const auto read = std::from_chars(text.data() + rest, text.data() + text.size(), value);
    if (read.ec != std::errc() || value <= 0 || value > k_max_value) continue;
    return NamedNumber{name, value, static_cast<std::size_t>(read.ptr - text.data())};
  }
  return std::nullopt;
}

TileConfig read_config(std::string_view text) {
  TileConfig config;
  for (auto found = next_assignment(text, 0); found; found = next_assignment(text, found->end)) {
    const auto known =
        std::find_if(config.begin(), config.end(), [&](const auto& one) { return one.name == found->name; });
    if (known != config.end()) {
      known->value = found->value;  // the later value is the launch's, the earlier one a default
    } else if (config.size() < k_max_constants) {
      config.push_back({std::string(found->name), found->value});
    }
  }
  return config;
}

bool has_tiles(const TileConfig& config) {
  return std::any_of(config.begin(), config.end(), [](const auto& one) { return !is_stages(one.name); });
}

/// The text of a call up to its closing parenthesis.
std::string_view call_text(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size() && i < 2000; ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return text.substr(0, i + 1);
  }
  return text.substr(0, 2000);
}

struct Use {
  /// Bytes of the operands' buffers, up to a factor.
  double operands = 0;
  /// Bytes of the accumulator when it is stored; 0 where its size is not known.
  double accumulator = 0;
};

Use use_of(const TileConfig& config) {
  double m = 0;
  double n = 0;
  double k = 0;
  double product = 1;
  double stages = k_default_stages;
  for (const auto& one : config) {
    const auto value = static_cast<double>(one.value);
    if (is_stages(one.name)) {
      stages = value;
      continue;
    }
    product *= value;
    const char dimension = dimension_of(one.name);
    if (dimension == 'M') m = value;
    if (dimension == 'N') n = value;
    if (dimension == 'K') k = value;
  }
  return {stages * (k > 0 && m + n > 0 ? (m + n) * k : product),
          k > 0 ? std::min(m * n * sizeof(float), k_max_accumulator_bytes) : 0};
}

struct Search {
  const TileConfig& original;
  std::int64_t required;
  std::int64_t limit;
  std::vector<Change> found;

  /// Tries every distribution of `steps` among the constants from `index` on.
  void spend(TileConfig& config, std::size_t index, int steps) {
    if (index == config.size()) {
      if (steps == 0) consider(config);
      return;
    }
    const auto value = config[index].value;
    for (int used = 0; used <= steps; ++used) {
      spend(config, index + 1, steps - used);
      auto& now = config[index].value;
      const bool stages = is_stages(config[index].name);
      if (stages ? now <= 1 : now / 2 < k_min_operand || now % 2 != 0) break;
      now = stages ? now - 1 : now / 2;
    }
    config[index].value = value;
  }

  void consider(const TileConfig& config) {
    const auto use = use_of(config);
    const double operands = static_cast<double>(required) * use.operands / use_of(original).operands;
    const auto bytes = static_cast<std::int64_t>(std::max(operands, use.accumulator));
    if (bytes > limit) return;
    Change change{{}, bytes};
    for (std::size_t i = 0; i < config.size(); ++i)
      if (config[i].value != original[i].value)
        change.steps.push_back({config[i].name, original[i].value, config[i].value});
    found.push_back(std::move(change));
  }
};

/// The value of an expression such as "64 * 2 + 1" of numbers and known names; nothing for anything else.
std::optional<std::int64_t> evaluate(std::string_view text,
                                     const std::map<std::string, std::int64_t, std::less<>>& names) {
  std::int64_t sum = 0;
  for (const auto term : split(text, '+')) {
    std::int64_t product = 1;
    for (auto factor : split(term, '*')) {
      factor = trim(factor);
      while (!factor.empty() && (factor.front() == '(' || factor.back() == ')')) {
        if (factor.front() == '(') factor.remove_prefix(1);
        if (!factor.empty() && factor.back() == ')') factor.remove_suffix(1);
      }
      std::int64_t value = 0;
      const auto end = factor.data() + factor.size();
      if (factor.empty() || std::from_chars(factor.data(), end, value).ptr != end) {
        const auto known = names.find(factor);
        if (known == names.end()) return std::nullopt;
        value = known->second;
      }
      if (value <= 0 || value > k_max_value || product > (std::int64_t{1} << 40)) return std::nullopt;
      product *= value;
    }
    sum += product;
  }
  return sum;
}

std::map<std::string, std::int64_t, std::less<>> read_constants(std::string_view source) {
  std::map<std::string, std::int64_t, std::less<>> names;
  for (const auto line : split_lines(source)) {
    auto text = trim(line.substr(0, 400));
    std::string_view name;
    std::string_view value;
    if (text.substr(0, 8) == "#define ") {
      text = trim(text.substr(8));
      const auto end = std::find_if_not(text.begin(), text.end(), is_name_char);
      name = text.substr(0, static_cast<std::size_t>(end - text.begin()));
      value = text.substr(name.size());
    } else if (text.find("const") != text.npos && text.find('=') != text.npos) {
      const auto equal = text.find('=');
      name = trim(text.substr(0, equal));
      const auto blank = name.find_last_of(" \t*&");
      if (blank != name.npos) name = name.substr(blank + 1);
      value = text.substr(equal + 1, text.find(';') == text.npos ? text.npos : text.find(';') - equal - 1);
    }
    if (name.empty() || names.size() >= 1000) continue;
    if (const auto number = evaluate(trim(value), names)) names.emplace(std::string(name), *number);
  }
  return names;
}

std::int64_t size_of_type(std::string_view text) {
  for (const auto& [name, bytes] : {std::pair<std::string_view, int>{"float4", 16},
                                    {"int4", 16},
                                    {"double", 8},
                                    {"float2", 8},
                                    {"int64_t", 8},
                                    {"__half2", 4},
                                    {"half2", 4},
                                    {"half", 2},
                                    {"bfloat16", 2},
                                    {"short", 2},
                                    {"char", 1},
                                    {"int8_t", 1},
                                    {"float", 4},
                                    {"int", 4},
                                    {"unsigned", 4}})
    if (text.find(name) != text.npos) return bytes;
  return 0;
}

}  // namespace

std::vector<TileConfig> read_tile_constants(std::string_view source) {
  std::vector<TileConfig> configs;
  for (auto at = source.find("triton.Config("); at != source.npos && configs.size() < k_max_configs;
       at = source.find("triton.Config(", at + 1)) {
    auto config = read_config(call_text(source.substr(at)));
    if (has_tiles(config)) configs.push_back(std::move(config));
  }
  if (configs.empty()) {
    auto config = read_config(source);
    if (has_tiles(config)) configs.push_back(std::move(config));
  }
  return configs;
}

std::vector<Change> plan_shrink(const std::vector<TileConfig>& configs, std::int64_t required, std::int64_t limit) {
  if (configs.empty() || required <= limit || limit <= 0) return {};
  // The message does not tell which of several did not fit; the largest did not.
  auto largest = *std::max_element(configs.begin(), configs.end(), [](const auto& a, const auto& b) {
    return use_of(a).operands < use_of(b).operands;
  });
  if (std::none_of(largest.begin(), largest.end(), [](const auto& one) { return is_stages(one.name); }))
    largest.push_back({"num_stages", k_default_stages});
  Search search{largest, required, limit, {}};
  for (int steps = 1; steps <= 12 && search.found.empty(); ++steps) {
    auto config = largest;
    search.spend(config, 0, steps);
  }
  std::stable_sort(search.found.begin(), search.found.end(),
                   [](const Change& a, const Change& b) { return a.bytes > b.bytes; });
  if (search.found.size() > k_max_alternatives) search.found.resize(k_max_alternatives);
  return search.found;
}

std::vector<SharedArray> read_shared_arrays(std::string_view source) {
  const auto names = read_constants(source);
  std::vector<SharedArray> arrays;
  for (auto at = source.find("__shared__"); at != source.npos && arrays.size() < 16;
       at = source.find("__shared__", at + 1)) {
    const auto declaration = source.substr(at + 10, std::min<std::size_t>(source.find(';', at), at + 400) - at - 10);
    const auto open = declaration.find('[');
    if (open == declaration.npos) continue;
    const auto head = trim(declaration.substr(0, open));
    const auto blank = head.find_last_of(" \t*");
    std::int64_t bytes = size_of_type(head.substr(0, blank == head.npos ? 0 : blank));
    for (auto rest = declaration.substr(open); bytes > 0 && !rest.empty() && rest.front() == '[';) {
      const auto close = rest.find(']');
      const auto size = close == rest.npos ? std::nullopt : evaluate(rest.substr(1, close - 1), names);
      bytes = size && bytes < (std::int64_t{1} << 40) ? bytes * *size : 0;
      rest = close == rest.npos ? std::string_view() : trim(rest.substr(close + 1));
    }
    if (bytes > 0) arrays.push_back({std::string(head.substr(blank == head.npos ? 0 : blank + 1)), bytes});
  }
  std::stable_sort(arrays.begin(), arrays.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return arrays;
}

}  // namespace v0
}  // namespace kernelgen
