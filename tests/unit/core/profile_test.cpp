#include <kernelgen/core/profile.hpp>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

KernelProfile kernel(std::string name, double duration_ns, std::int64_t launches = 1) {
  KernelProfile made;
  made.function = function_of_kernel(name);
  made.origin = origin_of_kernel(name);
  made.name = std::move(name);
  made.duration_ns = duration_ns;
  made.launches = launches;
  return made;
}

}  // namespace

TEST_CASE("the function of a kernel is its name without types", "[core][profile]") {
  CHECK(function_of_kernel("relu_kernel") == "relu_kernel");
  CHECK(function_of_kernel("relu(float const*, float*, long)") == "relu");
  CHECK(function_of_kernel("void at::native::vectorized_elementwise_kernel<4, at::native::Relu<float>, "
                           "std::array<char*, 2ul> >(int, at::native::Relu<float>, std::array<char*, 2ul>)") ==
        "at::native::vectorized_elementwise_kernel");
  CHECK(function_of_kernel("(anonymous namespace)::softmax(float const*, float*, int)") ==
        "(anonymous namespace)::softmax");
  CHECK(function_of_kernel("<unnamed>::softmax(const float *, <unnamed>::Part *, int)") ==
        "(anonymous namespace)::softmax");
  CHECK(function_of_kernel("void ns::Op<int>::operator()<float>(float)") == "ns::Op::operator()");
}

TEST_CASE("the function of a text that is no name is some text", "[core][profile]") {
  CHECK(function_of_kernel("").empty());
  CHECK(function_of_kernel("(((") == "(((");
  CHECK(function_of_kernel("a<b") == "a");
  CHECK(function_of_kernel("void ") == "void ");
}

TEST_CASE("the origin of a kernel, by its name", "[core][profile]") {
  CHECK(origin_of_kernel("gru_step") == KernelOrigin::Own);
  CHECK(origin_of_kernel("void my::fused_gemm<128>(float*)") == KernelOrigin::Own);
  CHECK(origin_of_kernel("void at::native::reduce_kernel<512, 1>(int)") == KernelOrigin::Framework);
  CHECK(origin_of_kernel("triton_poi_fused_relu_0") == KernelOrigin::Framework);
  CHECK(origin_of_kernel("aten::gru") == KernelOrigin::Framework);
  CHECK(origin_of_kernel("ampere_sgemm_128x64_tn") == KernelOrigin::Library);
  CHECK(origin_of_kernel("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32") == KernelOrigin::Library);
  CHECK(origin_of_kernel("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNT") == KernelOrigin::Library);
  CHECK(origin_of_kernel("void cudnn::ops::nchwToNhwcKernel<float>(int)") == KernelOrigin::Library);
  CHECK(origin_of_kernel("Memcpy DtoD (Device -> Device)") == KernelOrigin::Copy);
  CHECK(origin_of_kernel("Memset (Device)") == KernelOrigin::Copy);
  // An argument's type says nothing about the origin of the kernel.
  CHECK(origin_of_kernel("void mine(at::native::Thing)") == KernelOrigin::Own);
}

TEST_CASE("sums and shares over kernels", "[core][profile]") {
  Profile profile;
  profile.kernels = {kernel("mine(float*)", 600, 2), kernel("void at::native::add<4>()", 300, 10),
                     kernel("ampere_sgemm", 100, 1)};
  CHECK(profile.launches() == 13);
  CHECK(profile.device_ns() == 1000);
  CHECK(profile.share_of(KernelOrigin::Own) == Approx(0.6));
  CHECK(profile.share_of(KernelOrigin::Framework) == Approx(0.3));
  CHECK(profile.share_of(KernelOrigin::Copy) == 0);
  CHECK(profile.share_of(profile.kernels[2]) == Approx(0.1));
}

TEST_CASE("a profile without kernels has no shares", "[core][profile]") {
  const Profile profile;
  CHECK(profile.launches() == 0);
  CHECK(profile.share_of(KernelOrigin::Own) == 0);
  CHECK_FALSE(profile.metric("dram_throughput_pct"));
}

TEST_CASE("a metric over several kernels is weighted by their durations", "[core][profile]") {
  Profile profile;
  profile.kernels = {kernel("a", 300), kernel("b", 100), kernel("c", 1000)};
  profile.kernels[0].metrics = {{"dram_throughput_pct", 80, "%"}};
  profile.kernels[1].metrics = {{"dram_throughput_pct", 40, "%"}};
  CHECK(profile.metric("dram_throughput_pct") == Approx(70));
  CHECK(profile.kernels[0].metric("dram_throughput_pct") == 80.0);
  CHECK_FALSE(profile.kernels[2].metric("dram_throughput_pct"));
}

TEST_CASE("a profile survives JSON", "[core][profile]") {
  Profile profile;
  profile.source = "ncu";
  profile.device = "NVIDIA H200";
  profile.metric_set = "brief";
  profile.call_ns = 25000;
  profile.kernels = {kernel("mine(float*)", 600, 2)};
  profile.kernels[0].metrics = {{"occupancy_pct", 61.5, "%"}};
  profile.kernels[0].counted_launches = 1;
  profile.no_counters = ProfileUnavailable{"not permitted", "ask"};
  const auto read = parse_profile(to_json(profile));
  REQUIRE(read);
  CHECK(read->source == "ncu");
  CHECK(read->call_ns == 25000);
  REQUIRE(read->kernels.size() == 1);
  CHECK(read->kernels[0].origin == KernelOrigin::Own);
  CHECK(read->kernels[0].metric("occupancy_pct") == 61.5);
  REQUIRE(read->no_counters);
  CHECK(read->no_counters->remedy == "ask");
  CHECK_FALSE(read->unavailable);
}

TEST_CASE("what is not a profile is refused", "[core][profile]") {
  CHECK(parse_profile("{}").error().code == ErrorCode::InvalidArgument);
  CHECK(parse_profile("not JSON").error().code == ErrorCode::InvalidArgument);
  CHECK(parse_profile(R"({"schema": 7})").error().code == ErrorCode::Unsupported);
  CHECK(parse_profile(R"({"schema": 1, "kernels": 3})").error().message.find("kernels") != std::string::npos);
}
