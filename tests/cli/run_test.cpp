#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include <kernelgen/store/journal.hpp>

#include "bench/profiling.hpp"
#include "bench/spool.hpp"
#include "cli/fixture.hpp"
#include "support/catch.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;
namespace fs = std::filesystem;

namespace {

/// A kernel with its verdict in the first line.
Reply kernel(const std::string& line) {
  return ScriptedLLMClient::reply("```cpp\n// " + line +
                                  "\n#include <kernelgen/abi.h>\nKGEN_API int kgen_run(void*, const kgen_run_args*) "
                                  "{ return 0; }\n```\n");
}

/// Judges by the first line: "fast", "slow", or any other text, which does not compile.
Result<EvaluationRecord> judge(const EvaluationRequest& request) {
  const auto& source = request.candidate.source;
  if (source.find("// fast") == 0) return correct_record(2);
  if (source.find("// slow") == 0) return correct_record(0.5);
  EvaluationRecord record;
  record.outcome = {OutcomeKind::Compile, "other", "it does not compile"};
  return record;
}

/// The benchmarker of a worker that takes profiles, too.
class ProfilingJudge final : public Benchmarker, public ProfilingBenchmarker {
 public:
  Result<EvaluationRecord> evaluate(const EvaluationRequest& request, const ProgressCallback& progress,
                                    std::stop_token stop) override {
    return judge_.evaluate(request, progress, std::move(stop));
  }
  Result<TaskDescription> describe(const TaskSource& task, const EvaluationOptions& options,
                                   std::stop_token stop) override {
    return judge_.describe(task, options, std::move(stop));
  }
  Result<Profile> profile(const RemoteProfileRequest& request, std::stop_token) override {
    Profile profile;
    profile.source = request.counters == Counters::None ? "timeline" : "ncu";
    profile.kernels = {{"mine", "mine", KernelOrigin::Own, 1, 1000, 0, {}}};
    return profile;
  }

