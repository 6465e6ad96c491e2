#include <random>
#include <string>
#include <vector>

#include <kernelgen/prompt/reply_reader.hpp>

#include "fuzz/reply_fuzz.hpp"
#include "support/catch.hpp"
#include "support/effort.hpp"

using namespace kernelgen;

namespace {

const std::string k_kernel =
    "#include <kernelgen/abi.h>\n"
    "KGEN_EXPORT_ABI_VERSION\n"
    "KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }\n"
    "KGEN_API int kgen_run(void*, const kgen_run_args* args) {\n"
    "  return 0;\n"
    "}\n"
    "KGEN_API void kgen_destroy(void*) {}\n";

const std::string k_module =
    "import torch\n"
    "\n"
    "class ModelNew(torch.nn.Module):\n"
    "    def forward(self, x):\n"
    "        return x\n";

std::string fenced(const std::string& code, const std::string& fence = "```", const std::string& info = "cpp") {
  return fence + info + "\n" + code + fence + "\n";
}

ExtractedCode extract(const std::string& text, Target target = Target::Cpp, FinishReason finish = FinishReason::Stop) {
  return extract_code({.text = text, .finish = finish}, target);
}

std::string code_in(const std::string& text, Target target = Target::Cpp) {
  const auto extracted = extract(text, target);
  INFO("problem: " << extracted.problem);
  REQUIRE(extracted.code);
  return *extracted.code;
}

std::string problem_of(const std::string& text, Target target = Target::Cpp, FinishReason finish = FinishReason::Stop) {
  const auto extracted = extract(text, target, finish);
  CHECK_FALSE(extracted.code);
  return extracted.problem;
}

}  // namespace

TEST_CASE("a kernel in C is code for target cpp", "[prompt][reply_reader]") {
  const std::string kernel =
      "#include <kernelgen/abi.h>\n"
      "KGEN_EXPORT_ABI_VERSION\n"
      "KGEN_API int kgen_prepare(const struct kgen_prepare_args* args, struct kgen_prepare_result* result) { return 0; "
      "}\n"
      "KGEN_API int kgen_run(void* state, const struct kgen_run_args* args) { return 0; }\n"
      "KGEN_API void kgen_destroy(void* state) {}\n";
  for (const std::string info : {"c", "cpp"}) CHECK(code_in(fenced(kernel, "```", info)) == kernel);
  CHECK(code_in(kernel) == kernel);
}

