#include "bench/gpu_findings.hpp"

#include <algorithm>
#include <filesystem>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

GpuEnvironment with_h200(int driver_version = 13000) {
  GpuFacts gpu;
  gpu.vendor = "nvidia";
  gpu.name = "NVIDIA H200";
  gpu.architecture = "sm_90";
  gpu.driver_version = driver_version;
  gpu.multiprocessors = 132;
  gpu.memory_bytes = std::uint64_t{140} << 30;
  GpuEnvironment situation;
  situation.reading = GpuInventory{{gpu}, ""};
  situation.nvcc = std::string("/cuda/bin/nvcc");
  situation.nvcc_release = {13, 0};
  return situation;
}

DoctorFinding find(const GpuEnvironment& situation, const std::string& name) {
  for (const auto& finding : gpu_findings(situation))
    if (finding.name == name) return finding;
  return {name, DoctorStatus::Missing, "no such finding", ""};
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a GPU with a driver and a toolkit is fine", "[bench][doctor][gpu]") {
  const auto findings = gpu_findings(with_h200());
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].status == DoctorStatus::Ok);
  CHECK(findings[0].detail == "NVIDIA H200 (sm_90), 132 SMs, 140 GiB; driver for CUDA 13.0");
  CHECK(findings[1].status == DoctorStatus::Ok);
  CHECK(findings[1].detail == "13.0 (/cuda/bin/nvcc)");
}

TEST_CASE("all GPUs of a node are told, each kind once", "[bench][doctor][gpu]") {
  auto node = with_h200();
  auto& gpus = node.reading.value().gpus;
  gpus.resize(7, gpus.front());
  gpus[2].name = "NVIDIA H100";
  gpus.push_back(gpus.front());
  CHECK(find(node, "GPU").detail ==
        "7 x NVIDIA H200 (sm_90), 132 SMs, 140 GiB; NVIDIA H100 (sm_90), 132 SMs, 140 GiB; driver for CUDA 13.0");
}

TEST_CASE("a machine without a card lacks nothing", "[bench][doctor][gpu]") {
  GpuEnvironment situation;
  situation.reading = GpuInventory{{}, "there is no GPU driver"};
  const auto findings = gpu_findings(situation);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].status == DoctorStatus::Ok);
  CHECK(holds(findings[0].detail, "judged on the processor"));
}

TEST_CASE("a card without a driver is named, with what to do", "[bench][doctor][gpu]") {
  GpuEnvironment situation;
  situation.reading = GpuInventory{{}, "there is no GPU driver (libcuda.so.1 or libamdhip64.so) on this machine"};
  situation.cards = {&platform_of("nvidia")};
  const auto finding = find(situation, "GPU");
  CHECK(finding.status == DoctorStatus::Limited);
  CHECK(holds(finding.detail, "there is an NVIDIA card, but there is no GPU driver"));
  CHECK(holds(finding.remedy, "nvidia-driver"));
}

TEST_CASE("a driver that does not answer is a finding", "[bench][doctor][gpu]") {
  GpuEnvironment situation;
  situation.reading = Error{ErrorCode::Timeout, "the GPU driver does not answer", {}};
  CHECK(find(situation, "GPU").status == DoctorStatus::Limited);
  CHECK(find(situation, "GPU").detail == "the GPU driver does not answer");
}

TEST_CASE("without nvcc, cuda kernels cannot be compiled", "[bench][doctor][gpu]") {
  auto situation = with_h200();
  situation.nvcc = Error{ErrorCode::MissingTool, "no nvcc", {}};
  const auto finding = find(situation, "nvcc");
  CHECK(finding.status == DoctorStatus::Limited);
  CHECK(holds(finding.detail, "triton and torch kernels can"));
  CHECK(holds(finding.remedy, "CUDA_HOME"));
}