 private:
  FakeBenchmarker judge_{[](const EvaluationRequest& request) { return judge(request); }};
};

std::vector<std::string> run_arguments(Fixture& kgen, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"run",   k_task,      "--target",  "cpp",
                                     "--llm", "scripted:", "--results", kgen.path("out")};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace

TEST_CASE("run exits with 0, 1 or 2 by what it found", "[cli][run]") {
  for (const auto& [line, exit] : {std::pair{"fast", 0}, std::pair{"slow", 1}, std::pair{"broken", 2}}) {
    Fixture kgen;
    kgen.judge = judge;
    kgen.model = [line = std::string(line)](const LLMRequest&) { return kernel(line); };
    CHECK(kgen.run(run_arguments(kgen, {"--policy", "one-shot", "--samples", "1"})) == exit);
    CHECK(kgen.llm_spec == "scripted:");
  }
}

TEST_CASE("run leaves its results and says where", "[cli][run]") {
  Fixture kgen;
  kgen.judge = judge;
  kgen.model = [](const LLMRequest& request) { return kernel(request.id == "relu.sample1" ? "broken" : "fast"); };
  CHECK(kgen.run(run_arguments(kgen, {"--policy", "one-shot", "--samples", "2"})) == 0);
  const fs::path results = kgen.path("out");
  CHECK(read_file(results / "relu" / "best_code.cpp")->find("// fast") == 0);
  for (const char* name : {"relu/events.jsonl", "relu/prompt_1.txt", "relu/response_2.txt", "relu/code_1.cpp",
                           "relu/result_2.json", "relu/best_prompt.txt", "relu/best_result.json", "summary.json"})
    CHECK(fs::exists(results / name));
  CHECK(kgen.out.str().find("best kernel: sample2, 2.00x, goal reached\n") == 0);
  CHECK(kgen.out.str().find((results / "relu/best_code.cpp").string() + '\n') != std::string::npos);
  CHECK(kgen.err.str().find("sample1                  compile:other") != std::string::npos);
  CHECK(kgen.err.str().find('\r') == std::string::npos);
}

TEST_CASE("run takes its profiles at the worker behind a spool", "[cli][run][profile]") {
  Fixture kgen;
  kgen.model = [](const LLMRequest&) { return kernel("slow"); };
  ProfilingJudge judge_there;
  const auto spool = kgen.path("spool");
  Result<void> served;
  {
    const std::jthread worker([&](const std::stop_token& stop) {
      served =
          serve_spool(judge_there, {.directory = spool, .poll = std::chrono::milliseconds{5}, .on_answer = {}}, stop);
    });
    CHECK(kgen.run(run_arguments(kgen, {"--policy", "reflect", "--samples", "1", "--attempts", "2", "--profile",
                                        "timeline", "--no-sanitize", "--spool", spool})) == 1);
  }
  CHECK(served);
  std::vector<std::string> sources;
  for (const auto& event : *read_run_events(kgen.path("out/relu")))
    if (const auto* taken = std::get_if<ProfileTaken>(&event.body)) sources.push_back(taken->profile.source);
  CHECK(sources == std::vector<std::string>{"timeline"});
}

TEST_CASE("run --json prints the outcome and nothing else", "[cli][run]") {
  Fixture kgen;
  kgen.judge = judge;
  kgen.model = [](const LLMRequest&) { return kernel("fast"); };
  CHECK(kgen.run(run_arguments(kgen, {"--policy", "one-shot", "--samples", "1", "--json"})) == 0);
  CHECK(kgen.out.str().find("{\n  \"directory\": ") == 0);
  CHECK(kgen.out.str().find("\"best\": \"sample1\"") != std::string::npos);
  CHECK(kgen.out.str().find("\"score\": 2.0") != std::string::npos);
}

TEST_CASE("the same command goes on, another one is refused", "[cli][run]") {
  Fixture kgen;
  kgen.judge = judge;
  int asked = 0;
  kgen.model = [&](const LLMRequest&) {
    ++asked;
    return kernel("fast");
  };
  const std::vector<std::string> one{"--policy", "one-shot", "--samples", "1"};
  CHECK(kgen.run(run_arguments(kgen, one)) == 0);
  CHECK(kgen.run(run_arguments(kgen, one)) == 0);
  CHECK(asked == 1);
  CHECK(kgen.run(run_arguments(kgen, {"--policy", "one-shot", "--samples", "2"})) == 64);
  CHECK(kgen.err.str().find("kgen: this run was started with policy.samples 1, not 2") != std::string::npos);
  CHECK(kgen.run(run_arguments(kgen, {"--policy", "one-shot", "--samples", "2", "--name", "two"})) == 0);
  CHECK(fs::exists(kgen.path("out/relu/two/best_code.cpp")));
}

TEST_CASE("run --continue goes on with other options, and what was found stays", "[cli][run]") {
  Fixture kgen;
  kgen.judge = judge;
  std::vector<std::string> asked;
  kgen.model = [&](const LLMRequest& request) {
    asked.push_back(request.id);
    return kernel(request.id == "relu.sample1" ? "fast" : "slow");
  };
  const auto samples = [](const char* count) {
    return std::vector<std::string>{"--policy", "one-shot", "--samples", count};
  };
  CHECK(kgen.run(run_arguments(kgen, samples("1"))) == 0);
  CHECK(kgen.run(run_arguments(kgen, samples("2"))) == 64);
  CHECK(kgen.err.str().find("give the new one a journal of its own (--name), or continue this one (--continue)") !=
        std::string::npos);
  auto more = samples("2");
  more.emplace_back("--continue");
  CHECK(kgen.run(run_arguments(kgen, more)) == 0);
  CHECK(asked == std::vector<std::string>{"relu.sample1", "relu.sample2"});
  CHECK(kgen.err.str().find("continuing a run: what it has found stays") != std::string::npos);
  CHECK(kgen.out.str().find("best kernel: sample1") != std::string::npos);
  // From now on these are the options of the run.
  CHECK(kgen.run(run_arguments(kgen, samples("2"))) == 0);
  CHECK(kgen.run(run_arguments(kgen, samples("1"))) == 64);
  CHECK(asked.size() == 2);
  more.insert(more.end(), {"--precision", "tf32"});
  CHECK(kgen.run(run_arguments(kgen, more)) == 64);
  CHECK(kgen.err.str().find("a run that was started with precision strict cannot be continued with tf32") !=
        std::string::npos);
}

TEST_CASE("a run of one thread per core goes on where there are more cores", "[cli][run]") {
  Fixture kgen;
  kgen.judge = judge;
  kgen.model = [](const LLMRequest&) { return kernel("fast"); };
  CHECK(kgen.run(run_arguments(kgen, {"--policy", "one-shot", "--samples", "1"})) == 0);
  const auto journal = open_run_journal(kgen.path("out/relu"), [] { return std::chrono::system_clock::now(); });
  REQUIRE(journal);
  for (const auto& event : (*journal)->events())
    if (const auto* started = std::get_if<RunStarted>(&event.body))
      CHECK(std::map<std::string, std::string>(started->options.begin(), started->options.end()).at("threads") == "0");
  CHECK(kgen.benchmarker->requests().at(0).options.threads == 0);
}

TEST_CASE("a run that another kgen has is refused with 73; other runs go on beside it", "[cli][run]") {
  Fixture kgen;
  kgen.judge = judge;
  kgen.model = [](const LLMRequest&) { return kernel("fast"); };
  const auto held = open_run_journal(kgen.path("out/relu"), [] { return std::chrono::system_clock::now(); });
  REQUIRE(held);
  const std::vector<std::string> one{"--policy", "one-shot", "--samples", "1"};
  CHECK(kgen.run(run_arguments(kgen, one)) == 73);
  CHECK(kgen.err.str().find("kgen: the run in " + kgen.path("out/relu") + " is in use by another kgen (process " +
                            std::to_string(::getpid())) == 0);
  CHECK(kgen.err.str().find("give the new run a journal of its own (--name)") != std::string::npos);
  CHECK(kgen.run(run_arguments(kgen, {"--policy", "one-shot", "--samples", "1", "--name", "two"})) == 0);
}

TEST_CASE("run pauses with 75 and one line when the model does not answer, and goes on later", "[cli][run]") {
  Fixture kgen;
  kgen.judge = judge;
  bool is_back = false;
  kgen.model = [&](const LLMRequest& request) -> Result<Reply> {
    if (is_back || request.id == "relu.sample1") return kernel("fast");
    return Error{ErrorCode::Unavailable, "openai m at localhost:9: HTTP 429: quota"};
  };
  const std::vector<std::string> three{"--policy", "one-shot", "--samples", "3", "--parallel", "1"};
  CHECK(kgen.run(run_arguments(kgen, three)) == 75);
  CHECK(kgen.err.str().find("sample2                  no answer, asked again later           -  openai m at "
                            "localhost:9: HTTP 429: quota\n") != std::string::npos);
  CHECK(kgen.err.str().find("kgen: the model does not answer: openai m at localhost:9: HTTP 429: quota; requests that "
                            "wait: 2; the run is paused, and the same command goes on from here\n") !=
        std::string::npos);
  CHECK(read_file(kgen.path("out/summary.json"))->find("\"status\": \"unfinished\"") != std::string::npos);
  CHECK(read_file(kgen.path("out/usage.csv"))->find(",deferred,") != std::string::npos);
  is_back = true;
  CHECK(kgen.run(run_arguments(kgen, three)) == 0);
  CHECK(read_file(kgen.path("out/summary.json"))->find("\"status\": \"success\"") != std::string::npos);
}

TEST_CASE("run without waiting exits with 75", "[cli][run]") {
  Fixture kgen;
  kgen.model = [](const LLMRequest& request) -> Result<Reply> {
    return Error{ErrorCode::Pending, "there is no reply to " + request.id + " yet"};
  };
  CHECK(kgen.run(run_arguments(kgen, {"--no-wait"})) == 75);
  CHECK(kgen.llm_waiting == Waiting::Return);
  CHECK(kgen.err.str().find("kgen: there is no reply to relu.seed1 yet; 1 more step waits; the run is paused, "
                            "and the same command goes on from here\n") != std::string::npos);
}

TEST_CASE("run for a GPU that is not here ends with 69 before anything is spent", "[cli][run]") {
  Fixture kgen;
  int asked = 0;
  kgen.model = [&](const LLMRequest&) {
    ++asked;
    return kernel("fast");
  };
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"run",   k_task,      "--target",  "cuda",
                                       "--llm", "scripted:", "--results", kgen.path("out")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return kgen.run(arguments);
  };
  CHECK(run({}) == 69);
  CHECK(asked == 0);
  CHECK(kgen.err.str().find("kgen: target cuda needs a GPU: ") != std::string::npos);
  CHECK(kgen.err.str().find("--launch-prefix \"ssh NODE\"") != std::string::npos);
  CHECK_FALSE(fs::exists(kgen.path("out")));
  // Another machine evaluates, so this one needs no device.
  kgen.judge = judge;
  CHECK(run({"--launch-prefix", "ssh node", "--gpu", "h200", "--policy", "one-shot", "--samples", "1"}) == 0);
  CHECK(asked == 1);
  CHECK(read_file(kgen.path("out/relu/prompt_1.txt"))->find("- architecture: sm_90\n") != std::string::npos);
}

