#include "compile/diagnostics.hpp"

#include <string>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

std::string class_of_log(const std::string& log) { return classify_refusal(parse_diagnostics(log), log); }

}  // namespace

TEST_CASE("the text form of g++ is read", "[compile][diagnostics]") {
  const auto found = parse_diagnostics(
      "In file included from candidate.cpp:1:\n"
      "candidate.cpp: In function 'int main()':\n"
      "candidate.cpp:3:5: error: 'foo' was not declared in this scope\n"
      "    3 |     foo();\n"
      "      |     ^~~\n"
      "candidate.cpp:9: warning: \"X\" redefined\n"
      "candidate.cpp:2:10: fatal error: no.h: No such file or directory\n"
      "compilation terminated.\n");
  REQUIRE(found.size() == 3);
  CHECK(found[0].severity == "error");
  CHECK(found[0].file == "candidate.cpp");
  CHECK(found[0].line == 3);
  CHECK(found[0].column == 5);
  CHECK(found[0].message == "'foo' was not declared in this scope");
  CHECK(found[1].severity == "warning");
  CHECK(found[1].line == 9);
  CHECK(found[1].column == 0);
  CHECK(found[2].severity == "error");
}

TEST_CASE("the text form of clang is read", "[compile][diagnostics]") {
  const auto found = parse_diagnostics(
      "candidate.cpp:3:5: error: use of undeclared identifier 'foo'\n"
      "    foo();\n"
      "    ^\n"
      "candidate.cpp:1:1: note: declared here\n"
      "2 errors generated.\n");
  REQUIRE(found.size() == 2);
  CHECK(found[1].severity == "note");
}

TEST_CASE("linker errors are read from ld and lld", "[compile][diagnostics]") {
  const std::string ld =
      "/usr/bin/ld: /tmp/ccX.o: in function `kgen_run':\n"
      "candidate.cpp:(.text+0x5): undefined reference to `helper(int)'\n"
      "collect2: error: ld returned 1 exit status\n";
  const auto found = parse_diagnostics(ld);
  REQUIRE(found.size() == 1);
  CHECK(found[0].message == "undefined reference to `helper(int)'");
  CHECK(found[0].line == 0);
  CHECK(class_of_log(ld) == "link:undefined_symbol");
  CHECK(class_of_log("ld.lld: error: undefined symbol: helper\n>>> referenced by x\n") == "link:undefined_symbol");
  CHECK(class_of_log("/usr/bin/ld: a.o: multiple definition of `f'; b.o: first defined here\n") == "redefinition");
}

TEST_CASE("refusals have classes, the same for both compilers", "[compile][diagnostics]") {
  const std::pair<const char*, const char*> cases[] = {
      {"undeclared_identifier", "'x' was not declared in this scope"},
      {"undeclared_identifier", "use of undeclared identifier 'x'"},
      {"undeclared_identifier", "'floot' does not name a type"},
      {"undeclared_identifier", "unknown type name 'floot'"},
      {"redefinition", "redefinition of 'int f()'"},
      {"redefinition", "redefinition of 'f'"},
      {"redefinition", "redeclaration of 'int x'"},
      {"no_member", "'struct kgen_run_args' has no member named 'input'"},
      {"no_member", "no member named 'input' in 'kgen_run_args'"},
      {"no_member", "'foo' is not a member of 'std'"},
      {"syntax", "expected ';' before '}' token"},
      {"syntax", "expected ';' after expression"},
      {"syntax", "stray '`' in program"},
      {"type", "cannot convert 'float*' to 'int*' in initialization"},
      {"type", "no matching function for call to 'f'"},
      {"type", "invalid conversion from 'int' to 'int*' [-fpermissive]"},
      {"type", "cannot initialize a variable of type 'int *' with an rvalue of type 'void *'"},
      {"missing_header", "cuda.h: No such file or directory"},
      {"missing_header", "'cuda.h' file not found"},
      {"other", "static assertion failed: no"},
      {"other", "#error message of the candidate"},
  };
  for (const auto& [expected, message] : cases) {
    INFO(message);
    CHECK(class_of_log("candidate.cpp:1:2: error: " + std::string(message) + "\n") == expected);
  }
}

TEST_CASE("the first error decides, warnings and notes do not", "[compile][diagnostics]") {
  CHECK(class_of_log("c.cpp:1:1: warning: expected x\nc.cpp:2:1: error: 'x' was not declared in this scope\n"
                     "c.cpp:3:1: error: expected ';'\n") == "undeclared_identifier");
}

TEST_CASE("a crashed compiler is told from a refusal", "[compile][diagnostics]") {
  CHECK(class_of_log("c++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\n") ==
        "compiler_crashed");
  CHECK(class_of_log("c.cpp:1:1: error: expected ';'\nc.cpp:2:2: internal compiler error: Segmentation fault\n") ==
        "compiler_crashed");
  CHECK(class_of_log("clang: error: unable to execute command: Segmentation fault (core dumped)\n") ==
        "compiler_crashed");
  CHECK(class_of_log("") == "other");
}

TEST_CASE("hostile logs cost little", "[compile][diagnostics]") {
  CHECK(parse_diagnostics(std::string(2'000'000, 'a')).empty());
  CHECK(parse_diagnostics(std::string(200'000, ':')).size() <= 1);
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "c.cpp:1:1: error: \x1b[31mx\n";
  const auto found = parse_diagnostics(many);
  CHECK(found.size() == 100);
  CHECK(found[0].message == "x");
  CHECK(parse_diagnostics("c.cpp:999999999:1: error: x\nc.cpp:99999999999:1: error: y\n").size() == 1);
}
