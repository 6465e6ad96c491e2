// The share of real messages, stored under tests/data/errors, that is classified.

#include "support/error_corpus.hpp"

#include <algorithm>
#include <set>

#include <kernelgen/prompt/error_classifier.hpp>

#include "support/catch.hpp"
#include "support/golden.hpp"

using namespace kernelgen;
using kernelgen::testing::check_golden;
using kernelgen::testing::measure_error_corpus;
using kernelgen::testing::read_error_corpus;

namespace {

constexpr auto k_corpus = KERNELGEN_SOURCE_DIR "/tests/data/errors";

}  // namespace

TEST_CASE("the corpus of errors is understood", "[prompt][errors][corpus]") {
  const auto shares = measure_error_corpus(read_error_corpus(k_corpus));
  check_golden("error_corpus.txt", shares.table + "\nmade for one class, taken for another:\n" + shares.missed);
  CHECK(shares.percent.size() == 6);
  for (const auto& [half, percent] : shares.percent) {
    INFO(half);
    CHECK(percent >= 95);
  }
}

TEST_CASE("every message of the corpus has a short report", "[prompt][errors][corpus]") {
  const auto known = error_classes();
  std::set<std::string> expected;
  for (const auto& message : read_error_corpus(k_corpus)) {
    INFO(message.tool << " " << message.source);
    const auto report = classify_error(message.record, message.code);
    expected.insert(message.expected);
    CHECK(std::binary_search(known.begin(), known.end(), message.expected));
    CHECK(report.lines.size() <= 12);
    CHECK_FALSE(report.lines.empty());
  }
  CHECK(expected.size() >= 90);
}
