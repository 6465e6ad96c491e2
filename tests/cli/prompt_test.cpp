#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>

#include <kernelgen/bench/fake_benchmarker.hpp>
#include <kernelgen/core/profile.hpp>
#include <kernelgen/task/task_source.hpp>

#include "commands.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
using namespace kernelgen::cli;

namespace {

const std::string k_source = KERNELGEN_SOURCE_DIR;
const std::string k_kernel = "#include <kernelgen/abi.h>\n// a kernel\n";

class NoProcesses final : public ProcessRunner {
 public:
  Result<ProcessOutcome> run(const ProcessRequest& request, std::stop_token) override {
    return Error{ErrorCode::MissingTool, request.command.front() + " is not installed"};
  }
};

/// kgen prompt with a benchmarker that describes tasks without running them.
class PromptFixture {
 public:
  PromptFixture() { environment.cache_dir = path("cache"); }

  [[nodiscard]] std::string path(const std::string& name) const { return (directory_.path() / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    make_directories((directory_.path() / name).parent_path()).value();
    write_file_atomic(path(name), text).value();
    return path(name);
  }

  int prompt(std::vector<std::string> more) {
    std::vector<std::string> arguments{"prompt", k_source + "/examples/tasks/gru_hidden.py"};
    if (std::find(more.begin(), more.end(), "--target") == more.end())
      arguments.insert(arguments.end(), {"--target", "cpp"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    out.str("");
    err.str("");
    Context context{
        .environment = environment,
        .out = out,
        .err = err,
        .out_terminal = {},
        .err_terminal = {},
        .make_benchmarker = [this](WorkerBenchmarkerOptions) -> Result<std::unique_ptr<Benchmarker>> {
          ++workers;
          return std::unique_ptr<Benchmarker>(std::make_unique<FakeBenchmarker>([](const EvaluationRequest&) {
            return Error{ErrorCode::Internal, "nothing is judged"};
          }));
        },
        .find_installation =
            [] {
              Installation installation;
              installation.prompts_dir = k_source + "/lib/prompt/templates";
              installation.devices_dir = k_source + "/lib/device/data";
              return Result<Installation>(installation);
            },
        .processes = processes_,
        .stop = {}};
    return run_kgen(arguments, context);
  }

  Environment environment;
  std::ostringstream out;
  std::ostringstream err;
  int workers = 0;

 private:
  TemporaryDirectory directory_ = TemporaryDirectory::create(std::filesystem::temp_directory_path(), "kgen-").value();
  NoProcesses processes_;
};

bool holds(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("prompt prints the prompt, and the estimate beside it", "[cli][prompt]") {
  PromptFixture kgen;
  REQUIRE(kgen.prompt({"--phase", "seed", "--variant", "less_work", "--threads", "3"}) == 0);
  CHECK(holds(kgen.out.str(), "return h_n"));
  CHECK(holds(kgen.out.str(), "Less work first."));
  CHECK(holds(kgen.out.str(), "At most 3 threads"));
  CHECK(holds(kgen.out.str(), "- hardware threads for this kernel: "));
  CHECK(kgen.err.str() == "about " + std::to_string((kgen.out.str().size() + 3) / 4) + " tokens\n");
  CHECK(kgen.workers == 1);
}

TEST_CASE("prompt --json has text, estimate and fingerprint", "[cli][prompt]") {
  PromptFixture kgen;
  REQUIRE(kgen.prompt({"--phase", "seed", "--json"}) == 0);
  for (const std::string member : {"\"kind\": \"seed\"", "\"estimated_tokens\": ", "\"fingerprint\": ", "\"text\": "})
    CHECK(holds(kgen.out.str(), member));
  CHECK(kgen.err.str().empty());
}

TEST_CASE("prompt says what a budget left out", "[cli][prompt]") {
  PromptFixture kgen;
  REQUIRE(kgen.prompt({"--phase", "seed"}) == 0);
  const auto tokens = (kgen.out.str().size() + 3) / 4;
  REQUIRE(kgen.prompt({"--phase", "seed", "--max-tokens", std::to_string(tokens - 1)}) == 0);
  CHECK(holds(kgen.err.str(), "tokens, without examples\n"));
  CHECK(kgen.prompt({"--phase", "seed", "--max-tokens", "10"}) == 64);
  CHECK(holds(kgen.err.str(), "max_tokens is 10"));
}

TEST_CASE("prompt takes candidate and verdict from files, and the facts from the record", "[cli][prompt]") {
  PromptFixture kgen;
  const auto candidate = kgen.write("gru.cpp", k_kernel);
  EvaluationRecord record;
  record.candidate_id = make_candidate(Target::Cpp, k_kernel).id;
  record.outcome = {OutcomeKind::Race, "", "calls disagree"};
  const auto result = kgen.write("r.json", to_json(record));
  REQUIRE(kgen.prompt({"--phase", "repair", "--candidate", candidate, "--result", result}) == 0);
  CHECK(holds(kgen.out.str(), "Outcome: `race`: calls disagree"));
  CHECK(holds(kgen.out.str(), "// a kernel"));
  CHECK(kgen.workers == 1);

  // The record's description is used if it is of this task.
  const auto task = load_task_source(k_source + "/examples/tasks/gru_hidden.py", {}).value();
  auto& facts = record.task.emplace();
  facts.inputs = {{"from_the_record", DType::Float32, {2}, {1}}};
  for (const auto& [content_id, workers] : {std::pair{task.content_id, 1}, std::pair{std::string("another"), 2}}) {
    facts.content_id = content_id;
    kgen.write("r.json", to_json(record));
    REQUIRE(kgen.prompt({"--phase", "repair", "--candidate", candidate, "--result", result}) == 0);
    CHECK(kgen.workers == workers);
    CHECK(holds(kgen.out.str(), "from_the_record") == (workers == 1));
  }
}

TEST_CASE("prompt is about C where the candidate lies in a .c file", "[cli][prompt]") {
  PromptFixture kgen;
  const auto analysis = kgen.write("analysis.json", R"({"method": "fewer passes"})");
  REQUIRE(kgen.prompt({"--phase", "optimize", "--candidate", kgen.write("gru.c", k_kernel), "--analysis", analysis}) ==
          0);
  CHECK(holds(kgen.out.str(), "replaced by a C kernel"));
  CHECK(holds(kgen.out.str(), "```c\n" + k_kernel));
  REQUIRE(kgen.prompt(
              {"--phase", "optimize", "--candidate", kgen.write("gru.cpp", k_kernel), "--analysis", analysis}) == 0);
  CHECK(holds(kgen.out.str(), "replaced by a C++ kernel"));
}

TEST_CASE("prompt refuses the record of another candidate", "[cli][prompt]") {
  PromptFixture kgen;
  const auto candidate = kgen.write("gru.cpp", k_kernel);
  const auto result = kgen.write("r.json", to_json(EvaluationRecord{}));
  CHECK(kgen.prompt({"--phase", "repair", "--candidate", candidate, "--result", result}) == 64);
  CHECK(holds(kgen.err.str(), "is not the record of"));
  kgen.write("r.json", "{");
  CHECK(kgen.prompt({"--phase", "repair", "--candidate", candidate, "--result", result}) == 64);
  CHECK(holds(kgen.err.str(), "reading "));
}

TEST_CASE("prompt names what a phase lacks", "[cli][prompt]") {
  PromptFixture kgen;
  CHECK(kgen.prompt({"--phase", "repair"}) == 64);
  CHECK(holds(kgen.err.str(), "a repair prompt needs a candidate"));
  const auto candidate = kgen.write("gru.cpp", k_kernel);
  CHECK(kgen.prompt({"--phase", "optimize", "--candidate", candidate}) == 64);
  CHECK(holds(kgen.err.str(), "needs an analysis"));
  const auto reply = kgen.write("reply.txt", "Sure:\n```json\n{\"plan\": \"Fuse both loops.\"}\n```\n");
  REQUIRE(kgen.prompt({"--phase", "optimize", "--candidate", candidate, "--analysis", reply}) == 0);
  CHECK(holds(kgen.out.str(), "Fuse both loops."));
  kgen.write("reply.txt", "No idea.");
  CHECK(kgen.prompt({"--phase", "optimize", "--candidate", candidate, "--analysis", reply}) == 64);
  CHECK(holds(kgen.err.str(), "no JSON object"));
}

TEST_CASE("prompt writes for a GPU that is not here", "[cli][prompt]") {
  PromptFixture kgen;
  REQUIRE(kgen.prompt({"--phase", "seed", "--target", "cuda", "--gpu", "h100"}) == 0);
  CHECK(holds(kgen.out.str(), "- architecture: sm_90\n"));
  CHECK(holds(kgen.out.str(), "227 KiB where the kernel asks for it"));
  CHECK_FALSE(holds(kgen.out.str(), "hardware threads"));
  REQUIRE(kgen.prompt({"--phase", "seed", "--target", "triton", "--gpu", "h100"}) == 0);
  CHECK(holds(kgen.out.str(), "timed on the device"));
  CHECK(kgen.prompt({"--phase", "seed", "--target", "cuda", "--gpu", "MI300X"}) == 64);
  CHECK(holds(kgen.err.str(), "MI300X is no GPU for this target"));
  CHECK(kgen.prompt({"--phase", "seed", "--target", "cuda", "--gpu", "abacus"}) == 64);
  CHECK(holds(kgen.err.str(), "kgen devices --all"));
}

TEST_CASE("without a GPU, native GPU prompts have no machine and Python ones the processor", "[cli][prompt]") {
  PromptFixture kgen;
  REQUIRE(kgen.prompt({"--phase", "seed", "--target", "cuda"}) == 0);
  CHECK_FALSE(holds(kgen.out.str(), "## Machine"));
  REQUIRE(kgen.prompt({"--phase", "seed", "--target", "triton"}) == 0);
  CHECK(holds(kgen.out.str(), "- hardware threads for this kernel: "));
}

TEST_CASE("prompt quotes a critic and a profile", "[cli][prompt]") {
  PromptFixture kgen;
  const auto candidate = kgen.write("gru.cpp", k_kernel);
  const auto critique = kgen.write("critique.txt", "```json\n{\"change\": \"Add a barrier.\"}\n```\n");
  Profile profile;
  profile.source = "ncu";
  profile.kernels = {{"step(float*)", "step", KernelOrigin::Own, 512, 3e6, 0, {}}};
  const auto seen = kgen.write("profile.json", to_json(profile));
  REQUIRE(kgen.prompt({"--phase", "optimize", "--candidate", candidate, "--critique", critique, "--profile", seen}) ==
          0);
  CHECK(holds(kgen.out.str(), "- Change: Add a barrier.\n"));
  CHECK(holds(kgen.out.str(), "| `step` | own | 512 |"));
  REQUIRE(kgen.prompt(
              {"--phase", "critic", "--candidate", candidate, "--profile", seen, "--variant", "optimization"}) == 0);
  CHECK(holds(kgen.out.str(), "costs it most time"));
  kgen.write("critique.txt", " ");
  CHECK(kgen.prompt({"--phase", "repair", "--candidate", candidate, "--critique", critique}) == 64);
  CHECK(holds(kgen.err.str(), "the critique is empty"));
  kgen.write("profile.json", "[]");
  CHECK(kgen.prompt({"--phase", "critic", "--candidate", candidate, "--profile", seen}) != 0);
}

TEST_CASE("prompt uses the templates of a directory", "[cli][prompt]") {
  PromptFixture kgen;
  const auto file = kgen.write("mine/seed.mustache", "Mine.\n{{reference}}\n");
  REQUIRE(kgen.prompt({"--phase", "seed", "--prompts", std::filesystem::path(file).parent_path().string()}) == 0);
  CHECK(kgen.out.str().rfind("Mine.\n", 0) == 0);
}
