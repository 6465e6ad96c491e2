#include <kernelgen/prompt/prompt_set.hpp>

#include <string>
#include <vector>

#include "fuzz/prompt_set_fuzz.hpp"
#include "prompt/json_places.hpp"
#include "support/catch.hpp"
#include "support/effort.hpp"
#include "support/sample_prompt.hpp"
#include "unit/prompt/prompt_fixture.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

using Texts = std::vector<std::string>;

/// A directory with the config.json of the framework's description, and the prompts that it names.
class SetDirectory : public Overrides {
 public:
  SetDirectory() {
    for (const char* name : {"elementwise_bf16", "gemm_rocblas", "gemm_hipkittens"})
      write(std::string(name) + ".txt", "About " + std::string(name) + ".\n");
    write("config.json", R"({
  "default_prompt": "elementwise_bf16.txt",
  "patterns": {
    "relu|sigmoid|tanh": "elementwise_bf16.txt",
    "matmul|gemm": "gemm_rocblas.txt",
    "attention": "gemm_hipkittens.txt"
  },
  "reflection_hints": {
    "PERFORMANCE TOO SLOW": ["优化建议1", "优化建议2"],
    "Compile error": ["修复建议1", "修复建议2"]
  }
})");
  }

  /// The message about another config.json, without the directory.
  [[nodiscard]] std::string refusal(const std::string& config) const {
    write("config.json", config);
    const auto set = read_prompt_set(path());
    REQUIRE_FALSE(set);
    CHECK(set.error().code == ErrorCode::InvalidArgument);
    const auto directory = path().string() + "/";
    CHECK(set.error().message.find(directory) == 0);
    return set.error().message.substr(directory.size());
  }
};

EvaluationRecord failed_record(OutcomeKind kind, const std::string& detail, const std::string& message) {
  EvaluationRecord record;
  record.outcome = {kind, detail, message};
  return record;
}

EvaluationRecord timed_record(double speedup) {
  EvaluationRecord record;
  record.timing.emplace().speedup_call = {speedup, speedup, speedup};
  return record;
}

}  // namespace

TEST_CASE("the first pattern that fits chooses the prompt, whatever its case, else the default",
          "[prompt][prompt_set]") {
  const SetDirectory directory;
  const auto set = read_prompt_set(directory.path()).value();
  REQUIRE(set.patterns.size() == 3);
  CHECK(set.patterns[1].pattern == "matmul|gemm");
  CHECK(prompt_file_for(set, "19_ReLU") == "elementwise_bf16.txt");
  CHECK(prompt_file_for(set, "1_Square_MatMul") == "gemm_rocblas.txt");
  CHECK(prompt_file_for(set, "97_ScaledDotProductAttention") == "gemm_hipkittens.txt");
  CHECK(prompt_file_for(set, "Attention_of_a_Gemm") == "gemm_rocblas.txt");
  CHECK(prompt_file_for(set, "50_conv") == "elementwise_bf16.txt");
}

TEST_CASE("patterns keep the order of the file, not that of their letters", "[prompt][prompt_set]") {
  const SetDirectory directory;
  directory.write(
      "config.json",
      R"({"patterns": {"z": "gemm_rocblas.txt", "a": "gemm_hipkittens.txt", "^$": "elementwise_bf16.txt"}})");
  const auto set = read_prompt_set(directory.path()).value();
  CHECK(prompt_file_for(set, "a_z") == "gemm_rocblas.txt");
  CHECK(prompt_file_for(set, "A") == "gemm_hipkittens.txt");
  CHECK(prompt_file_for(set, "") == "elementwise_bf16.txt");
  CHECK(prompt_file_for(set, "other").empty());
}