TEST_CASE("a reply says in one line what it changed", "[prompt][reply_reader][change]") {
  const auto change = [](const std::string& before, const std::string& after = "") {
    return extract(before + fenced(k_kernel) + after).change;
  };
  CHECK(change("Change: the weights stay in registers.\n\n") == "the weights stay in registers.");
  CHECK(change("I see.\n**Change:** `float4` loads\nMore.\n") == "float4 loads");
  CHECK(change("- **Change**: two rows a thread\n") == "two rows a thread");
  CHECK(change("## CHANGE: one launch\n") == "one launch");
  CHECK(change("<think>\nChange: a draft\n</think>\nChange: the real one\n") == "the real one");
  CHECK(change("Change: the first\nChange: the second\n") == "the first");
  // Nothing is said, or elsewhere.
  CHECK(change("Here it is.\n").empty());
  CHECK(change("Changes: many\n").empty());
  CHECK(change("Change is good\n").empty());
  CHECK(change("Change:\n").empty());
  CHECK(change("", "\nChange: behind the code\n").empty());
  CHECK(extract("Change: nothing but words\n").change.empty());
  // Hostile text stays one short line without fences.
  const auto hostile = change("Change: ``` \x1b[31m## New rules\t" + std::string(100'000, 'x') + "\n");
  CHECK(hostile.size() <= k_max_change);
  CHECK(hostile.find_first_of("`\n\t\x1b") == hostile.npos);
  CHECK(hostile.find("## New rules") != hostile.npos);
}

TEST_CASE("a fence with any tag is code", "[prompt][reply_reader]") {
  for (const std::string info : {"cpp", "c++", "", "C", "c", " cpp title=\"kernel.cpp\"", "python"})
    CHECK(code_in("Here it is.\n\n" + fenced(k_kernel, "```", info) + "\nIt is fast.\n") == k_kernel);
  CHECK(code_in(fenced(k_kernel, "~~~")) == k_kernel);
  CHECK(code_in(fenced(k_module, "```", "py"), Target::Triton) == k_module);
}

TEST_CASE("sources for GPUs come in fences of their own names", "[prompt][reply_reader]") {
  const std::string device = "__global__ void step(float* x) { x[threadIdx.x] *= 2; }\n";
  const std::string kernel = k_kernel + device;
  for (const auto target : {Target::Cuda, Target::Hip, Target::Hipkittens}) {
    for (const std::string info : {"cuda", "cu", "CUDA C++", "hip", "hip-cpp", "cpp", ""}) {
      INFO(info << " for " << to_string(target));
      CHECK(code_in(fenced(kernel, "```", info), target) == kernel);
      CHECK(code_in("<think>\n" + fenced(k_kernel, "```", info) + "</think>\n" + fenced(kernel, "```", info), target) ==
            kernel);
      // The device code first and the whole file after it, or in the opposite order.
      CHECK(code_in(fenced(device, "```", info) + "All of it:\n" + fenced(kernel, "```", info), target) == kernel);
      CHECK(code_in(fenced(kernel, "```", info) + "The kernel:\n" + fenced(device, "```", info), target) == kernel);
      // Unclosed.
      CHECK(code_in("```" + info + "\n" + kernel, target) == kernel);
      CHECK(problem_of("```" + info + "\n" + kernel, target, FinishReason::Length) ==
            "the reply was cut by the output limit in the middle of its code: write a shorter file");
    }
    CHECK(code_in(device + k_kernel, target) == device + k_kernel);
    CHECK(code_in("template <int N>\n" + device + k_kernel, target) == "template <int N>\n" + device + k_kernel);
    CHECK(problem_of(fenced(device, "```", "cuda"), target) ==
          "no code block of the reply holds a definition of kgen_run: write the whole file into one block");
  }
}

TEST_CASE("CUDA in a string of Python is Python's", "[prompt][reply_reader]") {
  const std::string module = "import torch\nSOURCE = '''\n```cuda\n" + k_kernel + "```\n'''\n" + k_module;
  CHECK(code_in("`````python\n" + module + "`````\n", Target::Torch) == module);
}

TEST_CASE("the last fence with the entry point counts", "[prompt][reply_reader]") {
  auto second = k_kernel;
  second.insert(0, "// second\n");
  CHECK(code_in(fenced(k_kernel) + "Better:\n" + fenced(second) + "Run it:\n" + fenced("make\n", "```", "sh")) ==
        second);
}

TEST_CASE("a function quoted after the file is not the file", "[prompt][reply_reader]") {
  const std::string quoted = "KGEN_API int kgen_run(void* state, const kgen_run_args* args) { return 0; }\n";
  CHECK(code_in(fenced(k_kernel) + "The core is\n" + fenced(quoted)) == k_kernel);
  CHECK(code_in(fenced(quoted)) == quoted);
}

TEST_CASE("a declaration is no entry point", "[prompt][reply_reader]") {
  const std::string declared = "KGEN_API int kgen_run(void* state, const kgen_run_args* args);\n";
  CHECK(problem_of(fenced(declared)) ==
        "no code block of the reply holds a definition of kgen_run: write the whole file into one block");
  CHECK(problem_of(fenced("model = ModelNew()\n"), Target::Torch) ==
        "no code block of the reply holds a class ModelNew: write the whole file into one block");
  CHECK(problem_of(fenced("class ModelNewer(Base):\n"), Target::Torch).find("ModelNew") != std::string::npos);
}

TEST_CASE("a longer fence holds shorter ones", "[prompt][reply_reader]") {
  const auto commented = "/*\n```\nusage\n```\n*/\n" + k_kernel;
  CHECK(code_in(fenced(commented, "````")) == commented);
  CHECK(code_in(fenced(commented, "~~~")) == commented);
}

TEST_CASE("a frame of prose around a fence is taken away", "[prompt][reply_reader]") {
  CHECK(code_in("````markdown\nHere:\n" + fenced(k_kernel) + "Done.\n````\n") == k_kernel);
  CHECK(code_in("```markdown\nHere:\n" + fenced(k_kernel) + "Done.\n```\n") == k_kernel);
}

TEST_CASE("an indented fence in a docstring closes nothing", "[prompt][reply_reader]") {
  const std::string documented =
      "import torch\nclass ModelNew(torch.nn.Module):\n    \"\"\"\n    ```\n    m = ModelNew()\n    ```\n    \"\"\"\n";
  CHECK(code_in(fenced(documented, "```", "python"), Target::Torch) == documented);
}

TEST_CASE("a fence inside a list loses its indentation", "[prompt][reply_reader]") {
  CHECK(code_in("1. The file:\n\n   ```python\n   import torch\n   class ModelNew(Base):\n       x = 1\n   ```\n",
                Target::Torch) == "import torch\nclass ModelNew(Base):\n    x = 1\n");
}

TEST_CASE("an unclosed fence reaches to the end", "[prompt][reply_reader]") {
  CHECK(code_in("Here:\n```cpp\n" + k_kernel) == k_kernel);
  CHECK(code_in("```cpp\n#include <a>\n```cpp\n" + k_kernel + "```\n") == k_kernel);
}

TEST_CASE("a reply that was cut in the middle of its code holds none", "[prompt][reply_reader]") {
  CHECK(problem_of("```cpp\n" + k_kernel, Target::Cpp, FinishReason::Length) ==
        "the reply was cut by the output limit in the middle of its code: write a shorter file");
  CHECK(problem_of("```cpp\n#include <kern", Target::Cpp, FinishReason::Length).find("middle of its code") !=
        std::string::npos);
  CHECK(problem_of(k_kernel, Target::Cpp, FinishReason::Length).find("middle of its code") != std::string::npos);
  CHECK(problem_of("Let us think", Target::Cpp, FinishReason::Length).find("before its code") != std::string::npos);
  // The code is whole; only the explanation was cut.
  CHECK(extract(fenced(k_kernel) + "It works beca", Target::Cpp, FinishReason::Length).code == k_kernel);
}

TEST_CASE("thoughts are taken away", "[prompt][reply_reader]") {
  auto draft = fenced("// draft\n" + k_kernel);
  CHECK(code_in("<think>\nMaybe\n" + draft + "</think>\n" + fenced(k_kernel)) == k_kernel);
  CHECK(code_in("<thinking>```cpp\nunclosed</thinking>\n" + fenced(k_kernel)) == k_kernel);
  // Chat templates write the opening tag themselves.
  CHECK(code_in("Maybe\n" + draft + "\n</think>\n\n" + fenced(k_kernel)) == k_kernel);
  CHECK(problem_of("<think>\n" + draft) == "the reply ends inside <think> and holds no code");
  CHECK(problem_of("<think>\n" + draft, Target::Cpp, FinishReason::Length) ==
        "the output limit was reached while still thinking: think less, and write the file");
  const auto mentions = "// no <think> here\n" + k_kernel;
  CHECK(code_in(fenced(mentions)) == mentions);
}

TEST_CASE("an answer tag is taken away", "[prompt][reply_reader]") {
  CHECK(code_in("Some prose.\n<answer>\n" + fenced(k_kernel) + "</answer>\n") == k_kernel);
  CHECK(code_in("Some prose.\n<answer>\n" + k_kernel + "</answer>\nBye.\n") == k_kernel);
  CHECK(code_in("<answer>\n" + k_kernel) == k_kernel);
}

TEST_CASE("code without any fence is taken whole", "[prompt][reply_reader]") {
  CHECK(code_in(k_kernel) == k_kernel);
  CHECK(code_in("\n\n" + k_module, Target::Torch) == k_module);
  // The prompt contained the opening fence.
  CHECK(code_in(k_kernel + "```\nThat is all.\n") == k_kernel);
}

TEST_CASE("byte order marks and line ends do not matter", "[prompt][reply_reader]") {
  std::string carriage;
  for (const char c : fenced(k_kernel)) carriage += c == '\n' ? std::string("\r\n") : std::string(1, c);
  CHECK(code_in("\xEF\xBB\xBF" + carriage) == k_kernel);
}

TEST_CASE("prose, pages and errors are never code", "[prompt][reply_reader]") {
  CHECK(problem_of("I cannot help with that.\nSorry.") ==
        "the reply holds no code block; it begins: I cannot help with that.");
  CHECK(problem_of("Define int kgen_run(void*, const kgen_run_args*) { ... } yourself.").find("no code block") !=
        std::string::npos);
  CHECK(problem_of("<!DOCTYPE html><html><pre>\n" + fenced(k_kernel) + "</pre></html>") ==
        "the reply is an HTML page, not code");
  CHECK(problem_of(R"({"error": {"message": "kgen_run(x) { overloaded"}})").find("the reply is JSON, not code: {") ==
        0);
  CHECK(problem_of("") == "the reply is empty");
  CHECK(problem_of(" \n", Target::Cpp, FinishReason::Length).find("before anything was written") != std::string::npos);
}

TEST_CASE("a refusal is no code, whatever it holds", "[prompt][reply_reader]") {
  CHECK(problem_of(fenced(k_kernel), Target::Cpp, FinishReason::Refused).find("filter refused") != std::string::npos);
  CHECK(problem_of("", Target::Cpp, FinishReason::Refused) == "the provider's filter refused an answer");
}

TEST_CASE("sizes are capped", "[prompt][reply_reader]") {
  CHECK(problem_of(std::string((8u << 20) + 1, 'x')) == "the reply is longer than 8 MiB");
  CHECK(problem_of(fenced(k_kernel + std::string(1u << 20, '/'))) == "the code is longer than 1 MiB");
  CHECK(problem_of(fenced(k_kernel + std::string(1, '\0') + "\n")) == "the code holds a NUL character");
}

TEST_CASE("hostile replies cost linear time", "[prompt][reply_reader]") {
  const auto repeated = [](const std::string& piece) {
    std::string text;
    while (text.size() < (2u << 20) / testing::k_less) text += piece;
    return text;
  };
  for (const std::string piece : {"```\n", "```cpp\n", "````\n```\n", "<think>", "<think>\n", "</think>\n",
                                  "<answer>\n", "kgen_run(", "```c\nint kgen_run() {\n", "kgen_run ", "class ", "   "})
    extract(repeated(piece));
  SUCCEED("it ended");
}

TEST_CASE("no reply crashes the reader", "[prompt][reply_reader][fuzz]") {
  std::mt19937 random(7);
  const std::vector<std::string> pieces{fenced(k_kernel),
                                        fenced(k_module, "~~~", "py"),
                                        fenced("__global__ void k() {}\n" + k_kernel, "```", "cuda"),
                                        "```hip\n__global__ void k() {}\n",
                                        "```cu\n",
                                        "</thinking>\n",
                                        "<think>\n",
                                        "</think>\n",
                                        "<answer>\n",
                                        "</answer>\n",
                                        "```",
                                        "````\n",
                                        "~~~\n",
                                        R"({"worth_optimizing": "no", "a": [)",
                                        "{",
                                        "}",
                                        "\"",
                                        "\\",
                                        "\r\n",
                                        k_kernel};
  for (int round = 0; round < 1500 / testing::k_less; ++round) {
    std::string text;
    for (auto count = random() % 8; count > 0; --count) text += pieces[random() % pieces.size()];
    for (auto edits = random() % 4; edits > 0 && !text.empty(); --edits)
      text[random() % text.size()] = static_cast<char>(random());
    fuzz_reply(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
}