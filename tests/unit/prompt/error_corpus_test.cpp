// Real messages of real tools, stored under tests/data/errors: what share of them is understood.

#include "support/error_corpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include <kernelgen/prompt/error_classifier.hpp>

#include "support/catch.hpp"
#include "support/golden.hpp"

using namespace kernelgen;
using kernelgen::testing::check_golden;
using kernelgen::testing::CorpusMessage;
using kernelgen::testing::read_error_corpus;
using kernelgen::testing::read_test_data;

namespace {

struct Share {
  int right = 0;
  int all = 0;
  [[nodiscard]] double percent() const { return all == 0 ? 0 : 100.0 * right / all; }
};

ErrorReport classify(const CorpusMessage& message) {
  return classify_error(message.record, read_test_data("errors/sources/" + message.source));
}

}  // namespace

TEST_CASE("the corpus of errors is understood", "[prompt][errors][corpus]") {
  std::map<std::string, std::map<std::string, Share>> by_tool;
  std::map<std::string, Share> by_half;
  std::string missed;
  for (const auto& message : read_error_corpus()) {
    const auto found = classify(message).error_class;
    const bool right = found == message.expected;
    for (auto* share : {&by_tool[message.tool][message.half], &by_half[message.half]}) {
      share->right += right ? 1 : 0;
      ++share->all;
    }
    if (!right)
      missed += fmt::format("{:<19} {:<36} {:<26} {}\n", message.tool, message.source, message.expected, found);
  }
  std::string table = "tool                  visible    unseen     later\n";
  const auto cell = [](const Share& share) { return fmt::format("{}/{}", share.right, share.all); };
  for (auto& [tool, halves] : by_tool)
    table += fmt::format("{:<18} {:>10} {:>9} {:>9}\n", tool, cell(halves["visible"]), cell(halves["unseen"]),
                         cell(halves["later"]));
  for (const auto& [half, share] : by_half)
    table += fmt::format("{}: {} = {:.1f} %\n", half, cell(share), share.percent());
  table += "\nmade for one class, taken for another:\n" + missed;
  check_golden("error_corpus.txt", table);
  CHECK(by_half["visible"].percent() >= 95);
  CHECK(by_half["unseen"].percent() >= 95);
  CHECK(by_half["later"].percent() >= 95);
}

TEST_CASE("every message of the corpus has a short report", "[prompt][errors][corpus]") {
  const auto known = error_classes();
  std::set<std::string> expected;
  for (const auto& message : read_error_corpus()) {
    INFO(message.tool << " " << message.source);
    const auto report = classify(message);
    expected.insert(message.expected);
    CHECK(std::binary_search(known.begin(), known.end(), message.expected));
    CHECK(report.lines.size() <= 12);
    CHECK_FALSE(report.lines.empty());
    CHECK(report.hint == report.error_class);
  }
  CHECK(expected.size() >= 90);
}
