// Prompts by target, variant and budget, and the effects of critics and profilers.

#include <set>
#include <string>

#include "support/catch.hpp"
#include "support/sample_prompt.hpp"
#include "unit/prompt/prompt_fixture.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

TEST_CASE("each target has strategies that differ", "[prompt][builder][variants]") {
  for (const auto target : k_targets) {
    const auto names = shipped().variants(PromptKind::Seed, target);
    CHECK(names.size() >= 4);
    std::set<std::string> texts;
    auto request = sample_prompt_request(PromptKind::Seed, target);
    for (const auto& name : names) {
      request.variant = name;
      texts.insert(built(request).text);
    }
    request.variant.clear();
    CHECK(texts.count(built(request).text) == 0);
    CHECK(texts.size() == names.size());
  }
  CHECK(shipped().variants(PromptKind::Seed, Target::Cpp).front() == "vectorized_packed");
}

TEST_CASE("strategies for GPUs fit the kind of work", "[prompt][builder][variants]") {
  for (const auto target : {Target::Cuda, Target::Hip, Target::Hipkittens, Target::Triton}) {
    INFO(to_string(target));
    auto request = sample_prompt_request(PromptKind::Seed, target);
    const auto advice = [&](std::size_t index) {
      request.variant = shipped().variants(PromptKind::Seed, target)[index];
      const auto text = built(request).text;
      return text.substr(text.find("## Strategy for this attempt"));
    };
    // Its 108 KiB of recurrent weights fit on one multiprocessor.
    CHECK(holds(advice(0), "No exchange first"));
    CHECK(holds(advice(1), target == Target::Triton ? "Split first" : "first. "));
    CHECK_FALSE(holds(advice(1), "No exchange first"));
    request.description.facts = TaskFacts{};
    CHECK(holds(advice(1), "Bandwidth first"));
    request.description.facts->families = {OperationFamily::Gemm};
    CHECK_FALSE(holds(advice(1), "Bandwidth first"));
    // The kind of work is recognized whatever the budget.
    request.max_tokens = least_tokens(request);
    CHECK_FALSE(holds(advice(1), "Bandwidth first"));
  }
}

TEST_CASE("the first strategies of a recurrence follow from its size, and so do its words",
          "[prompt][builder][variants]") {
  auto request = sample_prompt_request(PromptKind::Seed, Target::Cuda);
  for (auto& weight : request.description.parameters)
    if (holds(weight.name, "weight_hh")) weight.shape = {768, 256};
  GpuFacts gpu;
  gpu.vendor = "nvidia";
  gpu.multiprocessors = 132;
  gpu.registers_per_multiprocessor = 65'536;
  gpu.shared_bytes_per_block_optin = 232'448;
  gpu.cluster_blocks = 8;
  const auto text = [&](std::size_t index) {
    request.variant = shipped().variants(PromptKind::Seed, Target::Cuda)[index];
    return built(request).text;
  };
  request.variant = shipped().variants(PromptKind::Seed, Target::Cuda)[0];
  const auto unknown = built(request);
  request.on_gpu = true;
  request.gpu = gpu;
  CHECK(built(request).fingerprint == unknown.fingerprint);
  CHECK(holds(text(0), "Split within a cluster first"));
  CHECK(holds(text(0), "a cluster of 8 2.77 MiB, all 132 together 45.8 MiB: they need a cluster)"));
  CHECK(holds(text(1), "All layers at once first"));
  CHECK(holds(text(2), "\nSplit first."));
  CHECK(holds(text(3), "Less work first"));
  for (std::size_t i = 0; i < 4; ++i) CHECK_FALSE(holds(text(i), "No exchange first"));
  request.gpu->cluster_blocks = 0;
  CHECK(holds(text(0), "\nSplit first."));
  CHECK_FALSE(holds(text(0), "Clusters of 8 blocks"));
}

TEST_CASE("a working kernel needs no example, no list of calls and no ABI beside it", "[prompt][builder][variants]") {
  for (const auto target : {Target::Cpp, Target::Cuda, Target::Hip, Target::Triton}) {
    INFO(to_string(target));
    const auto seed = built(sample_prompt_request(PromptKind::Seed, target)).text;
    const auto stage = built(sample_prompt_request(PromptKind::Stage, target)).text;
    const auto repair = built(sample_prompt_request(PromptKind::Repair, target)).text;
    CHECK(holds(seed, "The form, for another task"));
    CHECK_FALSE(holds(stage, "The form, for another task"));
    CHECK_FALSE(holds(stage, "\n\nWrong: "));
    if (target == Target::Triton) continue;
    const std::string call = "kgen_find(&args->parameters, \"gru.bias_hh_l1\")";
    CHECK(holds(seed, call));
    CHECK_FALSE(holds(stage, call));
    CHECK_FALSE(holds(repair, call));
    CHECK(holds(repair, "kgen_find(&args->parameters, \"NAME\")"));
    CHECK(holds(stage, "It has the interface: `kgen_prepare`"));
    CHECK_FALSE(holds(stage, "exports exactly this"));
    CHECK(holds(repair, "exports exactly this"));
    CHECK(holds(seed, "kgen_tensor_list"));
  }
}

