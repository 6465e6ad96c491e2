#include "command_line.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "cli/fixture.hpp"
#include "completion.hpp"
#include "config_file.hpp"
#include "help.hpp"
#include "man_page.hpp"
#include "parse_arguments.hpp"
#include "settings.hpp"
#include "support/catch.hpp"

using namespace kernelgen;
using namespace kernelgen::cli;
using namespace kernelgen::testing;

namespace {

/// A command with two options and an argument, and the variables that they store to.
struct Sample {
  std::string task, place;
  int count = 1;
  bool is_loud = false;
  std::vector<std::string> names;
  Command command{.name = "sample",
                  .summary = "A sample",
                  .options = {{.name = "task", .value_name = "TASK", .help = "The task", .value = values::file(task)},
                              {.name = "--count",
                               .aliases = {"--number"},
                               .retired = {"--tally"},
                               .value_name = "N",
                               .help = "How many",
                               .value = values::whole_number(count, {0, 9}),
                               .task_file = TaskFileRule::Allowed},
                              {.name = "--place",
                               .value_name = "DIR",
                               .help = "Where",
                               .value = values::directory(place),
                               .excludes = {"--loud"},
                               .is_shared = true,
                               .task_file = TaskFileRule::WritesFiles},
                              {.name = "--loud", .help = "Be loud", .value = values::flag(is_loud)},
                              {.name = "--names",
                               .value_name = "NAME",
                               .help = "Names",
                               .value = values::texts(names),
                               .is_repeatable = true,
                               .needs = "--count"}}};
};

std::string error_of(const Result<void>& result) { return result ? "" : result.error().message; }

template <class T>
std::string message_of(const Result<T>& result) {
  return result ? "" : result.error().message;
}

ConfigFile config(std::string_view text) {
  auto file = parse_config(text, "c.toml");
  if (!file) FAIL(file.error().message);
  return *std::move(file);
}

}  // namespace

TEST_CASE("a value is checked, and the error says what was expected", "[cli][command_line]") {
  int count = 3;
  CHECK(error_of(values::whole_number(count, {0, 9}).store("10")) == "expected a whole number from 0 to 9, not 10");
  for (const char* wrong : {"", "-1", "1.5", "one", "99999999999999999999", "1 "})
    CHECK_FALSE(values::whole_number(count, {0, 9}).store(wrong));
  CHECK(count == 3);
  CHECK(values::whole_number(count, {0, 9}).store("9"));
  CHECK(count == 9);

  std::optional<std::int64_t> limit;
  CHECK(error_of(values::whole_number(limit, {1, std::numeric_limits<std::int64_t>::max()}).store("0")) ==
        "expected a whole number of at least 1, not 0");

  double ratio = 0;
  for (const char* wrong : {"", "nan", "inf", "-inf", "-0.1", "1e999", "half", "0.5x"})
    CHECK_FALSE(values::number(ratio, {0, 1}).store(wrong));
  CHECK(error_of(values::number(ratio, {0, 1}).store("nan")) == "expected a number from 0 to 1, not nan");
  CHECK(values::number(ratio, {0, 1}).store("0.25"));
  CHECK(ratio == 0.25);

  std::string name;
  CHECK(error_of(values::text(name).store("")) == "expected a value, not an empty one");
  CHECK(error_of(values::choice(name, {"hybrid", "rounds"}).store("hybird")) ==
        "expected hybrid or rounds, not hybird; did you mean hybrid?");
}

TEST_CASE("sizes are powers of 1024", "[cli][command_line]") {
  CHECK(parse_size("512MB").value() == 512u << 20);
  CHECK(parse_size("8 GiB").value() == 8ULL << 30);
  CHECK(parse_size("1.5k").value() == 1536);
  CHECK(parse_size("4096").value() == 4096);
  for (const char* wrong : {"", "GB", "0", "-1GB", "8 potatoes", "nan", "inf", "1e30GB", "8GBB"})
    CHECK(message_of(parse_size(wrong)).find("expected a size such as 512MB or 8GB, not ") == 0);
}

