#include <kernelgen/bench/doctor.hpp>

#include <filesystem>
#include <fstream>

#include <kernelgen/llm/scripted_client.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;

namespace {

/// Answers each program by its name and first argument, or by its name alone.
class ScriptedProcesses final : public ProcessRunner {
 public:
  Result<ProcessOutcome> run(const ProcessRequest& request, std::stop_token stop) override {
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled"};
    if (const auto said = complains.find(request.command.front()); said != complains.end()) {
      ProcessOutcome outcome;
      outcome.exit_code = 1;
      outcome.standard_error = said->second;
      return outcome;
    }
    auto found = says.find(request.command.size() > 1 ? request.command[0] + " " + request.command[1] : "");
    if (found == says.end()) found = says.find(request.command.front());
    if (found == says.end()) return Error{ErrorCode::MissingTool, request.command.front() + " is not installed"};
    ProcessOutcome outcome;
    outcome.exit_code = 0;
    outcome.standard_output = found->second;
    return outcome;
  }

  /// The error outputs of programs that fail.
  std::map<std::string, std::string> complains;
  std::map<std::string, std::string> says{{"c++", "g++ 12.2.0\nCopyright\n"},
                                          {"python3", "python 3.11.7\ntorch 2.4.0\ntriton 3.0.0\n"},
                                          {"/libexec/kgen-sandbox", "isolation 703\n"}};
};

struct Examined {
  ScriptedProcesses processes;
  TemporaryDirectory directory = TemporaryDirectory::create(std::filesystem::temp_directory_path(), "doctor-").value();
  DoctorOptions options{.installation = Installation{.sandbox = "/libexec/kgen-sandbox"},
                        .cache_dir = (directory.path() / "cache").string()};
  std::stop_source stop;

  DoctorFinding operator[](const std::string& name) {
    const auto findings = examine_machine(options, processes, stop.get_token());
    REQUIRE(findings);
    for (const auto& finding : *findings)
      if (finding.name == name) return finding;
    return {name, DoctorStatus::Missing, "no such finding", ""};
  }
};

}  // namespace

TEST_CASE("a machine that has everything is fine", "[bench][doctor]") {
  Examined machine;
  for (const auto* name : {"installation", "compiler", "python", "torch", "triton", "isolation", "cache"}) {
    INFO(name);
    CHECK(machine[name].status == DoctorStatus::Ok);
    CHECK(machine[name].remedy.empty());
  }
  CHECK(machine["compiler"].detail == "g++ 12.2.0");
}

TEST_CASE("a compiler without its sanitizers is named, with what correct kernels miss", "[bench][doctor]") {
  Examined machine;
  // A compiler repeats the name of a library that it does not have.
  machine.processes.says["c++"] = "libtsan.so\n";
  const auto finding = machine["sanitizers"];
  CHECK(finding.status == DoctorStatus::Limited);
  CHECK(finding.detail.starts_with("correct kernels cannot be watched: c++ has no libtsan.so"));
}

TEST_CASE("what is too old or too new is missing", "[bench][doctor]") {
  const std::pair<const char*, const char*> cases[] = {{"python 3.9.2\n", "python"},
                                                       {"python 3.14.0\n", "python"},
                                                       {"python 3.11.7\ntorch 2.3.1\n", "torch"},
                                                       {"python 3.11.7\ntorch !No module named 'torch'\n", "torch"},
                                                       {"python 3.11.7\n", "torch"}};
  for (const auto& [said, name] : cases) {
    Examined machine;
    machine.processes.says["python3"] = said;
    INFO(said);
    CHECK(machine[name].status == DoctorStatus::Missing);
    CHECK_FALSE(machine[name].remedy.empty());
  }
}

TEST_CASE("less than everything is limited or missing, with a remedy", "[bench][doctor]") {
  Examined machine;
  machine.processes.says.clear();
  machine.options.cache_dir = "/dev/null/cache";
  CHECK(machine["compiler"].status == DoctorStatus::Missing);
  CHECK(machine["compiler"].detail == "c++: c++ is not installed");
  CHECK(machine["python"].status == DoctorStatus::Missing);
  CHECK(machine["isolation"].status == DoctorStatus::Limited);
  CHECK(machine["cache"].status == DoctorStatus::Missing);
  CHECK(machine["KernelBench"].status == DoctorStatus::Limited);
}

