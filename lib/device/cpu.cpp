#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include <kernelgen/device/cpu.hpp>

#include "device/cgroups.hpp"
#include "support/files.hpp"
#include "support/sha256.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  text = trim(text);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::string> read_trimmed(const fs::path& path) {
  auto text = read_file(path, 1u << 24);
  if (!text) return std::nullopt;
  return std::string(trim(*text));
}

/// Reads "name : value" lines; the first of equal names counts.
std::map<std::string, std::string> read_fields(std::string_view text) {
  std::map<std::string, std::string> fields;
  for (const auto line : split_lines(text)) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    fields.emplace(trim(line.substr(0, colon)), trim(line.substr(colon + 1)));
  }
  return fields;
}

/// Reads the numbers of "0-3,8".
std::vector<int> parse_list(std::string_view text) {
  std::vector<int> numbers;
  for (const auto part : split(trim(text), ',')) {
    const auto dash = part.find('-');
    const auto first = parse_number<int>(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_number<int>(part.substr(dash + 1));
    if (!first || !last || *last - *first > 100'000) continue;
    for (int n = *first; n <= *last; ++n) numbers.push_back(n);
  }
  return numbers;
}

/// Reads "32K", "8192K", "1M".
std::uint64_t parse_size(std::string_view text) {
  text = trim(text);
  if (text.empty()) return 0;
  const char unit = text.back();
  const int shift = unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0;
  if (shift != 0) text.remove_suffix(1);
  return parse_number<std::uint64_t>(text).value_or(0) << shift;
}

std::string read_model(const std::map<std::string, std::string>& cpuinfo) {
  for (const char* name : {"model name", "Model", "cpu model", "cpu"})
    if (const auto found = cpuinfo.find(name); found != cpuinfo.end() && !found->second.empty())
      return sanitize_line(found->second, 200);
  const auto implementer = cpuinfo.find("CPU implementer");
  const auto part = cpuinfo.find("CPU part");
  if (implementer != cpuinfo.end() && part != cpuinfo.end())
    return sanitize_line("ARM implementer " + implementer->second + " part " + part->second, 200);
  return "unknown";
}

/// The instruction set flags, sorted.
std::set<std::string_view> read_flags(const std::map<std::string, std::string>& cpuinfo) {
  std::set<std::string_view> flags;
  for (const char* name : {"flags", "Features", "isa"}) {
    const auto found = cpuinfo.find(name);
    if (found == cpuinfo.end()) continue;
    for (const auto flag : split(found->second, ' '))
      if (!flag.empty()) flags.insert(flag);
    break;
  }
  return flags;
}

std::string digest_flags(const std::set<std::string_view>& flags) {
  if (flags.empty()) return {};
  std::string text;
  for (const auto flag : flags) text.append(flag) += '\n';
  return sha256_hex(text);
}

std::vector<std::string> choose_vector_flags(const std::set<std::string_view>& flags) {
  std::vector<std::string> chosen;
  for (const char* known :
       {"sse4_2", "avx", "f16c", "fma", "avx2", "avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16",
        "avx512_fp16", "amx_tile", "amx_bf16", "asimd", "asimdhp", "bf16", "sve", "sve2"})
    if (flags.count(known) > 0) chosen.emplace_back(known);
  return chosen;
}

struct CgroupLimits {
  std::optional<double> cores;
  std::optional<std::uint64_t> memory;
};

template <class Value>
void keep_lower(std::optional<Value>& kept, std::optional<Value> value) {
  if (value && (!kept || *value < *kept)) kept = value;
}

std::optional<double> read_quota(const fs::path& directory) {
  if (const auto v2 = read_trimmed(directory / "cpu.max")) {
    const auto parts = split(*v2, ' ');
    const auto quota = parse_number<double>(parts.front());
    const auto period = parts.size() > 1 ? parse_number<double>(parts[1]) : std::optional<double>(100'000);
    if (quota && period && *period > 0) return *quota / *period;
    return std::nullopt;
  }
  const auto quota = read_trimmed(directory / "cpu.cfs_quota_us");
  const auto period = read_trimmed(directory / "cpu.cfs_period_us");
  if (!quota || !period) return std::nullopt;
  const auto a = parse_number<double>(*quota);
  const auto b = parse_number<double>(*period);
  if (!a || !b || *a <= 0 || *b <= 0) return std::nullopt;  // -1: no limit
  return *a / *b;
}

std::optional<std::uint64_t> read_memory_limit(const fs::path& directory) {
  for (const char* name : {"memory.max", "memory.limit_in_bytes"})
    if (const auto text = read_trimmed(directory / name)) return parse_number<std::uint64_t>(*text);
  return std::nullopt;
}

CgroupLimits read_cgroups(const fs::path& root) {
  CgroupLimits limits;
  for (const auto& hierarchy : cgroup_hierarchies(root, "cpu"))
    for (const auto& directory : hierarchy.directories) keep_lower(limits.cores, read_quota(directory));
  for (const auto& hierarchy : cgroup_hierarchies(root, "memory"))
    for (const auto& directory : hierarchy.directories) keep_lower(limits.memory, read_memory_limit(directory));
  return limits;
}

std::vector<CpuCache> read_caches(const fs::path& root, int core) {
  std::vector<CpuCache> caches;
  const fs::path directory = root / fmt::format("sys/devices/system/cpu/cpu{}/cache", core);
  for (int index = 0; index < 16; ++index) {
    const fs::path one = directory / fmt::format("index{}", index);
    const auto level = read_trimmed(one / "level");
    const auto size = read_trimmed(one / "size");
    if (!level || !size) break;
    CpuCache cache;
    cache.level = parse_number<int>(*level).value_or(0);
    cache.type = sanitize_line(read_trimmed(one / "type").value_or("Unified"), 20);
    cache.bytes = parse_size(*size);
    cache.shared_by =
        std::max(1, static_cast<int>(parse_list(read_trimmed(one / "shared_cpu_list").value_or("")).size()));
    caches.push_back(std::move(cache));
  }
  return caches;
}

/// The number of cores that these hardware threads belong to; 0 where one of them is not known.
int count_cores(const fs::path& root, const std::vector<int>& threads) {
  std::set<std::vector<int>> cores;
  for (const int thread : threads) {
    const auto siblings = parse_list(
        read_trimmed(root / fmt::format("sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", thread))
            .value_or(""));
    if (siblings.empty()) return 0;
    cores.insert(siblings);
  }
  return static_cast<int>(cores.size());
}

/// In a virtual machine without cpufreq, the kernel reports the one clock that it knows. Elsewhere "cpu MHz" is that of
/// the moment.
double read_max_gigahertz(const fs::path& root, int core, const std::map<std::string, std::string>& cpuinfo,
                          const std::set<std::string_view>& flags) {
  const auto file = root / fmt::format("sys/devices/system/cpu/cpu{}/cpufreq/cpuinfo_max_freq", core);
  if (const auto kilohertz = parse_number<double>(read_trimmed(file).value_or(""))) return *kilohertz / 1e6;
  const auto megahertz = cpuinfo.find("cpu MHz");
  if (megahertz == cpuinfo.end() || flags.count("hypervisor") == 0) return 0;
  return parse_number<double>(megahertz->second).value_or(0) / 1e3;
}

}  // namespace

std::string CpuFacts::to_line() const {
  return fmt::format("cpu: {}, {} {}", model, usable_cores, usable_cores == 1 ? "core" : "cores");
}

Result<CpuFacts> read_cpu_facts(const CpuFactsOptions& options) {
  const fs::path root(options.root);
  KERNELGEN_TRY(const auto cpuinfo_text, read_file(root / "proc/cpuinfo", 1u << 26));
  const auto cpuinfo = read_fields(cpuinfo_text);
  const auto status = read_fields(read_trimmed(root / "proc/self/status").value_or(""));
  const auto meminfo = read_fields(read_trimmed(root / "proc/meminfo").value_or(""));
  const auto limits = read_cgroups(root);

  CpuFacts facts;
  facts.model = read_model(cpuinfo);
  const auto flags = read_flags(cpuinfo);
  facts.vector_flags = choose_vector_flags(flags);
  facts.flags_digest = digest_flags(flags);
  const auto mask = status.find("Cpus_allowed_list");
  const auto allowed = mask == status.end() ? std::vector<int>{} : parse_list(mask->second);
  if (!allowed.empty()) {
    facts.allowed_cores = static_cast<int>(allowed.size());
  } else {
    const auto lines = split_lines(cpuinfo_text);
    facts.allowed_cores = std::max(1, static_cast<int>(std::count_if(lines.begin(), lines.end(), [](auto line) {
                                     return line.substr(0, 9) == "processor";
                                   })));
  }
  facts.quota_cores = limits.cores;
  facts.usable_cores = facts.allowed_cores;
  // Rounded down: with a thread more than the quota allows, all threads wait for the slowest.
  if (limits.cores) facts.usable_cores = std::clamp(static_cast<int>(*limits.cores), 1, facts.allowed_cores);
  const int first = allowed.empty() ? 0 : allowed.front();
  facts.physical_cores = count_cores(root, allowed);
  facts.max_gigahertz = read_max_gigahertz(root, first, cpuinfo, flags);
  facts.caches = read_caches(root, first);
  if (const auto total = meminfo.find("MemTotal"); total != meminfo.end()) {
    const std::string_view kilobytes = total->second;
    facts.memory_bytes = parse_number<std::uint64_t>(kilobytes.substr(0, kilobytes.find(' '))).value_or(0) << 10;
  }
  if (limits.memory && (facts.memory_bytes == 0 || *limits.memory < facts.memory_bytes))
    facts.memory_bytes = *limits.memory;
  return facts;
}

}  // namespace v0
}  // namespace kernelgen
