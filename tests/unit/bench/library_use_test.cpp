#include "bench/library_use.hpp"

#include "support/catch.hpp"
#include "unit/bench/evaluation_scene.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

WorkActivity own(double microseconds) { return {"mine", KernelOrigin::Own, microseconds}; }
WorkActivity vendor(double microseconds) { return {"ampere_sgemm_128x64_nn", KernelOrigin::Library, microseconds}; }
WorkActivity torch(double microseconds) { return {"at::native::copy", KernelOrigin::Framework, microseconds}; }
WorkActivity copy(double microseconds) { return {"Memcpy", KernelOrigin::Copy, microseconds}; }

WorkReport report(std::vector<WorkActivity> activities, WorkTimes times = {}) {
  return report_device_work(std::move(activities), times);
}

std::string refusal(const WorkReport& work, LibraryUse wanted) {
  const auto outcome = check_library_use(work, wanted);
  return outcome ? outcome->to_class() : "";
}

}  // namespace

TEST_CASE("shares of a call add up to one", "[bench][library_use]") {
  const auto work = report({own(30), vendor(50), torch(10), copy(10), own(0)});
  CHECK(work.own == Approx(0.3));
  CHECK(work.library == Approx(0.5));
  CHECK(work.framework == Approx(0.1));
  CHECK(work.copies == Approx(0.1));
  REQUIRE(work.activities.size() == 4);
  CHECK(work.activities[0].name == "ampere_sgemm_128x64_nn");
}

TEST_CASE("equal kernels are one activity, and the longest eight are kept", "[bench][library_use]") {
  std::vector<WorkActivity> activities;
  for (int i = 0; i < 20; ++i) activities.push_back({"k" + std::to_string(i), KernelOrigin::Own, 1.0 + i});
  activities.push_back({"k0", KernelOrigin::Own, 100});
  const auto work = report(std::move(activities));
  REQUIRE(work.activities.size() == 8);
  CHECK(work.activities[0].name == "k0");
  CHECK(work.activities[0].microseconds == Approx(101));
  CHECK(work.own == Approx(1));
}

TEST_CASE("a label names the own share, and a library where it did the work", "[bench][library_use]") {
  CHECK(label_of_work(report({own(98), torch(2)})) == "own kernels: own 98 %, vendor 0 %, torch 2 %");
  CHECK(label_of_work(report({own(1), torch(99)})) == "library work: own 1 %, vendor 0 %, torch 99 %");
  CHECK(label_of_work(report({own(20), vendor(70), copy(10)})) ==
        "library work: own 20 %, vendor 70 %, torch 0 %, copies 10 %");
  // Copies are no kernels.
  CHECK(label_of_work(report({own(30), copy(70)})).starts_with("own kernels"));
  CHECK(label_of_work(report({})) == "work unknown: no kernel, copy or fill was seen on the device");
  CHECK(label_of_work(report_no_work("there is no libcupti.so")) == "work unknown: there is no libcupti.so");
}

TEST_CASE("policies for library calls decide by what ran", "[bench][library_use]") {
  CHECK(refusal(report({vendor(100)}), LibraryUse::Anything).empty());
  CHECK(refusal(report({vendor(100)}), LibraryUse::Assisted) == "library_use:library");
  CHECK(refusal(report({vendor(100)}), LibraryUse::OwnKernels) == "library_use:library");
  CHECK(refusal(report({torch(100)}), LibraryUse::OwnKernels) == "library_use:framework");
  CHECK(refusal(report({own(60), vendor(40)}), LibraryUse::Assisted).empty());
  CHECK(refusal(report({own(60), vendor(40)}), LibraryUse::OwnKernels) == "library_use:library");
  CHECK(refusal(report({own(40), vendor(60)}), LibraryUse::Assisted) == "library_use:library");
  CHECK(refusal(report({own(96), torch(4)}), LibraryUse::OwnKernels).empty());
  CHECK(refusal(report({own(94), torch(6)}), LibraryUse::OwnKernels) == "library_use:framework");
  // Copies and fills are allowed, as many as there are.
  CHECK(refusal(report({own(40), copy(60)}), LibraryUse::OwnKernels).empty());
  const auto outcome = check_library_use(report({own(1), vendor(99)}), LibraryUse::OwnKernels);
  REQUIRE(outcome);
  CHECK(outcome->message ==
        "it is right, but 1 % of the time is its own kernels', where \"own-kernels\" asks for 95 % "
        "(own 1 %, vendor 99 %, torch 0 %): ampere_sgemm_128x64_nn");
}

TEST_CASE("what could not be seen keeps no policy", "[bench][library_use]") {
  CHECK(refusal(report_no_work("there is no libcupti.so"), LibraryUse::Anything).empty());
  CHECK(refusal(report_no_work("there is no libcupti.so"), LibraryUse::OwnKernels) == "library_use:unknown");
  CHECK(refusal(report({}), LibraryUse::Assisted) == "library_use:unknown");
  CHECK(refusal(report_processor_work({own(1), own(1)}, {}), LibraryUse::Assisted) == "library_use:unknown");
}