TEST_CASE("the isolation mechanisms that are missing are named", "[bench][doctor]") {
  Examined machine;
  machine.processes.says["/libexec/kgen-sandbox"] = "isolation 544\n";
  CHECK(machine["isolation"].status == DoctorStatus::Limited);
  CHECK(machine["isolation"].detail.find("weak: no user namespace, no private file system") != std::string::npos);
  CHECK(machine["isolation"].detail.find("unless weak isolation is allowed") != std::string::npos);
  machine.processes.says["/libexec/kgen-sandbox"] = "isolation 608\n";
  CHECK(machine["isolation"].detail.find("partial: no user namespace, no private file system") != std::string::npos);
  machine.processes.says["/libexec/kgen-sandbox"] = "failed sandbox 11\n";
  CHECK(machine["isolation"].detail.find("Resource temporarily unavailable") != std::string::npos);
  machine.processes.says.erase("/libexec/kgen-sandbox");
  CHECK(machine["isolation"].detail.find("/libexec/kgen-sandbox is not installed") != std::string::npos);
  machine.options.installation = Error{ErrorCode::MissingTool, "nothing there", {}};
  CHECK(machine["isolation"].status == DoctorStatus::Limited);
}

TEST_CASE("triton is not needed", "[bench][doctor]") {
  Examined machine;
  machine.processes.says["python3"] = "python 3.11.7\ntorch 2.13.0+cpu\ntriton !No module named 'triton'\n";
  CHECK(machine["torch"].status == DoctorStatus::Ok);
  CHECK(machine["triton"].status == DoctorStatus::Limited);
}

TEST_CASE("an examination can be cancelled", "[bench][doctor]") {
  Examined machine;
  machine.stop.request_stop();
  const auto findings = examine_machine(machine.options, machine.processes, machine.stop.get_token());
  REQUIRE_FALSE(findings);
  CHECK(findings.error().code == ErrorCode::Cancelled);
}

TEST_CASE("a machine with a GPU is looked at with its tools", "[bench][doctor]") {
  Examined machine;
  machine.options.installation = Installation{.sandbox = "/libexec/kgen-sandbox", .gpu_probe = "/libexec/kgen-gpu"};
  machine.options.nvcc = "/cuda/bin/nvcc";
  auto& says = machine.processes.says;
  says["/libexec/kgen-gpu"] =
      "{\"vendor\": \"nvidia\", \"name\": \"NVIDIA H200\", \"uuid\": \"GPU-1\", \"driver_version\": 12080}\n";
  says["/cuda/bin/nvcc"] = "Cuda compilation tools, release 13.0, V13.0.88\n";
  says["nvidia-smi"] = "1234, python, 300 MiB\n";
  says["python3"] = "python 3.11.7\ntorch 2.13.0+cpu\ntriton 3.0.0\n";
  CHECK(machine["GPU"].status == DoctorStatus::Ok);
  CHECK(machine["nvcc"].status == DoctorStatus::Limited);
  CHECK(machine["GPU use"].detail == "other processes use it and disturb times: 1234, python, 300 MiB");
  CHECK(machine["torch"].status == DoctorStatus::Limited);
  CHECK(machine["triton"].detail == "3.0.0");
  says["python3"] = "python 3.11.7\ntorch 2.13.0+cu128\ntriton 3.0.0\ntorch_cuda 12.8\n";
  CHECK(machine["torch"].status == DoctorStatus::Ok);
}

