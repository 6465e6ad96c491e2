// Prompts differ by the maker and the architecture of the GPU that judges.

#include <string>
#include <vector>

#include <kernelgen/prompt/prompt_builder.hpp>
#include <kernelgen/prompt/prompt_device.hpp>

#include "prompt/prompt_data.hpp"
#include "prompt/templates.hpp"
#include "support/catch.hpp"
#include "unit/prompt/prompt_fixture.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

/// Of each family of AMD's, and one that is not known.
constexpr const char* k_architectures[] = {"gfx906",  "gfx908",  "gfx90a",  "gfx942", "gfx950",
                                           "gfx1030", "gfx1100", "gfx1201", "gfx9999"};
/// What exists, or is called so, on NVIDIA's GPUs only.
constexpr const char* k_foreign[] = {"nvcc",       "PTX",       "ptxas",        "WGMMA",      "wgmma",  "TMA",
                                     "cp.async",   "mbarrier",  "tensor core",  "sm_",        "SMs",    "NVIDIA",
                                     "cudaStream", "cudaError", "CUDA kernels", "CUDA graph", "__ldcs", "__ldcg",
                                     "TF32 ",      "cudaFunc",  "__CUDA_ARCH__"};

PromptRequest on_amd(PromptKind kind, Target target, const std::string& architecture) {
  auto request = sample_prompt_request(kind, target);
  request.on_gpu = true;
  request.gpu_vendor = "amd";
  request.gpu_architecture = architecture;
  return request;
}

/// A product of matrices, judged in a class of precision.
PromptRequest product_on_amd(Target target, const std::string& architecture, PrecisionClass precision) {
  auto request = on_amd(PromptKind::Seed, target, architecture);
  request.description.facts.emplace().families = {OperationFamily::Gemm};
  request.description.precision = precision;
  return request;
}

/// The foreign words in a text, outside of the sections that name TF32 for every device.
std::string foreign_words(const std::string& text) {
  std::string found;
  for (const auto* word : k_foreign)
    if (holds(text, word)) found += std::string(found.empty() ? "" : ", ") + word;
  return found;
}

}  // namespace

TEST_CASE("prompts for AMD GPUs have no words of another maker", "[prompt][builder][platform]") {
  for (const auto target : {Target::Hip, Target::Triton, Target::Torch}) {
    for (const auto* architecture : k_architectures) {
      for (const auto kind : k_kinds) {
        auto variants = shipped().variants(kind, target);
        if (kind != PromptKind::Stage) variants.emplace_back();
        for (const auto& variant : variants) {
          auto request = on_amd(kind, target, architecture);
          request.variant = variant;
          request.base = correct_attempt("seed1", "the source", 1.5);
          request.history.clear();
          request.task.text = "the reference";
          // The class strict is said to exclude TF32 on every device.
          request.description.precision = PrecisionClass::Fp16;
          INFO(to_string(kind) << " " << variant << " for " << to_string(target) << " on " << architecture);
          CHECK(foreign_words(built(request).text).empty());
        }
      }
    }
  }
}

TEST_CASE("hints for AMD GPUs have no words of another maker", "[prompt][builder][platform]") {
  const auto templates = TemplateSet::load({k_templates, {}}).value();
  const auto names = templates.names_under("hints/");
  REQUIRE(names.size() > 50);
  for (const auto target : {Target::Hip, Target::Triton, Target::Torch}) {
    for (const auto* architecture : {"gfx90a", "gfx950", "gfx1100", "gfx9999"}) {
      for (const auto& name : names) {
        // Only a GPU with tensor memory gives this error.
        if (name == "resource.tensor_memory") continue;
        VerbatimTexts verbatim;
        const auto data = make_prompt_data(on_amd(PromptKind::Repair, target, architecture), {}, verbatim);
        const auto text = templates.render("hints/" + name, data, verbatim).value().text;
        INFO(name << " for " << to_string(target) << " on " << architecture << ": " << text);
        CHECK(foreign_words(text).empty());
      }
    }
  }
}

TEST_CASE("hints for NVIDIA GPUs have no words of another maker", "[prompt][builder][platform]") {
  const auto templates = TemplateSet::load({k_templates, {}}).value();
  for (const auto& name : templates.names_under("hints/")) {
    VerbatimTexts verbatim;
    const auto data = make_prompt_data(sample_prompt_request(PromptKind::Repair, Target::Cuda), {}, verbatim);
    const auto text = templates.render("hints/" + name, data, verbatim).value().text;
    INFO(name << ": " << text);
    for (const auto* word : {"LDS", "MFMA", "wavefront", "hipError", "gfx9"}) CHECK_FALSE(holds(text, word));
  }
}

