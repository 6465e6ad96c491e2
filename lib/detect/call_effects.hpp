#pragma once

/// \file
/// The effects of calls: known functions, operations of the device, copies, launches, assembly.

#include <vector>

#include "detect/fact_writer.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {

/// Records the effects of calls. Borrows the writer and the summaries.
class CallEffects {
 public:
  CallEffects(const Tokens& tokens, const Summaries& summaries, Side side, FactWriter& writer)
      : tokens_(tokens), summaries_(summaries), side_(side), writer_(writer) {}

  /// `statement` is the statement around the call.
  void read(const Call& call, Range statement);
  /// list.append(h), total.add_(x): on the host, the arguments of a method become part of its object.
  void append_arguments(const Call& call, Range statement);

 private:
  bool host_effect(const Call& call);
  void assembly(const Call& call);
  [[nodiscard]] bool same(Range a, Range b) const;
  void operand(Range input, Range output, const std::vector<Range>& outputs, Use role, Fact& fact);
  void set_whole(Range name);
  void store_block(const Call& call, const std::vector<Range>& arguments);
  void multiply_matrices(const std::vector<Range>& arguments);
  void draw(const std::vector<Range>& arguments);
  void scan(const std::vector<Range>& arguments);
  [[nodiscard]] bool is_whole(const Call& call, Range statement) const;
  [[nodiscard]] bool sets_constant(const std::vector<Range>& arguments) const;
  [[nodiscard]] bool is_plain(Range argument) const;
  bool compute_first(const Call& call, const std::vector<Range>& arguments);
  bool write_outputs(const std::vector<Range>& arguments);
  [[nodiscard]] bool is_written_address(Range argument, Range first) const;
  [[nodiscard]] bool is_scratch(Range argument) const;
  [[nodiscard]] bool is_output(Range argument) const;
  void accumulate(const std::vector<Range>& arguments, bool reads);
  void apply(const Summary& summary, const std::vector<Range>& given);

  const Tokens& tokens_;
  const Summaries& summaries_;
  Side side_;
  FactWriter& writer_;
};

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