TEST_CASE("arguments are split into options and values", "[cli][command_line]") {
  const Sample sample;
  const auto given =
      parse_arguments(sample.command, {"x.py", "--count=2", "--loud", "--names", "a", "--names", "b", "--place", "-1"});
  REQUIRE(given);
  CHECK(
      *given ==
      GivenOptions{
          {"task", {"x.py"}}, {"--count", {"2"}}, {"--loud", {"true"}}, {"--names", {"a", "b"}}, {"--place", {"-1"}}});
  CHECK(parse_arguments(sample.command, {"--tally", "2"})->at("--count").front() == "2");
  CHECK(parse_arguments(sample.command, {"--number", "2"})->at("--count").front() == "2");
  CHECK(parse_arguments(sample.command, {"--loud=false"})->at("--loud").front() == "false");
  CHECK(parse_arguments(sample.command, {"--", "--odd.py"})->at("task").front() == "--odd.py");
}

TEST_CASE("what is wrong with arguments is said with the name that is close", "[cli][command_line]") {
  const Sample sample;
  const auto wrong = [&](std::vector<std::string> arguments) {
    return message_of(parse_arguments(sample.command, arguments));
  };
  CHECK(wrong({"--cuont", "2"}) == "unknown option --cuont; did you mean --count?");
  CHECK(wrong({"--colour=red"}) == "unknown option --colour");
  CHECK(wrong({"a", "b"}) == "unexpected argument b");
  CHECK(wrong({"--count"}) == "--count needs a value: N");
  CHECK(wrong({"--count", "--loud"}) == "--count needs a value: N");
  CHECK(wrong({"--count", "1", "--count", "2"}) == "--count is given more than once");
  CHECK(wrong({"-x"}).find("unknown option -x") == 0);
}

TEST_CASE("the command line wins over the task's file, and that over the user's", "[cli][settings]") {
  Sample sample;
  ConfigFiles files{.user = config("place = '~/user'\n[sample]\ncount = 1\nnames = ['u', 'v']\n"),
                    .task = config("[sample]\ncount = 2\n"),
                    .home = "/h"};
  auto settings = combine_settings(sample.command, {}, files).value();
  CHECK(settings.at("--count").values == std::vector<std::string>{"2"});
  CHECK(settings.at("--place").values == std::vector<std::string>{"/h/user"});
  REQUIRE(store_settings(sample.command, settings));
  CHECK(sample.count == 2);
  CHECK(sample.names == std::vector<std::string>{"u", "v"});
  settings = combine_settings(sample.command, {{"--count", {"3"}}}, files).value();
  CHECK(settings.at("--count").values == std::vector<std::string>{"3"});
}

TEST_CASE("an environment variable wins over files and loses to the command line", "[cli][settings]") {
  Sample sample;
  auto& place = sample.command.options[2];
  place.variable = "SAMPLE_PLACE";
  place.variable_value = "/from/variable";
  const ConfigFiles files{.user = config("place = '/from/file'\n")};
  CHECK(combine_settings(sample.command, {}, files)->at("--place").values.front() == "/from/variable");
  CHECK(combine_settings(sample.command, {{"--place", {"/given"}}}, files)->at("--place").values.front() == "/given");
}

TEST_CASE("of two options that exclude each other the stronger source wins", "[cli][settings]") {
  const Sample sample;
  const ConfigFiles files{.user = config("place = '/x'\n")};
  const auto settings = combine_settings(sample.command, {{"--loud", {"true"}}}, files).value();
  CHECK(settings.contains("--loud"));
  CHECK_FALSE(settings.contains("--place"));
  CHECK(message_of(combine_settings(sample.command, {{"--loud", {"true"}}, {"--place", {"x"}}}, {})) ==
        "--place cannot be combined with --loud");
  CHECK(message_of(combine_settings(sample.command, {}, {.user = config("place = 'x'\n[sample]\nloud = true\n")})) ==
        "c.toml:1:1: place cannot be combined with c.toml:3:1: loud");
}

TEST_CASE("an option that needs another one is an error on the command line alone", "[cli][settings]") {
  const Sample sample;
  CHECK(message_of(combine_settings(sample.command, {{"--names", {"a"}}}, {})) == "--names needs --count");
  CHECK(combine_settings(sample.command, {}, {.user = config("[sample]\nnames = 'a'\n")})->empty());
}

