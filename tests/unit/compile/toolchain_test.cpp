#include "compile/toolchain.hpp"

#include "support/catch.hpp"

using namespace kernelgen;

TEST_CASE("the resolved command is found in what g++ says", "[compile][toolchain]") {
  const auto command = parse_resolved_command(
      "Using built-in specs.\nCOLLECT_GCC=c++\n"
      " /usr/lib/gcc/12/cc1plus -quiet /dev/null \"-march=znver3\" --param \"l1-cache-size=32\" -o /tmp/ccX.s\n"
      " as --64 -o null.o /tmp/ccX.s\n");
  CHECK(command == std::vector<std::string>{"/usr/lib/gcc/12/cc1plus", "-quiet", "/dev/null", "-march=znver3",
                                            "--param", "l1-cache-size=32"});
}

TEST_CASE("the resolved command is found in what clang says", "[compile][toolchain]") {
  const auto command = parse_resolved_command(
      "clang version 14\n (in-process)\n"
      " \"/usr/lib/llvm-14/bin/clang\" \"-cc1\" \"-target-cpu\" \"znver3\" \"-D\" \"A=\\\"b c\\\"\" \"-o\" \"x.o\"\n");
  CHECK(command ==
        std::vector<std::string>{"/usr/lib/llvm-14/bin/clang", "-cc1", "-target-cpu", "znver3", "-D", "A=\"b c\""});
}

TEST_CASE("a compiler that explains nothing has no resolved command", "[compile][toolchain]") {
  CHECK(parse_resolved_command("").empty());
  CHECK(parse_resolved_command("hello\n world\n \n").empty());
}

TEST_CASE("the text of a key names the version of the compiler", "[compile][toolchain]") {
  const ToolchainFacts facts{.version = "Debian clang version 15.0.6"};
  std::string text = "abi.header 1\n";
  for (const auto& [name, value] : facts.key_values("compiler.")) text += name + " " + value + "\n";
  CHECK(version_in_key(text) == "Debian clang version 15.0.6");
  CHECK(version_in_key("cuda.version release 13.0\nhost.version g++ 12\n") == "release 13.0");
  CHECK(version_in_key("format 1\nsource compiler.version 2\n").empty());
}