TEST_CASE("run searches on from a kernel in a file", "[cli][run]") {
  Fixture kgen;
  kgen.judge = judge;
  kgen.model = [](const LLMRequest& request) -> Result<Reply> {
    if (request.id == "relu.start-repair1") return kernel("fast");
    return Reply{.text = R"({"worth_optimizing": false})"};
  };
  std::ofstream(kgen.path("mine.cpp")) << "// wrong\n";
  const auto from = kgen.path("mine.cpp");
  CHECK(kgen.run(run_arguments(kgen, {"--start-from", from, "--seeds", "0", "--stages", "none"})) == 0);
  CHECK(kgen.out.str().find("best kernel: start/repair1") != std::string::npos);
  CHECK(kgen.run(run_arguments(kgen, {"--start-from", from, "--policy", "one-shot"})) == 64);
  CHECK(kgen.err.str().find("--start-from needs --policy hybrid or evolve\n") != std::string::npos);
  CHECK(kgen.run(run_arguments(kgen, {"--start-from", "/no/such/file"})) == 64);
  CHECK(kgen.err.str().find("kgen: --start-from: ") != std::string::npos);
}

TEST_CASE("wrong options of run are named", "[cli][run]") {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--policy", "random"},
       "kgen: --policy: expected hybrid, one-shot, reflect, rounds or evolve, not random (see kgen run --help)\n"},
      {{"--name", "../elsewhere"}, "the run name \"../elsewhere\" cannot name a directory"},
      {{"--stages", "no_such_stage"},
       "kgen: --stages: expected advanced_memory, attention_softmax, attention_tiles, block_tiling, epilogue, "
       "grid_and_parallel, memory_access, memory_and_tuning, network_fusion, network_weights, row_passes, row_split, "
       "scan_chunks, scan_passes, step_exchange, step_launches, step_product, step_tail, window_tiles, auto, three, "
       "four or none, not no_such_stage\n"},
      {{"--stages", "block_tilling"}, "not block_tilling; did you mean block_tiling?\n"},
      {{"--stages", "block_tiling,,"}, "kgen: --stages: a stage has no name"},
      {{"--escalations", "rethink,pray"},
       "kgen: --escalations: expected other_algorithm, rethink, simplify, restart or none, not pray\n"},
      {{"--rescues", "rethink,pray"}, "kgen: --escalations: expected "},
      {{"--threshold", "much"}, "kgen: --skip-stages-score: expected a number"},
      {{"--epsilon", "much"}, "kgen: --min-stage-gain: expected a number"},
      {{"--stop-at-score", "much"}, "kgen: --stop-score: expected a number"},
      {{"--seeds", "0"}, "kgen: --seeds 0 needs a kernel to start from: --start-from\n"},
      {{"--stage-tries", "0"}, "kgen: --stage-tries: expected a whole number"},
      {{"--max-cost", "5"},
       "--max-cost needs --price-input and --price-output: no prices are known for prompts of the kind seed of "
       "scripted\n"},
      {{"--price-cached", "5"}, "kgen: --price-cached needs --price-input and --price-output\n"},
      {{"--profile", "timeline"}, "kgen: --profile needs a target that runs on an NVIDIA or AMD GPU of this machine\n"},
      {{"--prompts", "/no/such/directory"}, "/no/such/directory"}};
  for (const auto& [options, text] : cases) {
    Fixture kgen;
    kgen.judge = judge;
    kgen.model = [](const LLMRequest&) { return kernel("fast"); };
    CHECK(kgen.run(run_arguments(kgen, options)) == 64);
    INFO(kgen.err.str());
    CHECK(kgen.err.str().find(text) != std::string::npos);
  }
}