TEST_CASE("a toolkit that is newer than the driver is found out", "[bench][doctor][gpu]") {
  auto situation = with_h200(12080);
  const auto finding = find(situation, "nvcc");
  CHECK(finding.status == DoctorStatus::Limited);
  CHECK(holds(finding.detail, "newer than the driver, which is for CUDA 12.8"));
  CHECK(finding.remedy == "install a driver for CUDA 13, or set CUDA_HOME to a CUDA 12 toolkit");
  situation.nvcc_release = {12, 9};  // drivers serve every toolkit of their major version
  CHECK(find(situation, "nvcc").status == DoctorStatus::Ok);
  situation.nvcc_release = {0, 0};
  CHECK(holds(find(situation, "nvcc").detail, "does not say its version"));
}

TEST_CASE("a device that others use is named", "[bench][doctor][gpu]") {
  auto situation = with_h200();
  situation.processes = "1234, python, 3000 MiB\n\n99, other, 10 MiB\n";
  const auto finding = find(situation, "GPU use");
  CHECK(finding.status == DoctorStatus::Limited);
  CHECK(holds(finding.detail, "1234, python, 3000 MiB; 99, other, 10 MiB"));
}

TEST_CASE("a torch without CUDA is of no use on a GPU", "[bench][doctor][gpu]") {
  const auto wrong = torch_on_gpu(with_h200(), {"2.13.0+cpu", "", ""}, "/venv/bin/python");
  REQUIRE(wrong);
  CHECK(wrong->status == DoctorStatus::Limited);
  CHECK(wrong->detail == "2.13.0+cpu: built without CUDA, so nothing can be judged on the GPU");
  CHECK(wrong->remedy ==
        "/venv/bin/python -m pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/cu130");
  CHECK_FALSE(torch_on_gpu(with_h200(), {"2.13.0+cu130", "13.0", ""}, "python3"));
  CHECK_FALSE(torch_on_gpu(GpuEnvironment{}, {"2.13.0+cpu", "", ""}, "python3"));
}

TEST_CASE("a torch that is newer than the driver gets the build for it", "[bench][doctor][gpu]") {
  const std::pair<int, const char*> cases[] = {
      {12080, "cu128"}, {12090, "cu128"}, {12070, "cu126"}, {12020, "cu118"}, {11040, "cu118"}};
  for (const auto& [driver, build] : cases) {
    const auto wrong = torch_on_gpu(with_h200(driver), {"2.13.0+cu130", "13.0", ""}, "python3");
    INFO(driver);
    REQUIRE(wrong);
    CHECK(holds(wrong->remedy, build));
  }
}

TEST_CASE("a card is found on the bus, whatever drives it", "[bench][doctor][gpu]") {
  const auto root = TemporaryDirectory::create(fs::temp_directory_path(), "bus-").value();
  const auto add = [&](const char* name, const char* vendor, const char* what) {
    const auto device = root.path() / "sys/bus/pci/devices" / name;
    make_directories(device).value();
    write_file_atomic(device / "vendor", vendor).value();
    write_file_atomic(device / "class", what).value();
  };
  CHECK(cards_on_bus(root.path().string()).empty());
  add("0000:00:01.0", "0x8086\n", "0x030000\n");
  add("0000:00:02.0", "0x10de\n", "0x040300\n");  // its sound
  CHECK(cards_on_bus(root.path().string()).empty());
  add("0000:00:03.0", "0x10de\n", "0x030200\n");
  add("0000:00:04.0", "0x10de\n", "0x030200\n");
  CHECK(cards_on_bus(root.path().string()) == std::vector{&platform_of("nvidia")});
  add("0000:00:05.0", "0x1002\n", "0x120000\n");  // an MI300X is a processing accelerator
  const auto cards = cards_on_bus(root.path().string());
  CHECK(cards.size() == 2);
  CHECK(std::count(cards.begin(), cards.end(), &platform_of("amd")) == 1);
}