TEST_CASE("each target has the stages of the sets of three and of four", "[prompt][builder][variants]") {
  for (const auto target : k_targets) {
    for (const std::string stage :
         {"grid_and_parallel", "block_tiling", "memory_and_tuning", "memory_access", "advanced_memory"}) {
      auto request = sample_prompt_request(PromptKind::Stage, target);
      request.variant = stage;
      CHECK(holds(built(request).text, "## Focus: " + stage));
      CHECK(holds(built(request).text, "Keep what is not in this focus"));
    }
  }
}

TEST_CASE("stages of fusion tasks have hints of their own", "[prompt][builder][variants]") {
  for (const auto target : {Target::Cuda, Target::Hip, Target::Hipkittens, Target::Triton}) {
    std::string all;
    for (const auto& stage : shipped().variants(PromptKind::Stage, target)) {
      auto request = sample_prompt_request(PromptKind::Stage, target);
      request.variant = stage;
      CHECK_FALSE(holds(built(request).text, "More than 128 registers"));
      request.description.level = TaskLevel::Fusion;
      all += built(request).text;
    }
    INFO(to_string(target));
    CHECK(holds(all, "More than 128 registers"));
    CHECK(holds(all, "Fewer than 96"));
  }
}

TEST_CASE("a budget drops examples first and the reference never, for all kinds and targets",
          "[prompt][builder][budget]") {
  const auto& prompts = shipped();
  for (const auto target : k_targets) {
    for (const auto kind : k_kinds) {
      auto request = sample_prompt_request(kind, target);
      INFO(to_string(kind) << " for " << to_string(target));
      const auto whole = prompts.build(request).value();
      request.max_tokens = whole.estimated_tokens - 1;
      const auto first = prompts.build(request).value();
      REQUIRE_FALSE(first.dropped.empty());
      // Analyses and optimization critics of some targets show no example.
      const bool has_example = holds(whole.text, "The form, for another task") || holds(whole.text, "\n\nWrong: ");
      CHECK((first.dropped.front() == "examples") == has_example);
      // With the limit that the refusal names, every optional part is gone and the reference is there.
      request.max_tokens = least_tokens(request);
      const auto least = prompts.build(request).value();
      CHECK(holds(least.text, request.task.text));
      CHECK_FALSE(holds(least.text, "The form, for another task"));
      CHECK_FALSE(holds(least.text, "## Earlier attempts"));
      CHECK_FALSE(holds(least.text, "## Machine"));
    }
  }
}

TEST_CASE("prompts for GPUs speak of streams and graphs, not of threads", "[prompt][builder][gpu]") {
  for (const auto target : {Target::Cuda, Target::Hip, Target::Hipkittens}) {
    const auto text = built(sample_prompt_request(PromptKind::Seed, target)).text;
    INFO(to_string(target));
    CHECK(holds(text, target == Target::Cuda ? "a `cudaStream_t`" : "a `hipStream_t`"));
    CHECK(holds(text, "captured into a CUDA graph") == (target == Target::Cuda));
    CHECK(holds(text, "Data is 64-byte aligned device memory"));
    CHECK_FALSE(holds(text, "int32_t threads"));
    CHECK_FALSE(holds(text, "args->threads"));
  }
  auto request = sample_prompt_request(PromptKind::Seed, Target::Triton);
  CHECK_FALSE(holds(built(request).text, "timed on the device"));
  const auto here = built(request).fingerprint;
  request.on_gpu = true;
  CHECK(holds(built(request).text, "timed on the device"));
  CHECK(built(request).fingerprint == here);
}

TEST_CASE("a repair that rethinks asks for another approach", "[prompt][builder][variants]") {
  auto request = sample_prompt_request(PromptKind::Repair);
  const auto plain = built(request).text;
  request.variant = "rethink";
  CHECK(holds(built(request).text, "Do not patch it again"));
  CHECK_FALSE(holds(plain, "Do not patch it again"));
}

