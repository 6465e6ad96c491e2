#include "compile/kernel_resources.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>

#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_max_kernels = 256;
constexpr std::size_t k_max_name = 500;
constexpr std::size_t k_max_mangled = 4096;
constexpr std::uint64_t k_max_registers = 65536;
constexpr std::uint64_t k_max_bytes = std::uint64_t{1} << 40;
constexpr std::uint64_t k_register_bytes = 4;

/// The text between the first two quotes.
std::string_view quoted(std::string_view line) {
  const auto begin = line.find('\'');
  const auto end = begin == line.npos ? line.npos : line.find('\'', begin + 1);
  return end == line.npos ? std::string_view() : line.substr(begin + 1, end - begin - 1);
}

/// The number that a phrase begins with: "32 registers".
std::uint64_t leading_number(std::string_view phrase) {
  std::uint64_t number = 0;
  std::from_chars(phrase.data(), phrase.data() + phrase.size(), number);
  return number;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// The same, as far as a count of registers can be one.
int register_count(std::string_view phrase) {
  return static_cast<int>(std::min(leading_number(phrase), k_max_registers));
}

/// "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads".
void read_stack(std::string_view line, KernelResources& kernel) {
  for (auto phrase : split(line, ',')) {
    phrase = trim(phrase);
    const auto number = leading_number(phrase);
    if (ends_with(phrase, "bytes stack frame")) kernel.stack_bytes = number;
    if (ends_with(phrase, "bytes spill stores")) kernel.spill_store_bytes = number;
    if (ends_with(phrase, "bytes spill loads")) kernel.spill_load_bytes = number;
  }
}

/// "Used 32 registers, used 1 barriers, 16 bytes smem, 400 bytes cmem[0], 8 bytes cmem[2]".
void read_usage(std::string_view phrases, KernelResources& kernel) {
  for (auto phrase : split(phrases, ',')) {
    phrase = trim(phrase);
    for (const std::string_view word : {"Used ", "used "})
      if (phrase.substr(0, word.size()) == word) phrase.remove_prefix(word.size());
    const auto number = leading_number(phrase);
    if (ends_with(phrase, " registers")) kernel.registers = static_cast<int>(number);
    if (ends_with(phrase, " barriers")) kernel.barriers = static_cast<int>(number);
    if (ends_with(phrase, " bytes smem")) kernel.static_shared_bytes = number;
    if (phrase.find(" bytes cmem[") != phrase.npos) kernel.constant_bytes += number;
  }
}

}  // namespace

std::string demangle(const std::string& name) {
  if (name.compare(0, 2, "_Z") != 0 || name.size() > k_max_mangled) return sanitize_line(name, k_max_name);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         std::free);
  return sanitize_line(status == 0 && text != nullptr ? text.get() : name, k_max_name);
}

std::vector<KernelResources> parse_ptxas_resources(std::string_view log) {
  constexpr std::string_view k_kernel = "Compiling entry function ";
  constexpr std::string_view k_function = "Function properties for ";
  constexpr std::string_view k_used = "Used ";
  std::vector<KernelResources> kernels;
  std::string mangled;
  bool own_properties = false;
  for (const auto line : split_lines(log)) {
    const auto start = line.find(" : ");
    if (line.substr(0, 10) != "ptxas info" || start == line.npos) {
      // The line after "Function properties for" has no prefix.
      if (own_properties && !kernels.empty()) read_stack(line, kernels.back());
      own_properties = false;
      continue;
    }
    const auto said = trim(line.substr(start + 3));
    if (said.substr(0, k_kernel.size()) == k_kernel) {
      if (kernels.size() == k_max_kernels) break;
      mangled = quoted(said);
      kernels.emplace_back().name = demangle(mangled);
    } else if (said.substr(0, k_function.size()) == k_function) {
      own_properties = said.substr(k_function.size()) == mangled;
    } else if (said.substr(0, k_used.size()) == k_used && !kernels.empty()) {
      read_usage(said, kernels.back());
    }
  }
  return kernels;
}

