#include <kernelgen/prompt/error_classifier.hpp>

#include <algorithm>
#include <filesystem>
#include <string>

#include "fuzz/error_fuzz.hpp"
#include "support/catch.hpp"
#include "support/effort.hpp"
#include "support/files.hpp"
#include "support/golden.hpp"
#include "support/text.hpp"

using namespace kernelgen;

namespace {

// Limit of the processor time of one report. It takes less than 100 on two cores, and with a sanitizer many times more;
// an algorithm of quadratic time would take a minute.
constexpr double k_allowed_milliseconds = 10'000;

EvaluationRecord record_of(OutcomeKind kind, const std::string& detail, const std::string& message,
                           Target target = Target::Triton) {
  EvaluationRecord record;
  record.target = target;
  record.outcome = {kind, detail, message};
  return record;
}

EvaluationRecord triton_error(const std::string& reason) {
  return record_of(OutcomeKind::Compile, "triton",
                   "a call failed: CompilationError: at 3:8:\n"
                   "def kernel(x_ptr, n):\n"
                   "    x = tl.load(x_ptr + out_of_memory)\n"
                   "    y = tl.arange(0, n)\n"
                   "        ^\n" +
                       reason + "\n  line 12, in forward: kernel[(4,)](x, n)");
}

EvaluationRecord refused(Target target, const std::string& log) {
  auto record = record_of(OutcomeKind::Compile, "other", "", target);
  record.compile.emplace().log = log;
  return record;
}

std::string class_of_log(const std::string& log) { return classify_error(refused(Target::Cuda, log)).error_class; }

}  // namespace

TEST_CASE("a correct candidate has no error", "[prompt][errors]") {
  const auto report = classify_error(record_of(OutcomeKind::Correct, "", ""));
  CHECK(report.error_class.empty());
  CHECK(report.fingerprint.empty());
}

TEST_CASE("an error in a kernel is known by its reason, never by the source it quotes", "[prompt][errors]") {
  const auto report = classify_error(triton_error("arange's arguments must be of type tl.constexpr"));
  CHECK(report.error_class == "triton.arange_bounds");
  REQUIRE(report.lines.size() == 5);
  CHECK(report.lines[1] == "    y = tl.arange(0, n)");
  CHECK(report.lines[2] == "        ^");
  CHECK(report.lines[3] == "arange's arguments must be of type tl.constexpr");
  CHECK(report.lines[4] == "  line 12, in forward: kernel[(4,)](x, n)");
}

TEST_CASE("the innermost cause that gives a reason decides", "[prompt][errors]") {
  const auto report = classify_error(record_of(OutcomeKind::Compile, "triton",
                                               "a call failed: CompilationError: at 2:8:\n"
                                               "    y = helper(x)\n"
                                               "        ^\n"
                                               "caused by CompilationError: at 2:11:\n"
                                               "def helper(v):\n"
                                               "    return tl.tanh(v)\n"
                                               "           ^\n"
                                               "AttributeError(\"module 'triton.language' has no attribute 'tanh'\")\n"
                                               "  line 9, in forward: kernel[(1,)](x)"));
  CHECK(report.error_class == "triton.missing_tanh");
  CHECK(report.lines.at(1) == "    return tl.tanh(v)");
}

TEST_CASE("the same words on the host and in a kernel are different errors", "[prompt][errors]") {
  const std::string words =
      "Did you forget to add @triton.jit ? (`_semantic` argument must be provided outside of JIT functions.)";
  const auto host = record_of(OutcomeKind::Launch, "exception",
                              "a call failed: ValueError: " + words + "\n  line 3, in forward: y = tl.exp(x)");
  CHECK(classify_error(host).error_class == "triton.outside_kernel");
  auto inside = triton_error(words);
  CHECK(classify_error(inside).error_class == "triton.constexpr");
  inside.outcome.message = "CompilationError: at 3:8:\n    y = x[0]\n        ^\n" + words;
  CHECK(classify_error(inside).error_class == "triton.tensor_index");
  inside.outcome.message = "CompilationError: at 3:4:\n    acc[k] += 1.0\n    ^\n" + words;
  CHECK(classify_error(inside).error_class == "triton.item_assignment");
}

