// The message of every option for an invalid value.
#include <filesystem>
#include <fstream>

#include "cli/fixture.hpp"
#include "support/catch.hpp"

using namespace kernelgen;
using namespace kernelgen::cli;
using namespace kernelgen::testing;

namespace {

/// A command line with all required options.
std::vector<std::string> complete_command(const std::string& name, Fixture& kgen) {
  const auto kernel = kgen.path("kernel.cpp");
  if (name == "run") return {"run", k_task, "--target", "cpp", "--llm", "scripted:", "--results", kgen.path("out")};
  if (name == "batch")
    return {"batch",     k_task,           "--target", "cpp",      "--llm",     "scripted:",
            "--results", kgen.path("out"), "--policy", "one-shot", "--samples", "1"};
  if (name == "generate")
    return {"generate", "--problem", k_task, "--output", kgen.path("made.cpp"), "--llm", "scripted:"};
  if (name == "eval") return {"eval", "--code", kernel, "--problem", k_task};
  if (name == "prompt") return {"prompt", k_task, "--phase", "seed", "--target", "cpp"};
  if (name == "detect") return {"detect", kernel};
  if (name == "profile") return {"profile", "--problem", k_task};
  if (name == "report") return {"report", kgen.path("out")};
  if (name == "compare") return {"compare", kgen.path("out"), kgen.path("other")};
  if (name == "audit") return {"audit", kernel, "--problem", k_task, "--records", kgen.path("records")};
  if (name == "import") {
    std::filesystem::create_directories(kgen.path("run"));
    std::ofstream(kgen.path("run/level_1_problem_1_sample_0_kernel.py")) << "class ModelNew: pass\n";
    return {"import", "kernelbench", kgen.path("run"), "--results", kgen.path("out")};
  }
  if (name == "export") return {"export", "kernelbench", kgen.path("out"), "--output", kgen.path("back")};
  return {name};
}

/// Changes to the directory of a fixture, where relative paths do no harm.
class InDirectory {
 public:
  explicit InDirectory(const std::filesystem::path& path) { std::filesystem::current_path(path); }
  ~InDirectory() { std::filesystem::current_path("/"); }
  InDirectory(const InDirectory&) = delete;
  InDirectory& operator=(const InDirectory&) = delete;
};

struct BadValue {
  const char* command;
  const char* option;
  const char* value;
  /// The message after "kgen: ".
  const char* message;
};

const BadValue k_bad_values[] = {
    {"run", "--max-requests", "0", "--max-requests: expected a whole number of at least 1, not 0"},
    {"run", "--max-requests", "-1", "--max-requests: expected a whole number of at least 1, not -1"},
    {"run", "--max-tokens", "many", "--max-tokens: expected a whole number of at least 1, not many"},
    {"run", "--max-tokens", "1e6", "--max-tokens: expected a whole number of at least 1, not 1e6"},
    {"run", "--max-evaluations", "99999999999999999999", "--max-evaluations: expected a whole number of at least 1"},
    {"run", "--max-minutes", "0", "--max-minutes: expected a number from 0.01 to 525600, not 0"},
    {"run", "--max-minutes", "nan", "--max-minutes: expected a number from 0.01 to 525600, not nan"},
    {"run", "--max-cost", "-0.5", "--max-cost: expected a number of at least 0, not -0.5"},
    {"run", "--price-input", "inf", "--price-input: expected a number of at least 0, not inf"},
    {"run", "--request-timeout", "0", "--request-timeout: expected a number from 1 to 86400, not 0"},
    {"run", "--parallel", "0", "--parallel: expected a whole number from 1 to 256, not 0"},
    {"run", "--parallel-evaluations", "257", "--parallel-evaluations: expected a whole number from 1 to 256, not 257"},
    {"run", "--seeds", "-1", "--seeds: expected a whole number from 0 to 1000, not -1"},
    {"run", "--seeds", "", "--seeds: expected a whole number from 0 to 1000, not \"\""},
    {"run", "--policy", "hybird",
     "--policy: expected hybrid, one-shot, reflect, rounds or evolve, not hybird; did you mean "
     "hybrid?"},
    {"run", "--islands", "0", "--islands: expected a whole number from 1 to 100, not 0"},
    {"run", "--archive", "few", "--archive: expected a whole number from 1 to 100, not few"},
    {"run", "--generations", "1001", "--generations: expected a whole number from 0 to 1000, not 1001"},
    {"run", "--llm-for", "crossover", "--llm-for: expected KIND=SPEC, such as repair=openai:gpt-5, not \"crossover\""},
    {"run", "--llm-for", "repair=", "--llm-for: expected KIND=SPEC, such as repair=openai:gpt-5, not \"repair=\""},
    {"run", "--llm-for", "mutate=openai:m",
     "--llm-for: expected seed, repair, analysis, optimize, stage, reflect, critic or crossover, not mutate"},
    {"run", "--profile", "all", "--profile: expected none, timeline, counters or sandboxed, not all"},
    {"run", "--temperature", "NaN", "--temperature: expected a number from 0 to 10, not NaN"},
    {"run", "--min-stage-gain", "-1", "--min-stage-gain: expected a number from 0 to 1000000, not -1"},
    {"run", "--name", "", "--name: expected a value, not an empty one"},
    {"run", "--name", "a/b", "the run name \"a/b\" cannot name a directory"},
    {"run", "--target", "cude",
     "--target: expected cpp, cuda, hip, hipkittens, torch or triton, not cude; did you mean cuda?"},
    {"run", "--results", "kernel.cpp", "--results: cannot"},
    {"run", "--prompts", "/no/such", "--prompts: cannot read the templates in /no/such"},
    {"batch", "--parallel-tasks", "0", "--parallel-tasks: expected a whole number from 1 to 256, not 0"},
    {"batch", "--max-requests", "0", "--max-requests: expected a whole number of at least 1, not 0"},
    {"batch", "--task-max-cost", "-1", "--task-max-cost: expected a number of at least 0, not -1"},
    {"batch", "--price-output", "x", "--price-output: expected a number of at least 0, not x"},
    {"batch", "--first", "0", "--first: expected a whole number from 1 to 1000000, not 0"},
    {"batch", "--list", "/no/such", "--list: cannot read /no/such: No such file"},
    {"batch", "--retry", "never", "--retry: expected unfinished, paused, failed or all, not never"},
    {"batch", "--target", "cude",
     "--target: expected cpp, cuda, hip, hipkittens, torch or triton, not cude; did you mean cuda?"},
    {"batch", "--results", "kernel.cpp", "--results: cannot"},
    {"batch", "--on-event", " ", "--on-event: expected a program, not blanks alone"},
    {"batch", "--on-event", "a 'b", "--on-event: the command has a quote that stays open: '"},
    {"audit", "--times", "0", "--times: expected a whole number from 1 to 1000, not 0"},
    {"audit", "--margin", "1", "--margin: expected a number from 0 to 0.99, not 1"},
    {"audit", "--problem", "/no/such.py", "--problem: cannot find task /no/such.py: no such file"},
    {"audit", "--baseline-times", "/no/such", "--baseline-times: cannot read /no/such: No such file"},
    {"audit", "--records", "kernel.cpp", "--records: cannot"},
    {"audit", "--html", "/tmp", "--html: cannot"},
    {"import", "--records", "/no/such", "--records: /no/such is no directory"},
    {"export", "--level", "0", "--level: expected a whole number from 1 to 99, not 0"},
    {"export", "--output", "kernel.cpp", "--output: cannot"},
    {"generate", "--num-samples", "0", "--num-samples: expected a whole number from 1 to 256, not 0"},
    {"generate", "--prompt", "/no/such", "--prompt: cannot read /no/such: No such file"},
    {"eval", "--code", "/no/such.cpp", "--code: cannot read /no/such.cpp: No such file"},
    {"eval", "--code", "/tmp", "--code: cannot read /tmp: Is a directory"},
    {"eval", "--problem", "/no/such.py", "--problem: cannot find task /no/such.py: no such file"},
    {"eval", "--problem", "/tmp", "--problem: cannot read task /tmp: it is a directory"},
    {"eval", "--output", "/tmp", "--output: cannot write /tmp: it is a directory"},
    {"eval", "--output", "/no/such/r.json", "--output: cannot write /no/such/r.json: No such file"},
    {"eval", "--precision", "", "--precision: expected strict, default, tf32, fp16 or bf16, not \"\""},
    {"eval", "--rtol", "nan", "--rtol: expected a number from 0 to 1000000, not nan"},
    {"eval", "--timeout", "0", "--timeout: expected a number from 0.001 to 86400, not 0"},
    {"eval", "--build-timeout", "0", "--build-timeout: expected a number from 0.001 to 86400, not 0"},
    {"eval", "--samples", "0", "--samples: expected a whole number from 1 to 1000000, not 0"},
    {"eval", "--warmup", "-1", "--warmup: expected a whole number from 0 to 1000000, not -1"},
    {"eval", "--measure-seconds", "0", "--measure-seconds: expected a number from 0.001 to 86400, not 0"},
    {"eval", "--timeout", "1e9", "--timeout: expected a number from 0.001 to 86400, not 1e9"},
    {"eval", "--threads", "5000", "--threads: expected a whole number from 0 to 4096, not 5000"},
    {"eval", "--threads", "two", "--threads: expected a whole number from 0 to 4096, not two"},
    {"eval", "--memory-limit", "0", "--memory-limit: expected a size such as 512MB or 8GB, not 0"},
    {"eval", "--memory-limit", "8 potatoes", "--memory-limit: expected a size such as 512MB or 8GB, not 8 potatoes"},
    {"eval", "--shrink", "batch", "--shrink: expected NAME=VALUE with a whole number above 0, not batch"},
    {"eval", "--shrink", "batch=0", "--shrink: expected NAME=VALUE with a whole number above 0, not batch=0"},
    {"eval", "--baseline", "compile,", "--baseline: expected compile or compile-max-autotune, not \"\""},
    {"eval", "--launch-prefix", "ssh 'node", "--launch-prefix: the command has a quote that stays open: '"},
    {"eval", "--launch-prefix", "", "--launch-prefix: expected a value, not an empty one"},
    {"eval", "--config", "/no/such.toml", "--config: cannot read /no/such.toml: No such file"},
    {"eval", "--config", "/tmp", "--config: cannot read /tmp: Is a directory"},
    {"prompt", "--phase", "",
     "--phase: expected seed, repair, analysis, optimize, stage, reflect, critic or "
     "crossover, not \"\""},
    {"prompt", "--second", "/no/such.cpp", "--second: cannot read /no/such.cpp: No such file"},
    {"prompt", "--second-result", "a.json", "--second-result needs --second, the kernel that was judged"},
    {"prompt", "--max-tokens", "0", "--max-tokens: expected a whole number of at least 1, not 0"},
    {"prompt", "--candidate", "/no/such.cpp", "--candidate: cannot read /no/such.cpp: No such file"},
    {"profile", "--timeout", "0.5", "--timeout: expected a number from 1 to 86400, not 0.5"},
    {"profile", "--report", "/no/such.csv", "--problem cannot be combined with --report"},
    {"monitor", "--serve", "65536", "--serve: expected a whole number from 0 to 65535, not 65536"},
    {"monitor", "--interval", "0", "--interval: expected a number from 0.1 to 86400, not 0"},
    {"monitor", "--spool", "/no/such", "--spool: "},
    {"worker", "--jobs", "0", "--jobs needs --spool"},
    {"completion", "csh", nullptr, "shell: expected bash, zsh or fish, not csh; did you mean zsh, bash or fish?"},
};

/// The only line of an error.
void check_one_line(const std::string& text) {
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK(text.find("kgen: ") == 0);
  CHECK(text.size() < 400);
}

}  // namespace

