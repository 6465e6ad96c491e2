#include "compile/kernel_resources.hpp"

#include "support/catch.hpp"

using namespace kernelgen;

TEST_CASE("what ptxas counts is read for each kernel", "[compile][kernel_resources]") {
  const auto kernels = parse_ptxas_resources(
      "ptxas info    : 0 bytes gmem, 80 bytes cmem[3]\n"
      "ptxas info    : Compiling entry function '_Z4reluPKfPf' for 'sm_90a'\n"
      "ptxas info    : Function properties for _Z4reluPKfPf\n"
      "    24 bytes stack frame, 8 bytes spill stores, 16 bytes spill loads\n"
      "ptxas info    : Used 32 registers, used 1 barriers, 24 bytes cumulative stack size, 4096 bytes smem, 400 bytes "
      "cmem[0], 8 bytes cmem[2]\n"
      "ptxas info    : Compile time = 2.076 ms\n"
      "ptxas info    : Compiling entry function 'plain' for 'sm_90a'\n"
      "ptxas info    : Function properties for plain\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 8 registers, used 0 barriers\n");
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].name == "relu(float const*, float*)");
  CHECK(kernels[0].registers == 32);
  CHECK(kernels[0].spill_store_bytes == 8);
  CHECK(kernels[0].spill_load_bytes == 16);
  CHECK(kernels[0].stack_bytes == 24);
  CHECK(kernels[0].static_shared_bytes == 4096);
  CHECK(kernels[0].constant_bytes == 408);
  CHECK(kernels[0].barriers == 1);
  CHECK(kernels[1].name == "plain");
  CHECK(kernels[1].registers == 8);
  CHECK(kernels[1].stack_bytes == 0);
}

TEST_CASE("a function that a kernel calls is not taken for the kernel", "[compile][kernel_resources]") {
  const auto kernels = parse_ptxas_resources(
      "ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
      "ptxas info    : Function properties for k\n"
      "    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Function properties for helper\n"
      "    99 bytes stack frame, 98 bytes spill stores, 97 bytes spill loads\n"
      "ptxas info    : Used 20 registers, 356 bytes cmem[0]\n");
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0].stack_bytes == 16);
  CHECK(kernels[0].spill_store_bytes == 0);
  CHECK(kernels[0].registers == 20);
  CHECK(kernels[0].barriers == 0);
}

TEST_CASE("names are as people write them", "[compile][kernel_resources]") {
  CHECK(demangle("_Z1kPf") == "k(float*)");
  CHECK(demangle("_ZN39_GLOBAL__N__93ec3f2d_7_relu_cu_fe6412dc4reluEPf") == "(anonymous namespace)::relu(float*)");
  CHECK(demangle("kgen_run") == "kgen_run");
  CHECK(demangle("_Znonsense") == "_Znonsense");
  CHECK(demangle("_Z" + std::string(5000, '1')).size() <= 504);
}

TEST_CASE("a hostile log costs little", "[compile][kernel_resources]") {
  CHECK(parse_ptxas_resources("").empty());
  CHECK(parse_ptxas_resources("ptxas info    : Used 3 registers\n").empty());
  CHECK(parse_ptxas_resources("ptxas info    : Compiling entry function '\n").size() == 1);
  std::string many;
  for (int i = 0; i < 2000; ++i) many += "ptxas info    : Compiling entry function 'k' for 'sm_90'\n";
  CHECK(parse_ptxas_resources(many).size() == 256);
}