TEST_CASE("the source tells a repeated argument from a conflict with autotune", "[prompt][errors]") {
  const auto record = record_of(OutcomeKind::Launch, "exception",
                                "a call failed: TypeError: dynamic_func() got multiple values for argument 'BLOCK'\n"
                                "  line 21, in forward: kernel[grid](x, y, n, 1024)");
  CHECK(classify_error(record).error_class == "triton.arguments");
  CHECK(classify_error(record, "@triton.autotune(configs=[], key=[])\n").error_class == "triton.autotune_conflict");
}

TEST_CASE("what torch adds to a device's error does not decide", "[prompt][errors]") {
  const auto report = classify_error(record_of(OutcomeKind::Launch, "exception",
                                               "a call failed: RuntimeError: CUDA error: misaligned address\n"
                                               "CUDA kernel errors might be asynchronously reported\n"
                                               "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
                                               "  line 3, in forward: y = k(x)"));
  CHECK(report.error_class == "device.misaligned_address");
}

TEST_CASE("a fault that only the record names keeps its class", "[prompt][errors]") {
  CHECK(classify_error(record_of(OutcomeKind::DeviceFault, "illegal_address", "")).error_class ==
        "device.illegal_address");
  CHECK(classify_error(record_of(OutcomeKind::DeviceFault, "something_new", "")).error_class == "device.other");
}

TEST_CASE("compilers of different makers agree about an error", "[prompt][errors]") {
  CHECK(class_of_log("candidate.cpp:3:5: error: 'foo' was not declared in this scope\n") == "cxx.undeclared");
  CHECK(class_of_log("candidate.cpp:3:5: error: \xe2\x80\x98"
                     "foo\xe2\x80\x99 was not declared in this scope\n") == "cxx.undeclared");
  CHECK(class_of_log("candidate.cpp:3:5: error: use of undeclared identifier 'foo'\n") == "cxx.undeclared");
  CHECK(class_of_log("candidate.cu(3): error: identifier \"foo\" is undefined\n") == "cxx.undeclared");
}

TEST_CASE("a vague message is known by its notes", "[prompt][errors]") {
  const std::string vague = "candidate.cpp:20:3: error: no matching function for call to 'f'\n  f(in);\n  ^\n";
  CHECK(class_of_log(vague) == "cxx.call");
  CHECK(class_of_log(vague +
                     "candidate.cpp:9:1: note: candidate function not viable: 1st argument ('const float *') would "
                     "lose const qualifier\n") == "cxx.const");
}

TEST_CASE("a crash of the compiler is none of the errors before it", "[prompt][errors]") {
  CHECK(class_of_log("candidate.cpp:3:5: error: 'foo' was not declared in this scope\n"
                     "candidate.cpp:4:5: internal compiler error: in f, at g.cc:1\n") == "compiler.crashed");
}

TEST_CASE("a pass of Triton's compiler that fails is no mistake in a line of the kernel", "[prompt][errors]") {
  const auto report =
      classify_error(record_of(OutcomeKind::Compile, "triton",
                               "a call failed: RuntimeError: PassManager::run failed\n"
                               "line 125: error: Failures have been detected while processing an MLIR pass pipeline\n"
                               "line 125: note: Pipeline failed while executing [`TritonGPURemoveLayoutConversions`]\n"
                               "  line 264, in forward: lstm_kernel[(96,)]("));
  CHECK(report.error_class == "triton.internal");
}

TEST_CASE("a name of the library comes with its header", "[prompt][errors]") {
  const auto report =
      classify_error(refused(Target::Cpp, "candidate.cpp:3:5: error: 'thread' is not a member of 'std'\n"));
  CHECK(report.error_class == "cxx.undeclared");
  CHECK(report.advice == "`thread` is declared in <thread>.");
  CHECK(class_of_log("candidate.cpp:3:5: error: 'clampf' is not a member of 'std'\n") == "cxx.no_member");
}

TEST_CASE("a function that only Intel's compiler has is told as such", "[prompt][errors]") {
  const auto advice = [](const std::string& name) {
    return classify_error(
               refused(Target::Cpp, "candidate.cpp:3:5: error: '" + name + "' was not declared in this scope\n"))
        .advice;
  };
  CHECK(advice("_mm256_exp_ps") ==
        "`_mm256_exp_ps` is no instruction but a function of Intel's compiler: call `std::exp` in a loop.");
  CHECK(advice("_mm512_log10_pd").find("`std::log10`") != std::string::npos);
  CHECK(advice("_mm256_expand_ps").empty());
  CHECK(advice("_mm256_rcp_ps").empty());
}