TEST_CASE("run --policy rounds asks a coder and a critic in turns", "[cli][run]") {
  Fixture kgen;
  kgen.judge = judge;
  kgen.model = [](const LLMRequest& request) {
    return request.id.find("critic") == request.id.npos ? kernel("fast")
                                                        : ScriptedLLMClient::reply("{\"problem\": \"too slow\"}");
  };
  CHECK(kgen.run(run_arguments(kgen, {"--policy", "rounds", "--rounds", "2"})) == 0);
  CHECK(fs::exists(kgen.path("out/relu/response_2.txt")));
  CHECK(read_file(kgen.path("out/relu/result_2.json"))->find("\"critique\"") != std::string::npos);
  CHECK(read_file(kgen.path("out/relu/prompt_3.txt"))->find("too slow") != std::string::npos);
}

TEST_CASE("run --policy evolve breeds kernels, and --llm-for asks another model for a kind of prompt", "[cli][run]") {
  Fixture kgen;
  kgen.judge = judge;
  kgen.model = [](const LLMRequest& request) {
    return kernel("fast\nint " + request.id.substr(5) + "() { return 1; }");
  };
  CHECK(kgen.run(run_arguments(kgen, {"--policy", "evolve", "--islands", "2", "--archive", "2", "--generations", "2",
                                      "--llm-for", "crossover=scripted:big"})) == 0);
  CHECK(kgen.llm_spec == "scripted:big");
  CHECK(kgen.out.str().find("search ended: all generations are done\n") != std::string::npos);
  CHECK(read_file(kgen.path("out/relu/events.jsonl"))->find("models ") != std::string::npos);
  const auto crossover = *read_file(kgen.path("out/relu/prompt_5.txt"));
  CHECK(crossover.find("It is `i") != std::string::npos);
  CHECK(crossover.find("`, the one under \"The kernel\".") != std::string::npos);
}

