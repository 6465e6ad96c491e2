/// gpu.h with the HIP of tests/support/fake_hip.c, which KGEN_HIP_LIBRARY names: that of ROCm 5, 6 and 7.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "apps/runner/gpu/gpu.h"
#include "support/catch.hpp"

namespace {

struct Close {
  void operator()(kgen_gpu* gpu) const { kgen_gpu_close(gpu); }
};
using Gpu = std::unique_ptr<kgen_gpu, Close>;

Gpu open_gpu() {
  std::array<char, 256> error{};
  Gpu gpu(kgen_gpu_open(nullptr, error.data(), error.size()));
  INFO(error.data());
  REQUIRE(gpu);
  return gpu;
}

kgen_gpu_facts read_facts() {
  std::array<char, 256> error{};
  kgen_gpu_facts facts{};
  facts.struct_size = sizeof facts;
  INFO(error.data());
  REQUIRE(kgen_gpu_read_facts(0, &facts, error.data(), error.size()) == 0);
  return facts;
}

bool is_rocm(int version) {
  return std::string(std::getenv("KGEN_HIP_LIBRARY")).find("fake_hip_" + std::to_string(version)) != std::string::npos;
}

constexpr std::uint64_t k_shared_bytes = 100'000;

/// Shares memory with a forked process, which reads and writes it.
void share_memory(kgen_gpu* gpu) {
  void* address = nullptr;
  int fd = -1;
  REQUIRE(kgen_gpu_allocate_shared(gpu, k_shared_bytes, &address, &fd) == 0);
  std::memset(address, 1, k_shared_bytes);
  const pid_t child = fork();
  if (child == 0) {
    void* theirs = nullptr;
    const bool opened = kgen_gpu_import_shared(gpu, fd, k_shared_bytes, &theirs) == 0 && theirs != address;
    auto* last = static_cast<unsigned char*>(theirs) + k_shared_bytes - 1;
    const bool read = opened && *last == 1;
    if (opened) *last = 7;
    _exit(read && kgen_gpu_free_shared(gpu, theirs) == 0 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  unsigned char last = 0;
  CHECK(kgen_gpu_read(gpu, &last, static_cast<unsigned char*>(address) + k_shared_bytes - 1, 1) == 0);
  CHECK(last == 7);
  CHECK(kgen_gpu_free_shared(gpu, address) == 0);
  CHECK(kgen_gpu_free_shared(gpu, address) != 0);
  close(fd);
}

}  // namespace

TEST_CASE("hip: facts come from the driver, whatever its version", "[hip]") {
  const auto facts = read_facts();
  CHECK(std::string(facts.vendor) == "amd");
  CHECK(std::string(facts.name) == "AMD Instinct MI210 (stand-in)");
  CHECK(std::string(facts.uuid) == "GPU-5d1ce9a3b2f40617");
  CHECK(std::string(facts.architecture) == "gfx90a");
  CHECK(facts.driver_version == (is_rocm(5) ? 5020 : is_rocm(6) ? 6030 : 7010));
  CHECK(facts.multiprocessors == 104);
  CHECK(facts.warp_threads == 64);
  CHECK(facts.threads_per_block == 1024);
  CHECK(facts.registers_per_multiprocessor == 131072);
  CHECK(facts.shared_bytes_per_block == 65536);
  CHECK(facts.shared_bytes_per_block_optin == 65536);
  CHECK(facts.l2_bytes == 8U << 20);
  CHECK(facts.memory_bytes == std::uint64_t{64} << 30);
  CHECK(facts.cooperative_launch == 1);
}

TEST_CASE("hip: a device without a number of its own is known by its place on the bus", "[hip]") {
  for (const char* none : {"0000000000000000", "XX\0\0\0\0\0\0\0\0\0\0\0\0\0\0"}) {
    setenv("KGEN_FAKE_HIP_UUID", none, 1);
    CHECK(std::string(read_facts().uuid) == "PCI-0000:83:00");
  }
  unsetenv("KGEN_FAKE_HIP_UUID");
}

TEST_CASE("hip: a device is opened by its UUID, and others are not there", "[hip]") {
  std::array<char, 256> error{};
  CHECK(Gpu(kgen_gpu_open("GPU-5d1ce9a3b2f40617", error.data(), error.size())));
  CHECK(kgen_gpu_open("GPU-none", error.data(), error.size()) == nullptr);
  CHECK(std::string(error.data()) == "there is no GPU GPU-none");
}

TEST_CASE("hip: another process opens shared memory in each way that the device has", "[hip]") {
  const Gpu gpu = open_gpu();
  for (const char* way : {"", "virtual_memory", "ipc_handle"}) {
    INFO(way);
    REQUIRE(kgen_gpu_choose_sharing(gpu.get(), way) == 0);
    if (std::string(way) != "virtual_memory" || is_rocm(7)) share_memory(gpu.get());
  }
}

TEST_CASE("hip: a chosen way of sharing memory has no fallback", "[hip]") {
  const Gpu gpu = open_gpu();
  void* address = nullptr;
  int fd = -1;
  CHECK(kgen_gpu_choose_sharing(gpu.get(), "magic") == 1);
  CHECK(std::string(kgen_gpu_error(gpu.get())) == "memory is not shared by 'magic'");
  REQUIRE(kgen_gpu_choose_sharing(gpu.get(), "virtual_memory") == 0);
  setenv("KGEN_FAKE_HIP_REFUSES", "export", 1);
  CHECK(kgen_gpu_allocate_shared(gpu.get(), k_shared_bytes, &address, &fd) != 0);
  const std::string error = kgen_gpu_error(gpu.get());
  CHECK(error == (is_rocm(5)   ? "sharing memory: a fake error (801)"
                  : is_rocm(6) ? "allocating shared memory: a fake error (801)"
                               : "exporting shared memory: a fake error (1)"));
  unsetenv("KGEN_FAKE_HIP_REFUSES");
}

TEST_CASE("hip: a descriptor that is none of shared memory is refused", "[hip]") {
  const Gpu gpu = open_gpu();
  void* address = nullptr;
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  CHECK(kgen_gpu_import_shared(gpu.get(), ends[0], 4096, &address) != 0);
  CHECK(std::string(kgen_gpu_error(gpu.get())).find("importing shared memory") == 0);
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("hip: more memory than there is gets a reason", "[hip]") {
  const Gpu gpu = open_gpu();
  void* address = nullptr;
  int fd = -1;
  CHECK(kgen_gpu_allocate_shared(gpu.get(), std::uint64_t{1} << 40, &address, &fd) != 0);
  CHECK(std::string(kgen_gpu_error(gpu.get())) == "allocating shared memory: out of memory (2)");
}

TEST_CASE("hip: what is flushed before a call is larger than L2 and the Infinity Cache behind it", "[hip]") {
  constexpr std::size_t k_l2_bytes = 8U << 20;
  void* library = dlopen(std::getenv("KGEN_HIP_LIBRARY"), RTLD_NOW);
  REQUIRE(library != nullptr);
  auto* filled = static_cast<std::size_t*>(dlsym(library, "kgen_fake_hip_filled"));
  REQUIRE(filled != nullptr);
  const auto flushed_on = [&](const char* architecture) {
    setenv("KGEN_FAKE_HIP_ARCHITECTURE", architecture, 1);
    *filled = 0;
    const Gpu gpu = open_gpu();
    REQUIRE(kgen_gpu_begin_call(gpu.get(), kgen_gpu_stream(gpu.get())) == 0);
    unsetenv("KGEN_FAKE_HIP_ARCHITECTURE");
    return *filled;
  };
  CHECK(flushed_on("gfx90a") >= 2 * k_l2_bytes);
  CHECK(flushed_on("gfx1151") >= k_l2_bytes + (32U << 20));
  CHECK(flushed_on("gfx1100") >= k_l2_bytes + (96U << 20));
}

TEST_CASE("hip: a call is timed, and what is captured runs when it is replayed", "[hip]") {
  const Gpu gpu = open_gpu();
  void* stream = kgen_gpu_stream(gpu.get());
  void* memory = nullptr;
  void* graph = nullptr;
  kgen_gpu_call call{};
  REQUIRE(kgen_gpu_allocate(gpu.get(), 16, &memory) == 0);
  REQUIRE(kgen_gpu_fill(gpu.get(), memory, 1, 16, stream) == 0);
  REQUIRE(kgen_gpu_begin_capture(gpu.get(), stream) == 0);
  REQUIRE(kgen_gpu_fill(gpu.get(), memory, 2, 16, stream) == 0);
  REQUIRE(kgen_gpu_end_capture(gpu.get(), stream, &graph) == 0);
  CHECK(*static_cast<char*>(memory) == 1);
  REQUIRE(kgen_gpu_begin_replay(gpu.get(), stream) == 0);
  REQUIRE(kgen_gpu_replay(gpu.get(), graph, stream) == 0);
  usleep(2000);
  REQUIRE(kgen_gpu_end_call(gpu.get(), stream, &call) == 0);
  CHECK(*static_cast<char*>(memory) == 2);
  // Its driver has no events inside of graphs, so the replay is timed from outside.
  CHECK(call.device_ns >= 1'900'000);
  kgen_gpu_free_graph(gpu.get(), graph);
  CHECK(kgen_gpu_free(gpu.get(), memory) == 0);
}
