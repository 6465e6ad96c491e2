#include <algorithm>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <regex>

#include <kernelgen/store/journal.hpp>

#include "cli/fixture.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"

using namespace kernelgen;
using namespace kernelgen::cli;
using namespace kernelgen::testing;
namespace fs = std::filesystem;

namespace {

Reply batch_kernel(const std::string& line) {
  auto reply = ScriptedLLMClient::reply("```cpp\n// " + line +
                                        "\n#include <kernelgen/abi.h>\nKGEN_API int kgen_run(void*, const "
                                        "kgen_run_args*) { return 0; }\n```\n");
  reply.usage.input_tokens = 1000;
  reply.usage.output_tokens = 200;
  return reply;
}

/// "a" of "a.sample1".
std::string task_of_request(const std::string& id) { return id.substr(0, id.find('.')); }

/// Three tasks, a scripted model and a fake judge: the kernels of "a" are fast, those of "b" slow, those of "c" wrong.
class BatchFixture : public Fixture {
 public:
  BatchFixture() {
    fs::create_directory(path("tasks"));
    for (const char* name : {"a", "b", "c"}) fs::copy_file(k_task, path("tasks") + "/" + name + ".py");
    judge = [](const EvaluationRequest& request) -> Result<EvaluationRecord> {
      if (request.candidate.source.find("// fast") == 0) return correct_record(2);
      if (request.candidate.source.find("// slow") == 0) return correct_record(0.5);
      EvaluationRecord record;
      record.outcome = {OutcomeKind::Compile, "other", "it does not compile"};
      return record;
    };
    model = [this](const LLMRequest& request) { return reply_to(request.id); };
  }

  Result<Reply> reply_to(const std::string& id) {
    const std::scoped_lock lock(mutex_);
    asked.push_back(id);
    const auto task = task_of_request(id);
    if (task == unavailable) return Error{ErrorCode::Unavailable, "scripted: HTTP 503"};
    return batch_kernel(task == "a" || all_fast ? "fast" : task == "b" ? "slow" : "broken");
  }

  int batch(std::vector<std::string> more = {}) {
    out.str("");
    err.str("");
    std::vector<std::string> arguments{"batch",     path("tasks"), "--target",         "cpp",      "--llm",
                                       "scripted:", "--results",   path("out"),        "--policy", "one-shot",
                                       "--samples", samples,       "--parallel-tasks", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }

  /// The output with the directory and times replaced.
  [[nodiscard]] std::string plain_output() const {
    auto text = out.str();
    const auto directory = path("out");
    for (auto at = text.find(directory); at != text.npos; at = text.find(directory))
      text.replace(at, directory.size(), "OUT");
    return std::regex_replace(text, std::regex(R"(\b\d+ s\n)"), "0 s\n");
  }

  std::vector<std::string> asked;
  std::string unavailable;
  std::string samples = "1";
  bool all_fast = false;

 private:
  std::mutex mutex_;
};

/// Records the programs that would be started.
class RecordingProcesses final : public ProcessRunner {
 public:
  Result<ProcessOutcome> run(const ProcessRequest& request, std::stop_token) override {
    if (request.command.front() != "notify") return Error{ErrorCode::MissingTool, "not installed"};
    const std::scoped_lock lock(mutex_);
    lines.push_back(request.standard_input.value_or(""));
    ProcessOutcome outcome;
    outcome.exit_code = exit_code;
    return outcome;
  }
  std::vector<std::string> lines;
  int exit_code = 0;