TEST_CASE("what is wrong with a configuration file is told with file, line, column and key", "[cli][settings]") {
  std::vector<Command> commands;
  const Sample sample;
  commands.push_back(sample.command);
  const auto wrong = [&](std::string_view text) {
    auto file = parse_config(text, "c.toml");
    if (!file) return file.error().message;
    if (auto checked = check_user_file(*file, commands); !checked) return checked.error().message;
    auto settings = combine_settings(sample.command, {}, {.user = *file});
    return settings ? error_of(store_settings(sample.command, *settings)) : settings.error().message;
  };
  CHECK(wrong("[sample]\ncount = 1\n").empty());
  CHECK(wrong("[sample]\n\ncount = 10\n") == "c.toml:3:1: count: expected a whole number from 0 to 9, not 10");
  CHECK(wrong("[sample]\ncuont = 1\n") == "c.toml:2:1: cuont: unknown option of kgen sample; did you mean count?");
  CHECK(wrong("[smaple]\ncount = 1\n") == "c.toml:2:1: [smaple] is no command of kgen; did you mean sample?");
  CHECK(wrong("count = 1\n") == "c.toml:1:1: count: it belongs into the section [sample]");
  CHECK(wrong("nothing = 1\n") == "c.toml:1:1: nothing: unknown option of kgen");
  CHECK(wrong("[sample]\nloud = 'yes'\n") == "c.toml:2:1: loud: expected true or false");
  CHECK(wrong("[sample]\ncount = true\n") == "c.toml:2:1: count: expected a value, not true or false");
  CHECK(wrong("[sample]\ncount = [1, 2]\n") == "c.toml:2:1: count: expected one value, not a list");
  CHECK(wrong("[sample]\ncount = []\n") == "c.toml:2:1: count: expected a value, not an empty list");
  CHECK(wrong("[sample]\ncount = 1979-05-27\n") ==
        "c.toml:2:1: count: expected a text, a number, true or false, or a list");
  CHECK(wrong("[sample.deep]\ncount = 1\n").find("c.toml:1:9: sample.deep: a section holds settings") == 0);
  CHECK(wrong("[sample]\ntask = 'x.py'\n").find("c.toml:2:1: task: unknown option of kgen sample") == 0);
  CHECK(wrong("[sample\n").find("c.toml:1:8: ") == 0);
  CHECK(wrong("[sample]\ncount = 1\ncount = 2\n").find("c.toml:3:") == 0);
  CHECK(wrong("x = 'never ends\n").find("c.toml:1:16: ") == 0);
}

TEST_CASE("a task's file sets only what is allowed, and the error says why", "[cli][settings]") {
  std::vector<Command> commands;
  const Sample sample;
  commands.push_back(sample.command);
  CHECK(check_task_file(config("[sample]\ncount = 1\n"), commands));
  CHECK(error_of(check_task_file(config("[sample]\ncount = 1\nplace = 'x'\n"), commands)) ==
        "c.toml:3:1: place: a task's kgen.toml may not set it, because it names a place that is written to; set it on "
        "the command line or in your own config.toml");
  CHECK(error_of(check_task_file(config("place = 'x'\n"), commands)).find("c.toml:1:1: place: a task's") == 0);
  CHECK(error_of(check_task_file(config("[sample]\nloud = true\n"), commands)).find("not about the task") !=
        std::string::npos);
}

TEST_CASE("settings are shown with where they come from, as a file that would set them", "[cli][settings]") {
  Sample sample;
  const ConfigFiles files{.user = config("[sample]\nplace = 'a \"b\"'\n")};
  const auto settings = combine_settings(sample.command, {{"--count", {"3"}}, {"--names", {"x", "y"}}}, files).value();
  const auto shown = render_settings(sample.command, settings);
  CHECK(shown.find("[sample]\n") == 0);
  CHECK(shown.find("\ncount = 3 ") != std::string::npos);
  CHECK(shown.find("# command line\n") != std::string::npos);
  CHECK(shown.find("\nplace = \"a \\\"b\\\"\" ") != std::string::npos);
  CHECK(shown.find("# c.toml:2:1\n") != std::string::npos);
  CHECK(shown.find("\nloud = false ") != std::string::npos);
  CHECK(shown.find("\nnames = [\"x\", \"y\"]") != std::string::npos);
  const auto again = combine_settings(sample.command, {}, {.user = config(shown)}).value();
  CHECK(again.at("--place").values == settings.at("--place").values);
  CHECK(again.at("--names").values == settings.at("--names").values);
}

// ---- the real commands

