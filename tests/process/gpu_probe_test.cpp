/// kgen-gpu with the driver of tests/support/fake_cuda.c, and without a driver.
#include <filesystem>

#include <kernelgen/device/gpu.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

struct Probe {
  std::unique_ptr<ProcessRunner> runner = make_process_runner();
  GpuProbeOptions options{.program = KERNELGEN_GPU_PROBE, .environment = {{"LD_LIBRARY_PATH", KERNELGEN_FAKE_CUDA}}};

  ProcessOutcome start(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), KERNELGEN_GPU_PROBE);
    return runner->run({.command = std::move(arguments), .environment = options.environment}, {}).value();
  }
};

}  // namespace

TEST_CASE("kgen-gpu tells the facts of the driver", "[gpu][probe]") {
  Probe probe;
  const auto reading = read_gpus(probe.options, {}, *probe.runner, {}).value();
  REQUIRE(reading.gpus.size() == 1);
  const auto& gpu = reading.gpus.front();
  CHECK(gpu.vendor == "fake");
  CHECK(gpu.name == "Fake GPU");
  CHECK(gpu.uuid == "GPU-fafafafa-fafa-fafa-fafa-fafafafafafa");
  CHECK(gpu.architecture == "sm_90");
  CHECK(gpu.driver_version == 13000);
  CHECK(gpu.multiprocessors == 4);
  CHECK(gpu.warp_threads == 32);
  CHECK(gpu.threads_per_block == 1024);
  CHECK(gpu.threads_per_multiprocessor == 2048);
  CHECK(gpu.registers_per_block == 65536);
  CHECK(gpu.registers_per_multiprocessor == 65536);
  CHECK(gpu.clock_khz == 1'000'000);
  CHECK(gpu.memory_clock_khz == 1'000'000);
  CHECK(gpu.memory_bus_bits == 128);
  CHECK(gpu.shared_bytes_per_block == 49152);
  CHECK(gpu.shared_bytes_per_block_optin == 101376);
  CHECK(gpu.shared_bytes_per_multiprocessor == 102400);
  CHECK(gpu.l2_bytes == 1u << 20);
  CHECK(gpu.memory_bytes == std::uint64_t{4} << 30);
  CHECK(gpu.cooperative_launch);
  CHECK(gpu.memory_bytes_per_second == 32e9);
}

TEST_CASE("a device with a hostile name is still JSON", "[gpu][probe]") {
  Probe probe;
  probe.options.environment["KGEN_FAKE_CUDA_NAME"] = "a \"quoted\\\" name,\n\x01 \xff";
  const auto reading = read_gpus(probe.options, {}, *probe.runner, {}).value();
  CHECK(reading.gpus.at(0).name == "a \"quoted\\\" name,\n\x01 \xef\xbf\xbd");
}

TEST_CASE("GPUs of two makers in one machine are counted on, and each is found by its maker", "[gpu][probe]") {
  Probe probe;
  probe.options.environment["KGEN_HIP_LIBRARY"] = KERNELGEN_FAKE_HIP;
  const auto reading = read_gpus(probe.options, {}, *probe.runner, {}).value();
  REQUIRE(reading.gpus.size() == 2);
  CHECK(reading.gpus[0].vendor == "fake");
  CHECK(reading.gpus[1].vendor == "amd");
  CHECK(reading.gpus[1].index == 1);
  CHECK(reading.gpus[1].to_line() == "AMD Instinct MI210 (stand-in) (gfx90a), 104 CUs, 64 GiB");
  CHECK(choose_gpu(reading, {}, "amd:0").value().uuid == "GPU-5d1ce9a3b2f40617");
  CHECK(gpus_for(reading, "amd").gpus.size() == 2);
  CHECK(measure_gpu_bandwidth(reading.gpus[1], probe.options, *probe.runner, {}).value() > 1e6);
}

TEST_CASE("an integrated GPU is told, and chosen after the others", "[gpu][probe]") {
  Probe probe;
  probe.options.environment = {{"KGEN_HIP_LIBRARY", KERNELGEN_FAKE_HIP}, {"KGEN_FAKE_HIP_INTEGRATED", "1"}};
  const auto reading = read_gpus(probe.options, {}, *probe.runner, {}).value();
  REQUIRE(reading.gpus.back().vendor == "amd");
  CHECK(reading.gpus.back().integrated);
  probe.options.environment.erase("KGEN_FAKE_HIP_INTEGRATED");
  CHECK_FALSE(read_gpus(probe.options, {}, *probe.runner, {}).value().gpus.back().integrated);
}

TEST_CASE("AMD GPUs without a number of their own are told apart by their place on the bus", "[gpu][probe]") {
  Probe probe;
  probe.options.environment = {{"KGEN_HIP_LIBRARY", KERNELGEN_FAKE_HIP}, {"KGEN_FAKE_HIP_UUID", "0000000000000000"}};
  const auto reading = read_gpus(probe.options, {}, *probe.runner, {}).value();
  const auto& gpu = reading.gpus.back();
  CHECK(gpu.uuid == "PCI-0000:83:00");
  for (const auto& asked : {std::string("amd:0"), std::string("PCI-0000:83"), std::to_string(gpu.index)})
    CHECK(choose_gpu(reading, {}, asked).value().uuid == gpu.uuid);
}