TEST_CASE("two types that only a const keeps apart are known in every spelling", "[prompt][errors]") {
  for (const std::string message :
       {"invalid conversion from 'const int64_t*' {aka 'const long int*'} to 'int64_t*' {aka 'long int*'} "
        "[-fpermissive]",
        "cannot initialize a variable of type 'int64_t *' (aka 'long *') with an lvalue of type 'const int64_t *const' "
        "(aka 'const long *const')",
        "cannot initialize a variable of type 'kgen_tensor *' with an rvalue of type 'const struct kgen_tensor *'",
        "a value of type \"const float *\" cannot be used to initialize an entity of type \"float *\""}) {
    INFO(message);
    CHECK(class_of_log("candidate.cpp:3:5: error: " + message + "\n") == "cxx.const");
  }
  CHECK(class_of_log("candidate.cpp:3:5: error: cannot convert 'const float*' to 'int*'\n") == "cxx.conversion");
}

TEST_CASE("a pointer to void is cast, wherever it goes", "[prompt][errors]") {
  const auto class_of = [](const std::string& message) {
    return class_of_log("candidate.cu:3:5: error: " + message + "\n");
  };
  const auto noted = [&](const std::string& types) {
    return class_of(
        "no matching function for call to 'f'\n  f(x);\n  ^\ncandidate.cu:1:6: note: candidate function not "
        "viable: no known conversion from " +
        types + " for 1st argument");
  };
  CHECK(class_of("cannot initialize a parameter of type 'hipStream_t' (aka 'ihipStream_t *') with an lvalue of type "
                 "'void *const'") == "cxx.conversion");
  CHECK(class_of("argument of type \"void *\" is incompatible with parameter of type \"float *\"") == "cxx.conversion");
  CHECK(noted("'void *const' to 'const float *'") == "cxx.conversion");
  // A conversion to a pointer to void needs no cast: the source is const, or no pointer.
  CHECK(noted("'const float *' to 'void *'") == "cxx.const");
  CHECK(class_of("cannot initialize a parameter of type 'void *' with an lvalue of type 'const float *'") ==
        "cxx.const");
  CHECK(noted("'const kgen_tensor' to 'void *'") == "cxx.call");
}

TEST_CASE("a template with arguments that no call determines", "[prompt][errors]") {
  const std::string vague =
      "candidate.cu(42): error: no instance of function template \"rows\" matches the argument list\n"
      "            argument types are: (const float *, int)\n    rows<<<1, 2>>>(x, n);\n    ^\n";
  CHECK(class_of_log(vague) == "cxx.call");
  CHECK(
      class_of_log(vague + "candidate.cu(14): note #3327-D: candidate function template \"rows\" failed deduction\n") ==
      "cxx.template");
}

TEST_CASE("tensor descriptors and autotune say what they lack", "[prompt][errors]") {
  CHECK(classify_error(triton_error("expected 2 offsets, but got 1")).error_class == "triton.block_pointer");
  CHECK(classify_error(record_of(OutcomeKind::Launch, "exception",
                                 "loading it failed: TypeError: autotune() missing 1 required positional "
                                 "argument: 'key'\n  line 8, in <module>: @triton.autotune("))
            .error_class == "triton.autotune_key");
}

TEST_CASE("an assembler speaks of instructions, in whatever words", "[prompt][errors]") {
  const std::string ptxas =
      "ptxas candidate.ptx, line 70; error   : Argument 2 of instruction 'cp.async': unexpected value '8', expected to "
      "be 16\n";
  CHECK(class_of_log(ptxas) == "device.assembly");
  CHECK(class_of_log("ptxas candidate.ptx, line 7; error   : Instruction 'wgmma.fence' not supported on .target "
                     "'sm_80'\n") == "device.architecture");
  const auto host = [](const std::string& log) { return classify_error(refused(Target::Cpp, log)).error_class; };
  CHECK(host("/tmp/c.s: Assembler messages:\n/tmp/c.s:8: Error: number of operands mismatch for `vfmadd231ps'\n") ==
        "cxx.assembler");
  const std::string clang =
      "candidate.cpp:8:11: error: too few operands for it\n  asm(\"x\");\n  ^\n<inline asm>:1:2: note: instantiated "
      "into "
      "assembly here\n";
  CHECK(host(clang) == "cxx.assembler");
  CHECK(class_of_log(clang) == "device.assembly");
}

