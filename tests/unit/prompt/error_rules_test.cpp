// The tables of error rules: each rule is needed, matches its example, and contradicts no other.

#include "prompt/error_rules.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <kernelgen/prompt/error_classifier.hpp>

#include "prompt/error_steps.hpp"
#include "support/catch.hpp"
#include "support/error_corpus.hpp"

using namespace kernelgen;
using kernelgen::testing::read_error_corpus;

namespace {

std::vector<const ErrorRule*> all_rules() {
  std::vector<const ErrorRule*> all;
  for (const auto rules : {triton_rules(), python_rules(), compiler_rules(), runtime_rules()})
    for (const auto& rule : rules) all.push_back(&rule);
  return all;
}

/// Every message of the corpus that the rules classify.
std::vector<ToolMessage> corpus_messages() {
  std::vector<ToolMessage> messages;
  for (const auto& one : read_error_corpus(KERNELGEN_SOURCE_DIR "/tests/data/errors"))
    if (auto found = classify_outcome(one.record, one.code); found.message)
      messages.push_back(*std::move(found.message));
  return messages;
}

}  // namespace

TEST_CASE("no two rules of one rank claim a message of the corpus for different classes", "[prompt][errors][rules]") {
  for (const auto& message : corpus_messages()) {
    std::set<std::string_view> classes;
    for (const auto* rule : matching_rules(message)) classes.insert(rule->error_class);
    INFO(message.text << "\n" << message.context);
    CHECK(classes.size() <= 1);
  }
}

TEST_CASE("every rule decides a message of the corpus, and its example is part of one", "[prompt][errors][rules]") {
  std::map<const ErrorRule*, bool> has_example;
  for (const auto& message : corpus_messages())
    for (const auto* rule : matching_rules(message))
      has_example[rule] = has_example[rule] || message.text.find(rule->example) != message.text.npos;
  for (const auto* rule : all_rules()) {
    INFO(rule->error_class << ": " << rule->pattern);
    REQUIRE(has_example.count(rule) == 1);
    CHECK(has_example[rule]);
    CHECK_FALSE(rule->example.empty());
  }
}

TEST_CASE("a rule stands in the tables once", "[prompt][errors][rules]") {
  std::set<std::tuple<ErrorTool, std::string_view, std::string_view>> seen;
  for (const auto* rule : all_rules()) {
    INFO(rule->error_class << ": " << rule->pattern);
    CHECK(seen.insert({rule->tools, rule->pattern, rule->context}).second);
  }
}

TEST_CASE("a rule of a higher rank decides, whatever its place in the table", "[prompt][errors][rules]") {
  CHECK(class_of_message({ErrorTool::Kernel, "num_warps must be a power of 2", ""}) == "triton.value");
  CHECK(class_of_message({ErrorTool::Kernel, "arange's range must be a power of 2", ""}) == "triton.power_of_two");
  CHECK(class_of_message({ErrorTool::GpuCompiler, "identifier \"t\" is undefined", ""}) == "cxx.undeclared");
  CHECK(class_of_message({ErrorTool::GpuCompiler, "identifier \"t\" is undefined in device code", ""}) ==
        "device.memory_space");
}

TEST_CASE("a rule is asked only about messages of its tools", "[prompt][errors][rules]") {
  CHECK(class_of_message({ErrorTool::Launch, "KeyError: 'BLOCK'", ""}) == "triton.grid");
  CHECK(class_of_message({ErrorTool::Module, "KeyError: 'BLOCK'", ""}) == "python.index");
  CHECK(class_of_message({ErrorTool::Runtime, "KeyError: 'BLOCK'", ""}).empty());
}

TEST_CASE("the context of a message tells apart what its words do not", "[prompt][errors][rules]") {
  const std::string words = "Cannot broadcast, rank mismatch: [32], [64, 32]";
  CHECK(class_of_message({ErrorTool::Kernel, words, "tl.load(x + offs, mask=mask)"}) == "triton.pointer_mask");
  CHECK(class_of_message({ErrorTool::Kernel, words, "a + b"}) == "triton.block_shape");
}

TEST_CASE("the beginning of a message is not the beginning of one of its lines", "[prompt][errors][rules]") {
  CHECK(class_of_message({ErrorTool::Module, "Odd: what the candidate prints\nTypeError: told", ""}).empty());
}
