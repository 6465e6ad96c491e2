#include "prompt/resource_advice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <vector>

#include <kernelgen/platform/platform.hpp>

#include "prompt/shrink.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// The number at the beginning of a text, decimal or with 0x.
std::optional<std::int64_t> number_at(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\'')) text.remove_prefix(1);
  const bool hexadecimal = text.substr(0, 2) == "0x";
  if (hexadecimal) text.remove_prefix(2);
  std::int64_t value = 0;
  const auto end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value, hexadecimal ? 16 : 10);
  if (read.ec != std::errc() || read.ptr == text.data()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> number_after(std::string_view text, std::string_view words) {
  const auto found = text.find(words);
  return found == text.npos ? std::nullopt : number_at(text.substr(found + words.size()));
}

/// The bytes in "Tried to allocate 2.50 GiB".
std::optional<std::int64_t> bytes_after(std::string_view text, std::string_view words) {
  const auto found = text.find(words);
  if (found == text.npos) return std::nullopt;
  const auto rest = text.substr(found + words.size(), 40);
  std::size_t digits = 0;
  double value = 0;
  double scale = 0;
  for (; digits < rest.size(); ++digits) {
    const char c = rest[digits];
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      value = scale == 0 ? value * 10 + (c - '0') : value + scale * (c - '0');
      scale /= 10;
    } else if (c == '.' && scale == 0) {
      scale = 0.1;
    } else {
      break;
    }
  }
  if (digits == 0) return std::nullopt;
  const auto unit = rest.substr(digits, 4);
  const double factor = unit == " KiB"   ? 1024.0
                        : unit == " MiB" ? 1048576.0
                        : unit == " GiB" ? 1073741824.0
                        : unit == " TiB" ? 1099511627776.0
                                         : 1.0;
  value *= factor;
  return value < 9e18 ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt;
}

std::string ratio_text(std::int64_t required, std::int64_t limit) {
  return fmt::format("{:.3g} times", static_cast<double>(required) / static_cast<double>(limit));
}

std::string describe_change(const Change& change) {
  std::vector<std::string> parts;
  for (const auto& step : change.steps) parts.push_back(fmt::format("`{}` {} -> {}", step.name, step.from, step.to));
  return fmt::format("{} ({} bytes)", fmt::join(parts, " and "), change.bytes);
}

std::string triton_advice(std::int64_t required, std::int64_t limit, std::string_view source) {
  auto text = fmt::format("It asks for {} bytes of shared memory and the device has {}: {} what there is.", required,
                          limit, ratio_text(required, limit));
  const auto plan = plan_shrink(read_tile_constants(source), required, limit);
  if (plan.empty())
    return text +
           " Halve `BLOCK_*` of the operands of `tl.dot`, or take a stage less, until the product of what you "
           "saved is that large.";
  text += " The smallest changes that are enough, one of them:\n\n";
  for (const auto& change : plan) text += "- " + describe_change(change) + "\n";
  return text;
}

std::string native_advice(std::int64_t required, std::int64_t limit, const PlatformWords& words,
                          std::string_view source) {
  auto text = fmt::format("A block asks for {} bytes of {} and may have {}: {} what there is.", required,
                          words.shared_memory, limit, ratio_text(required, limit));
  const auto arrays = read_shared_arrays(source);
  if (arrays.empty()) return text;
  text += " It goes to:\n\n";
  for (const auto& array : arrays)
    text += fmt::format("- `{}`: {} bytes{}\n", array.name, array.bytes,
                        required - array.bytes / 2 <= limit ? "; half of it is enough" : "");
  return text;
}

}  // namespace

void read_resource_numbers(std::string_view reason, ErrorReport& report) {
  const auto add = [&](const char* name, std::optional<std::int64_t> value) {
    if (value) report.numbers.emplace_back(name, *value);
  };
  if (report.error_class == "out_of_memory") {
    auto asked = bytes_after(reason, "ried to allocate ");
    if (!asked) asked = bytes_after(reason, "ried to allocate");
    add("required", asked);
    return;
  }
  if (report.error_class.rfind("resource.", 0) != 0) return;
  if (auto required = number_after(reason, "Required:")) {
    add("required", required);
    add("limit", number_after(reason, "limit:"));
  } else if (reason.find("local memory (") != reason.npos) {
    add("required", number_after(reason, "local memory ("));
    add("limit", number_after(reason, "limit ("));
  } else if (const auto open = reason.rfind('('); open != reason.npos && reason.find(" max)") != reason.npos) {
    // 'uses too much shared data (0x14000 bytes, 0xc000 max)'; the name of the kernel may contain parentheses as well.
    add("required", number_at(reason.substr(open + 1)));
    add("limit", number_after(reason.substr(open), ","));
  }
}

std::string resource_advice(const ErrorReport& report, Target target, std::string_view source) {
  const auto required = report.number("required");
  const auto limit = report.number("limit");
  if (report.error_class != "resource.shared_memory" || !required || !limit || *limit <= 0 || *required <= *limit)
    return "";
  if (target == Target::Triton) return triton_advice(*required, *limit, source);
  return native_advice(*required, *limit, platform_of(traits_of(target).gpu_vendor).words, source);
}

}  // namespace v0
}  // namespace kernelgen