TEST_CASE("a torch module on an AMD GPU may have kernels in HIP", "[prompt][builder][platform]") {
  const auto text = built(on_amd(PromptKind::Seed, Target::Torch, "gfx942")).text;
  CHECK(holds(text, "HIP kernels of your own may be built with `torch.utils.cpp_extension.load_inline`"));
  CHECK(holds(text, "`hipcc` compiles it for gfx942 alone"));
  CHECK(holds(text, "#include <hip/hip_runtime.h>"));
  CHECK(holds(text, "captured into a HIP graph"));
  CHECK(holds(text, "A wavefront of gfx942 has 64 lanes"));
  auto request = sample_prompt_request(PromptKind::Seed, Target::Torch);
  request.on_gpu = true;
  request.gpu_vendor = "nvidia";
  request.gpu_architecture = "sm_90";
  const auto nvidia = built(request).text;
  CHECK(holds(nvidia, "CUDA kernels of your own"));
  CHECK_FALSE(holds(nvidia, "hip/hip_runtime.h"));
}

TEST_CASE("the family of an AMD GPU decides its rules and its matrix instruction", "[prompt][builder][platform]") {
  const auto prompt = [](const char* architecture, PrecisionClass precision) {
    return built(product_on_amd(Target::Hip, architecture, precision)).text;
  };
  for (const auto* cdna : {"gfx908", "gfx90a", "gfx942", "gfx950"}) {
    const auto text = prompt(cdna, PrecisionClass::Strict);
    INFO(cdna);
    CHECK(holds(text, "has 64 lanes"));
    CHECK(holds(text, "sum = __builtin_amdgcn_mfma_f32_16x16x4f32("));
    CHECK_FALSE(holds(text, "wmma"));
    CHECK(holds(text, std::string(cdna) == "gfx950" ? "LDS: 160 KiB" : "LDS: 64 KiB"));
    CHECK(holds(prompt(cdna, PrecisionClass::Fp16), "__builtin_amdgcn_mfma_f32_16x16x16f16"));
  }
  for (const auto* rdna : {"gfx1100", "gfx1201"}) {
    const auto text = prompt(rdna, PrecisionClass::Fp16);
    INFO(rdna);
    CHECK(holds(text, "has 32 lanes"));
    CHECK(holds(text, "__builtin_amdgcn_wmma_f32_16x16x16_f16_w32(") == (std::string(rdna) == "gfx1100"));
    CHECK(holds(text, "__builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(") == (std::string(rdna) == "gfx1201"));
    CHECK_FALSE(holds(text, "mfma"));
    // It has no form for float32.
    CHECK_FALSE(holds(prompt(rdna, PrecisionClass::Strict), "__builtin_amdgcn"));
  }
  for (const auto* plain : {"gfx1030", "gfx906"}) {
    for (const auto precision : {PrecisionClass::Strict, PrecisionClass::Fp16}) {
      const auto text = prompt(plain, precision);
      INFO(plain);
      CHECK(holds(text, std::string(plain) + " has no matrix instruction"));
      CHECK_FALSE(holds(text, "__builtin_amdgcn"));
    }
  }
}

TEST_CASE("a prompt without an architecture has the rules of all", "[prompt][builder][platform]") {
  for (const auto* unknown : {"", "gfx9999"}) {
    const auto text = built(product_on_amd(Target::Hip, unknown, PrecisionClass::Strict)).text;
    CHECK(holds(text, "A wavefront has 64 lanes on CDNA (gfx9..), 32 on RDNA"));
    CHECK(holds(text, "64 KiB per workgroup on most devices"));
    CHECK(holds(text, "On CDNA the matrix units take true float32"));
    CHECK_FALSE(holds(text, "multiply_tile"));
  }
  // The GPU of another maker tells nothing about the target's.
  auto request = product_on_amd(Target::Hip, "gfx942", PrecisionClass::Strict);
  request.gpu_vendor = "nvidia";
  CHECK_FALSE(holds(built(request).text, "multiply_tile"));
}

TEST_CASE("the fingerprint does not depend on the GPU", "[prompt][builder][platform]") {
  for (const auto target : {Target::Hip, Target::Triton, Target::Torch}) {
    const auto blank = built(sample_prompt_request(PromptKind::Seed, target)).fingerprint;
    for (const auto* architecture : {"gfx90a", "gfx1100"})
      CHECK(built(on_amd(PromptKind::Seed, target, architecture)).fingerprint == blank);
  }
}

TEST_CASE("a prompt is for the GPU that judges, or for none", "[prompt][builder][platform]") {
  PromptRequest request;
  GpuFacts gpu;
  gpu.vendor = "amd";
  gpu.architecture = "gfx1100";
  set_prompt_gpu(request, gpu);
  CHECK(request.on_gpu);
  CHECK(request.gpu_vendor == "amd");
  CHECK(request.gpu_architecture == "gfx1100");
  set_prompt_gpu(request, std::nullopt);
  CHECK_FALSE(request.on_gpu);
  CHECK(request.gpu_vendor.empty());
  CHECK(request.gpu_architecture.empty());
}