TEST_CASE("a machine with an AMD GPU is looked at with its tools and files", "[bench][doctor]") {
  Examined machine;
  const auto root = machine.directory.path();
  const auto write = [&](const std::string& name, const std::string& text) {
    make_directories((root / name).parent_path()).value();
    write_file_atomic(root / name, text, {.mode = 0755}).value();
  };
  machine.options.installation = Installation{.sandbox = "/libexec/kgen-sandbox", .gpu_probe = "/libexec/kgen-gpu"};
  machine.options.root = root.string();
  machine.options.environment = {{"ROCM_PATH", (root / "rocm").string()}};
  auto& says = machine.processes.says;
  says["/libexec/kgen-gpu"] =
      "{\"vendor\": \"amd\", \"name\": \"AMD Instinct MI210\", \"uuid\": \"GPU-0000000000000012\", "
      "\"architecture\": \"gfx90a\", \"driver_version\": 6030}\n";
  write("sys/class/kfd/kfd/topology/nodes/1/properties", "unique_id 18\ndrm_render_minor 128\n");
  write("sys/class/drm/renderD128/device/gpu_busy_percent", "50\n");
  CHECK(machine["GPU use"].detail == "other processes use it and disturb times: GPU 0 busy 50 %");
  // Whether this machine has another rocprof on its PATH, does not matter: this one comes first.
  write("rocm/bin/rocprofv3", "");
  CHECK(machine["profiler"].status == DoctorStatus::Ok);
  CHECK(machine["profiler"].detail == (root / "rocm/bin/rocprofv3").string());
  const auto hipcc = (root / "rocm/bin/hipcc").string();
  write("rocm/bin/hipcc", "");
  says[hipcc] = "HIP version: 7.0.51831-a3e329ad8\n";
  CHECK(machine["hipcc"].detail.find("7.0 (" + hipcc + "): newer than the runtime") == 0);
  says[hipcc] = "HIP version: 6.3.42131-fa1d09cbd\n";
  CHECK(machine["hipcc"].status == DoctorStatus::Ok);
  says.erase(hipcc);
  machine.processes.complains[hipcc] =
      "clang: error: cannot find ROCm device library; provide its path via '--rocm-path'\n";
  CHECK(machine["hipcc"].detail.find("it has no device libraries") != std::string::npos);
  CHECK(machine["hipcc"].remedy.find("rocm-device-libs") != std::string::npos);
}

TEST_CASE("how the memory of each GPU is shared is tried", "[bench][doctor]") {
  Examined machine;
  machine.options.installation = Installation{.sandbox = "/libexec/kgen-sandbox", .gpu_probe = "/libexec/kgen-gpu"};
  auto& says = machine.processes.says;
  says["/libexec/kgen-gpu"] =
      R"({"vendor": "nvidia", "name": "NVIDIA H200", "uuid": "GPU-1", "driver_version": 12080})";
  says["/libexec/kgen-gpu sharing"] = R"({"sharing": "ipc_handle"})";
  CHECK(machine["GPU memory"].status == DoctorStatus::Ok);
  CHECK(machine["GPU memory"].detail == "GPU 0: shared by ipc_handle");
  says["/libexec/kgen-gpu sharing"] = "nonsense";
  CHECK(machine["GPU memory"].status == DoctorStatus::Missing);
}

TEST_CASE("the compiler of hip candidates on the CPU is named", "[bench][doctor]") {
  Examined machine;
  machine.options.environment = {{"ROCM_PATH", (machine.directory.path() / "rocm").string()}, {"PATH", "/nowhere"}};
  const auto clang = machine.directory.path() / "rocm/llvm/bin/clang++";
  make_directories(clang.parent_path()).value();
  write_file_atomic(clang, "", {.mode = 0755}).value();
  machine.processes.complains[clang.string()] = "error: unknown type name '_Float16'";
  CHECK(machine["hip on the CPU"].status == DoctorStatus::Limited);
  machine.processes.complains.clear();
  machine.processes.says[clang.string()] = "";
  CHECK(machine["hip on the CPU"].status == DoctorStatus::Ok);
  CHECK(machine["hip on the CPU"].detail == clang.string());
}

TEST_CASE("a kgen-gpu that cannot be run is a finding", "[bench][doctor]") {
  Examined machine;
  CHECK(machine["GPU"].status == DoctorStatus::Limited);
  CHECK(machine["triton"].detail.find("on a CPU") != std::string::npos);
}

TEST_CASE("remedies are commands that exist where kgen is installed", "[bench][doctor]") {
  Examined machine;
  machine.processes.says["python3"] = "python 3.11.7\ntorch !No module named 'torch'\n";
  const auto prefix = machine.directory.path() / "prefix";
  machine.options.installation->worker = prefix / "bin/kgen";
  CHECK(machine["torch"].remedy ==
        "python3 -m venv ~/.kgen && ~/.kgen/bin/pip install torch triton && export KGEN_PYTHON=~/.kgen/bin/python");
  // A build tree inside the sources has their script.
  std::filesystem::create_directories(machine.directory.path() / "tools");
  std::ofstream(machine.directory.path() / "tools/setup.sh") << "";
  CHECK(machine["torch"].remedy.find((machine.directory.path() / "tools/setup.sh").string()) == 0);
}

namespace {

LLMClientFactory factory(ScriptedLLMClient::Answer answer, int* made = nullptr) {
  return [answer = std::move(answer), made](std::string_view) -> Result<std::unique_ptr<LLMClient>> {
    if (made != nullptr) ++*made;
    return std::unique_ptr<LLMClient>(std::make_unique<ScriptedLLMClient>(answer));
  };
}

}  // namespace