std::vector<KernelResources> parse_amdgpu_resources(std::string_view log) {
  constexpr std::string_view k_remark = ": remark: ";
  constexpr std::string_view k_end = " [-Rpass-analysis=kernel-resource-usage]";
  constexpr std::string_view k_name = "Function Name: ";
  std::vector<KernelResources> kernels;
  for (auto line : split_lines(log)) {
    const auto start = line.find(k_remark);
    if (start == line.npos || !ends_with(line, k_end)) continue;
    line.remove_suffix(k_end.size());
    const auto said = trim(line.substr(start + k_remark.size()));
    if (said.substr(0, k_name.size()) == k_name) {
      if (kernels.size() == k_max_kernels) break;
      kernels.emplace_back().name = demangle(std::string(said.substr(k_name.size())));
      continue;
    }
    const auto colon = said.find(": ");
    if (kernels.empty() || colon == said.npos) continue;
    const auto what = said.substr(0, colon);
    const auto text = said.substr(colon + 2);
    const auto number = leading_number(text);
    auto& kernel = kernels.back();
    if (what == "VGPRs") kernel.registers = register_count(text);
    if (what == "SGPRs") kernel.scalar_registers = register_count(text);
    if (what == "AGPRs") kernel.accumulation_registers = register_count(text);
    if (what == "SGPRs Spill") kernel.spilled_scalar_registers = register_count(text);
    if (what == "Occupancy [waves/SIMD]") kernel.occupancy = register_count(text);
    if (what == "VGPRs Spill") kernel.spill_store_bytes = kernel.spill_load_bytes = number * k_register_bytes;
    if (what == "ScratchSize [bytes/lane]") kernel.stack_bytes = number;
    if (what == "LDS Size [bytes/block]") kernel.static_shared_bytes = number;
  }
  return kernels;
}

std::vector<KernelResources> parse_amdgpu_metadata(std::string_view listing) {
  constexpr std::string_view k_begin = ".amdgpu_metadata";
  constexpr std::string_view k_end = ".end_amdgpu_metadata";
  constexpr std::string_view k_occupancy = "; Occupancy: ";
  // A kernel is an element of a list; its members stand at this depth, those of its arguments deeper.
  constexpr std::string_view k_first = "  - .";
  constexpr std::string_view k_other = "    .";
  std::vector<KernelResources> kernels;
  std::optional<int> occupancy;
  bool is_metadata = false;
  for (const auto line : split_lines(listing)) {
    if (line.starts_with(k_occupancy)) occupancy = register_count(line.substr(k_occupancy.size()));
    if (trim(line) == k_begin) is_metadata = true;
    if (trim(line) == k_end) is_metadata = false;
    const bool is_first = line.starts_with(k_first);
    const auto colon = line.find(':');
    if (!is_metadata || colon == line.npos || !(is_first || line.starts_with(k_other))) continue;
    if (is_first) {
      if (kernels.size() == k_max_kernels) break;
      kernels.emplace_back();
    }
    if (kernels.empty()) continue;
    auto& kernel = kernels.back();
    const auto what = line.substr(k_other.size(), colon - k_other.size());
    const auto text = trim(line.substr(colon + 1));
    const auto number = std::min(leading_number(text), k_max_bytes);
    if (what == "name") kernel.name = demangle(std::string(text));
    if (what == "vgpr_count") kernel.registers = register_count(text);
    if (what == "agpr_count") kernel.accumulation_registers = register_count(text);
    if (what == "sgpr_count") kernel.scalar_registers = register_count(text);
    if (what == "sgpr_spill_count") kernel.spilled_scalar_registers = register_count(text);
    if (what == "vgpr_spill_count") kernel.spill_store_bytes = kernel.spill_load_bytes = number * k_register_bytes;
    if (what == "private_segment_fixed_size") kernel.stack_bytes = number;
    if (what == "group_segment_fixed_size") kernel.static_shared_bytes = number;
  }
  if (kernels.size() == 1) kernels.front().occupancy = occupancy;
  return kernels;
}

}  // namespace v0
}  // namespace kernelgen
