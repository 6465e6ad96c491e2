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
  check_table<Target>();
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
  CHECK(file_extension(Target::Cuda) == ".cu");
  CHECK(file_extension(Target::Torch) == ".py");
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
  CHECK(guess_target("relu.cu", "") == Target::Cuda);
  CHECK(guess_target("relu.hip", "#include <hip/hip_runtime.h>") == Target::Hip);
  CHECK(guess_target("relu.hip", "#include <kittens.cuh>") == Target::Hipkittens);
  CHECK(guess_target("relu.py", "import torch\n  from triton import language as tl") == Target::Triton);
  CHECK(guess_target("relu.py", "import torch\n# import triton") == Target::Torch);
  CHECK_FALSE(guess_target("relu", "int main() {}"));
  CHECK_FALSE(guess_target("a.b/relu.txt", ""));
}
