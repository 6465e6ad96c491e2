#pragma once

/// \file
/// A task's Python source as words: enough to see which operations it names.

#include <string>
#include <string_view>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// The source with the insides of texts and comments as blanks; line ends stay.
[[nodiscard]] std::string code_only(std::string_view python);

/// One word, with what stands right before and after it.
struct PythonWord {
  std::string_view text;
  char before = ' ';
  char after = ' ';
};

/// The words of a text in order; they point into it.
[[nodiscard]] std::vector<PythonWord> words_of(std::string_view text);

}  // namespace v0
}  // namespace kernelgen