TEST_CASE("several models for a kind of prompt take turns by seed", "[cli][run]") {
  Fixture kgen;
  CHECK(kgen.run(run_arguments(kgen, {"--llm-for", "seed=scripted:a", "--llm-for", "seed=scripted:b", "--llm-fallback",
                                      "scripted:c", "--effort", "high"})) == 2);
  const auto journal = *read_file(kgen.path("out/relu/events.jsonl"));
  CHECK(journal.find("models scripted or else scripted, seed by scripted and scripted") != std::string::npos);
  CHECK(journal.find(R"(["effort","high"])") != std::string::npos);
}

TEST_CASE("run counts money where it knows prices, and ends at its budget", "[cli][run]") {
  Fixture kgen;
  kgen.judge = judge;
  kgen.model = [](const LLMRequest&) { return kernel("fast"); };
  CHECK(kgen.run(run_arguments(kgen, {"--policy", "one-shot", "--samples", "9", "--parallel", "1", "--price-input",
                                      "1000000", "--price-output", "0", "--max-cost", "1"})) == 0);
  CHECK(kgen.out.str().find("the budget of 1 cost is used up\n") != std::string::npos);
  CHECK_FALSE(fs::exists(kgen.path("out/relu/prompt_2.txt")));
}

TEST_CASE("replies are recorded and replayed", "[cli][run]") {
  Fixture kgen;
  kgen.judge = judge;
  kgen.model = [](const LLMRequest&) { return kernel("fast"); };
  CHECK(kgen.run(run_arguments(kgen, {"--policy", "one-shot", "--record", kgen.path("replies.jsonl")})) == 0);
  CHECK(read_file(kgen.path("replies.jsonl"))->find("\"relu.sample1\"") != std::string::npos);
}

TEST_CASE("generate writes the code of each sample", "[cli][generate]") {
  Fixture kgen;
  kgen.model = [](const LLMRequest& request) {
    return request.id == "relu.sample2" ? ScriptedLLMClient::reply("I cannot.") : kernel(request.id);
  };
  const std::vector<std::string> arguments{
      "generate",      "--problem", k_task,  "--output", kgen.path("relu.cpp"), "--response-file", kgen.path("r.txt"),
      "--num-samples", "3",         "--llm", "scripted:"};
  CHECK(kgen.run(arguments) == 1);
  CHECK(read_file(kgen.path("relu_s1.cpp"))->find("// relu.sample1") == 0);
  CHECK_FALSE(fs::exists(kgen.path("relu_s2.cpp")));
  CHECK(*read_file(kgen.path("r_s2.txt")) == "I cannot.");
  CHECK(kgen.out.str() == "2 of 3 replies held code\n");
  CHECK(kgen.err.str().find("kgen: sample 2: ") == 0);
}

TEST_CASE("generate makes the folders of its outputs before it asks", "[cli][generate]") {
  Fixture kgen;
  kgen.model = [&](const LLMRequest&) {
    // No reply is requested that could not be written.
    CHECK(fs::is_directory(kgen.path("new/folder")));
    CHECK(fs::is_directory(kgen.path("replies")));
    return kernel("mine");
  };
  CHECK(kgen.run({"generate", "--problem", k_task, "--output", kgen.path("new/folder/x.cpp"), "--response-file",
                  kgen.path("replies/r.txt"), "--llm", "scripted:"}) == 0);
  CHECK(read_file(kgen.path("new/folder/x.cpp"))->find("// mine") == 0);
}

