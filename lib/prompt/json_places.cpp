#include "prompt/json_places.hpp"

#include <algorithm>
#include <boost/json/parse.hpp>

namespace kernelgen {
inline namespace v0 {

TextPlace place_of(std::string_view text, std::size_t offset) {
  const auto before = text.substr(0, std::min(offset, text.size()));
  const auto line_end = before.rfind('\n');
  const auto line = line_end == before.npos ? before : before.substr(line_end + 1);
  const auto begins_character = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; };
  return {1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')),
          1 + static_cast<std::size_t>(std::count_if(line.begin(), line.end(), begins_character))};
}

JsonPlaces::JsonPlaces(std::string_view text) : text_(text) { read_value({}); }

TextPlace JsonPlaces::find(const Offsets& offsets, const Path& path) const {
  const auto found = offsets.find(path);
  return place_of(text_, found == offsets.end() ? 0 : found->second);
}

void JsonPlaces::skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

std::string_view JsonPlaces::read_string() {
  const auto begin = at_++;
  while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
  at_ = std::min(at_ + 1, text_.size());
  return text_.substr(begin, at_ - begin);
}

void JsonPlaces::read_value(const Path& path) {
  skip_blanks();
  values_[path] = at_;
  if (at_ == text_.size()) return;
  if (text_[at_] == '{')
    read_members(path);
  else if (text_[at_] == '[')
    read_elements(path);
  else if (text_[at_] == '"')
    read_string();
  else
    at_ = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
}

void JsonPlaces::read_members(const Path& path) {
  for (++at_;; ++at_) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != '"') break;
    const auto begin = at_;
    boost::system::error_code error;
    const auto key = boost::json::parse(read_string(), error);
    auto member = path;
    member.emplace_back(key.is_string() ? std::string(key.get_string()) : std::string());
    keys_[member] = begin;
    skip_blanks();
    at_ = std::min(at_ + 1, text_.size());  // the colon
    read_value(member);
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != ',') break;
  }
  at_ = std::min(at_ + 1, text_.size());
}

void JsonPlaces::read_elements(const Path& path) {
  std::size_t index = 0;
  for (++at_;; ++at_) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] == ']') break;
    auto element = path;
    element.push_back(std::to_string(index++));
    read_value(element);
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != ',') break;
  }
  at_ = std::min(at_ + 1, text_.size());
}

}  // namespace v0
}  // namespace kernelgen
