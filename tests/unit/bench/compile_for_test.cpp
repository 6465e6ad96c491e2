// Compiling for GPUs that are not here: what is read from the process that does it, and what becomes of its failures.

#include "bench/compile_for.hpp"

#include <algorithm>

#include "evaluation_scene.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;
using namespace std::chrono_literals;

namespace {

GpuModel model(std::string vendor, std::string name, std::string architecture) {
  return {.facts = {.vendor = std::move(vendor), .name = std::move(name), .architecture = std::move(architecture)},
          .aliases = {},
          .source = ""};
}

const GpuCatalog k_catalog{model("nvidia", "H200", "sm_90"), model("amd", "MI300X", "gfx942"),
                           model("amd", "MI325X", "gfx942"), model("amd", "RX 7900 XTX", "gfx1100")};

const std::string k_kernel =
    R"({"kernel": "add[B=64]", "dynamic_shared_bytes": 8192, "code": "; Occupancy: 8\n\t.amdgpu_metadata\n  - .agpr_count: 4\n    .vgpr_count: 30\n\t.end_amdgpu_metadata\n"})"
    "\n";

Scene scene_for(const std::string& list) {
  Scene scene;
  scene.source = "import triton";
  scene.kernel_list = list;
  for (const auto& gpu : choose_architectures(k_catalog, {"gfx942", "gfx1100"}).value())
    scene.compile_for.push_back(gpu);
  return scene;
}

}  // namespace

TEST_CASE("an architecture stands for the first GPU of the catalog that has it", "[bench][compile_for]") {
  const auto chosen = choose_architectures(k_catalog, {"gfx1100", "gfx942", "gfx1100"}).value();
  REQUIRE(chosen.size() == 2);
  CHECK(chosen[0].name == "RX 7900 XTX");
  CHECK(chosen[1].name == "MI300X");
  CHECK(choose_architectures(k_catalog, {}).value().empty());
}

TEST_CASE("an architecture that cannot be compiled for is refused with those that can", "[bench][compile_for]") {
  for (const char* asked : {"gfx906", "sm_90", "", "gfx942 "}) {
    const auto refused = choose_architectures(k_catalog, {"gfx942", asked});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::InvalidArgument);
    CHECK_THAT(refused.error().message, Catch::Contains("take some of gfx942, gfx1100"));
  }
}

TEST_CASE("the list of a builder becomes what kernels need", "[bench][compile_for]") {
  const auto report = read_kernel_list(k_kernel + R"({"kernel": "bad", "error": "CompilationError: at 3:4:\n  x"})");
  REQUIRE(report.kernels.size() == 1);
  CHECK(report.kernels[0].name == "add[B=64]");
  CHECK(report.kernels[0].registers == 30);
  CHECK(report.kernels[0].accumulation_registers == 4);
  CHECK(report.kernels[0].occupancy == 8);
  CHECK(report.kernels[0].dynamic_shared_bytes == 8192U);
  REQUIRE(report.failure);
  CHECK(report.failure->to_class() == "compile:triton");
  CHECK(report.failure->message == "bad: CompilationError: at 3:4: x");
}

TEST_CASE("the refusals of Triton have their classes", "[bench][compile_for]") {
  const std::pair<const char*, const char*> cases[] = {
      {"OutOfResources: out of resource: shared memory, Required: 131072, Hardware limit: 65536.",
       "resource:shared_memory"},
      {"RuntimeError: PassManager::run failed", "compile:triton"},
      {"TypeError: missing an argument", "launch:exception"},
  };
  for (const auto& [error, expected] : cases) {
    const auto report = read_kernel_list(std::string(R"({"kernel": "k", "error": ")") + error + "\"}\n");
    REQUIRE(report.failure);
    CHECK(report.failure->to_class() == expected);
  }
}