TEST_CASE("a bad value gets one line that names the option and what was expected", "[cli][command_line]") {
  for (const auto& [command, option, value, message] : k_bad_values) {
    Fixture kgen;
    const InDirectory here(std::filesystem::path(kgen.path("kernel.cpp")).parent_path());
    auto arguments = complete_command(command, kgen);
    // The complete command has required options already.
    const auto known = std::find(arguments.begin(), arguments.end(), option);
    if (known != arguments.end()) arguments.erase(known, known + 2);
    arguments.emplace_back(option);
    if (value != nullptr) arguments.emplace_back(value);
    INFO(command << ' ' << option << ' ' << (value == nullptr ? "" : value));
    const int code = kgen.run(arguments);
    CHECK(code == 64);
    INFO(kgen.err.str());
    CHECK(kgen.err.str().find("kgen: " + std::string(message)) == 0);
    check_one_line(kgen.err.str());
    CHECK(kgen.out.str().empty());
  }
}

namespace {

/// Runs one command with one value of one option, and checks that an error is one line.
void check_value(const std::string& name, const Option& option, const std::string& value) {
  Fixture kgen;
  const InDirectory here(std::filesystem::path(kgen.path("kernel.cpp")).parent_path());
  auto arguments = complete_command(name, kgen);
  const auto known = std::find(arguments.begin(), arguments.end(), option.name);
  if (known != arguments.end()) arguments.erase(known, known + 2);
  arguments.push_back(option.name + '=' + value);
  if (option.name == "--spool") arguments.emplace_back("--no-wait");
  INFO(name << ' ' << option.name << ' ' << value.substr(0, 40));
  const int code = kgen.run(arguments);
  const auto text = kgen.err.str();
  INFO(code << ' ' << text.substr(0, 1000));
  if (code < 64) return;
  CHECK((code == 64 || code == 69 || code == 73 || code == 75));
  const auto error = text.substr(text.rfind("kgen: "));
  CHECK(std::count(error.begin(), error.end(), '\n') == 1);
  CHECK(error.find('\x1b') == error.npos);
  CHECK(error.size() < 2100);
}

}  // namespace

