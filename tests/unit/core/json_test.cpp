#include "core/json.hpp"

#include <boost/json.hpp>
#include <cmath>
#include <random>

#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/sample_record.hpp"

using namespace kernelgen;
using kernelgen::testing::check_golden;
using kernelgen::testing::full_record;
using kernelgen::testing::read_test_data;

TEST_CASE("a full record is written as its golden file", "[core][json]") {
  check_golden("record.json", to_json(full_record()));
}

TEST_CASE("a record reads back as it was written", "[core][json]") {
  const auto record = parse_record(to_json(full_record()));
  REQUIRE(record);
  CHECK(to_json(*record) == to_json(full_record()));
  CHECK(record->cases[0].seed == 18'446'744'073'709'551'615U);
  CHECK(std::isinf(record->cases[1].outputs[0].max_abs));
  CHECK_FALSE(record->cases[1].outputs[0].rms_error_vs_float64);
  CHECK(record->compile->duration == std::chrono::milliseconds(170));
}

TEST_CASE("baselines are in a record that has some, and in no other", "[core][json]") {
  auto written = full_record();
  CHECK(to_json(written).find("baselines") == std::string::npos);
  written.timing->baselines = {{BaselineKind::CompileMaxAutotune, {900, 1000, 1100}, 1000.0, 1.25, ""},
                               {.name = BaselineKind::Compile, .reason = "no compiler"}};
  const auto text = to_json(written);
  CHECK(text.find("\"name\": \"compile-max-autotune\"") != std::string::npos);
  const auto record = parse_record(text);
  REQUIRE(record);
  CHECK(to_json(*record) == text);
  REQUIRE(record->timing->baselines.size() == 2);
  CHECK(record->timing->baselines[0].speedup == 1.25);
  CHECK_FALSE(record->timing->baselines[1].median_ns);
  CHECK(record->timing->baselines[1].reason == "no compiler");
}

TEST_CASE("the facts of a task read back as they were written", "[core][json]") {
  const auto written = full_record().task.value();
  REQUIRE(written.facts);
  const auto read = from_value<TaskDescription>(to_value(written));
  REQUIRE(read);
  CHECK(read->facts == written.facts);
  CHECK(read->is_recurrent());
}

TEST_CASE("a description without facts says that they are unknown", "[core][json]") {
  const auto read = from_value<TaskDescription>(parse_json(R"({"name": "relu"})").value());
  REQUIRE(read);
  CHECK_FALSE(read->facts);
  CHECK_FALSE(read->is_recurrent());
  const auto wrong = from_value<TaskDescription>(parse_json(R"({"facts": {"families": ["gem"]}})").value());
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message.find("facts.families[0]") != std::string::npos);
}

TEST_CASE("absent parts of a record stay absent", "[core][json]") {
  const auto record = parse_record(to_json(EvaluationRecord{}));
  REQUIRE(record);
  CHECK_FALSE(record->task);
  CHECK_FALSE(record->timing);
}

TEST_CASE("an older record with missing and unknown members is read", "[core][json]") {
  const auto record = parse_record(read_test_data("records/partial.json"));
  REQUIRE(record);
  CHECK(record->task_name == "relu");
  CHECK(record->outcome.to_class() == "crash:signal 11 (SIGSEGV)");
  CHECK(record->tolerance.rtol == 1e-4);
  CHECK(record->cases.at(0).weight_set == 1);
  CHECK(record->timing->stop_reason == StopReason::Criterion);
  CHECK(std::isnan(record->timing->speedup_call.low));
}

