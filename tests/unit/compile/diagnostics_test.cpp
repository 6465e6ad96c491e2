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

TEST_CASE("the text forms of nvcc and its parts are read", "[compile][diagnostics]") {
  const auto found = parse_diagnostics(
      "candidate.cu(2): error: identifier \"foo\" is undefined\n"
      "  __attribute__((global)) void k(float* x) { x[0] = foo; }\n"
      "                                                    ^\n"
      "\n"
      "candidate.cu(1): warning #177-D: variable \"unused\" was declared but never referenced\n"
      "Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n"
      "/usr/local/cuda/include/cuda_bf16.hpp(3824): note #3322-D: number of parameters does not match the call\n"
      "candidate.cu(7): catastrophic error: cannot open source file \"no.h\"\n"
      "1 error detected in the compilation of \"candidate.cu\".\n"
      "candidate.cu:1:10: fatal error: no.h: No such file or directory\n"
      "ptxas /tmp/tmpxft_0-6_x.ptx, line 28; error   : Not a name of any known instruction: 'nonsense'\n"
      "ptxas error   : Entry function '_Z1kPf' uses too much shared data (0x493e0 bytes, 0x38c00 max)\n"
      "ptxas fatal   : Ptx assembly aborted due to errors\n"
      "nvcc fatal   : Unsupported gpu architecture 'compute_999'\n"
      "ptxas info    : 0 bytes gmem\n");
  REQUIRE(found.size() == 8);
  CHECK(found[0].severity == "error");
  CHECK(found[0].file == "candidate.cu");
  CHECK(found[0].line == 2);
  CHECK(found[0].message == "identifier \"foo\" is undefined");
  CHECK(found[1].severity == "warning");
  CHECK(found[1].message == "variable \"unused\" was declared but never referenced");
  CHECK(found[2].severity == "note");
  CHECK(found[3].severity == "error");
  CHECK(found[3].line == 7);
  CHECK(found[4].column == 10);
  CHECK(found[5].message == "Not a name of any known instruction: 'nonsense'");
  CHECK(found[5].line == 0);
  CHECK(found[6].message == "Entry function 'k(float*)' uses too much shared data (300000 bytes, 232448 max)");
  CHECK(found[7].message == "Unsupported gpu architecture 'compute_999'");
}

TEST_CASE("refusals of nvcc have the same classes, and some of their own", "[compile][diagnostics]") {
  const std::pair<const char*, const char*> cases[] = {
      {"undeclared_identifier", "identifier \"foo\" is undefined"},
      {"undeclared_identifier", "name followed by \"::\" must be a class or namespace name"},
      {"redefinition", "function \"f\" has already been defined (previous definition at line 1)"},
      {"redefinition", "declaration is incompatible with previous \"f\" (declared at line 1)"},
      {"no_member", "class \"float4\" has no member \"q\""},
      {"no_member", "namespace \"std\" has no member \"nothing\""},
      {"syntax", "expected a \";\""},
      {"syntax", "unrecognized token"},
      {"type", "a value of type \"float *\" cannot be used to initialize an entity of type \"int *\""},
      {"type", "argument of type \"int\" is incompatible with parameter of type \"float *\""},
      {"type", "no instance of overloaded function \"atomicAdd\" matches the argument list"},
      {"type", "no operator \"+\" matches these operands"},
      {"type", "too few arguments in function call"},
      {"type", "expression must be a modifiable lvalue"},
      {"type", "a __global__ function call must be configured"},
      {"missing_header", "cannot open source file \"no.h\""},
      {"host_function", "calling a __host__ function(\"host()\") from a __global__ function(\"k\") is not allowed"},
      {"other", "static assertion failed with \"no\""},
  };
  for (const auto& [expected, message] : cases) {
    INFO(message);
    CHECK(class_of_log("candidate.cu(3): error: " + std::string(message) + "\n") == expected);
  }
}

TEST_CASE("refusals of nvcc's other programs have classes", "[compile][diagnostics]") {
  CHECK(class_of_log("ptxas error   : Entry function 'k' uses too much shared data (0x1d4c0 bytes, 0xc000 max)\n") ==
        "resource:shared_memory");
  CHECK(class_of_log("ptxas error   : Constant register limit exceeded; more than 5 constant registers needed to "
                     "compile program\n") == "resource:registers");
  CHECK(class_of_log("ptxas fatal   : Unresolved extern function '_Z7notheref'\n") == "link:undefined_symbol");
  CHECK(class_of_log("nvlink error   : Undefined reference to 'x' in '/tmp/y.o'\n") == "link:undefined_symbol");
  CHECK(class_of_log("nvcc error   : 'cicc' died due to signal 11 (Invalid memory reference)\n") == "compiler_crashed");
  CHECK(class_of_log("ptxas /tmp/x.ptx, line 28; error   : Not a name of any known instruction: 'nonsense'\n") ==
        "syntax");
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
      {"unsupported",
       "static assertion failed: __builtin_amdgcn_s_nop is not executed on the CPU: this kernel needs an AMD GPU"},
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
  CHECK(parse_diagnostics("ptxas " + std::string(200'000, ';')).empty());
  CHECK(parse_diagnostics(std::string(200'000, '(') + "3): error: x").empty());
  CHECK(parse_diagnostics("ptxas error   : '_Z" + std::string(3000, '1') + "' uses\n").size() == 1);
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "c.cpp:1:1: error: \x1b[31mx\n";
  const auto found = parse_diagnostics(many);
  CHECK(found.size() == 100);
  CHECK(found[0].message == "x");
  CHECK(parse_diagnostics("c.cpp:999999999:1: error: x\nc.cpp:99999999999:1: error: y\n").size() == 1);
}

TEST_CASE("a long log that names no class is other", "[compile][diagnostics]") {
  for (const std::string piece : {"undeclared (firs", "no operator ", "calling a constexpr __host_", "x", "\n"}) {
    std::string log;
    while (log.size() < 100'000) log += piece;
    CHECK(classify_refusal({}, log) == "other");
  }
}