TEST_CASE("whatever the value of an option, an error is one line", "[cli][command_line]") {
  const std::string values[] = {"",          "0", "-1",          "nan", "99999999999999999999", std::string(5000, 'x'),
                                "\x1b[2J\n", "=", "/dev/null/x", "."};
  const DescribedCommands described;
  for (const auto& command : described.commands) {
    // These commands need a device or another process.
    if (command.name == "worker" || command.name == "doctor" || command.name == "devices") continue;
    for (const auto& option : command.options)
      // A server ends when it is stopped.
      if (!option.is_argument() && !option.is_flag() && option.name != "--serve")
        for (const auto& value : values) check_value(command.name, option, value);
  }
}

TEST_CASE("an error about a file names the option and the path", "[cli][command_line]") {
  const std::string path = "/dev/null/x";
  const DescribedCommands described;
  for (const auto& command : described.commands) {
    if (command.name == "worker" || command.name == "doctor" || command.name == "devices") continue;
    for (const auto& option : command.options) {
      const auto completes = option.value.completion;
      if (option.is_argument() || (completes != Completion::Files && completes != Completion::Directories)) continue;
      Fixture kgen;
      const InDirectory here(std::filesystem::path(kgen.path("kernel.cpp")).parent_path());
      auto arguments = complete_command(command.name, kgen);
      const auto known = std::find(arguments.begin(), arguments.end(), option.name);
      if (known != arguments.end()) arguments.erase(known, known + 2);
      arguments.push_back(option.name + '=' + path);
      INFO(command.name << ' ' << option.name);
      if (kgen.run(arguments) < 64) continue;
      const auto error = kgen.err.str();
      INFO(error);
      // These are about other options.
      if (error.find("needs ") != error.npos || error.find("cannot be combined") != error.npos ||
          error.find("pass --target") != error.npos || error.find("is not installed") != error.npos ||
          error.find("is no results directory") != error.npos)
        continue;
      CHECK(error.find("kgen: " + option.name + ": ") != error.npos);
      // A sample is numbered, and a run has a directory of its own.
      CHECK(error.find("/dev/null") != error.npos);
    }
  }
}