TEST_CASE("what the compiler for AMD counts is read for each kernel", "[compile][kernel_resources]") {
  // hipcc of ROCm 5.2 (Debian), for gfx90a.
  const std::string end = " [-Rpass-analysis=kernel-resource-usage]\n";
  std::string log;
  for (const char* said : {"Function Name: _Z6secondPf", "    SGPRs: 68", "    VGPRs: 5", "    AGPRs: 0",
                           "    ScratchSize [bytes/lane]: 272", "    Occupancy [waves/SIMD]: 8", "    SGPRs Spill: 0",
                           "    VGPRs Spill: 3", "    LDS Size [bytes/block]: 0"})
    log += "k.hip:4:1: remark: " + std::string(said) + end;
  log += "__global__ void second(float* p) { p[0] = 1; }\n^\n";
  for (const char* said :
       {"Function Name: _Z3addILi64EEvPfi", "    VGPRs: 99999999999", "    LDS Size [bytes/block]: 256"})
    log += "k.hip:2:1: remark: " + std::string(said) + end;
  log += "k.hip:9:1: remark: Function Name: other [-Rpass=inline]\n";
  const auto kernels = parse_amdgpu_resources(log);
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].name == "second(float*)");
  CHECK(kernels[0].registers == 5);
  CHECK(kernels[0].stack_bytes == 272);
  CHECK(kernels[0].scalar_registers == 68);
  CHECK(kernels[0].accumulation_registers == 0);
  CHECK(kernels[0].spilled_scalar_registers == 0);
  CHECK(kernels[0].occupancy == 8);
  CHECK(kernels[0].spill_store_bytes == 12);
  CHECK(kernels[0].static_shared_bytes == 0);
  CHECK(kernels[1].name == "void add<64>(float*, int)");
  CHECK(kernels[1].registers == 65536);
  CHECK(kernels[1].static_shared_bytes == 256);
  CHECK(parse_amdgpu_resources("k.hip:1:1: remark:     VGPRs: 5" + end).empty());
}

TEST_CASE("the metadata of a code object is read for each kernel", "[compile][kernel_resources]") {
  // Triton 3.7 for gfx942.
  const std::string listing =
      "; Kernel info:\n; NumVgprs: 150\n; Occupancy: 3\n\t.amdgpu_metadata\n---\namdhsa.kernels:\n"
      "  - .agpr_count:     16\n    .args:\n      - .address_space:  global\n        .name:           a\n"
      "        .vgpr_count:     7\n    .group_segment_fixed_size: 512\n    .name:           _Z3tmmPf\n"
      "    .private_segment_fixed_size: 24\n    .sgpr_count:     78\n    .sgpr_spill_count: 2\n"
      "    .vgpr_count:     150\n    .vgpr_spill_count: 5\n    .wavefront_size: 64\n"
      "amdhsa.target:   amdgcn-amd-amdhsa--gfx942\n...\n\t.end_amdgpu_metadata\n    .vgpr_count:     1\n";
  const auto kernels = parse_amdgpu_metadata(listing);
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0].name == "tmm(float*)");
  CHECK(kernels[0].registers == 150);
  CHECK(kernels[0].accumulation_registers == 16);
  CHECK(kernels[0].scalar_registers == 78);
  CHECK(kernels[0].spilled_scalar_registers == 2);
  CHECK(kernels[0].spill_store_bytes == 20);
  CHECK(kernels[0].stack_bytes == 24);
  CHECK(kernels[0].static_shared_bytes == 512);
  CHECK(kernels[0].occupancy == 3);
  CHECK_FALSE(kernels[0].dynamic_shared_bytes);
}

TEST_CASE("hostile metadata costs little", "[compile][kernel_resources]") {
  CHECK(parse_amdgpu_metadata("").empty());
  CHECK(parse_amdgpu_metadata("  - .vgpr_count: 5\n").empty());
  const std::string begin = "\t.amdgpu_metadata\n";
  CHECK(parse_amdgpu_metadata(begin + "    .vgpr_count: 5\n").empty());
  CHECK(parse_amdgpu_metadata(begin + "  - .vgpr_count").empty());
  const auto kernels = parse_amdgpu_metadata(begin + "  - .vgpr_count: 99999999999\n    .sgpr_count: -4\n    .x:\n" +
                                             "    .private_segment_fixed_size: 18446744073709551615\n" +
                                             "    .vgpr_spill_count: 18446744073709551615\n");
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0].registers == 65536);
  CHECK(kernels[0].scalar_registers == 0);
  CHECK(kernels[0].stack_bytes == std::uint64_t{1} << 40);
  CHECK(kernels[0].spill_store_bytes == std::uint64_t{1} << 42);
  std::string many = begin;
  for (int i = 0; i < 2000; ++i) many += "  - .vgpr_count: 5\n";
  CHECK(parse_amdgpu_metadata("; Occupancy: 4\n" + many).size() == 256);
  CHECK_FALSE(parse_amdgpu_metadata("; Occupancy: 4\n" + many)[0].occupancy);
}
