#include "flow/option_text.hpp"

#include <array>
#include <charconv>

namespace kernelgen {
inline namespace v0 {

std::string to_text(double number) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  return {buffer.data(), end};
}

std::string to_text(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace v0
}  // namespace kernelgen