TEST_CASE("unknown variants are refused by name", "[prompt][builder][variants]") {
  auto request = sample_prompt_request(PromptKind::Stage);
  request.variant = "warp_tiling";
  CHECK(refusal(request) ==
        "unknown variant warp_tiling of a stage prompt for cpp; there are advanced_memory, attention_softmax, "
        "attention_tiles, block_tiling, epilogue, grid_and_parallel, memory_access, memory_and_tuning, network_fusion, "
        "network_weights, row_passes, row_split, scan_chunks, scan_passes, step_exchange, step_launches, step_product, "
        "step_tail, window_tiles");
  request.variant.clear();
  CHECK(refusal(request) == "a stage prompt needs a variant: the name of the stage");
  request = sample_prompt_request(PromptKind::Analysis);
  request.variant = "deep";
  CHECK(refusal(request) == "an analysis prompt has no variants");
}

TEST_CASE("a critic looks for the cause of a failure, or for what costs most time", "[prompt][builder][critic]") {
  auto request = sample_prompt_request(PromptKind::Critic);
  const auto slow = built(request).text;
  CHECK(holds(slow, "the one thing that costs it most time"));
  CHECK(holds(slow, "what it should gain"));
  CHECK_FALSE(holds(slow, "## What happened"));
  request.base = failed_attempt("seed1", "int x;\n", {OutcomeKind::Race, "", "calls disagree"});
  const auto wrong = built(request).text;
  CHECK(holds(wrong, "Find the one cause"));
  CHECK(holds(wrong, "Outcome: `race`: calls disagree"));
  CHECK(holds(wrong, "## How the answer is judged"));
}

TEST_CASE("a critic looks at what its variant says", "[prompt][builder][critic]") {
  auto request = sample_prompt_request(PromptKind::Critic);
  request.variant = "correctness";
  CHECK(holds(built(request).text, "Find the one cause"));
  request.variant = "optimization";
  CHECK(holds(built(request).text, "costs it most time"));
  request.variant = "style";
  CHECK(refusal(request) == "unknown variant style of a critic prompt for cpp; there are correctness, optimization");
}

TEST_CASE("prompts for code quote what a critic said", "[prompt][builder][critic]") {
  for (const auto kind : {PromptKind::Repair, PromptKind::Optimize, PromptKind::Stage, PromptKind::Reflect}) {
    auto request = sample_prompt_request(kind);
    CHECK_FALSE(holds(built(request).text, "What a reviewer found"));
    request.analysis.reset();
    request.critique =
        R"({"problem": "No barrier between the steps.", "change": "Double-buffer {{state}}.\n\n\nAnd wait."})";
    const auto text = built(request).text;
    INFO(to_string(kind));
    CHECK(holds(text, "- Problem: No barrier between the steps.\n- Change: Double-buffer {{state}}.\n\n\nAnd wait.\n"));
    CHECK_FALSE(holds(text, "## The analysis"));
  }
}

TEST_CASE("a profile is shown with what it means, and is no part of the fingerprint", "[prompt][builder][profile]") {
  for (const auto kind : {PromptKind::Analysis, PromptKind::Optimize, PromptKind::Stage, PromptKind::Critic}) {
    auto request = sample_prompt_request(kind);
    const auto without = built(request);
    CHECK_FALSE(holds(without.text, "Where its time goes"));
    request.profile.emplace();
    request.profile->source = "ncu";
    request.profile->kernels = {{"step(float*)", "step", KernelOrigin::Own, 512, 3e6, 0, {}},
                                {"void gemm<1>()", "", KernelOrigin::Library, 1, 1e6, 0, {}}};
    request.findings = {"512 launches.", "Few blocks.", "Cold cache.", "Slow sums.", "A fifth one."};
    const auto with = built(request);
    INFO(to_string(kind));
    CHECK(holds(with.text, "One call, taken apart by ncu"));
    CHECK(holds(with.text, "| `step` | own | 512 | 3.000 ms | 75 % |"));
    CHECK(holds(with.text, "| `void gemm<1>()` | library | 1 | 1.000 ms | 25 % |"));
    CHECK(holds(with.text, "- 512 launches.\n- Few blocks.\n- Cold cache.\n"));
    CHECK_FALSE(holds(with.text, "A fifth one."));
    CHECK(with.fingerprint == without.fingerprint);
    request.headroom = "4.1 times the floor.";
    CHECK(holds(built(request).text, "- 4.1 times the floor.\n- 512 launches.\n"));
    request.headroom.clear();
    request.profile->unavailable = ProfileUnavailable{"no device", ""};
    request.findings.clear();
    CHECK(built(request).text == without.text);
  }
}