TEST_CASE("options are described completely and without contradiction", "[cli][command_line]") {
  const DescribedCommands described;
  for (const auto& command : described.commands) {
    std::set<std::string> names;
    for (const auto& option : command.options) {
      INFO(command.name + ' ' + option.name);
      CHECK(names.insert(option.name).second);
      for (const auto& alias : option.aliases) CHECK(names.insert(alias).second);
      for (const auto& retired : option.retired) CHECK(names.insert(retired).second);
      CHECK_FALSE(option.help.empty());
      CHECK(option.value.store);
      CHECK(option.value_name.empty() == option.is_flag());
      for (const auto& other : option.excludes) CHECK(command.find(other) != nullptr);
      CHECK((option.needs.empty() || command.find(option.needs) != nullptr));
      // A default is a value that the option takes, so that --print-config can be read back.
      if (!option.value.default_text.empty()) CHECK(option.value.store(option.value.default_text));
      // Completions are valid values.
      if (!option.name.starts_with("--llm"))
        for (const auto& offered : option.value.completions) CHECK(option.value.store(offered));
    }
    CHECK((command.task_option.empty() || command.find(command.task_option) != nullptr));
  }
}

TEST_CASE("a task's kgen.toml may set these options and no others", "[cli][settings]") {
  const DescribedCommands described;
  std::map<std::string, std::set<std::string>> allowed;
  for (const auto& command : described.commands)
    for (const auto& option : command.options)
      if (option.task_file == TaskFileRule::Allowed) allowed[command.name].insert(option.name);
  const std::set<std::string> search{
      "--build-timeout", "--archive",       "--attempts",    "--early-exit",   "--min-stage-gain",
      "--escalations",   "--floor-ratio",   "--generations", "--islands",      "--optimize-repairs",
      "--patience",      "--policy",        "--rounds",      "--samples",      "--seed-repairs",
      "--seeds",         "--stage-repairs", "--stages",      "--stop-score",   "--skip-stages-score",
      "--stage-tries",   "--gpu",           "--target",      "--task-timeout", "--temperature",
      "--timeout"};
  CHECK(allowed ==
        std::map<std::string, std::set<std::string>>{
            {"run", search},
            {"generate", {"--build-timeout", "--gpu", "--target", "--task-timeout", "--temperature", "--timeout"}},
            {"eval",
             {"--baseline", "--baseline-timeout", "--build-timeout", "--compile-for", "--target", "--task-timeout",
              "--timeout", "--wave-size"}},
            {"prompt", {"--gpu", "--target"}},
            {"profile", {"--target", "--timeout"}}});

  // The manual has the same list.
  const auto page = read_file(std::string(KERNELGEN_SOURCE_DIR) + "/docs/configuration.md").value();
  for (const auto& [command, options] : allowed) {
    std::string row;
    for (const auto& option : options) row += (row.empty() ? "`" : ", `") + option.substr(2) + '`';
    INFO(command);
    CHECK(page.find("| `[" + command + "]` | " + row + " |\n") != std::string::npos);
  }
}

TEST_CASE("the manual lists the options that may stand above all sections", "[cli][settings]") {
  const DescribedCommands described;
  std::set<std::string> shared;
  for (const auto& command : described.commands)
    for (const auto& option : command.options)
      if (option.is_shared) shared.insert(option.name.substr(2));
  auto page = read_file(std::string(KERNELGEN_SOURCE_DIR) + "/docs/configuration.md").value();
  std::replace(page.begin(), page.end(), '\n', ' ');
  std::string list = "These may stand above all sections:";
  for (const auto& name : shared) list += (list.back() == ':' ? " `" : ", `") + name + '`';
  CHECK(page.find(list + ". ") != std::string::npos);
}

TEST_CASE("the user's file reaches a command, and the command line wins", "[cli][settings]") {
  Fixture kgen;
  kgen.environment.config_file = kgen.path("config.toml");
  std::ofstream(kgen.path("config.toml")) << "timeout = 7\n[eval]\nthreads = 3\nshrink = [\"batch=4\"]\n";
  CHECK(kgen.eval() == 1);
  auto options = kgen.benchmarker->requests().front().options;
  CHECK(options.call_timeout == std::chrono::milliseconds(7000));
  CHECK(options.threads == 3);
  CHECK(options.shrink.size() == 1);
  CHECK(kgen.eval({"--timeout", "5"}) == 1);
  CHECK(kgen.benchmarker->requests().front().options.call_timeout == std::chrono::milliseconds(5000));
  std::ofstream(kgen.path("other.toml")) << "timeout = 9\n";
  CHECK(kgen.eval({"--config", kgen.path("other.toml")}) == 1);
  CHECK(kgen.benchmarker->requests().front().options.call_timeout == std::chrono::milliseconds(9000));
  CHECK(kgen.eval({"--config", "/dev/null"}) == 1);
  CHECK(kgen.benchmarker->requests().front().options.call_timeout == EvaluationOptions{}.call_timeout);
}