TEST_CASE("an error gets the hints whose text it contains, at most three", "[prompt][prompt_set]") {
  const SetDirectory directory;
  auto set = read_prompt_set(directory.path()).value();
  CHECK(reflection_hints_for(set, "PERFORMANCE TOO SLOW: 0.5x") == Texts{"优化建议1", "优化建议2"});
  CHECK(reflection_hints_for(set, "performance too slow").empty());
  CHECK(reflection_hints_for(set, "").empty());
  CHECK(reflection_hints_for(set, "Compile error, and PERFORMANCE TOO SLOW") ==
        Texts{"优化建议1", "优化建议2", "修复建议1"});
  // A member may also be one text.
  directory.write("config.json", R"({"reflection_hints": {"nan": "Check divisions.", "": ["always"]}})");
  set = read_prompt_set(directory.path()).value();
  CHECK(reflection_hints_for(set, "accuracy:nan") == Texts{"Check divisions.", "always"});
}

TEST_CASE("what is wrong in a config.json is named with its line and column", "[prompt][prompt_set]") {
  const SetDirectory directory;
  CHECK(directory.refusal("{\n  \"patterns\": {,}\n}") == "config.json:2:16: not JSON: syntax error");
  CHECK(directory.refusal("{\n \"a\": 1") == "config.json:2:8: not JSON: incomplete JSON");
  CHECK(directory.refusal("") == "config.json:1:1: not JSON: incomplete JSON");
  CHECK(directory.refusal("[1]") == "config.json:1:1: expected an object");
  CHECK(directory.refusal("{\"patterns\":\n  []}") == "config.json:2:3: patterns: expected an object");
  CHECK(directory.refusal("{\"patterns\": {\n  \"relu\": 7}}") ==
        "config.json:2:11: expected the name of a prompt's file");
  CHECK(directory.refusal("{\"default_prompt\": \"\"}") == "config.json:1:20: expected the name of a prompt's file");
  CHECK(directory.refusal("{\"reflection_hints\": {\"a\": 1}}") == "config.json:1:28: expected a list of hints");
  CHECK(directory.refusal("{\"reflection_hints\": {\"激\": [\"b\",\n 1]}}") == "config.json:2:2: expected a text");
  const auto pattern =
      directory.refusal("{\"patterns\": {\n  \"ok\": \"gemm_rocblas.txt\",\n  \"激(\": \"gemm_rocblas.txt\"}}");
  CHECK(pattern.find("config.json:3:3: not a regular expression: ") == 0);
  CHECK(pattern.find('\n') == std::string::npos);
  CHECK(directory.refusal("{\"patterns\": {\n  \"激\":  \"gemm_rocblass.txt\"}}") ==
        "config.json:2:9: there is no prompt gemm_rocblass.txt in this folder; did you mean gemm_rocblas.txt?");
  for (const char* outside : {"../secret.txt", "a/../../secret.txt", "/etc/hostname"})
    CHECK(directory.refusal("{\"default_prompt\": \"" + std::string(outside) + "\"}") ==
          "config.json:1:20: prompt " + std::string(outside) + " is outside of this folder");
  CHECK(directory.refusal("{\"default_prompt\": \".\"}").find("config.json:1:20: prompt .: ") == 0);
  directory.write("latin.txt", "\xE9t\xE9");
  CHECK(directory.refusal("{\"default_prompt\": \"latin.txt\"}") ==
        "config.json:1:20: prompt latin.txt is no text in UTF-8");
}

TEST_CASE("a misspelt member is not passed over", "[prompt][prompt_set]") {
  const SetDirectory directory;
  CHECK(directory.refusal("{\n  \"pattern\": {}}") ==
        "config.json:2:3: unknown member pattern; did you mean patterns?");
  CHECK(directory.refusal("{\"reflection_hint\": {}}").find("did you mean reflection_hints?") != std::string::npos);
}

TEST_CASE("members that are not known and a byte order mark are passed over", "[prompt][prompt_set]") {
  const SetDirectory directory;
  directory.write("config.json", "\xEF\xBB\xBF{\"comment\": [1], \"default_prompt\": null}");
  const auto set = read_prompt_set(directory.path());
  REQUIRE(set);
  CHECK(set->default_prompt.empty());
  CHECK(directory.refusal("\xEF\xBB\xBF{\"default_prompt\": 1}").find("config.json:1:20: ") == 0);
}