TEST_CASE("a right verdict without a look at the work keeps no policy", "[bench][library_use]") {
  EvaluationRecord record;
  record.environment.kernelgen_version = "0.1.0";
  CHECK(require_work(record, LibraryUse::Anything));
  const auto silent = require_work(record, LibraryUse::Assisted);
  REQUIRE_FALSE(silent);
  CHECK(silent.error().code == ErrorCode::Unsupported);
  CHECK_THAT(silent.error().message, Catch::Contains("\"assisted\"") && Catch::Contains("0.1.0"));
  record.outcome = {OutcomeKind::Race, "", ""};
  CHECK(require_work(record, LibraryUse::Assisted));
  record.outcome = {};
  record.work.emplace();
  CHECK(require_work(record, LibraryUse::OwnKernels));
}

TEST_CASE("an examined call that is no timed one is no answer", "[bench][library_use]") {
  // Its own kernels while it is examined, a library's while it is timed.
  const auto hidden = report({own(50)}, {.examined_ns = 50e3, .timed_ns = 400e3});
  CHECK(refusal(hidden, LibraryUse::OwnKernels) == "library_use:unknown");
  CHECK(label_of_work(hidden) ==
        "own kernels: own 100 %, vendor 0 %, torch 0 % (it took 50 us when examined and 400 us when timed)");
  const auto diluted = report({own(900), vendor(50)}, {.examined_ns = 950e3, .timed_ns = 60e3});
  CHECK(refusal(diluted, LibraryUse::Assisted) == "library_use:unknown");
  // Short calls differ by a launch.
  CHECK(refusal(report({own(2)}, {.examined_ns = 2e3, .timed_ns = 9e3}), LibraryUse::OwnKernels).empty());
  CHECK(refusal(report({own(60)}, {.examined_ns = 60e3, .timed_ns = 100e3}), LibraryUse::OwnKernels).empty());
  // Repeated calls on the processor find their inputs in the cache.
  const std::vector<WorkActivity> samples(50, own(1));
  CHECK(refusal(report_processor_work(samples, {.examined_ns = 100e3, .timed_ns = 500e3}), LibraryUse::OwnKernels)
            .empty());
  CHECK(refusal(report_processor_work(samples, {.examined_ns = 2e6, .timed_ns = 100e3}), LibraryUse::OwnKernels) ==
        "library_use:unknown");
}

TEST_CASE("the kind of a shared object", "[bench][library_use]") {
  const auto kind = GENERATE(table<ObjectKind, const char*>({
      {ObjectKind::Own, "/data/cache/artifacts/ab12.so"},
      {ObjectKind::Own, "/tmp/builds/torch_extensions/mine/mine.so"},
      {ObjectKind::Own, "/proc/self/fd/7"},
      {ObjectKind::Own, "/memfd:kernel (deleted)"},
      {ObjectKind::Framework, "/venv/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so"},
      {ObjectKind::Framework, "-packages/torch/lib/libtorch_cuda.so"},
      {ObjectKind::Framework, "-packages/torch/_C.cpython-311-x86_64-linux-gnu.so"},
      {ObjectKind::Framework, "/home/me/pytorch/build/lib/libc10.so"},
      {ObjectKind::Framework, "/tmp/builds/kept/inductor/ab/cabc.main.so"},
      {ObjectKind::Library, "-packages/nvidia/cublas/lib/libcublasLt.so.12"},
      {ObjectKind::Library, "/usr/local/cuda/lib64/libcudnn_ops.so.9"},
      {ObjectKind::Library, "/data/conda/lib/libmkl_avx512.so.2"},
      {ObjectKind::Library, "/venv/lib/python3.11/site-packages/numpy/core/_multiarray_umath.so"},
      {ObjectKind::Library, "/usr/lib/x86_64-linux-gnu/libfftw3f.so.3"},
      {ObjectKind::Library, "-packages/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so"},
      {ObjectKind::Helper, "-packages/triton/_C/libtriton.so"},
      {ObjectKind::Helper, "/usr/lib/x86_64-linux-gnu/libc.so.6"},
      {ObjectKind::Helper, "/usr/lib/x86_64-linux-gnu/libm.so.6"},
      {ObjectKind::Helper, "[vdso]"},
      {ObjectKind::Overhead, "/usr/bin/python3.11"},
      {ObjectKind::Overhead, "/usr/lib/python3.11/lib-dynload/_json.cpython-311-x86_64-linux-gnu.so"},
      {ObjectKind::Overhead, "/venv/lib/python3.11/site-packages/torch/lib/libgomp-a34b3233.so.1"},
  }));
  CAPTURE(std::get<1>(kind));
  CHECK(kind_of_object(std::get<1>(kind)) == std::get<0>(kind));
}

