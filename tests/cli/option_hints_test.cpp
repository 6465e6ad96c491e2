#include "option_hints.hpp"

#include <filesystem>
#include <regex>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
using namespace kernelgen::cli;

namespace {

/// The sources of the library, with strings that stand in several pieces joined.
std::string library_text() {
  std::string text;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(KERNELGEN_SOURCE_DIR "/lib")) {
    const auto suffix = entry.path().extension();
    if (suffix == ".cpp" || suffix == ".py") text += read_file(entry.path().string()).value();
  }
  return std::regex_replace(text, std::regex("\"\\s*\\n\\s*f?\""), "");
}

}  // namespace

TEST_CASE("advice of the library gets the option that follows it", "[cli][hints]") {
  CHECK(add_option_hints("there is no memory; choose another GPU, or take smaller inputs") ==
        "there is no memory; choose another GPU (--device), or take smaller inputs (--shrink NAME=VALUE)");
  CHECK(add_option_hints("choose by index, UUID or name, such as 0") ==
        "choose by index, UUID or name (--device), such as 0");
  CHECK(add_option_hints("no reply in a.jsonl; record the replies anew into a.jsonl") ==
        "no reply in a.jsonl; record the replies anew (--record FILE) into a.jsonl");
  CHECK(add_option_hints("output: wrong") == "output: wrong");
}

TEST_CASE("a command's errors name no option that it lacks", "[cli][hints]") {
  const Command command{.name = "prompt", .summary = "", .options = {{.name = "--device"}}};
  CHECK(add_option_hints("choose another GPU, or take smaller inputs; mend that", &command) ==
        "choose another GPU (--device), or take smaller inputs; mend that (kgen doctor says how)");
}

TEST_CASE("every hint belongs to something that the library says", "[cli][hints]") {
  const auto text = library_text();
  for (const auto& hint : option_hints()) {
    INFO(hint.advice);
    CHECK(text.find(hint.advice) != text.npos);
  }
}