TEST_CASE("a launch that is not written as one", "[prompt][errors]") {
  const auto class_of = [](const std::string& message, const std::string& code) {
    return class_of_log("candidate.cu(30): error: " + message + "\n    " + code + "\n      ^\n\n");
  };
  const std::string operands = "no operator \"<<\" matches these operands";
  CHECK(class_of(operands, "pool<<grid, block>>(x, y);") == "device.launch_syntax");
  CHECK(class_of("expression must have integral or unscoped enum type", "gemm<16><<<grid, 256>>(x, y);") ==
        "device.launch_syntax");
  CHECK(class_of("expression must be a pointer to a complete object type", "scale[grid, 256](x);") ==
        "device.launch_syntax");
  CHECK(class_of("too many execution configuration arguments to kernel function call", "f<<<1, 2, 0, s, 0>>>(x);") ==
        "device.launch_syntax");
  // Neither the correct launch nor the shift is the cause.
  CHECK(class_of("identifier \"scale\" is undefined", "pool<<<grid, block>>>(x, scale);") == "cxx.undeclared");
  CHECK(class_of("expression must have integral or unscoped enum type", "pool<<<grid, block>>>(x % 1.5f, y);") ==
        "cxx.operands");
  CHECK(class_of(operands, "float y = x << 2;") == "cxx.operands");
  CHECK(class_of("expression must have pointer-to-object type", "run([&](int i) { return n[i]; });") == "cxx.operands");
  CHECK(classify_error(refused(Target::Cpp, "candidate.cpp:3:5: error: no match for 'operator<<'\n   out<<a,b>>(c);\n"))
            .error_class == "cxx.operands");
}

TEST_CASE("a namespace lacks a header, a type lacks a member", "[prompt][errors]") {
  auto report = classify_error(
      refused(Target::Cuda, "candidate.cu(14): error: namespace \"cooperative_groups\" has no member \"reduce\"\n"));
  CHECK(report.error_class == "cxx.undeclared");
  CHECK(report.advice == "`reduce` is declared in <cooperative_groups/reduce.h>.");
  CHECK(class_of_log("candidate.cu(14): error: class \"float4\" has no member \"r\"\n") == "cxx.no_member");
  CHECK(class_of_log("candidate.cu(14): error: namespace \"std\" has no member \"rsqrt\"\n") == "cxx.no_member");
}

TEST_CASE("the header of a name is the target's", "[prompt][errors]") {
  const auto advice = [](Target target) {
    return classify_error(refused(target, "candidate.hip:3:5: error: unknown type name '__half'\n")).advice;
  };
  CHECK(advice(Target::Cuda) == "`__half` is declared in <cuda_fp16.h>.");
  CHECK(advice(Target::Hip) == "`__half` is declared in <hip/hip_fp16.h>.");
  CHECK(advice(Target::Cpp).empty());
}

TEST_CASE("the header of a name in a torch extension is that of torch's toolkit", "[prompt][errors]") {
  const auto advice = [](const std::string& torch) {
    auto record =
        record_of(OutcomeKind::Launch, "import",
                  "RuntimeError: Error building extension 'scale': [1/3] python compiler.py hipcc -c hip.hip\n"
                  "hip.hip:9:3: error: unknown type name '__half'\n"
                  "1 error generated when compiling for gfx90a.\n",
                  Target::Torch);
    record.environment.torch = torch;
    return classify_error(record).advice;
  };
  CHECK(advice("2.9.1+rocm6.4") == "`__half` is declared in <hip/hip_fp16.h>.");
  CHECK(advice("2.9.1+cu130") == "`__half` is declared in <cuda_fp16.h>.");
}

TEST_CASE("a block that asks for too much is told so in its maker's words", "[prompt][errors]") {
  const auto advice = [](Target target) {
    return classify_error(refused(target, "error: local memory (131072) exceeds limit (65536) in function 'tiles'\n"))
        .advice;
  };
  CHECK(advice(Target::Hip) == "A block asks for 131072 bytes of LDS and may have 65536: 2 times what there is.");
  CHECK(advice(Target::Torch).find("tl.dot") == std::string::npos);
}