 private:
  std::mutex mutex_;
};

}  // namespace

TEST_CASE("batch carries every task to its end, and the same command is only reported again", "[cli][batch]") {
  BatchFixture kgen;
  CHECK(kgen.batch() == 1);
  CHECK(kgen.asked == std::vector<std::string>{"a.sample1", "b.sample1", "c.sample1"});
  check_golden("batch.txt", kgen.plain_output());
  for (const char* file : {"a/best_code.cpp", "b/best_code.cpp", "c/response_1.txt", "summary.json", "usage.csv"})
    CHECK(fs::exists(kgen.path("out/") + file));
  CHECK(kgen.err.str().find("   0:00     0/3  a                         started\n") == 0);
  CHECK(kgen.err.str().find("3/3  c                         failed  all samples are done\n") != std::string::npos);
  const auto first = kgen.plain_output();
  CHECK(kgen.batch() == 1);
  CHECK(kgen.asked.size() == 3);
  CHECK(kgen.plain_output() == first);
}

TEST_CASE("batch --continue goes on with other options, and what was found stays", "[cli][batch]") {
  BatchFixture kgen;
  CHECK(kgen.batch() == 1);
  // Runs that are over stay as they are, and a line says so.
  kgen.samples = "2";
  CHECK(kgen.batch() == 1);
  CHECK(kgen.asked.size() == 3);
  CHECK(kgen.err.str().find("kgen: 3 of 3 runs are over, with other options: a: this run was started with "
                            "policy.samples 1, not 2; give the new one a journal of its own (--name), or continue this "
                            "one (--continue)\n") != std::string::npos);
  kgen.all_fast = true;
  CHECK(kgen.batch({"--continue"}) == 0);
  CHECK(kgen.asked.size() == 6);
  CHECK(kgen.err.str().find("other options") == std::string::npos);
  // It is resumed with and without the wish: nothing is left to do.
  const auto output = kgen.plain_output();
  for (const auto& more : {std::vector<std::string>{"--continue"}, {}}) {
    CHECK(kgen.batch(more) == 0);
    CHECK(kgen.asked.size() == 6);
    CHECK(kgen.plain_output() == output);
  }
  CHECK(kgen.batch({"--continue", "--retry", "failed"}) == 64);
  CHECK(kgen.err.str().find("--continue") != std::string::npos);
}

TEST_CASE("batch exits with 0 when all goals are reached, and with 2 when no kernel is correct", "[cli][batch]") {
  BatchFixture kgen;
  CHECK(kgen.batch({"--end", "0", "--list", "gone"}) == 64);
  CHECK(kgen.batch({"--goal", "3", "--first", "2", "--name", "three"}) == 1);
  kgen.all_fast = true;
  CHECK(kgen.batch() == 0);
  BatchFixture broken;
  broken.judge = [](const EvaluationRequest&) -> Result<EvaluationRecord> { return EvaluationRecord{}; };
  broken.model = [](const LLMRequest&) { return ScriptedLLMClient::reply("no code"); };
  CHECK(broken.batch() == 2);
}

TEST_CASE("a failed run begins anew on request", "[cli][batch]") {
  BatchFixture kgen;
  CHECK(kgen.batch() == 1);
  kgen.all_fast = true;
  CHECK(kgen.batch({"--retry", "paused"}) == 1);
  CHECK(kgen.asked.size() == 3);
  CHECK(kgen.batch({"--retry", "failed"}) == 1);
  CHECK(kgen.asked.back() == "c.sample1");
  CHECK(kgen.out.str().find("c   ") != std::string::npos);
  CHECK(kgen.out.str().find("3 runs: 2 success, 1 partial\n") != std::string::npos);
}

TEST_CASE("batch exits with 75 when a model does not answer, and goes on later", "[cli][batch]") {
  BatchFixture kgen;
  kgen.unavailable = "b";
  CHECK(kgen.batch() == 75);
  CHECK(kgen.out.str().find("b: the model does not answer: scripted: HTTP 503") != std::string::npos);
  CHECK(kgen.out.str().find("3 runs: 1 success, 1 failed, 1 paused\n") != std::string::npos);
  kgen.unavailable.clear();
  CHECK(kgen.batch() == 1);
  CHECK(std::count(kgen.asked.begin(), kgen.asked.end(), "a.sample1") == 1);
}

TEST_CASE("batch leaves a run to the kgen that has it, and exits with 73", "[cli][batch]") {
  BatchFixture kgen;
  {
    const auto held = open_run_journal(kgen.path("out/b"), [] { return std::chrono::system_clock::now(); });
    REQUIRE(held);
    CHECK(kgen.batch() == 73);
    CHECK(kgen.err.str().find("1 of 3 runs is left to another kgen: b: the run in " + kgen.path("out/b") +
                              " is in use by another kgen") != std::string::npos);
    CHECK(kgen.err.str().find("; the one that ends last reports all of them\n") != std::string::npos);
  }
  CHECK(kgen.batch() == 1);
}

TEST_CASE("batch exits with the code of a run's error after the other runs", "[cli][batch]") {
  BatchFixture kgen;
  kgen.judge = [](const EvaluationRequest& request) -> Result<EvaluationRecord> {
    if (request.task.name == "a") return Error{ErrorCode::MissingTool, "there is no compiler"};
    return correct_record(2);
  };
  CHECK(kgen.batch() == 69);
  CHECK(kgen.out.str().find("a: there is no compiler\n") != std::string::npos);
  CHECK(kgen.out.str().find("3 runs: 2 success, 1 error\n") != std::string::npos);
}

TEST_CASE("a task that cannot be read is left out, and named", "[cli][batch]") {
  BatchFixture kgen;
  std::ofstream(kgen.path("tasks/broken.py")) << "\xff\xfe";
  kgen.all_fast = true;
  CHECK(kgen.batch() == 64);
  CHECK(kgen.err.str().find("kgen: broken is left out: ") == 0);
  CHECK(kgen.out.str().find("3 runs: 3 success\n") != std::string::npos);
}

TEST_CASE("batch is interrupted with 130", "[cli][batch]") {
  BatchFixture kgen;
  kgen.model = [&](const LLMRequest&) -> Result<Reply> {
    kgen.stop.request_stop();
    return Error{ErrorCode::Cancelled, "cancelled"};
  };
  CHECK(kgen.batch() == 130);
  CHECK(kgen.out.str().find("3 runs: 2 not begun, 1 paused\n") != std::string::npos);
}

TEST_CASE("batch_run.log has the lines of every session, and a log that cannot be written is told at the end",
          "[cli][batch]") {
  BatchFixture kgen;
  CHECK(kgen.batch({"--first-n", "1"}) == 0);
  CHECK(kgen.batch() == 1);
  const auto log = read_file(kgen.path("out/batch_run.log")).value();
  CHECK(std::regex_search(log, std::regex("^\\d{4}-\\d\\d-\\d\\dT\\S+ kgen \\S+\n   0:00     0/1  a +started\n")));
  CHECK(log.find("3/3  c                         failed  all samples are done\n") != std::string::npos);
  BatchFixture blocked;
  fs::create_directories(blocked.path("out/batch_run.log"));
  CHECK(blocked.batch() == 1);
  CHECK(blocked.err.str().find("kgen: cannot write all lines to " + blocked.path("out/batch_run.log") + "\n") !=
        std::string::npos);
}

TEST_CASE("two numbers are START END, and imply what the HIP framework did", "[cli][batch]") {
  BatchFixture kgen;
  kgen.environment.kernelbench_dir = kgen.path("level1");
  kgen.environment.num_samples = "2";
  kgen.environment.max_attempts = "1";
  fs::create_directory(kgen.path("level1"));
  for (const char* name : {"1_a", "2_b", "30_c"}) fs::copy_file(k_task, kgen.path("level1/") + name + ".py");
  kgen.model = [&](const LLMRequest& request) -> Result<Reply> {
    static_cast<void>(kgen.reply_to(request.id));
    return ScriptedLLMClient::reply("no code");
  };
  CHECK(kgen.run({"batch", "2", "40", "--results", kgen.path("out"), "--parallel-tasks", "1", "--device", "cpu",
                  "--profile", "none"}) == 2);
  INFO(kgen.err.str());
  CHECK(kgen.llm_spec == "gateway");
  std::sort(kgen.asked.begin(), kgen.asked.end());
  CHECK(kgen.asked == std::vector<std::string>{"2_b.attempt1-sample1", "2_b.attempt1-sample2", "30_c.attempt1-sample1",
                                               "30_c.attempt1-sample2"});
  CHECK(kgen.run({"batch", "2", "40", "--policy", "one-shot", "--target", "cpp", "--print-config"}) == 0);
  CHECK(std::regex_search(kgen.out.str(), std::regex("policy = \"one-shot\" +# command line\n")));
  CHECK(std::regex_search(kgen.out.str(), std::regex("profile = \"sandboxed\" +# START END\n")));
  // Other numbers of numbers are tasks.
  kgen.err.str("");
  CHECK(kgen.run({"batch", "2", "--results", kgen.path("out")}) == 64);
  CHECK(kgen.err.str() == "kgen: --target is required (see kgen batch --help)\n");
}

TEST_CASE("a dry run tells what a campaign would take, and takes nothing", "[cli][batch]") {
  BatchFixture kgen;
  kgen.samples = "3";
  const std::vector<std::string> options{"--max-output-tokens", "4096", "--price-input", "2", "--price-output", "10",
                                         "--max-requests",      "100",  "--dry-run"};
  CHECK(kgen.batch(options) == 0);
  CHECK(kgen.asked.empty());
  CHECK(kgen.benchmarker->requests().empty());
  CHECK_FALSE(fs::exists(kgen.path("out")));
  // How long the first prompt is, is no concern of this test.
  const auto shown =
      std::regex_replace(kgen.out.str(), std::regex(R"((tokens +- +|cost +- +|like the first, of )[\d.]+)"), "$1N");
  check_golden("batch_dry_run.txt", shown);
  CHECK(kgen.batch({"--first", "1"}) == 0);
  CHECK(kgen.batch(options) == 0);
  CHECK(kgen.out.str().find("3 runs: 2 not begun, 1 success; 2 would be taken up\n") == 0);
  CHECK(kgen.out.str().find("requests                        6                6              100\n") !=
        std::string::npos);
  CHECK(kgen.out.str().find("expected: from 1 run that is over\n") != std::string::npos);
  auto as_json = options;
  as_json.emplace_back("--json");
  CHECK(kgen.batch(as_json) == 0);
  CHECK(kgen.out.str().find("\"known_runs\": 1") != std::string::npos);
}

TEST_CASE("a campaign ends at its budget, and goes on with a larger one", "[cli][batch]") {
  BatchFixture kgen;
  CHECK(kgen.batch({"--max-requests", "2"}) == 1);
  CHECK(kgen.asked.size() == 2);
  CHECK(kgen.out.str().find("c: the campaign's budget of 2 requests is used up\n") != std::string::npos);
  CHECK(kgen.err.str().find("100 % of the campaign's budget are used\n") != std::string::npos);
  CHECK(kgen.batch({"--max-requests", "3"}) == 1);
  CHECK(kgen.asked.size() == 3);
  // Money and tokens: a prompt and a reply of at most 500 tokens do not fit.
  CHECK(kgen.batch({"--name", "two", "--max-tokens", "400", "--max-output-tokens", "500"}) == 2);
  CHECK(kgen.asked.size() == 3);
}

TEST_CASE("several targets make a matrix of runs", "[cli][batch]") {
  BatchFixture kgen;
  CHECK(kgen.batch({"--target", "torch", "--device", "cpu", "--first", "1", "--name", "x"}) == 1);
  CHECK(fs::exists(kgen.path("out/a/x-cpp/events.jsonl")));
  CHECK(fs::exists(kgen.path("out/a/x-torch/events.jsonl")));
  CHECK(kgen.asked == std::vector<std::string>{"a.x-cpp.sample1", "a.x-torch.sample1"});
  // The same model twice would write into one directory.
  CHECK(kgen.batch({"--llm", "scripted:"}) == 64);
  CHECK(kgen.err.str().find("kgen: --llm: scripted: and scripted: would have the same results, those of scripted") ==
        0);
  // Another one of the same name, such as a second script of one interpreter, does not.
  CHECK(kgen.batch({"--llm", "other:", "--first", "1", "--name", "y"}) == 0);
  CHECK(fs::exists(kgen.path("out/a/y-scripted/events.jsonl")));
  const auto named_alike = [](const auto& entry) {
    return entry.path().filename().string().starts_with("y-scripted-");
  };
  const fs::directory_iterator runs(kgen.path("out/a"));
  CHECK(std::count_if(begin(runs), end(runs), named_alike) == 1);
}

TEST_CASE("wrong options of batch are named before anything is spent", "[cli][batch]") {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong{
      {{"--max-tokens", "5"}, "--max-tokens and --max-cost need --max-output-tokens"},
      {{"--max-cost", "5", "--max-output-tokens", "9"},
       "--max-cost and --task-max-cost need --price-input and --price-output: no prices are known for prompts of the "
       "kind seed of scripted"},
      {{"--price-cached", "5"}, "--price-cached needs --price-input and --price-output"},
      {{"--price-input", "1", "--price-input", "2"}, "--price-input: 2 prices for 1 model;"},
      {{"--seed", "4"}, "--seed needs --sample"},
      {{"--target", "cuba"}, "--target: "},
      {{"--retry", "never"}, "--retry: "},
      {{"--order", "random"}, "--order: "}};
  for (const auto& [options, message] : wrong) {
    BatchFixture kgen;
    CHECK(kgen.batch(options) == 64);
    INFO(kgen.err.str());
    CHECK(kgen.err.str().find("kgen: " + message) == 0);
    CHECK(kgen.asked.empty());
  }
}

TEST_CASE("batch --json prints the outcome and nothing else", "[cli][batch]") {
  BatchFixture kgen;
  CHECK(kgen.batch({"--json"}) == 1);
  CHECK(kgen.out.str().find("{\n  \"runs\": [") == 0);
  CHECK(kgen.out.str().find("\"counts\": {") != std::string::npos);
  CHECK(kgen.out.str().find("\"status\": \"partial\"") != std::string::npos);
}

TEST_CASE("a program is told about each event, and its failure changes nothing", "[cli][batch]") {
  BatchFixture kgen;
  RecordingProcesses processes;
  kgen.processes = &processes;
  CHECK(kgen.batch({"--on-event", "notify --all", "--max-requests", "3"}) == 1);
  REQUIRE(processes.lines.size() == 7);
  CHECK(processes.lines[0].find(R"({"event":"better_kernel","run":"a",)") == 0);
  CHECK(processes.lines[1].find(R"({"event":"run_ended","run":"a",)") == 0);
  CHECK(std::count_if(processes.lines.begin(), processes.lines.end(), [](const auto& line) {
          return line.find(R"({"event":"budget_warning","used_fraction":)") == 0;
        }) == 1);
  CHECK(processes.lines.back().find(R"({"event":"campaign_ended","interrupted":false,"counts":{)") == 0);
  for (const auto& line : processes.lines) CHECK(std::count(line.begin(), line.end(), '\n') == 1);
  processes.exit_code = 3;
  CHECK(kgen.batch({"--on-event", "notify"}) == 1);
  CHECK(kgen.err.str().find("kgen: notify: exit 3\n") != std::string::npos);
  // A program that fails is told everything all the same.
  processes.lines.clear();
  CHECK(kgen.batch({"--on-event", "notify", "--name", "again"}) == 1);
  REQUIRE(processes.lines.size() == 6);
  CHECK(processes.lines.back().find(R"({"event":"campaign_ended")") == 0);
}

TEST_CASE("an option that a file has set wrongly is named with its place there", "[cli][batch][settings]") {
  BatchFixture kgen;
  const auto file = kgen.path("config.toml");
  std::ofstream(file) << "[batch]\nfirst = 1\n  prompts = \"/no/prompts\"\n";
  CHECK(kgen.batch({"--config", file}) == 64);
  CHECK(kgen.err.str() ==
        "kgen: " + file + ":3:3: prompts: cannot read the templates in /no/prompts: No such file or directory\n");
  // The command line has no place.
  CHECK(kgen.batch({"--config", file, "--prompts", "/others"}) == 64);
  CHECK(kgen.err.str().find("kgen: --prompts: cannot read the templates in /others: ") == 0);
}
