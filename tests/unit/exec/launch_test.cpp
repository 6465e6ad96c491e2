#include "exec/launch.hpp"

#include "support/catch.hpp"
#include "support/command_text.hpp"

using namespace kernelgen;

using Words = std::vector<std::string>;

TEST_CASE("a launcher stands before a command", "[exec][launch]") {
  const Words command{"/opt/kgen", "worker", "--spool", "/shared/my results", "it's", ""};
  CHECK(launch_command({}, command) == command);
  CHECK(launch_command({"srun", "-n1"}, {"kgen", "my results"}) == Words{"srun", "-n1", "kgen", "my results"});
}

TEST_CASE("what ssh passes to a shell comes out as it was", "[exec][launch]") {
  const Words command{"/opt/kgen", "worker", "/shared/my results", "it's", "", "$(rm x)", "a;b", "~", "*",
                      "A=b",       "-%+,@:"};
  for (const Words& launcher : {Words{"ssh", "node1"}, Words{"timeout", "9", "/usr/bin/ssh", "node1"}}) {
    const auto launched = launch_command(launcher, command);
    std::string line;
    for (std::size_t i = launcher.size(); i < launched.size(); ++i) line += launched[i] + ' ';
    CHECK(split_command(line).value() == command);
  }
  CHECK(launch_command({"ssh", "node1"}, {"/opt/kgen", "--lease", "2.5"}) ==
        Words{"ssh", "node1", "/opt/kgen", "--lease", "2.5"});
  CHECK(shell_word("it's") == R"('it'\''s')");
  CHECK(shell_word("") == "''");
}