TEST_CASE("a task in place of a kernel, and a kernel in place of a task, are named", "[cli][command_line]") {
  Fixture kgen;
  const auto kernel = kgen.path("kernel.cpp");
  CHECK(kgen.run({"eval", "--code", k_task, "--problem", kernel}) == 64);
  CHECK(kgen.err.str() == "kgen: --code: " + std::string(k_task) +
                              " is a task (class Model, get_inputs), and a kernel was expected; --problem names the "
                              "task\n");
  Fixture other;
  CHECK(other.run({"eval", "--code", other.path("kernel.cpp"), "--problem", other.path("kernel.cpp")}) == 64);
  CHECK(other.err.str() ==
        "kgen: --problem: " + other.path("kernel.cpp") +
            " is a kernel, and a task was expected: a Python file with class Model and get_inputs(); --code names the "
            "kernel\n");
}

TEST_CASE("a file without its option is told which one it belongs to", "[cli][command_line]") {
  struct Case {
    std::vector<std::string> arguments;
    std::string message;
  };
  const auto [arguments, message] =
      GENERATE(Case{{"eval", "a.py", "b.c"}, "a file needs its option: --problem a.py --code b.c"},
               Case{{"eval", "b.cu", "a.py"}, "a file needs its option: --code b.cu --problem a.py"},
               Case{{"eval", "--problem", "a.py", "kernel.py"}, "a file needs its option: --code kernel.py"},
               Case{{"eval", "--problem", "a.py", "--code", "b.c", "c.c"}, "unexpected argument c.c"});
  Fixture kgen;
  CHECK(kgen.run(arguments) == 64);
  CHECK(kgen.err.str().find("kgen: " + message) == 0);
}