TEST_CASE("a model is asked once, with a short request", "[bench][doctor]") {
  std::vector<LLMRequest> requests;
  const auto answers = factory([&](const LLMRequest& request) -> Result<Reply> {
    requests.push_back(request);
    return Reply{.text = "ready", .usage = {12, 3, std::nullopt, std::nullopt}};
  });
  const auto found = examine_model("openai:some-model", answers, {}).value();
  CHECK(found.status == DoctorStatus::Ok);
  CHECK(found.detail.find("answered one short request in ") == 0);
  CHECK(found.detail.find(", 12 tokens in and 3 out") != std::string::npos);
  REQUIRE(requests.size() == 1);
  CHECK(requests.front().prompt.size() < 100);
}

TEST_CASE("a model that does not answer is missing, with what to check", "[bench][doctor]") {
  const std::pair<ErrorCode, const char*> cases[] = {{ErrorCode::PermissionDenied, "check the key"},
                                                     {ErrorCode::Unavailable, "check that the server runs"},
                                                     {ErrorCode::Timeout, "check that the server runs"}};
  for (const auto& [code, remedy] : cases) {
    const auto fails = factory([code = code](const LLMRequest&) -> Result<Reply> { return Error{code, "it failed"}; });
    const auto found = examine_model("openai:some-model", fails, {}).value();
    CHECK(found.status == DoctorStatus::Missing);
    CHECK(found.detail == "it failed");
    CHECK(found.remedy.find(remedy) == 0);
  }
  const auto cancelled = factory([](const LLMRequest&) -> Result<Reply> {
    return Error{ErrorCode::Cancelled, "cancelled"};
  });
  CHECK(examine_model("openai:some-model", cancelled, {}).error().code == ErrorCode::Cancelled);
  const auto unknown = [](std::string_view) -> Result<std::unique_ptr<LLMClient>> {
    return Error{ErrorCode::InvalidArgument, "a model is named by openai:MODEL"};
  };
  CHECK(examine_model("gpt", unknown, {}).value().detail == "a model is named by openai:MODEL");
}

TEST_CASE("a mailbox and a recording are looked at and not asked", "[bench][doctor]") {
  const auto directory = TemporaryDirectory::create(std::filesystem::temp_directory_path(), "doctor-").value();
  int made = 0;
  bool asked = false;
  const auto never = factory(
      [&](const LLMRequest&) {
        asked = true;
        return ScriptedLLMClient::reply("");
      },
      &made);
  const auto there = examine_model("mailbox:" + directory.path().string(), never, {}).value();
  CHECK(there.status == DoctorStatus::Ok);
  const auto missing = (directory.path() / "mail").string();
  const auto found = examine_model("mailbox:" + missing, never, {}).value();
  CHECK(found.status == DoctorStatus::Limited);
  CHECK(found.detail == missing + " does not exist");
  CHECK_FALSE(std::filesystem::exists(missing));
  CHECK(made == 0);
  CHECK(examine_model("replay:somewhere", never, {}).value().status == DoctorStatus::Ok);
  CHECK(made == 1);
  CHECK_FALSE(asked);
}

TEST_CASE("a spool is there, can be written, and is served, or the doctor says which is not so", "[bench][doctor]") {
  const auto directory = TemporaryDirectory::create(std::filesystem::temp_directory_path(), "doctor-").value();
  const auto path = directory.path().string();
  CHECK(examine_spool(path + "/none").status == DoctorStatus::Missing);
  CHECK(examine_spool(path + "/none").detail == path + "/none does not exist");
  std::ofstream(path + "/file") << "";
  CHECK(examine_spool(path + "/file").detail == path + "/file is no directory");
  std::ofstream(path + "/one.request.json") << "{}";
  auto found = examine_spool(path);
  CHECK(found.status == DoctorStatus::Limited);
  CHECK(found.detail == "no worker serves " + path + "; 1 waiting, 0 being judged");
  CHECK(found.remedy == "kgen worker --spool " + path + ", where the device is");
  std::ofstream(path + "/node7-1-ab.worker.json") << R"({"host": "node7", "pid": 1, "jobs": 2})";
  found = examine_spool(path);
  CHECK(found.status == DoctorStatus::Ok);
  CHECK(found.detail == "served by node7; 1 waiting, 0 being judged");
}
