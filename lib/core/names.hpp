#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace kernelgen {
inline namespace v0 {

/// A table of stable names for an enum: the only place that spells its values.
template <class Enum, std::size_t N>
struct NameTable {
  std::array<std::pair<Enum, std::string_view>, N> entries;

  [[nodiscard]] constexpr std::string_view name(Enum value) const {
    for (const auto& [candidate, text] : entries)
      if (candidate == value) return text;
    return "unknown";
  }
  [[nodiscard]] constexpr std::optional<Enum> find(std::string_view text) const {
    for (const auto& [candidate, spelling] : entries)
      if (spelling == text) return candidate;
    return std::nullopt;
  }
};

template <class Enum, std::size_t N>
constexpr NameTable<Enum, N> make_names(const std::pair<Enum, std::string_view> (&entries)[N]) {
  NameTable<Enum, N> table{};
  for (std::size_t i = 0; i < N; ++i) table.entries[i] = entries[i];
  return table;
}

}  // namespace v0
}  // namespace kernelgen