TEST_CASE("an AMD driver that does not start is told where there is no other", "[gpu][probe]") {
  Probe probe;
  const auto directory = TemporaryDirectory::create(fs::temp_directory_path(), "driver-").value();
  write_file_atomic(directory.path() / "libcuda.so.1", "no library").value();
  probe.options.environment = {{"LD_LIBRARY_PATH", directory.path().string()},
                               {"KGEN_HIP_LIBRARY", KERNELGEN_FAKE_HIP},
                               {"KGEN_FAKE_HIP_STARTS", "100"},
                               {"HIP_VISIBLE_DEVICES", "9"}};
  const auto reason = read_gpus(probe.options, {}, *probe.runner, {}).value().reason;
  CHECK(reason.find("ROCm does not start: no ROCm-capable device is detected (100)") == 0);
  CHECK(reason.find("HIP_VISIBLE_DEVICES is '9': unset it") != std::string::npos);
  probe.options.environment["KGEN_HIP_LIBRARY"] = (directory.path() / "libcuda.so.1").string();
  CHECK(read_gpus(probe.options, {}, *probe.runner, {}).value().reason.find("there is no GPU driver") == 0);
}

TEST_CASE("kgen-gpu measures the bandwidth of a device", "[gpu][probe]") {
  Probe probe;
  const auto gpu = read_gpus(probe.options, {}, *probe.runner, {}).value().gpus.at(0);
  CHECK(measure_gpu_bandwidth(gpu, probe.options, *probe.runner, {}).value() > 1e6);
  GpuFacts other = gpu;
  other.uuid = "GPU-none";
  CHECK(measure_gpu_bandwidth(other, probe.options, *probe.runner, {}).error().message ==
        "cannot measure the bandwidth of Fake GPU: there is no GPU GPU-none");
}

TEST_CASE("a machine without a driver is told from one that does not work", "[gpu][probe]") {
  Probe probe;
  // The loader finds a file that is no library, which counts as no driver, also on a machine with a real one.
  const auto directory = TemporaryDirectory::create(fs::temp_directory_path(), "driver-").value();
  write_file_atomic(directory.path() / "libcuda.so.1", "no library").value();
  probe.options.environment["LD_LIBRARY_PATH"] = directory.path().string();
  const auto reading = read_gpus(probe.options, {}, *probe.runner, {}).value();
  CHECK(reading.gpus.empty());
  CHECK(reading.reason == "there is no GPU driver (libcuda.so.1 or libamdhip64.so) on this machine");
  probe.options.program = "/nonexistent/kgen-gpu";
  CHECK(read_gpus(probe.options, {}, *probe.runner, {}).error().code == ErrorCode::MissingTool);
}

TEST_CASE("a driver that shows no device says what may hide it", "[gpu][probe]") {
  Probe probe;
  probe.options.environment["KGEN_FAKE_CUDA_STARTS"] = "100";
  const auto why = [&] { return read_gpus(probe.options, {}, *probe.runner, {}).value().reason; };
  const std::string plain = "the CUDA driver does not start: no CUDA-capable device is detected (100)";
  CHECK(why() == plain);
  for (const std::string hidden : {"", "9"}) {
    probe.options.environment["CUDA_VISIBLE_DEVICES"] = hidden;
    CHECK(why() == plain + ", and CUDA_VISIBLE_DEVICES is '" + hidden + "': unset it, or name devices that are there");
  }
}

TEST_CASE("a device that serves one process at a time is an error that says how to change that", "[gpu][probe]") {
  Probe probe;
  const auto gpu = read_gpus(probe.options, {}, *probe.runner, {}).value().gpus.at(0);
  probe.options.environment["KGEN_FAKE_CUDA_CONTEXT"] = "46";
  const auto refused = measure_gpu_bandwidth(gpu, probe.options, *probe.runner, {});
  CHECK(refused.error().code == ErrorCode::MissingDevice);
  CHECK(refused.error().message ==
        "cannot measure the bandwidth of Fake GPU: starting the device: CUDA-capable device(s) is/are busy or "
        "unavailable (46); if it is in exclusive mode: sudo nvidia-smi -c DEFAULT");
}

TEST_CASE("kgen-gpu tries how processes share memory of a device", "[gpu][probe]") {
  Probe probe;
  const auto gpu = read_gpus(probe.options, {}, *probe.runner, {}).value().gpus.at(0);
  const auto found = [&] { return find_memory_sharing(gpu, probe.options, *probe.runner, {}); };
  CHECK(found().value() == "virtual_memory");
  // It is not known of a device that serves one process at a time, or has no memory left.
  probe.options.environment["KGEN_FAKE_CUDA_CONTEXT"] = "46";
  CHECK(found().value().empty());
  probe.options.environment.erase("KGEN_FAKE_CUDA_CONTEXT");
  probe.options.environment["KGEN_FAKE_CUDA_HELD"] = "4294967296";
  CHECK(found().value().empty());
}

TEST_CASE("kgen-gpu explains its command line", "[gpu][probe]") {
  Probe probe;
  for (const auto& arguments :
       {std::vector<std::string>{}, {"fact"}, {"facts", "more"}, {"bandwidth"}, {"bandwidth", ""}, {"sharing", ""}}) {
    const auto outcome = probe.start(arguments);
    CHECK(outcome.exit_code == 64);
    CHECK(outcome.standard_output.empty());
    CHECK(outcome.standard_error.find("usage: kgen-gpu facts") == 0);
  }
}