TEST_CASE("words of the candidate's own exceptions tell nothing about torch", "[prompt][errors]") {
  const auto class_of = [](const std::string& what, const std::string& place) {
    return classify_error(record_of(OutcomeKind::Launch, "exception",
                                    "a call failed: " + what + "\n  line 5, in forward: " + place, Target::Torch))
        .error_class;
  };
  CHECK(class_of("ValueError: expected 4D input (got 2D input)", "raise ValueError(f\"expected 4D input\")") ==
        "python.value");
  CHECK(class_of("ValueError: expected 4D input (got 2D input)", "y = self.norm(x)") == "torch.shape");
  CHECK(class_of("AssertionError: embed_dim must be divisible by num_heads",
                 "self.mha = nn.MultiheadAttention(5, 3)") == "torch.arguments");
  CHECK(class_of("AssertionError: the shape must be square", "assert x.shape[0] == x.shape[1], \"...\"") ==
        "python.assertion");
  CHECK(class_of("RuntimeError: Boolean value of Tensor with more than one value is ambiguous", "assert x > 0") ==
        "torch.ambiguous_bool");
}

TEST_CASE("a compiler that quotes a line without indenting it", "[prompt][errors]") {
  const auto report = classify_error(
      refused(Target::Hip,
              "candidate.hip:9:1: error: unknown type name '__kernel'\n__kernel void f(float* x) {\n^\n1 error "
              "generated when compiling for gfx90a.\n"));
  REQUIRE(report.lines.size() == 3);
  CHECK(report.lines[1] == "__kernel void f(float* x) {");
}

TEST_CASE("diagnostics stand in for a log that was not kept", "[prompt][errors]") {
  auto record = record_of(OutcomeKind::Compile, "type", "", Target::Cpp);
  record.compile.emplace().diagnostics = {{"warning", "k.cpp", 1, 1, "unused"},
                                          {"error", "k.cpp", 3, 5, "expected ';'"}};
  const auto report = classify_error(record);
  CHECK(report.error_class == "cxx.syntax");
  CHECK(report.lines.front() == "k.cpp:3:5: error: expected ';'");
  record.compile.reset();
  CHECK(classify_error(record).error_class == "cxx.conversion");
}

TEST_CASE("the numbers of a resource that ran out", "[prompt][errors]") {
  const auto triton = classify_error(
      record_of(OutcomeKind::Resource, "shared_memory",
                "a call failed: OutOfResources: out of resource: shared memory, Required: 102400, Hardware limit: "
                "101376. Reducing block sizes or `num_stages` may help."));
  CHECK(triton.error_class == "resource.shared_memory");
  CHECK(triton.number("required") == 102400);
  CHECK(triton.number("limit") == 101376);
  CHECK_FALSE(triton.number("something"));
  auto ptxas = refused(
      Target::Cuda, "ptxas error   : Entry function '_Z1kPf' uses too much shared data (0x14000 bytes, 0xc000 max)\n");
  ptxas.outcome = {OutcomeKind::Resource, "shared_memory", ""};
  CHECK(classify_error(ptxas).number("required") == 81920);
  CHECK(classify_error(ptxas).number("limit") == 49152);
  const auto hip = classify_error(
      refused(Target::Hip, "error: local memory (80000) exceeds limit (65536) in function '_Z6kernelPKfPfl'\n"));
  CHECK(hip.error_class == "resource.shared_memory");
  CHECK(hip.number("required") == 80000);
  const auto memory = classify_error(record_of(
      OutcomeKind::OutOfMemory, "", "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has"));
  CHECK(memory.number("required") == 2684354560);
}

TEST_CASE("the same error has the same fingerprint wherever it happens", "[prompt][errors]") {
  const auto print = [](const std::string& message) {
    return classify_error(record_of(OutcomeKind::Accuracy, "mismatch", message)).fingerprint;
  };
  CHECK(print("output: 32720 of 65536 elements are wrong; worst at [3, 371]: got 1362.98, expected 4.34") ==
        print("output: 12 of 65536 elements are wrong; worst at [60, 1]: got -1e-05, expected 4.34"));
  CHECK(print("output: 3 of 4 elements are wrong") != print("hidden: 3 of 4 elements are wrong"));
  const auto of = [](const std::string& log) { return classify_error(refused(Target::Cpp, log)).fingerprint; };
  CHECK(of("candidate.cpp:3:5: error: 'foo' was not declared in this scope\n") ==
        of("candidate.cpp:93:15: error: 'foo' was not declared in this scope\n"));
  CHECK(of("candidate.cpp:3:5: error: 'foo' was not declared in this scope\n") !=
        of("candidate.cpp:3:5: error: 'bar' was not declared in this scope\n"));
}