namespace {

GpuEnvironment with_mi300x() {
  GpuFacts gpu;
  gpu.vendor = "amd";
  gpu.name = "AMD Instinct MI300X";
  gpu.architecture = "gfx942";
  gpu.driver_version = 6030;
  gpu.multiprocessors = 304;
  gpu.memory_bytes = std::uint64_t{192} << 30;
  GpuEnvironment situation;
  situation.reading = GpuInventory{{gpu}, ""};
  return situation;
}

}  // namespace

TEST_CASE("an AMD GPU needs hipcc and a torch for ROCm", "[bench][doctor][gpu]") {
  auto situation = with_mi300x();
  CHECK(find(situation, "GPU").detail == "AMD Instinct MI300X (gfx942), 304 CUs, 192 GiB; driver for ROCm 6.3");
  CHECK(holds(find(situation, "hipcc").detail, "hip kernels cannot be compiled"));
  CHECK(holds(find(situation, "hipcc").remedy, "ROCM_PATH"));
  CHECK(find(situation, "nvcc").detail == "no such finding");
  situation.hipcc = std::string("/opt/rocm/bin/hipcc");
  CHECK(find(situation, "hipcc").status == DoctorStatus::Ok);
  const auto wrong = torch_on_gpu(situation, {"2.13.0+cu130", "13.0", ""}, "python3");
  REQUIRE(wrong);
  CHECK(wrong->detail == "2.13.0+cu130: built without ROCm, so nothing can be judged on the GPU");
  CHECK(holds(wrong->remedy, "whl/rocm6.3"));
  CHECK(torch_on_gpu(situation, {"2.13.0+rocm7.0", "", "7.0.1"}, "python3"));
  CHECK_FALSE(torch_on_gpu(situation, {"2.13.0+rocm6.3", "", "6.3.42131"}, "python3"));
}

TEST_CASE("an AMD card without ROCm is named, with what to do", "[bench][doctor][gpu]") {
  GpuEnvironment situation;
  situation.reading = GpuInventory{{}, "there is no GPU driver (libcuda.so.1 or libamdhip64.so) on this machine"};
  situation.cards = {&platform_of("amd")};
  const auto finding = find(situation, "GPU");
  CHECK(holds(finding.detail, "there is an AMD card, but there is no GPU driver"));
  CHECK(holds(finding.remedy, "render,video"));
}

TEST_CASE("an AMD card whose nodes are closed is told with what opens them", "[bench][doctor][gpu]") {
  GpuEnvironment situation;
  situation.reading = GpuInventory{{}, "ROCm does not start"};
  situation.cards = {&platform_of("amd")};
  situation.card_problem = PlatformProblem{"/dev/kfd is not open to this user", "sudo usermod -aG render,video $USER"};
  CHECK(find(situation, "GPU").detail == "there is an AMD card, but /dev/kfd is not open to this user");
  CHECK(find(situation, "GPU").remedy == "sudo usermod -aG render,video $USER");
}

TEST_CASE("a card without a GPU is a finding beside the GPUs of another maker", "[bench][doctor][gpu]") {
  auto situation = with_h200();
  situation.reading.value().absent["amd"] = "there is an AMD card, but its driver is not loaded";
  const auto findings = gpu_findings(situation);
  REQUIRE(findings.size() == 3);
  CHECK(findings[0].status == DoctorStatus::Ok);
  CHECK(findings[1].name == "GPU");
  CHECK(findings[1].status == DoctorStatus::Limited);
  CHECK(findings[1].detail == "there is an AMD card, but its driver is not loaded");
}

TEST_CASE("hipcc of another ROCm than the runtime is found out where it matters", "[bench][doctor][gpu]") {
  auto situation = with_mi300x();  // its runtime is of ROCm 6.3
  situation.hipcc = std::string("/opt/rocm/bin/hipcc");
  const auto check = [&](std::pair<int, int> release) {
    situation.hipcc_release = release;
    return find(situation, "hipcc");
  };
  CHECK(check({6, 3}).detail == "6.3 (/opt/rocm/bin/hipcc)");
  for (const auto& same : {std::pair{6, 0}, {6, 4}, {0, 0}}) CHECK(check(same).status == DoctorStatus::Ok);
  const auto newer = check({7, 0});
  CHECK(newer.status == DoctorStatus::Limited);
  CHECK(newer.detail ==
        "7.0 (/opt/rocm/bin/hipcc): newer than the runtime (libamdhip64), which is of ROCm 6.3; its kernels will not "
        "start");
  CHECK(newer.remedy == "set ROCM_PATH to a ROCm 6, or install the runtime of ROCm 7");
  CHECK(holds(check({5, 2}).detail, "older than the runtime"));
}

