#pragma once

/// \file
/// The structure of a reply: what the model thought, what it fenced. Hand-written scanning: linear in the text.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// Whether the end of something was seen.
enum class Ending { Closed, Open };

/// A text and whether its last part came to its end.
struct Stripped {
  std::string text;
  /// Open: the text ends inside a thought.
  Ending thought = Ending::Closed;
};

/// Without byte order mark and with plain line ends.
[[nodiscard]] std::string normalize_lines(std::string_view text);

/// Without <think> and <thinking> blocks. One that is never closed reaches to the end; one that was never opened
/// reaches back to the beginning, because chat templates often write the opening tag themselves.
[[nodiscard]] Stripped without_thoughts(std::string_view text);

/// What stands between the last <answer> and its end; empty when there is none.
[[nodiscard]] std::string_view last_answer(std::string_view text);
/// The text without lines that hold nothing but an <answer> tag.
[[nodiscard]] std::string without_answer_tags(std::string_view text);

/// One fenced block.
struct FencedBlock {
  std::string content;
  Ending ending = Ending::Closed;
};

/// The fenced blocks of a text, in order.
struct Fences {
  std::vector<FencedBlock> blocks;
  /// Bytes before the first fence; the size of the text when there is none.
  std::size_t first = 0;
};

/// Backticks or tildes, with any info string, indented or not; a block may hold shorter fences. A fence with an info
/// string inside an open one of the same kind starts a new block: the model forgot to close the first.
[[nodiscard]] Fences find_fences(std::string_view text);

}  // namespace v0
}  // namespace kernelgen
