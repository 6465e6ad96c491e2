#pragma once

#include "detect/facts.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {

/// Where an expression stands inside a larger one.
struct Place {
  Rank rank = Rank::Additive;
  bool address = false;
  std::uint32_t term = 0;
  std::uint32_t factor = 0;
  int depth = 0;
  bool decides = false;
};

/// Reads expressions of one function.
class ExpressionReader {
 public:
  ExpressionReader(const Tokens& tokens, const Summaries& summaries, Names& names)
      : tokens_(tokens), summaries_(summaries), names_(names) {}

  /// Appends what `range` uses.
  void read(Range range, Place place, std::vector<Use>& uses);
  /// The object that a pointer expression leads to, with the place; its other names are address uses.
  /// `memory` is false for `&name`: the name itself is meant.
  struct Object {
    bool found = false;
    NameId name = 0;
    bool memory = true;
    std::uint64_t access = 0;
  };
  Object object(Range range, std::vector<Use>& address_uses, int depth = 0);

 private:
  void read_sum(Range range, Place place, std::vector<Use>& uses);
  void read_product(Range range, Place place, std::vector<Use>& uses);
  void read_factor(Range range, Place place, std::vector<Use>& uses);
  Position read_name(Position at, Position end, bool dereferenced, Place place, std::vector<Use>& uses);
  void read_call(const Call& call, Place place, std::vector<Use>& uses);
  void read_summary(const Summary& summary, const std::vector<Range>& given, Place place, std::vector<Use>& uses);
  void read_memory(Range pointer, Place place, std::vector<Use>& uses);
  /// Marks the uses from `first` on that have no group, and gives its number.
  std::uint32_t group_from(std::vector<Use>& uses, std::size_t first);
  [[nodiscard]] bool binary(Position at, Position begin) const;
  [[nodiscard]] std::uint64_t hash(Range range) const;

  const Tokens& tokens_;
  const Summaries& summaries_;
  Names& names_;
  std::uint32_t terms_ = 0;
  std::uint32_t groups_ = 0;
};

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
