#pragma once

/// \file
/// Where in a text the members of a JSON document stand, for messages: Boost.JSON does not keep that.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// A place in a text, both numbers from 1. Columns are characters.
struct TextPlace {
  std::size_t line = 1;
  std::size_t column = 1;
};

/// The place of a byte; of the end for one behind it.
[[nodiscard]] TextPlace place_of(std::string_view text, std::size_t offset);

/// The places of keys and values in a JSON document that was parsed before: this one checks nothing.
class JsonPlaces {
 public:
  /// Names of members and indices of elements, from the outside in.
  using Path = std::vector<std::string>;

  explicit JsonPlaces(std::string_view text);

  /// The place of the key of a member; the beginning of the text for an unknown one. Of equal keys the last one counts.
  [[nodiscard]] TextPlace of_key(const Path& path) const { return find(keys_, path); }
  /// The place of a value.
  [[nodiscard]] TextPlace of_value(const Path& path) const { return find(values_, path); }

 private:
  using Offsets = std::map<Path, std::size_t>;

  [[nodiscard]] TextPlace find(const Offsets& offsets, const Path& path) const;
  void skip_blanks();
  void read_value(const Path& path);
  void read_members(const Path& path);
  void read_elements(const Path& path);
  std::string_view read_string();

  std::string_view text_;
  std::size_t at_ = 0;
  Offsets keys_;
  Offsets values_;
};

}  // namespace v0
}  // namespace kernelgen