TEST_CASE("every class has a hint, and every hint a class", "[prompt][errors]") {
  std::vector<std::string> hints;
  for (const auto& file : std::filesystem::directory_iterator(KERNELGEN_SOURCE_DIR "/lib/prompt/templates/hints")) {
    const auto text = read_file(file.path()).value();
    for (const auto line : split_lines(text))
      if (line.starts_with("{{$")) hints.emplace_back(line.substr(3, line.find("}}") - 3));
  }
  std::sort(hints.begin(), hints.end());
  CHECK(hints == error_classes());
}

TEST_CASE("the manual lists every class", "[prompt][errors]") {
  const auto manual = testing::read_test_data("../../docs/errors.md");
  for (const auto& name : error_classes()) {
    INFO(name);
    const auto short_name = "`" + name.substr(name.find('.') == name.npos ? 0 : name.find('.') + 1) + "`";
    CHECK((manual.find("`" + name + "`") != manual.npos || manual.find(short_name) != manual.npos));
  }
}

TEST_CASE("a megabyte of anything is classified in a time that grows with its length", "[prompt][errors]") {
  // Texts that could make a search start anew at every byte: lists of a million lines, unclosed chevrons and quotes.
  const std::vector<std::string> units = {"candidate.cpp:1:1: error: no matching function for call to 'f'\n",
                                          "\ncaused by X: ",
                                          "\n  line 1, in f: ",
                                          "Required: ",
                                          "((((",
                                          "'\"'\"",
                                          "CompilationError: at 1:1:\n    ^\n",
                                          "\xff\xfe",
                                          "BLOCK_M=",
                                          "__shared__ float a[",
                                          "a<<b,c>>",
                                          "'const ' (aka '",
                                          "\n",
                                          "hipErrorI",
                                          "h"};
  for (const std::string prefix : {"", "candidate.cu(1): error: no operator matches\n  ", "RuntimeError: "}) {
    for (const auto& unit : units) {
      std::string text = prefix;
      while (text.size() < (1u << 20) / testing::k_less) text += unit;
      INFO(prefix << unit);
      CHECK(fuzz_error(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()) < k_allowed_milliseconds);
    }
  }
}

TEST_CASE("any bytes have a report that keeps its promises", "[prompt][errors][fuzz]") {
  const std::vector<std::string> seeds = {
      "a call failed: CompilationError: at 3:8:\n    y = x[0]\n        ^\nNameError('y is not defined')\n"
      "caused by KeyError: 'a'\n  line 3, in forward: kernel[(1,)](x)",
      "candidate.cu(3): error: no instance of function \"f\" matches\n  f<n>();\n   ^\ncandidate.cu(1): note: 'const "
      "a' 'a'\n",
      "OutOfResources: out of resource: shared memory, Required: 442368, Hardware limit: 101376\n"
      "triton.Config({'BLOCK_M': 128, 'BLOCK_K': 64}, num_stages=4)\n#define N 4\n__shared__ float a[N * 2][N + 1];"};
  std::uint32_t state = 12345;
  const auto random = [&](std::size_t below) {
    state = state * 1664525u + 1013904223u;
    return static_cast<std::size_t>(state >> 8) % below;
  };
  for (int round = 0; round < 3000 / testing::k_less; ++round) {
    auto text = seeds[random(seeds.size())];
    for (auto changes = 1 + random(12); changes > 0; --changes) {
      const auto at = random(text.size());
      switch (random(3)) {
        case 0:
          text[at] = static_cast<char>(random(256));
          break;
        case 1:
          text.erase(at, 1 + random(20));
          break;
        default:
          text.insert(at, seeds[random(seeds.size())].substr(random(40), random(60)));
      }
      if (text.empty()) text = "x";
    }
    fuzz_error(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
  fuzz_error(nullptr, 0);
  SUCCEED("no report broke its promise");
}