TEST_CASE("a token budget drops examples, then history, then device facts", "[prompt][builder][budget]") {
  auto request = sample_prompt_request(PromptKind::Repair);
  const auto whole = built(request);
  const auto with = [&](std::int64_t tokens) {
    request.max_tokens = tokens;
    return built(request);
  };
  CHECK(with(whole.estimated_tokens).dropped.empty());
  const auto first = with(whole.estimated_tokens - 1);
  CHECK(first.dropped == std::vector<std::string>{"examples"});
  CHECK_FALSE(holds(first.text, "The form, for another task"));
  CHECK(holds(first.text, "## Earlier attempts"));
  const auto second = with(first.estimated_tokens - 1);
  CHECK(second.dropped == std::vector<std::string>{"examples", "history"});
  const auto third = with(second.estimated_tokens - 1);
  CHECK(third.dropped == std::vector<std::string>{"examples", "history", "device"});
  CHECK_FALSE(holds(third.text, "Example Processor"));
  CHECK(holds(third.text, request.task.text));
  CHECK(third.estimated_tokens <= *request.max_tokens);
  request.max_tokens = third.estimated_tokens - 1;
  CHECK(holds(refusal(request),
              "needs " + std::to_string(third.estimated_tokens) + " tokens without its optional parts"));
  // The set of dropped parts depends on the length of measured texts, so it cannot be part of the fingerprint.
  CHECK(third.fingerprint == whole.fingerprint);
}

TEST_CASE("a part that is not there is not named as dropped", "[prompt][builder][budget]") {
  auto request = sample_prompt_request(PromptKind::Repair);
  request.history.clear();
  request.device.clear();
  const auto whole = built(request);
  CHECK_FALSE(holds(whole.text, "## Machine"));
  request.max_tokens = whole.estimated_tokens - 1;
  CHECK(built(request).dropped == std::vector<std::string>{"examples"});
}

TEST_CASE("a prompt for target cpp says whether it is about C++ or C", "[prompt][builder][language]") {
  for (const auto kind : k_kinds) {
    INFO(to_string(kind));
    auto request = sample_prompt_request(kind);
    const auto cpp = built(request);
    request.language = Language::Cpp;
    CHECK(built(request).text == cpp.text);
    CHECK(built(request).fingerprint == cpp.fingerprint);
    CHECK(holds(cpp.text, "C++ kernel"));
    request.language = Language::C;
    const auto c = built(request);
    CHECK(holds(c.text, " C kernel"));
    CHECK_FALSE(holds(c.text, "C++ kernel"));
    CHECK_FALSE(holds(c.text, "```cpp"));
    CHECK(c.fingerprint != cpp.fingerprint);
    if (request.base) CHECK(holds(c.text, "```c\n" + request.base->source));
    if (kind == PromptKind::Analysis || kind == PromptKind::Critic) continue;
    CHECK(holds(c.text, "The file is C, not C++"));
    CHECK(holds(c.text, "```c\n(the complete C source)\n```"));
    CHECK(holds(cpp.text, "```cpp\n(the complete C++ source)\n```"));
  }
}

TEST_CASE("a hint for a candidate in C has no C++ in it", "[prompt][builder][language]") {
  auto request = sample_prompt_request(PromptKind::Repair);
  request.language = Language::C;
  const auto text = built(request).text;
  CHECK(holds(text, "there is no `std::`"));
  CHECK_FALSE(holds(text, "Names of the C++ library"));
}

TEST_CASE("only target cpp has two languages", "[prompt][builder][language]") {
  for (const auto target : k_targets) {
    auto request = sample_prompt_request(PromptKind::Seed, target);
    request.language = default_language(target);
    CHECK(shipped().build(request));
    if (target == Target::Cpp) continue;
    request.language = Language::C;
    CHECK(refusal(request) == "candidates for target " + std::string(to_string(target)) + " are not written in c");
  }
}

TEST_CASE("a template that would lose what a policy says is refused", "[prompt][builder]") {
  Overrides overrides;
  overrides.write("partials/instructions.mustache", "\n");
  auto request = sample_prompt_request(PromptKind::Seed);
  CHECK(builder(overrides.path())->build(request));
  request.instructions = "Use fewer registers.";
  const auto refused = builder(overrides.path())->build(request);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "template seed.mustache does not show {{instructions}}");
  for (const auto kind : k_kinds) {
    auto other = sample_prompt_request(kind);
    other.instructions = request.instructions;
    CHECK_THAT(built(other).text, Catch::Contains("\n\n## Instructions for this attempt\n\nUse fewer registers.\n\n"));
  }
}
