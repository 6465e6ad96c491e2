#include "support/text.hpp"

#include <algorithm>
#include <numeric>

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::string_view k_replacement = "\xEF\xBF\xBD";
constexpr std::string_view k_cut_mark = "...";

bool is_identifier_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_continuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

/// Length of the well-formed character at the start, 0 when there is none (table 3-7 of the Unicode standard).
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  std::size_t length = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  }
  if (length == 0 || text.size() < length || byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i)
    if (!is_continuation(byte(i))) return 0;
  return length;
}

/// Length of the terminal escape sequence at the start (ECMA-48), 0 when there is none.
std::size_t escape_length(std::string_view text) {
  if (text[0] != '\x1b') return 0;
  if (text.size() == 1) return 1;
  std::size_t end = 2;
  switch (text[1]) {
    case '[':  // control sequence: parameters, then one final byte
      while (end < text.size() && text[end] >= 0x20 && text[end] < 0x40) ++end;
      return end < text.size() && text[end] >= 0x40 && text[end] < 0x7F ? end + 1 : end;
    case ']':  // strings: up to BEL or ESC backslash; an unterminated one must not swallow the rest of a log
    case 'P':
    case '^':
    case '_':
      for (; end < text.size() && end < 512; ++end) {
        if (text[end] == '\a') return end + 1;
        if (text[end] == '\x1b') return end + (end + 1 < text.size() && text[end + 1] == '\\' ? 2 : 0);
        if (text[end] == '\n') break;
      }
      return 2;
    default:
      return text[1] >= 0x20 && text[1] < 0x7F ? 2 : 1;
  }
}

/// C1 controls, line and paragraph separators, direction overrides and byte order marks hide or reorder text.
bool is_deceptive(std::string_view character) {
  if (character.size() == 2) return character[0] == '\xC2' && static_cast<unsigned char>(character[1]) < 0xA0;
  if (character == "\xEF\xBB\xBF") return true;
  if (character.size() != 3 || character[0] != '\xE2') return false;
  const auto second = static_cast<unsigned char>(character[1]);
  const auto third = static_cast<unsigned char>(character[2]);
  if (second == 0x80) return (third >= 0x8E && third <= 0x8F) || (third >= 0xA8 && third <= 0xAE);
  return second == 0x81 && third >= 0xA6 && third <= 0xA9;
}

enum class Lines { Keep, Fold };

std::string sanitize(std::string_view text, std::size_t max_bytes, Lines lines) {
  std::string clean;
  clean.reserve(std::min(text.size(), max_bytes));
  std::size_t mark_fits = 0;  // the longest prefix that leaves room for the mark
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    std::string_view add;
    std::size_t used = 1;
    if (byte == 0x1B) {
      used = escape_length(text);
    } else if (byte == '\n' || byte == '\t' || (lines == Lines::Fold && (byte == '\r' || byte == ' '))) {
      add = lines == Lines::Keep ? text.substr(0, 1) : std::string_view(" ");
      if (lines == Lines::Fold && (clean.empty() || clean.back() == ' ')) add = {};
    } else if (byte >= 0x20 && byte != 0x7F) {
      used = character_length(text);
      if (used == 0) {
        add = k_replacement;
        used = 1;
      } else if (!is_deceptive(text.substr(0, used))) {
        add = text.substr(0, used);
      }
    }
    if (clean.size() + add.size() > max_bytes) {
      clean.resize(mark_fits);
      if (k_cut_mark.size() <= max_bytes) clean += k_cut_mark;
      return clean;
    }
    clean += add;
    if (clean.size() + k_cut_mark.size() <= max_bytes) mark_fits = clean.size();
    text.remove_prefix(used);
  }
  if (lines == Lines::Fold && !clean.empty() && clean.back() == ' ') clean.pop_back();
  return clean;
}

bool is_unescaped(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '[' || c == ']' || c == '-';
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::size_t find_word(std::string_view text, std::string_view word, std::size_t from) {
  const auto is_free = [&](std::size_t at) { return at >= text.size() || !is_identifier_char(text[at]); };
  for (auto found = text.find(word, from); found != text.npos; found = text.find(word, found + 1))
    if ((found == 0 || is_free(found - 1)) && is_free(found + word.size())) return found;
  return text.npos;
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string to_utf8(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    clean += length == 0 ? k_replacement : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return clean;
}

std::string sanitize_text(std::string_view text, std::size_t max_bytes) {
  return sanitize(text, max_bytes, Lines::Keep);
}

std::string sanitize_line(std::string_view text, std::size_t max_bytes) {
  return sanitize(text, max_bytes, Lines::Fold);
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view k_space = " \t\r\n\f\v";
  const auto first = text.find_first_not_of(k_space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(k_space) - first + 1);
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view k_mark = "\xEF\xBB\xBF";
  if (text.starts_with(k_mark)) text.remove_prefix(k_mark.size());
  return text;
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> split_lines(std::string_view text) {
  if (text.empty()) return {};
  auto lines = split(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  for (auto& line : lines)
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return lines;
}

std::string percent_encode(std::string_view text) {
  constexpr char k_digits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (is_unescaped(c)) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += k_digits[byte >> 4];
    encoded += k_digits[byte & 15];
  }
  return encoded;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_value(text[i + 1]);
    const int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

std::string hex_encode(std::string_view bytes) {
  constexpr char k_digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += k_digits[byte >> 4];
    text += k_digits[byte & 15];
  }
  return text;
}

std::string list_alternatives(std::span<const std::string> names) {
  if (names.size() < 2) return names.empty() ? std::string() : names.front();
  return join(names.first(names.size() - 1), ", ") + " or " + names.back();
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

std::string did_you_mean(std::string_view wrong, std::span<const std::string> known) {
  const auto lower = [](std::string_view text) {
    std::string low(text);
    for (char& c : low)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return low;
  };
  const std::string low = lower(wrong);
  std::vector<std::pair<std::size_t, std::string>> close;
  for (const auto& name : known) {
    const std::string other = lower(name);
    const bool is_inside = (low.size() >= 3 && contains(other, low)) || (other.size() >= 3 && contains(low, other));
    const std::size_t distance = is_inside ? 1 : edit_distance(low, other);
    // Two names are not alike when every letter differs.
    if (distance <= std::max<std::size_t>(2, low.size() / 3) && distance < low.size())
      close.emplace_back(distance, name);
  }
  if (close.empty()) return {};
  std::sort(close.begin(), close.end());
  std::vector<std::string> best;
  for (std::size_t i = 0; i < std::min<std::size_t>(close.size(), 3); ++i) best.push_back(close[i].second);
  return "; did you mean " + list_alternatives(best) + "?";
}

}  // namespace v0
}  // namespace kernelgen
