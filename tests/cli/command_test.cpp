#include <filesystem>

#include "bench/spool.hpp"

#include "cli/fixture.hpp"
#include "support/catch.hpp"
#include "support/sample_record.hpp"

using namespace kernelgen;
using namespace kernelgen::cli;
using namespace kernelgen::testing;

TEST_CASE("eval exits with 0, 1 or 2 by the verdict", "[cli][eval]") {
  Fixture kgen;
  kgen.answer = correct_record(1.5);
  CHECK(kgen.eval() == 0);
  kgen.answer = correct_record(0.9);
  CHECK(kgen.eval() == 1);
  kgen.answer = EvaluationRecord{};
  CHECK(kgen.eval() == 1);
  kgen.answer = full_record();
  CHECK(kgen.eval() == 2);
}

TEST_CASE("eval over a spool leaves a request, and shows the record once it is there", "[cli][eval]") {
  Fixture kgen;
  const std::vector<std::string> options{"--spool", kgen.path("spool"), "--no-wait"};
  CHECK(kgen.eval(options) == 75);
  CHECK(kgen.err.str().find(".result.json yet") != std::string::npos);
  CHECK(kgen.out.str().empty());
  kgen.answer = correct_record(1.5);
  REQUIRE(serve_spool(*kgen.benchmarker, {.directory = kgen.path("spool"), .mode = SpoolMode::Once}, {}));
  CHECK(kgen.benchmarker->requests().size() == 1);
  CHECK(kgen.eval(options) == 0);
  CHECK(kgen.out.str().find("correct") == 0);
  // This machine judges nothing itself.
  CHECK(kgen.benchmarker->requests().empty());
  CHECK(kgen.eval({"--spool", "x", "--launch-prefix", "ssh node"}) == 64);
  CHECK(kgen.eval({"--no-wait"}) == 64);
}

TEST_CASE("a time under an interpreter is not a success", "[cli][eval]") {
  Fixture kgen;
  auto record = correct_record(3);
  record.labels = {"interpreter: a time is not a result"};
  kgen.answer = record;
  CHECK(kgen.eval() == 1);
  CHECK(kgen.out.str().find("correct, without a time that counts") == 0);
}

TEST_CASE("eval names the user's own file in what the compiler said", "[cli][eval]") {
  Fixture kgen;
  EvaluationRecord record;
  record.outcome = {OutcomeKind::Compile, "syntax", "candidate.cpp:1: expected ';'"};
  record.compile.emplace();
  record.compile->log = "candidate.cpp:1:2: error: expected ';'\n";
  kgen.answer = record;
  CHECK(kgen.eval() == 2);
  CHECK(kgen.out.str().find("candidate.cpp") == std::string::npos);
  CHECK(kgen.out.str().find("compiler    " + kgen.path("kernel.cpp") + ":1:2: error: expected ';'\n") !=
        std::string::npos);
}

TEST_CASE("eval exits with 75 where it could not be measured now", "[cli][eval]") {
  Fixture kgen;
  auto record = correct_record(2);
  record.outcome = {OutcomeKind::Suspect, std::string(k_busy_machine), "for other work"};
  kgen.answer = record;
  CHECK(kgen.eval() == 75);
  CHECK(kgen.out.str().find("not measured, try again later") == 0);
}

TEST_CASE("suspect and unscored answers are not correct", "[cli][eval]") {
  for (const auto kind : {OutcomeKind::Suspect, OutcomeKind::NotScored, OutcomeKind::Cheat}) {
    Fixture kgen;
    auto record = correct_record(2);
    record.outcome.kind = kind;
    kgen.answer = record;
    CHECK(kgen.eval() == 2);
  }
}

TEST_CASE("each kind of error has its exit code and one line", "[cli][eval]") {
  const std::pair<ErrorCode, int> codes[] = {
      {ErrorCode::InvalidTask, 64},   {ErrorCode::InvalidArgument, 64}, {ErrorCode::MissingTool, 69},
      {ErrorCode::MissingDevice, 69}, {ErrorCode::NoSpace, 69},         {ErrorCode::Unsupported, 69},
      {ErrorCode::Internal, 70},      {ErrorCode::Protocol, 70},        {ErrorCode::Busy, 73},
      {ErrorCode::Cancelled, 130},    {ErrorCode::UnsuitableDevice, 69}};
  for (const auto& [code, exit] : codes) {
    Fixture kgen;
    kgen.answer = Error{code, "it\nfailed", {"judging"}};
    CHECK(kgen.eval() == exit);
    CHECK(kgen.err.str().find("kgen: judging: it failed\n") != std::string::npos);
    CHECK(kgen.out.str().empty());
  }
}