TEST_CASE("a directory without config.json is no prompt set", "[prompt][prompt_set]") {
  const Overrides empty;
  CHECK_FALSE(is_prompt_set(empty.path()));
  CHECK_FALSE(is_prompt_set(""));
  CHECK(is_prompt_set(SetDirectory().path()));
  CHECK(read_prompt_set(empty.path()).error().code == ErrorCode::NotFound);
}

TEST_CASE("the errors of candidates have the framework's words in front", "[prompt][prompt_set]") {
  CHECK(framework_error(timed_record(0.5)) == "PERFORMANCE TOO SLOW: speedup 0.500x < 1.0x");
  CHECK(framework_error(timed_record(1)).empty());
  CHECK(framework_error(EvaluationRecord{}).empty());
  auto by_device = timed_record(1.5);
  by_device.timing->speedup_device = {0.25, 0.2, 0.3};
  CHECK(framework_error(by_device) == "PERFORMANCE TOO SLOW: speedup 0.250x < 1.0x");
  auto compile = failed_record(OutcomeKind::Compile, "syntax", "expected ;");
  compile.compile.emplace().log = std::string(3000, 'a') + "\n" + std::string(2000, 'b') + "\n";
  const auto text = framework_error(compile);
  CHECK(text.find("Compile error: compile:syntax: expected ;\nbbb") == 0);
  CHECK(text.find('a', text.find('\n')) == std::string::npos);
  auto extension = failed_record(OutcomeKind::Import, "",
                                 "RuntimeError: Error building extension 'k': main.cpp:3:5: error: use of undeclared "
                                 "identifier 'foo'");
  extension.target = Target::Torch;
  CHECK(framework_error(extension).find("Compile error: import: RuntimeError") == 0);
  CHECK(framework_error(failed_record(OutcomeKind::Accuracy, "nan", "x")) == "Accuracy error: accuracy:nan: x");
  CHECK(framework_error(failed_record(OutcomeKind::DeviceFault, "fault", "x")).find("GPU crash: ") == 0);
  CHECK(framework_error(failed_record(OutcomeKind::Timeout, "", "x")).find("Timeout: timeout: x") == 0);
  auto syntax = failed_record(OutcomeKind::Syntax, "", "x");
  syntax.target = Target::Torch;
  CHECK(framework_error(syntax).find("Import error: ") == 0);
  CHECK(framework_error(failed_record(OutcomeKind::Interface, "", "x")) == "Error: interface: x");
}

TEST_CASE("prompts for code show the text for the task and the hints for the error", "[prompt][prompt_set]") {
  const SetDirectory directory;
  for (const auto& made :
       {make_prompt_builder({.directory = k_templates, .overrides = directory.path()}),
        make_prompt_builder({.directory = k_templates, .overrides = {}, .prompt_set = directory.path()})}) {
    REQUIRE(made);
    const auto& prompts = **made;
    auto request = sample_prompt_request(PromptKind::Seed, Target::Torch);
    request.task.name = "1_matmul";
    request.instructions = "From the policy.";
    const auto seed = prompts.build(request).value();
    CHECK(holds(seed.text, "From the policy.\n\nAbout gemm_rocblas."));
    CHECK_FALSE(holds(seed.text, "About what became"));
    request = sample_prompt_request(PromptKind::Reflect, Target::Torch);
    request.base->record = timed_record(0.5);
    const auto reflect = prompts.build(request).value();
    CHECK(holds(reflect.text,
                "About elementwise_bf16.\n\nAbout what became of the earlier attempt:\n\n- 优化建议1\n- 优化建议2"));
    request.base->record.reset();
    request.base->message = "Compile error";
    CHECK(holds(prompts.build(request).value().text, "修复建议2"));
    // A question about a candidate is no request for code.
    CHECK_FALSE(
        holds(prompts.build(sample_prompt_request(PromptKind::Analysis, Target::Torch)).value().text, "About "));
    CHECK(prompts.variants(PromptKind::Seed, Target::Cpp) == shipped().variants(PromptKind::Seed, Target::Cpp));
  }
}