TEST_CASE("the origin of a launch is the object's before the name's", "[bench][library_use]") {
  const char* const own_object = "/proc/self/fd/7";
  const char* const cublas = "-packages/nvidia/cublas/lib/libcublasLt.so.12";
  CHECK(origin_of_launch("unheard_of_name", cublas) == KernelOrigin::Library);
  CHECK(origin_of_launch("unheard_of_name", "-packages/torch/lib/libtorch_cuda.so") == KernelOrigin::Framework);
  // Its own names prove nothing against it.
  for (const char* name : {"flash_fwd_kernel", "dot_kernel", "void cutlass::Kernel2<mine>(Params)"})
    CHECK(origin_of_launch(name, own_object) == KernelOrigin::Own);
  // Generated by torch.compile, or linked into it.
  CHECK(origin_of_launch("triton_poi_fused_gelu_0", "/tmp/builds/__triton_launcher.so") == KernelOrigin::Framework);
  CHECK(origin_of_launch("ampere_sgemm_128x64_nn", own_object) == KernelOrigin::Library);
  CHECK(origin_of_launch("sm90_xmma_gemm_f32f32", own_object) == KernelOrigin::Library);
  // Where the object is unknown, the name decides.
  CHECK(origin_of_launch("void at::native::vectorized_elementwise_kernel<4>(int)", "") == KernelOrigin::Framework);
  CHECK(origin_of_launch("gelu_kernel", "") == KernelOrigin::Own);
  CHECK(origin_of_launch("Memcpy", "") == KernelOrigin::Copy);
}

TEST_CASE("activities of a runner are read, or nothing is", "[bench][library_use]") {
  const auto read = parse_activities(
      "5000 2\tgelu(float*)\t/proc/self/fd/7\n"
      "3000 1\tmystery\t-packages/nvidia/cublas/lib/libcublas.so.12\n"
      "200 9\t(others) Memcpy\t\n");
  REQUIRE(read.size() == 3);
  CHECK(read[0].microseconds == Approx(5));
  CHECK(read[0].origin == KernelOrigin::Own);
  CHECK(read[1].origin == KernelOrigin::Library);
  CHECK(read[2].origin == KernelOrigin::Copy);
  CHECK(parse_activities("").empty());
  for (const char* text : {"x", "1\t2", "-5 1\tname\tobject", "5 1\tname\tobject\nx\t\t", "1e9 1\ta\tb",
                           "99999999999999999999999 1\ta\tb"})
    CHECK(parse_activities(text).empty());
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "1 1\tk\t\n";
  CHECK(parse_activities(many).empty());
}

TEST_CASE("a right candidate is refused by policy after all that is timed", "[bench][evaluation][library_use]") {
  Scene scene;
  scene.examined.activities.assign(100, {"libtorch_cpu.so", KernelOrigin::Framework, 1});
  const auto anything = evaluate(scene);
  REQUIRE(anything);
  CHECK(anything->outcome.correct());
  CHECK_THAT(anything->labels, Catch::VectorContains<std::string>("library work: own 0 %, vendor 0 %, torch 100 %"));
  REQUIRE(anything->work);
  CHECK(anything->work->timed_ns > 0);
  CHECK(scene.runner_calls.back() == "examine");
  scene.library_use = LibraryUse::OwnKernels;
  const auto refused = evaluate(scene);
  REQUIRE(refused);
  CHECK(refused->outcome.to_class() == "library_use:framework");
  CHECK_FALSE(score_of(*refused));
  CHECK(refused->timing);
}

TEST_CASE("a wrong candidate is wrong whatever did the work", "[bench][evaluation][library_use]") {
  Scene scene;
  scene.library_use = LibraryUse::OwnKernels;
  scene.judge.answer = [](const std::string&, int) { return wrong(); };
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "accuracy:mismatch");
  CHECK_FALSE(record->work);
}

TEST_CASE("a failure to examine changes no verdict", "[bench][evaluation][library_use]") {
  Scene scene;
  scene.examined = {{}, 0, "its process ended, or did not answer in time"};
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.correct());
  CHECK_THAT(record->labels,
             Catch::VectorContains<std::string>("work unknown: its process ended, or did not answer in time"));
}

TEST_CASE("replays are held against the time of all activities", "[bench][evaluation][library_use]") {
  Scene scene;
  put_on_gpu(scene, 100'000, 60'000);
  scene.examined = {{own(50)}, 90'000, ""};
  const auto record = evaluate(scene, Target::Cuda);
  REQUIRE(record);
  REQUIRE(record->work);
  CHECK(record->work->examined_ns == Approx(50'000));
  CHECK(record->work->timed_ns == Approx(60'000));
}