TEST_CASE("hipcc that lacks a part is found out, with what helps", "[bench][doctor][gpu]") {
  auto situation = with_mi300x();
  situation.hipcc = std::string("/usr/bin/hipcc");
  situation.hipcc_release = {6, 3};
  situation.hipcc_problem = PlatformProblem{"it has no device libraries", "install them"};
  const auto finding = find(situation, "hipcc");
  CHECK(finding.status == DoctorStatus::Limited);
  CHECK(finding.detail == "6.3 (/usr/bin/hipcc): it has no device libraries; hip kernels cannot be compiled");
  CHECK(finding.remedy == "install them");
}

TEST_CASE("the profiler of each maker is told, and whether it may read counters", "[bench][doctor][gpu]") {
  auto situation = with_mi300x();
  CHECK(find(situation, "profiler").detail == "no such finding");
  situation.profilers = {{.platform = &platform_of("amd"),
                          .program = Error{ErrorCode::MissingTool, "neither rocprofv3 nor rocprof is installed"},
                          .remedy = "install it"}};
  CHECK(find(situation, "profiler").status == DoctorStatus::Limited);
  CHECK(find(situation, "profiler").detail ==
        "neither rocprofv3 nor rocprof is installed; profiles have times and no counters");
  CHECK(find(situation, "profiler").remedy == "install it");
  situation.profilers[0].program = std::string("/opt/rocm/bin/rocprofv3");
  CHECK(find(situation, "profiler").status == DoctorStatus::Ok);
  CHECK(find(situation, "profiler").detail == "/opt/rocm/bin/rocprofv3");
  situation.profilers[0].counters = PlatformProblem{"only administrators may read counters", "allow it"};
  CHECK(find(situation, "profiler").detail ==
        "/opt/rocm/bin/rocprofv3: only administrators may read counters; profiles have times and no counters");
  CHECK(find(situation, "profiler").remedy == "allow it");
}

TEST_CASE("what uses a GPU is read from files where no program lists processes", "[bench][doctor][gpu]") {
  auto situation = with_mi300x();
  situation.reading.value().gpus[0].uuid = "GPU-1";
  situation.uses["GPU-1"] = {.busy_percent = 3};
  CHECK(find(situation, "GPU use").detail == "no such finding");
  situation.uses["GPU-1"] = {.busy_percent = 80};
  CHECK(find(situation, "GPU use").detail == "other processes use it and disturb times: GPU 0 busy 80 %");
  situation.processes = "1234 python\n";
  CHECK(find(situation, "GPU use").detail == "other processes use it and disturb times: 1234 python");
}

TEST_CASE("a torch for one maker is not enough for the GPUs of two", "[bench][doctor][gpu]") {
  auto situation = with_h200();
  situation.reading.value().gpus.push_back(with_mi300x().reading->gpus.front());
  const auto wrong = torch_on_gpu(situation, {"2.13.0+cu130", "13.0", ""}, "python3");
  REQUIRE(wrong);
  CHECK(wrong->status == DoctorStatus::Limited);
  CHECK(wrong->detail == "2.13.0+cu130: built without ROCm, so nothing can be judged on AMD Instinct MI300X");
  CHECK(holds(wrong->remedy, "whl/rocm6.3"));
  CHECK(holds(wrong->remedy, "set KGEN_PYTHON=~/.kgen-amd/bin/python for GPUs of AMD"));
}