TEST_CASE("the shown text and hints make another fingerprint", "[prompt][prompt_set]") {
  const SetDirectory directory;
  const auto prompts = builder(directory.path());
  const auto request = sample_prompt_request(PromptKind::Seed, Target::Torch);
  CHECK(prompts->build(request).value().fingerprint != built(request).fingerprint);
}

TEST_CASE("a prompt set that cannot be read is an error of the builder", "[prompt][prompt_set]") {
  const SetDirectory directory;
  CHECK_FALSE(directory.refusal("{").empty());
  const auto refused = make_prompt_builder({.directory = k_templates, .overrides = directory.path()});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("config.json:1:2: not JSON") != std::string::npos);
}

TEST_CASE("the prompt set that comes with kgen covers the framework's kinds of tasks", "[prompt][prompt_set]") {
  const auto set = read_prompt_set(k_templates + "/hip_framework").value();
  const auto chosen = [&](const std::string& task) { return prompt_file_for(set, task); };
  CHECK(chosen("19_ReLU") == "elementwise_bf16.txt");
  CHECK(chosen("1_Square_matrix_multiplication_") == "gemm_rocblas.txt");
  CHECK(chosen("97_ScaledDotProductAttention") == "attention.txt");
  CHECK(chosen("23_Softmax") == "normalization.txt");
  CHECK(chosen("36_RMSNorm_") == "normalization.txt");
  CHECK(chosen("47_Sum_reduction_over_a_dimension") == "reduction.txt");
  CHECK(set.texts.contains("elementwise_bf16.txt"));
  CHECK_FALSE(set.default_prompt.empty());
  CHECK_FALSE(reflection_hints_for(set, framework_error(timed_record(0.5))).empty());
  for (const auto& [part, hints] : set.reflection_hints) {
    INFO(part);
    CHECK(hints.size() <= k_max_reflection_hints);
  }
}

TEST_CASE("places in JSON are found through escapes", "[prompt][prompt_set]") {
  const JsonPlaces places("{\"a\\\"}\": [1, {\"b\": \"}\"}, \"\\u0041\"],\n\"\\u0063\": {}, \"d\": -1.5e3}");
  CHECK(places.of_key({"a\"}"}).column == 2);
  CHECK(places.of_value({"a\"}", "1", "b"}).column == 20);
  CHECK(places.of_value({"a\"}", "2"}).column == 26);
  CHECK(places.of_key({"c"}).line == 2);
  CHECK(places.of_value({"d"}).column == 20);
  CHECK(places.of_value({"gone"}).line == 1);
}

TEST_CASE("any bytes are a prompt set, or an error with its place", "[prompt][prompt_set][fuzz]") {
  const std::string seed =
      "{\"patterns\": {\"re(l|u)\": \"a.txt\", \"\\u0041\": \"b\"}, \"reflection_hints\": {\"x\": "
      "[\"1\", \"2\"], \"re\": \"3\"}, \"default_prompt\": null}";
  std::uint32_t state = 12345;
  const auto random = [&](std::size_t below) {
    state = state * 1664525u + 1013904223u;
    return static_cast<std::size_t>(state >> 8) % below;
  };
  for (int round = 0; round < 5000 / k_less; ++round) {
    auto text = seed;
    for (auto changes = random(6); changes > 0; --changes) {
      const auto at = random(text.size());
      if (random(2) == 0)
        text[at] = static_cast<char>(random(2) == 0 ? seed[random(seed.size())] : static_cast<char>(random(256)));
      else
        text.erase(at, 1 + random(8));
      if (text.empty()) text = "{";
    }
    fuzz_prompt_set(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
  fuzz_prompt_set(nullptr, 0);
  SUCCEED("every text was read");
}
