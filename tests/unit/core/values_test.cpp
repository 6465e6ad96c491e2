#include <kernelgen/core/candidate.hpp>
#include <kernelgen/core/outcome.hpp>

#include "core/enum_names.hpp"
#include "support/catch.hpp"

using namespace kernelgen;

namespace {

/// Every value of the table has a spelling of its own and is found by it.
template <class Enum>
void check_table() {
  for (const auto& [value, name] : names_of<Enum>.entries) {
    CHECK(names_of<Enum>.name(value) == name);
    CHECK(names_of<Enum>.find(name) == value);
  }
  CHECK_FALSE(names_of<Enum>.find("no such name"));
}

}  // namespace

TEST_CASE("every enum value is found by its name", "[core][values]") {
  check_table<DType>();
  check_table<TaskLevel>();
  check_table<ModuleMode>();
  check_table<ForwardRandomness>();
  check_table<PrecisionClass>();
  check_table<ArtifactKind>();
  check_table<TargetDevice>();
  check_table<OutcomeKind>();
  check_table<StopReason>();
  check_table<BaselineKind>();
}

TEST_CASE("stored spellings do not change", "[core][values]") {
  CHECK(to_string(DType::BFloat16) == "bfloat16");
  CHECK(to_string(TaskLevel::SingleOperator) == "single_operator");
  CHECK(to_string(OutcomeKind::OffDistribution) == "off_distribution");
  CHECK(to_string(StopReason::MaxSamples) == "max_samples");
  CHECK(parse_baseline_kind("compile-max-autotune") == BaselineKind::CompileMaxAutotune);
  CHECK(parse_target("hipkittens") == Target::Hipkittens);
  CHECK(parse_precision("tf32") == PrecisionClass::Tf32);
}

TEST_CASE("sizes are those of torch", "[core][values]") {
  CHECK(size_of(DType::Complex128) == 16);
  CHECK(size_of(DType::Float32) == 4);
  CHECK(size_of(DType::BFloat16) == 2);
  CHECK(size_of(DType::Bool) == 1);
}

TEST_CASE("targets know their form", "[core][values]") {
  CHECK(is_native(Target::Hip));
  CHECK_FALSE(is_native(Target::Triton));
  CHECK(file_extension(Target::Cuda, Language::Cuda) == ".cu");
  CHECK(file_extension(Target::Torch, Language::Python) == ".py");
}

TEST_CASE("a cpp candidate is written in C++ or C", "[core][values]") {
  CHECK(guess_language("kernels/relu.c", Target::Cpp) == Language::C);
  for (const char* name : {"relu.cpp", "relu.cc", "relu.cxx", "relu.hpp.c.cpp", "relu"})
    CHECK(guess_language(name, Target::Cpp) == Language::Cpp);
  CHECK(guess_language("relu.c", Target::Cuda) == Language::Cuda);
  CHECK(guess_language("relu.py", Target::Triton) == Language::Python);
  CHECK(source_file_name(Target::Cpp, Language::C) == "candidate.c");
  CHECK(source_file_name(Target::Cuda, Language::Cuda) == "candidate.cu");
  CHECK(parse_language("c") == Language::C);
  CHECK(to_string(Language::Python) == "python");
}

TEST_CASE("a candidate's id covers its language, and ids from before it had one stay", "[core][values]") {
  const auto cpp = make_candidate(Target::Cpp, "int x;");
  CHECK(cpp.language == Language::Cpp);
  // SHA-256 of "cpp\nint x;".
  CHECK(cpp.id == "8a251425b1ae25a212b16dc59dd6e4ea0192a4683f8141d14e908fe1f9066e95");
  CHECK(make_candidate(Target::Cpp, Language::Cpp, "int x;").id == cpp.id);
  const auto c = make_candidate(Target::Cpp, Language::C, "int x;");
  CHECK(c.language == Language::C);
  CHECK(c.id != cpp.id);
}

TEST_CASE("a record can name the user's own file", "[core][values]") {
  EvaluationRecord record;
  record.language = Language::C;
  record.outcome = {OutcomeKind::Compile, "type", "candidate.c:3: no"};
  record.compile.emplace();
  record.compile->log = "candidate.c: In function 'f':\ncandidate.c:3:1: error: no\nmy_candidate.c candidate.cpp\n";
  record.compile->diagnostics = {{"error", "candidate.c", 3, 1, "no", ""}, {"note", "abi.h", 7, 1, "here", ""}};
  name_source_file(record, "kernels/norm.c");
  CHECK(record.outcome.message == "kernels/norm.c:3: no");
  CHECK(record.compile->log ==
        "kernels/norm.c: In function 'f':\nkernels/norm.c:3:1: error: no\nmy_candidate.c candidate.cpp\n");
  CHECK(record.compile->diagnostics[0].file == "kernels/norm.c");
  CHECK(record.compile->diagnostics[1].file == "abi.h");
}

TEST_CASE("a candidate's id covers target and source", "[core][values]") {
  const auto candidate = make_candidate(Target::Cpp, "int x;");
  CHECK(candidate.id.size() == 64);
  CHECK(candidate.id == make_candidate(Target::Cpp, "int x;").id);
  CHECK(candidate.id != make_candidate(Target::Cuda, "int x;").id);
  CHECK(candidate.id != make_candidate(Target::Cpp, "int y;").id);
}

TEST_CASE("an outcome's class is its kind and detail", "[core][values]") {
  CHECK(Outcome{OutcomeKind::Accuracy, "mismatch", ""}.to_class() == "accuracy:mismatch");
  CHECK(Outcome{OutcomeKind::Timeout, "", "slow"}.to_class() == "timeout");
}

TEST_CASE("a target is guessed from extension and imports", "[core][values]") {
  CHECK(guess_target("a/relu.cpp", "") == Target::Cpp);
  CHECK(guess_target("relu.c", "") == Target::Cpp);
  CHECK(guess_target("relu.cpp", "#include <vector>\n #include <hip/hip_runtime.h>") == Target::Hip);
  CHECK(guess_target("relu.cpp", "// not #include <hip/hip_runtime.h>") == Target::Cpp);
  CHECK(guess_target("relu.cpp", "template <int N>\n__global__ void relu(float* x) {}") == Target::Hip);
  CHECK(guess_target("relu.cc", "#include \"hip/hip_runtime.h\"\n#include <kittens.cuh>") == Target::Hipkittens);
  CHECK(guess_target("relu.cu", "") == Target::Cuda);
  CHECK(guess_target("relu.cuh", "") == Target::Cuda);
  CHECK(guess_target("relu.hip", "#include <hip/hip_runtime.h>") == Target::Hip);
  CHECK(guess_target("relu.hip", "#include <kittens.cuh>") == Target::Hipkittens);
  CHECK(guess_target("relu.py", "import torch\n  from triton import language as tl") == Target::Triton);
  CHECK(guess_target("relu.py", "import torch\n# import triton") == Target::Torch);
  CHECK_FALSE(guess_target("relu", "int main() {}"));
  CHECK_FALSE(guess_target("a.b/relu.txt", ""));
}