TEST_CASE("options reach the benchmarker", "[cli][eval]") {
  Fixture kgen;
  kgen.environment.python = "/opt/python";
  CHECK(kgen.eval({"--precision", "default", "--rtol", "0.01", "--timeout", "2.5", "--threads", "3", "--memory-limit",
                   "2GB", "--shrink", "batch=4", "--shrink", "dim=8", "--launch-prefix", "srun --gres=gpu:1"}) == 1);
  REQUIRE(kgen.benchmarker->requests().size() == 1);
  const auto request = kgen.benchmarker->requests().front();
  CHECK(request.task.name == "relu");
  CHECK(request.candidate.target == Target::Cpp);
  CHECK(request.options.precision == PrecisionClass::Default);
  CHECK(request.options.rtol == 0.01);
  CHECK_FALSE(request.options.atol);
  CHECK(request.options.call_timeout == std::chrono::milliseconds(2500));
  CHECK(request.options.threads == 3);
  CHECK(request.options.memory_limit == 2ULL << 30);
  CHECK(request.options.shrink == std::vector<std::pair<std::string, std::int64_t>>{{"batch", 4}, {"dim", 8}});
  CHECK(kgen.worker_options.launch_prefix == std::vector<std::string>{"srun", "--gres=gpu:1"});
  CHECK(kgen.worker_options.python == "/opt/python");
  CHECK(kgen.worker_options.cache_dir == kgen.path("cache"));
}

TEST_CASE("eval does as much as it is told to", "[cli][eval]") {
  Fixture kgen;
  CHECK(kgen.eval({"--quick", "--samples", "15", "--warmup", "4", "--measure-seconds", "2.5", "--build-timeout",
                   "600"}) == 1);
  const auto quick = kgen.benchmarker->requests().at(0).options;
  CHECK(quick.mode == EvaluationMode::Quick);
  CHECK(quick.measure.max_samples == 15);
  CHECK(quick.measure.warmup_calls == 4);
  CHECK(quick.measure.deadline == std::chrono::milliseconds(2500));
  CHECK(quick.build_timeout == std::chrono::minutes(10));
  Fixture checking;
  EvaluationRecord record;
  record.mode = EvaluationMode::CorrectnessOnly;
  checking.answer = record;
  CHECK(checking.eval({"--correctness-only"}) == 0);
  CHECK(checking.benchmarker->requests().at(0).options.mode == EvaluationMode::CorrectnessOnly);
  CHECK(checking.out.str().find("correct (correctness only: nothing was timed)\n") == 0);
  for (const char* other : {"--quick", "--samples=5", "--warmup=5", "--measure-seconds=5", "--baseline=compile"}) {
    Fixture refusing;
    CHECK(refusing.eval({"--correctness-only", other}) == 64);
    CHECK(refusing.benchmarker->requests().empty());
  }
}

TEST_CASE("eval asks for each baseline once, however it was named", "[cli][eval]") {
  const std::vector<BaselineKind> both{BaselineKind::CompileMaxAutotune, BaselineKind::Compile};
  const std::vector<std::vector<std::string>> forms{
      {"--baseline", "compile-max-autotune,compile", "--baseline-timeout", "1.5"},
      {"--baseline", "compile-max-autotune", "--baseline", "compile", "--baseline", "compile", "--baseline-timeout",
       "1.5"}};
  for (const auto& form : forms) {
    Fixture kgen;
    CHECK(kgen.eval(form) == 1);
    const auto asked = kgen.benchmarker->requests().at(0).options.baselines;
    CHECK(asked.kinds == both);
    CHECK(asked.timeout == std::chrono::milliseconds(1500));
  }
}

TEST_CASE("an unknown baseline is wrong usage, before anything is judged", "[cli][eval]") {
  Fixture kgen;
  CHECK(kgen.eval({"--baseline", "compile,faster"}) == 64);
  CHECK(kgen.err.str() ==
        "kgen: --baseline: expected compile or compile-max-autotune, not faster (see kgen eval --help)\n");
  CHECK(kgen.out.str().empty());
  CHECK(kgen.eval({"--baseline-timeout", "0"}) == 64);
}

TEST_CASE("eval without its options keeps the library's defaults", "[cli][eval]") {
  Fixture kgen;
  CHECK(kgen.eval() == 1);
  const auto options = kgen.benchmarker->requests().front().options;
  const EvaluationOptions defaults;
  CHECK(options.mode == EvaluationMode::Full);
  CHECK(options.measure.max_samples == defaults.measure.max_samples);
  CHECK(options.measure.warmup_calls == defaults.measure.warmup_calls);
  CHECK(options.measure.deadline == defaults.measure.deadline);
  CHECK(options.build_timeout == defaults.build_timeout);
  CHECK(options.call_timeout == defaults.call_timeout);
  CHECK(options.memory_limit == defaults.memory_limit);
  CHECK(options.threads == defaults.threads);
  CHECK(options.precision == defaults.precision);
  CHECK(options.baselines.empty());
  CHECK(options.baselines.timeout == defaults.baselines.timeout);
}

