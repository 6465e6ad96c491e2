#include <filesystem>

#include <kernelgen/device/gpu.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

/// A kgen-gpu with one answer.
class SharingProbe final : public ProcessRunner {
 public:
  Result<ProcessOutcome> run(const ProcessRequest& request, std::stop_token) override {
    requests.push_back(request);
    return answer;
  }

  void say(std::string text) {
    answer = ProcessOutcome{};
    answer.exit_code = 0;
    answer.standard_output = std::move(text);
  }
  void complain(int exit_code, std::string text) {
    answer = ProcessOutcome{};
    answer.exit_code = exit_code;
    answer.standard_error = std::move(text);
  }

  ProcessOutcome answer;
  std::vector<ProcessRequest> requests;
};

struct SharingMachine {
  SharingMachine() {
    gpu.vendor = "amd";
    gpu.name = "AMD Instinct MI210";
    gpu.uuid = "GPU-5d1ce9a3b2f40617";
    gpu.driver_version = 7010;
    probe.say(
        "{\"refused\": \"virtual_memory: importing shared memory: invalid argument (1)\", \"sharing\": "
        "\"ipc_handle\"}\n");
  }
  Result<std::string> find() { return find_memory_sharing(gpu, options, probe, {}); }

  SharingProbe probe;
  GpuFacts gpu;
  TemporaryDirectory directory = TemporaryDirectory::create(fs::temp_directory_path(), "sharing-").value();
  GpuProbeOptions options{.program = "/libexec/kgen-gpu", .environment = {}, .cache_dir = directory.path() / "cache"};
};

}  // namespace

TEST_CASE("sharing of memory is tried once for a device and its driver", "[device][sharing]") {
  SharingMachine machine;
  CHECK(machine.find().value() == "ipc_handle");
  const auto& command = machine.probe.requests.at(0).command;
  CHECK(std::vector(command.begin(), command.begin() + 4) ==
        std::vector<std::string>{"/libexec/kgen-gpu", "sharing", "GPU-5d1ce9a3b2f40617", "ROCR_VISIBLE_DEVICES"});
  CHECK(machine.find().value() == "ipc_handle");
  CHECK(machine.probe.requests.size() == 1);
  machine.gpu.driver_version = 7020;
  machine.probe.say("{\"refused\": \"\", \"sharing\": \"virtual_memory\"}\n");
  CHECK(machine.find().value() == "virtual_memory");
  CHECK(machine.probe.requests.size() == 2);
  machine.options.cache_dir.clear();
  CHECK(machine.find().value() == "virtual_memory");
  CHECK(machine.probe.requests.size() == 3);
}

TEST_CASE("sharing that was tried elsewhere or cannot be read is tried again", "[device][sharing]") {
  SharingMachine machine;
  REQUIRE(machine.find());
  const auto file = fs::directory_iterator(machine.options.cache_dir / "devices")->path();
  const auto kept = read_file(file, 4096).value();
  const auto with = [&](const std::string& from, const std::string& to) {
    auto text = kept;
    return text.replace(text.find(from), from.size(), to);
  };
  for (const auto& text : {std::string(), std::string("{}"), with("pid:[", "pid:[7"), with("ipc_handle", "magic"),
                           with("5d1ce9a3b2f40617", "other")}) {
    INFO(text);
    write_file_atomic(file, text).value();
    const auto before = machine.probe.requests.size();
    CHECK(machine.find().value() == "ipc_handle");
    CHECK(machine.probe.requests.size() == before + 1);
  }
}

TEST_CASE("where no way of sharing works, the line of kgen-gpu is the error", "[device][sharing]") {
  SharingMachine machine;
  machine.probe.complain(69, "kgen-gpu: no way of sharing its memory works (a; b); install ROCm 7.1 or newer\n");
  const auto refused = machine.find();
  CHECK(refused.error().code == ErrorCode::MissingDevice);
  CHECK(refused.error().message ==
        "cannot use AMD Instinct MI210: no way of sharing its memory works (a; b); install ROCm 7.1 or newer");
  CHECK_FALSE(fs::exists(machine.options.cache_dir));
}

TEST_CASE("sharing that cannot be tried now is unknown, and tried again later", "[device][sharing]") {
  SharingMachine machine;
  machine.probe.complain(75, "kgen-gpu: virtual_memory: allocating memory: out of memory (2)\n");
  CHECK(machine.find().value().empty());
  CHECK_FALSE(fs::exists(machine.options.cache_dir));
}

TEST_CASE("a kgen-gpu that cannot try sharing is an error", "[device][sharing]") {
  SharingMachine machine;
  machine.probe.complain(64, "usage: kgen-gpu facts\n");
  CHECK(machine.find().error().code == ErrorCode::Unavailable);
  for (const auto* nonsense : {"", "{}", "{\"sharing\": \"magic\"}"}) {
    machine.probe.say(nonsense);
    INFO(nonsense);
    CHECK(machine.find().error().code == ErrorCode::Protocol);
  }
}
