#pragma once

/// \file
/// The structure of a reply: thoughts and fenced blocks. Hand-written scanning in linear time.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// Whether an end was found.
enum class Ending { Closed, Open };

/// A text without its thoughts, and whether the last of them ended.
struct Stripped {
  std::string text;
  /// Open: the text ends inside a thought.
  Ending thought = Ending::Closed;
};

/// The text without byte order mark and with plain line ends.
[[nodiscard]] std::string normalize_lines(std::string_view text);

/// The text without <think> and <thinking> blocks. An unclosed block reaches to the end; a block without its opening
/// tag begins at the start, because chat templates often write that tag themselves.
[[nodiscard]] Stripped without_thoughts(std::string_view text);

/// The text between the last <answer> and its end; empty when there is none.
[[nodiscard]] std::string_view last_answer(std::string_view text);
/// The text without lines that consist of an <answer> tag.
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

/// Finds the blocks, with backticks or tildes and any info string, indented or not; a block may contain shorter fences.
/// A fence with an info string inside an open one of the same kind starts a new block, because the model forgot to
/// close the first.
[[nodiscard]] Fences find_fences(std::string_view text);

}  // namespace v0
}  // namespace kernelgen