TEST_CASE("generate asks for nothing that it cannot write", "[cli][generate]") {
  Fixture kgen;
  int asked = 0;
  kgen.model = [&](const LLMRequest&) {
    ++asked;
    return kernel("mine");
  };
  std::ofstream(kgen.path("file")) << "in the way";
  fs::create_directory(kgen.path("folder.cpp"));
  const auto run = [&](const std::string& output, const std::string& response) {
    return kgen.run({"generate", "--problem", k_task, "--target", "cpp", "--output", output, "--response-file",
                     response, "--llm", "scripted:"});
  };
  CHECK(run(kgen.path("file/x.cpp"), kgen.path("r.txt")) != 0);
  CHECK(run(kgen.path("folder.cpp"), kgen.path("r.txt")) != 0);
  CHECK(run(kgen.path("x.cpp"), kgen.path("file/r.txt")) != 0);
  CHECK(run("/proc/x.cpp", kgen.path("r.txt")) != 0);
  CHECK(asked == 0);
}

TEST_CASE("a reply that cannot be written in the end is in a file that the error names", "[cli][generate]") {
  Fixture kgen;
  kgen.model = [&](const LLMRequest&) {
    fs::remove_all(kgen.path("gone"));
    return kernel("paid for");
  };
  CHECK(kgen.run({"generate", "--problem", k_task, "--output", kgen.path("gone/x.cpp"), "--llm", "scripted:"}) != 0);
  const auto said = kgen.err.str();
  const auto at = said.find("the reply is in ");
  REQUIRE(at != std::string::npos);
  const fs::path kept = said.substr(at + 16, said.size() - at - 17);
  CHECK(read_file(kept)->find("// paid for") != std::string::npos);
  fs::remove(kept);
}

TEST_CASE("a reply without code is kept", "[cli][generate]") {
  Fixture kgen;
  kgen.model = [](const LLMRequest&) { return ScriptedLLMClient::reply("I would rather not."); };
  CHECK(kgen.run({"generate", "--problem", k_task, "--output", kgen.path("x.cpp"), "--llm", "scripted:"}) == 2);
  CHECK(*read_file(kgen.path("x.cpp.reply.txt")) == "I would rather not.");
  CHECK(kgen.err.str().find("the reply is in " + kgen.path("x.cpp.reply.txt")) != std::string::npos);
}

TEST_CASE("generate exits with 75 when the model does not answer, and writes what came", "[cli][generate]") {
  Fixture kgen;
  kgen.model = [](const LLMRequest& request) -> Result<Reply> {
    if (request.id == "x.sample2") return Error{ErrorCode::Unavailable, "openai m at localhost:9: HTTP 429: quota"};
    if (request.id == "x.sample1") return ScriptedLLMClient::reply("I would rather not.");
    return kernel("mine");
  };
  CHECK(kgen.run({"generate", "--problem", k_task, "--output", kgen.path("x.cpp"), "--num-samples", "3", "--llm",
                  "scripted:"}) == 75);
  CHECK(fs::exists(kgen.path("x_s3.cpp")));
  CHECK(kgen.err.str() ==
        "kgen: sample 2: openai m at localhost:9: HTTP 429: quota; what was answered is written, ask "
        "for the rest later\n");
}

TEST_CASE("a generated prompt has the tolerance that was asked for", "[cli][generate]") {
  Fixture kgen;
  std::string prompt;
  kgen.model = [&](const LLMRequest& request) {
    prompt = request.prompt;
    return kernel("mine");
  };
  CHECK(kgen.run({"generate", "--problem", k_task, "--output", kgen.path("x.cpp"), "--rtol", "0.125", "--llm",
                  "scripted:"}) == 0);
  CHECK(prompt.find("0.125") != std::string::npos);
}

TEST_CASE("generate sends a prompt of the user's with the reference", "[cli][generate]") {
  Fixture kgen;
  std::ofstream(kgen.path("mine.txt")) << "Write it in one line.\n";
  std::string prompt;
  kgen.model = [&](const LLMRequest& request) {
    prompt = request.prompt;
    return kernel("mine");
  };
  CHECK(kgen.run({"generate", "--problem", k_task, "--output", kgen.path("relu.cpp"), "--prompt", kgen.path("mine.txt"),
                  "--llm", "scripted:"}) == 0);
  CHECK(prompt.find("Write it in one line.\n") == 0);
  CHECK(prompt.find("class Model") != std::string::npos);
  CHECK(fs::exists(kgen.path("relu.cpp")));
}
