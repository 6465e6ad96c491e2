// A target that the program registered, from the prompt to the repaired candidate.

#include <string>

#include <kernelgen/bench/fake_benchmarker.hpp>
#include <kernelgen/detect/persistent_detector.hpp>
#include <kernelgen/flow/repair_loop.hpp>
#include <kernelgen/llm/scripted_client.hpp>
#include <kernelgen/prompt/error_classifier.hpp>
#include <kernelgen/prompt/reply_reader.hpp>

#include "core/target_registry.hpp"
#include "support/catch.hpp"
#include "unit/prompt/prompt_fixture.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

const std::string k_rules = "## MyDSL\n\nA file has one `kernel`. {{braces}} and <tags> mean themselves.";

Target dsl() {
  static const auto target =
      register_target({.name = "mydsl", .language = "MyDSL", .entry_point = "kernel", .prompt_text = k_rules}).value();
  return target;
}

std::string code_of(const std::string& text, Target target = dsl()) {
  return extract_code({.text = text}, target).code.value_or("");
}

}  // namespace

TEST_CASE("every kind of prompt for a custom target shows its text and its language", "[prompt][target]") {
  for (const auto kind : k_kinds) {
    auto request = sample_prompt_request(kind);
    request.target = dsl();
    if (kind == PromptKind::Stage || kind == PromptKind::Seed) request.variant = "";
    INFO(to_string(kind));
    if (kind == PromptKind::Stage) {
      CHECK(refusal(request) == "a stage prompt needs a variant: the name of the stage");
      continue;
    }
    const auto prompt = built(request);
    CHECK(holds(prompt.text, "MyDSL"));
    CHECK(holds(prompt.text, request.task.text));
    CHECK(holds(prompt.text, "| `x` |"));
    CHECK(holds(prompt.text, k_rules));
    CHECK(prompt.text.find_first_of("\x01\x02\x03\x04") == std::string::npos);
    if (kind == PromptKind::Seed) CHECK(holds(prompt.text, "```mydsl"));
    if (kind == PromptKind::Seed) CHECK_FALSE(holds(prompt.text, "kgen_run"));
  }
}

TEST_CASE("a template of a custom target takes the place of its text", "[prompt][target]") {
  const Overrides overrides;
  overrides.write("targets/mydsl.mustache", "Rules of {{language}} in a template.\n");
  auto request = sample_prompt_request(PromptKind::Seed);
  request.target = dsl();
  request.variant = "";
  const auto text = builder(overrides.path())->build(request).value().text;
  CHECK(holds(text, "Rules of MyDSL in a template."));
  CHECK_FALSE(holds(text, k_rules));
}

TEST_CASE("a custom target without a text has no prompts, and no variants", "[prompt][target]") {
  auto request = sample_prompt_request(PromptKind::Seed);
  request.target = register_target({.name = "silent"}).value();
  CHECK(refusal(request) ==
        "there are no prompts for target silent: no template targets/silent.mustache, and no text in its traits");
  CHECK(shipped().variants(PromptKind::Seed, request.target).empty());
  CHECK(shipped().variants(PromptKind::Stage, request.target).empty());
}

TEST_CASE("the code of a reply is the last block with the entry point", "[prompt][target]") {
  const std::string kernel = "kernel y = max(x, 0)\n";
  CHECK(code_of("First:\n```mydsl\nkernel old\n```\nBetter:\n```\n" + kernel + "```\n```\nrun it\n```\n") == kernel);
  CHECK(extract_code({.text = "```\nkernels\n```\n"}, dsl()).problem ==
        "no code block of the reply holds the word kernel: write the whole file into one block");
  CHECK_THAT(extract_code({.text = "kernel y = x"}, dsl()).problem, Catch::Contains("holds no code block"));
  static const auto any = register_target({.name = "any-block"}).value();
  CHECK(code_of("```\none\n```\n```\ntwo\n```\n", any) == "two\n");
}

TEST_CASE("errors of a custom target's compiler have a class, and no advice on C++", "[prompt][target]") {
  EvaluationRecord record;
  record.target = dsl();
  record.outcome = {OutcomeKind::Compile, "other", "no such operation"};
  record.compile.emplace().log = "candidate.mydsl:1:1: error: 'thread' is not a member of 'std'\n";
  const auto report = classify_error(record, "kernel");
  CHECK(report.error_class.starts_with("cxx."));
  CHECK_FALSE(holds(report.advice, "<thread>"));
  record.compile->log = "something went wrong\n";
  CHECK_FALSE(classify_error(record, "kernel").error_class.empty());
}

TEST_CASE("the detector says that it does not read a custom target", "[prompt][target]") {
  const auto report = make_persistent_detector()->inspect("kernel", dsl());
  CHECK(report.verdict == Recurrence::Unknown);
  CHECK(report.reason == "The detector does not read the language of target mydsl.");
}

TEST_CASE("a candidate of a custom target is repaired like any other", "[prompt][target]") {
  ScriptedLLMClient model(
      {ScriptedLLMClient::reply("No idea."), ScriptedLLMClient::reply("```mydsl\nkernel y = max(x, 0)\n```")});
  FakeBenchmarker judge([](const EvaluationRequest& request) {
    CHECK(request.candidate.target == dsl());
    EvaluationRecord record;
    record.target = request.candidate.target;
    if (!holds(request.candidate.source, "max")) record.outcome = {OutcomeKind::Accuracy, "mismatch", "off by 3"};
    return record;
  });
  const auto detector = make_persistent_detector();
  RepairLoop loop({model, shipped(), judge, *detector}, {.max_attempts = 3});
  RepairRequest request;
  request.task = {.name = "relu", .text = "class Model: ..."};
  request.candidate = make_candidate(dsl(), "kernel y = x\n");
  const auto outcome = loop.run(request, {}, {});
  if (outcome.error) FAIL(outcome.error->to_line());
  CHECK(outcome.best == "start/repair2");
  CHECK(outcome.history.at("start/repair2").candidate.value().source == "kernel y = max(x, 0)\n");
}