TEST_CASE("a profile that --output cannot have says why, and changes nothing else", "[cli][eval]") {
  Fixture kgen;
  kgen.answer = correct_record(0.5);
  CHECK(kgen.eval({"--output", kgen.path("r.json")}) == 1);
  CHECK(read_file(kgen.path("r.json"))->find("\"perf_analysis\": \"unavailable: ") != std::string::npos);
  CHECK(kgen.eval({"--output", kgen.path("r.json"), "--profile", "none"}) == 1);
  CHECK(read_file(kgen.path("r.json"))->find("\"perf_analysis\": null") != std::string::npos);
}

TEST_CASE("eval writes the record for --output and prints nothing else for --json", "[cli][eval]") {
  Fixture kgen;
  kgen.answer = correct_record(2);
  CHECK(kgen.eval({"--output", kgen.path("r.json"), "--json"}) == 0);
  const auto file = read_file(kgen.path("r.json"));
  REQUIRE(file);
  CHECK(to_json(parse_record(*file).value()) == kgen.out.str());
  CHECK(parse_record(*file)->task_name == "relu");
  // The file has the members of the HIP framework's results as well.
  CHECK(file->find("\"accuracy_pass\": true") != std::string::npos);
  CHECK(file->find("\"code_path\": \"" + kgen.path("kernel.cpp")) != std::string::npos);
  CHECK(kgen.out.str().find("accuracy_pass") == std::string::npos);
  CHECK(kgen.err.str() == "kgen: compile\nkgen: admit\nkgen: correctness\nkgen: timing\n");
}

TEST_CASE("a verdict that cannot be written is still shown", "[cli][eval]") {
  Fixture kgen;
  kgen.answer = correct_record(2);
  const auto output = kgen.path("gone/r.json");
  std::filesystem::create_directory(kgen.path("gone"));
  kgen.while_judging = [&] { std::filesystem::remove(kgen.path("gone")); };
  CHECK(kgen.eval({"--output", output}) == 64);
  CHECK(kgen.out.str().find("correct, 2 times") == 0);
  CHECK(kgen.err.str().find("No such file") != std::string::npos);
}

TEST_CASE("an interrupted evaluation exits with 130", "[cli][eval]") {
  Fixture kgen;
  kgen.stop.request_stop();
  CHECK(kgen.eval() == 130);
}

TEST_CASE("the doctor exits with 69 when something essential is missing", "[cli][doctor]") {
  Fixture kgen;
  CHECK(kgen.run({"doctor"}) == 69);
  CHECK(kgen.out.str().find("missing  compiler") != std::string::npos);
  CHECK(kgen.out.str().find("-> sudo apt-get install g++") != std::string::npos);
}

TEST_CASE("the doctor's findings are JSON on request", "[cli][doctor]") {
  Fixture kgen;
  CHECK(kgen.run({"doctor", "--json"}) == 69);
  CHECK(kgen.out.str().find("{\n  \"findings\": [") == 0);
}

TEST_CASE("the doctor looks at a model and a spool when it is asked to", "[cli][doctor]") {
  Fixture kgen;
  CHECK(kgen.run({"doctor"}) == 69);
  CHECK(kgen.out.str().find("model ") == std::string::npos);
  kgen.model = [](const LLMRequest&) { return ScriptedLLMClient::reply("ready"); };
  CHECK(kgen.run({"doctor", "--llm", "scripted:", "--spool", kgen.path("spool")}) == 69);
  CHECK(kgen.llm_spec == "scripted:");
  CHECK(kgen.out.str().find("ok       model          answered one short request in ") != std::string::npos);
  CHECK(kgen.out.str().find("missing  spool          " + kgen.path("spool") + " does not exist") != std::string::npos);
}

TEST_CASE("devices that are not here are known", "[cli][devices]") {
  Fixture kgen;
  CHECK(kgen.run({"devices", "--all"}) == 0);
  CHECK(kgen.out.str().find("\nH200 ") != std::string::npos);
  kgen.out.str("");
  CHECK(kgen.run({"devices", "--all", "--json"}) == 0);
  CHECK(kgen.out.str().find("\"source\": \"NVIDIA H200 datasheet") != std::string::npos);
}

TEST_CASE("without the program that asks for GPUs there is no list of them", "[cli][devices]") {
  Fixture kgen;
  CHECK(kgen.run({"devices"}) == 69);
  CHECK(kgen.err.str().find("is not installed") != std::string::npos);
}

TEST_CASE("the environment names the cache directory", "[cli][environment]") {
  CHECK(read_environment({{"HOME", "/h"}}).cache_dir == "/h/.cache/kernelgen");
  CHECK(read_environment({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/c"}}).cache_dir == "/c/kernelgen");
  CHECK(read_environment({{"HOME", "/h"}, {"XDG_CACHE_HOME", "relative"}}).cache_dir == "/h/.cache/kernelgen");
  const auto none = choose_cache_dir("", read_environment({}));
  REQUIRE_FALSE(none);
  CHECK(none.error().message == "no cache directory: set HOME or XDG_CACHE_HOME, or pass --cache-dir");
}