TEST_CASE("a kgen.toml beside the task shapes the run, and cannot weaken the verdict", "[cli][settings]") {
  Fixture kgen;
  std::filesystem::create_directory(kgen.path("tasks"));
  const auto task = kgen.path("tasks/relu.py");
  std::filesystem::copy_file(k_task, task);
  const auto eval = [&] { return kgen.run({"eval", "--code", kgen.path("kernel.cpp"), "--problem", task}); };
  std::ofstream(kgen.path("tasks/kgen.toml")) << "timeout = 11\n";
  CHECK(eval() == 1);
  CHECK(kgen.benchmarker->requests().front().options.call_timeout == std::chrono::milliseconds(11000));
  std::ofstream(kgen.path("tasks/kgen.toml")) << "\n[eval]\nrtol = 0.5\n";
  CHECK(eval() == 64);
  CHECK(kgen.err.str().find("kgen.toml:3:1: rtol: a task's kgen.toml may not set it, because it could make a verdict "
                            "weaker; set it on the command line") != std::string::npos);
  CHECK(kgen.benchmarker->requests().empty());
  std::ofstream(kgen.path("tasks/kgen.toml")) << "python = '/tmp/evil'\n";
  CHECK(eval() == 64);
}

TEST_CASE("a run with --print-config shows values and sources without running anything", "[cli][settings]") {
  Fixture kgen;
  kgen.environment.python = "/opt/python";
  kgen.environment.config_file = kgen.path("config.toml");
  std::ofstream(kgen.path("config.toml")) << "[run]\nseeds = 4\n";
  CHECK(kgen.run({"run", "--print-config", "--max-tokens", "1000"}) == 0);
  const auto text = kgen.out.str();
  CHECK(text.find("[run]\n") == 0);
  CHECK(text.find("\nseeds = 4 ") != std::string::npos);
  CHECK(text.find("# " + kgen.path("config.toml") + ":2:1\n") != std::string::npos);
  CHECK(text.find("# KGEN_PYTHON\n") != std::string::npos);
  CHECK(text.find("\n# max-requests ") != std::string::npos);
  CHECK(kgen.benchmarker->requests().empty());
}

TEST_CASE("help is one text for people and for the manual", "[cli][help]") {
  const DescribedCommands described;
  for (const std::size_t width : {80U, 200U}) {
    for (const auto& command : described.commands) {
      std::istringstream lines(render_help(command, width));
      for (std::string line; std::getline(lines, line);) {
        INFO(line);
        CHECK(line.size() <= width);
      }
    }
  }
  const auto is_eval = [](const Command& command) { return command.name == "eval"; };
  const auto& eval = *std::find_if(described.commands.begin(), described.commands.end(), is_eval);
  CHECK(render_help(eval, 0).find("\n  --code FILE REQUIRED      The kernel: a source file\n") != std::string::npos);
  CHECK(render_help(eval, 0).find("\n  -h,--help                 Print this help and exit\n") != std::string::npos);
}

TEST_CASE("completion scripts and the manual page tell every command and option", "[cli][completion]") {
  const DescribedCommands described;
  const auto bash = render_completion(Shell::Bash, described.commands);
  const auto zsh = render_completion(Shell::Zsh, described.commands);
  const auto fish = render_completion(Shell::Fish, described.commands);
  const auto man = render_man_page("1.2.3", described.commands);
  for (const auto& command : described.commands) {
    if (command.is_hidden) continue;
    CHECK(fish.find(" -a " + command.name + " -d ") != std::string::npos);
    CHECK(man.find(".SS kgen " + command.name + '\n') != std::string::npos);
    for (const auto& option : command.options) {
      if (option.is_argument()) continue;
      INFO(command.name + ' ' + option.name);
      CHECK(bash.find(option.name) != std::string::npos);
      CHECK(zsh.find(option.name) != std::string::npos);
      CHECK(fish.find(" -l " + option.name.substr(2)) != std::string::npos);
    }
  }
}