TEST_CASE("a record from before candidates had a language and modes is read", "[core][json]") {
  const auto record = parse_record(read_test_data("records/without_language.json"));
  REQUIRE(record);
  CHECK(record->language == Language::Cpp);
  CHECK(record->mode == EvaluationMode::Full);
  CHECK_FALSE(record->timing->options);
  CHECK(record->timing->reference_median_ns == 4'050'000);
  CHECK(record->timing->reference_alone_before_ns == std::vector<std::int64_t>{4'000'000, 4'100'000, 4'050'000});
  CHECK(record->timing->reference_alone_after_ns == std::vector<std::int64_t>{4'060'000});
  CHECK(record->timing->reference_alone_graph_ns == std::vector<std::int64_t>{3'900'000});
  CHECK(record->timing->off_stream_ns == std::vector<std::int64_t>{2100, 2050});
  CHECK(record->timing->sampled_comparisons == 356);
  CHECK(record->tolerance.max_rms_error_multiple == 4);
  const auto& error = record->cases.at(0).outputs.at(0);
  CHECK(error.max_error_ratio == 2e-2);
  CHECK(error.rms_error_vs_float64 == 2e-7);
  CHECK(error.reference_rms_error_vs_float64 == 1.5e-7);
  const auto python = parse_record(R"({"schema":1,"target":"triton"})");
  REQUIRE(python);
  CHECK(python->language == Language::Python);
}

TEST_CASE("a member of the wrong type is named", "[core][json]") {
  const auto line = [](const char* text) {
    const auto record = parse_record(text);
    REQUIRE_FALSE(record);
    CHECK(record.error().code == ErrorCode::InvalidArgument);
    return record.error().to_line();
  };
  CHECK(line(R"({"schema":1,"task_name":3})") == "task_name: expected a string, found int64");
  CHECK(line(R"({"schema":1,"outcome":{"kind":"fine"}})") == R"(outcome.kind: unknown name "fine")");
  CHECK(line(R"({"schema":1,"cases":[{},{"call":1e30}]})") ==
        "cases[1].call: expected an integer in range, found double");
  CHECK(line(R"({"schema":1,"labels":"algebraic"})") == "labels: expected an array, found string");
  CHECK(line(R"({"schema":1,"timing":[]})") == "timing: expected an object, found array");
  CHECK(line(R"({"schema":1,"tolerance":{"standard":1}})") ==
        "tolerance.standard: expected true or false, found int64");
  CHECK(line(R"({"schema":1,"tolerance":{"rtol":"small"}})") == "tolerance.rtol: expected a number, found string");
  CHECK(line("[]") == "not an evaluation record: it has no schema number");
  CHECK(line("{\"schema\":1} x").find("not JSON: ") == 0);
  CHECK(line("").find("not JSON: ") == 0);
}

TEST_CASE("a record of a later schema is refused as such", "[core][json]") {
  const auto record = parse_record(R"({"schema":2})");
  REQUIRE_FALSE(record);
  CHECK(record.error().code == ErrorCode::Unsupported);
}

TEST_CASE("text that is not UTF-8 is repaired when written", "[core][json]") {
  Outcome outcome;
  outcome.message =
      "a\xFF"
      "b\xC3\xA9\xC3";
  const auto text = boost::json::serialize(to_value(outcome));
  const auto back = parse_json(text);
  REQUIRE(back);
  CHECK(back->at("message").as_string() ==
        "a\xEF\xBF\xBD"
        "b\xC3\xA9\xEF\xBF\xBD");
}

TEST_CASE("no mutation of a record crashes the reader", "[core][json][fuzz]") {
  const std::string seed_text = to_json(full_record());
  std::mt19937 random(7);
  const std::string spice = "{}[]\",:0-9eE.ntf\\\x80\xFF \n";
  for (int round = 0; round < 3000; ++round) {
    std::string text = seed_text;
    for (int edits = 1 + static_cast<int>(random() % 4); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = spice[random() % spice.size()];
          break;
        case 1:
          text.erase(at, random() % 40);
          break;
        case 2:
          text.insert(at, seed_text.substr(random() % seed_text.size(), random() % 40));
          break;
        default:
          text.resize(at + 1);
          break;
      }
    }
    if (const auto record = parse_record(text)) CHECK(parse_record(to_json(*record)));
  }
}

TEST_CASE("what is no JSON is told with line and column", "[core][json]") {
  CHECK(parse_json("{\n  \"a\": 1,\n  \"b\": x}").error().message == "not JSON: syntax error in line 3, column 8");
  CHECK(parse_json("").error().message.find("in line 1, column 1") != std::string::npos);
}

TEST_CASE("a deeply nested document is refused", "[core][json]") { CHECK_FALSE(parse_json(std::string(100'000, '['))); }