TEST_CASE("a hostile list is bounded, and never an error", "[bench][compile_for]") {
  for (const char* line : {"no JSON", "[1]", R"({"kernel": 5})", R"({"kernel": "k"})",
                           R"({"dynamic_shared_bytes": -1})", R"({"kernel": "k", "code": "no metadata"})"}) {
    INFO(line);
    const auto report = read_kernel_list(std::string(line) + '\n' + k_kernel);
    CHECK(report.kernels.size() == 1);
    REQUIRE(report.failure);
    CHECK(report.failure->to_class() == "cheat:protocol");
  }
  std::string many;
  for (int i = 0; i < 1000; ++i) many += k_kernel;
  CHECK(read_kernel_list(many).kernels.size() == 256);
  const auto long_name = read_kernel_list(R"({"kernel": "\u001b[31m)" + std::string(5000, 'x') + R"(", "error": "e"})");
  CHECK(long_name.failure->message.size() <= 2010);
  CHECK(long_name.failure->message.find('\x1b') == std::string::npos);
  CHECK(read_kernel_list("").kernels.empty());
  CHECK_FALSE(read_kernel_list("").failure);
}

TEST_CASE("how a builder ends is told unless a refusal explains it", "[bench][compile_for]") {
  const EvaluationOptions options{.build_timeout = 7s};
  const auto failure = [&](const RunnerAnswer& answer) {
    ArchitectureReport report;
    add_end(report, answer, options);
    return report.failure.value_or(Outcome{});
  };
  CHECK(failure(RunnerReply{}).correct());
  const auto number =
      failure(RunnerReply{.status = RunnerStatus::Exception, .text = "RuntimeError: no item() on meta tensors"});
  CHECK(number.to_class() == "launch:exception");
  CHECK_THAT(number.message, Catch::EndsWith("; kernels that are launched later are missing"));
  CHECK(failure(RunnerReply{.status = RunnerStatus::Import, .text = "no module"}).to_class() == "import");
  const auto late = failure(RunnerDeath{.timed_out = true});
  CHECK(late.to_class() == "timeout");
  CHECK_THAT(late.message, Catch::Contains("compiling it for another architecture did not end within 7.0 s"));
  CHECK(failure(RunnerDeath{.signal = 6}).to_class() == "crash:signal 6 (SIGABRT)");
  auto explained = read_kernel_list(R"({"kernel": "k", "error": "CompilationError: x"})");
  add_end(explained, RunnerDeath{.signal = 6}, options);
  CHECK(explained.failure->to_class() == "compile:triton");
}

TEST_CASE("a judged candidate is compiled for the architectures that were asked for", "[bench][compile_for]") {
  auto scene = scene_for(k_kernel);
  const auto record = evaluate(scene, Target::Triton).value();
  CHECK(record.outcome.correct());
  REQUIRE(record.compiled_for.size() == 2);
  CHECK(record.compiled_for[0].architecture == "gfx942");
  CHECK(record.compiled_for[1].architecture == "gfx1100");
  CHECK(record.compiled_for[1].kernels.size() == 1);
  CHECK_FALSE(record.compiled_for[1].failure);
  CHECK(has_label(record, "compiled for gfx942, gfx1100, never run there"));
  CHECK(record.phases.back().name == "compile for gfx1100");
  // Each architecture has builds of its own.
  REQUIRE(scene.compiled_keys.size() == 2);
  CHECK(scene.compiled_keys[0] != scene.compiled_keys[1]);
}

TEST_CASE("what fails for another architecture does not change the verdict", "[bench][compile_for]") {
  auto scene = scene_for("");
  scene.compiled_for = [] { return RunnerAnswer(RunnerDeath{.signal = 6}); };
  const auto record = evaluate(scene, Target::Triton).value();
  CHECK(record.outcome.correct());
  REQUIRE(record.compiled_for.size() == 2);
  CHECK(record.compiled_for[0].failure->kind == OutcomeKind::Crash);
  // A label does not claim what did not happen.
  for (const auto& label : record.labels) CHECK_FALSE(label.starts_with("compiled for"));
}

TEST_CASE("a wrong candidate is compiled for other architectures all the same", "[bench][compile_for]") {
  auto scene = scene_for(k_kernel);
  scene.judge.answer = [](const std::string&, int) { return wrong(); };
  const auto record = evaluate(scene, Target::Triton).value();
  CHECK(record.outcome.kind == OutcomeKind::Accuracy);
  CHECK(record.compiled_for.size() == 2);
}

TEST_CASE("where no process can be started to compile, a label says why", "[bench][compile_for]") {
  auto scene = scene_for(k_kernel);
  scene.compiled_for = []() -> Result<RunnerAnswer> { return Error{ErrorCode::Unavailable, "a runner did not start"}; };
  const auto record = evaluate(scene, Target::Triton).value();
  CHECK(record.outcome.correct());
  CHECK(record.compiled_for.empty());
  CHECK(has_label(record, "not compiled for gfx942: a runner did not start"));
}

TEST_CASE("without architectures nothing more is compiled", "[bench][compile_for]") {
  Scene scene;
  const auto record = evaluate(scene, Target::Triton).value();
  CHECK(scene.compiled_keys.empty());
  CHECK(to_json(record).find("compiled_for") == std::string::npos);
}
