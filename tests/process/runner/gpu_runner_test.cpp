/// The native runner with the driver of tests/support/fake_cuda.c, which LD_LIBRARY_PATH names.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <limits>

#include "apps/runner/gpu/gpu.h"
#include "driver.hpp"
#include "support/catch.hpp"

using namespace kgen_test;

namespace {

std::string device_uuid() {
  std::array<char, 256> error{};
  kgen_gpu_facts facts{};
  facts.struct_size = sizeof facts;
  REQUIRE(kgen_gpu_read_facts(0, &facts, error.data(), error.size()) == 0);
  return facts.uuid;
}

/// The judge's side: a device arena with x, w and a poisoned y; x and y in every slot.
class DeviceArena {
 public:
  explicit DeviceArena(int slots = 1) : slots_(slots) {
    std::array<char, 256> error{};
    gpu_ = kgen_gpu_open("", error.data(), error.size());
    REQUIRE(gpu_ != nullptr);
    void* address = nullptr;
    REQUIRE(kgen_gpu_allocate_shared(gpu_, static_cast<std::uint64_t>(slots) * k_slot_bytes, &address, &fd_) == 0);
    data_ = static_cast<char*>(address);
    for (int slot = 0; slot < slots; ++slot)
      for (std::size_t i = 0; i < k_count; ++i)
        Runner::x_of(place(slot))[i] = static_cast<float>(i + k_count * static_cast<std::size_t>(slot));
    std::fill_n(Runner::w_of(data_), k_count, 2.0F);
    poison();
  }
  ~DeviceArena() {
    kgen_gpu_close(gpu_);
    close(fd_);
  }
  DeviceArena(const DeviceArena&) = delete;
  DeviceArena& operator=(const DeviceArena&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] int slots() const { return slots_; }
  /// The first element of x.
  void put_first(float value) const { *Runner::x_of(data_) = value; }
  void poison() const {
    for (int slot = 0; slot < slots_; ++slot) std::memset(Runner::y_of(place(slot)), 0xFF, k_count * sizeof(float));
  }
  [[nodiscard]] bool holds_answer(int slot = 0) const {
    for (std::size_t i = 0; i < k_count; ++i)
      if (Runner::y_of(place(slot))[i] != 2.0F * Runner::x_of(place(slot))[i]) return false;
    return true;
  }

 private:
  [[nodiscard]] char* place(int slot) const { return data_ + static_cast<std::size_t>(slot) * k_slot_bytes; }

  int slots_;
  kgen_gpu* gpu_ = nullptr;
  char* data_ = nullptr;
  int fd_ = -1;
};

/// Loads and prepares a candidate on the device.
void make_ready(Runner& runner, const DeviceArena& arena, const std::string& candidate) {
  const auto loaded = runner.load(candidate, device_job_text(device_uuid(), arena.slots()), {arena.fd()});
  REQUIRE(loaded);
  INFO(text_of(*loaded));
  REQUIRE(loaded->status == KGEN_STATUS_OK);
  const auto prepared = runner.ask(KGEN_OP_PREPARE, {1});
  REQUIRE(prepared);
  INFO(text_of(*prepared));
  REQUIRE(prepared->status == KGEN_STATUS_OK);
}

LaunchOptions on_device() { return {.arguments = {"--gpu", device_uuid()}}; }

}  // namespace

TEST_CASE("a candidate works on device memory, and the device's clock is told", "[gpu][runner]") {
  const DeviceArena arena;
  Runner runner(on_device());
  make_ready(runner, arena, "correct");
  std::int64_t least_difference_ns = std::numeric_limits<std::int64_t>::max();
  for (const std::uint64_t flags : {0, 1, 0, 1, 0, 1}) {
    arena.poison();
    const auto ran = runner.ask(KGEN_OP_RUN, {1, 0, flags});
    REQUIRE(ran);
    INFO(text_of(*ran));
    REQUIRE(ran->status == KGEN_STATUS_OK);
    CHECK(arena.holds_answer());
    CHECK(ran->arg[3] > 0);
    least_difference_ns =
        std::min(least_difference_ns, static_cast<std::int64_t>(ran->arg[3]) - (ran->end_ns - ran->start_ns));
  }
  // The least of several, because others may run for milliseconds between two readings of a clock.
  CHECK(least_difference_ns <= 1'000'000);
  CHECK(runner.ask(KGEN_OP_DESTROY, {1})->status == KGEN_STATUS_OK);
}

TEST_CASE("what a candidate queues is replayed as a graph", "[gpu][runner]") {
  const DeviceArena arena;
  Runner runner(on_device());
  make_ready(runner, arena, "device_queued");
  for (int i = 0; i < 3; ++i) {
    arena.poison();
    const auto ran = runner.ask(KGEN_OP_RUN, {1, 0, KGEN_RUN_GRAPH});
    REQUIRE(ran);
    INFO(text_of(*ran));
    REQUIRE(ran->status == KGEN_STATUS_OK);
    CHECK(arena.holds_answer());
  }
}

TEST_CASE("the calls of a series are replayed as one graph", "[gpu][runner]") {
  const DeviceArena arena(3);
  Runner runner(on_device());
  make_ready(runner, arena, "device_queued");
  for (int i = 0; i < 3; ++i) {
    arena.poison();
    const auto ran = runner.ask(KGEN_OP_RUN, {1, 0, KGEN_RUN_GRAPH, 0, 3});
    REQUIRE(ran);
    INFO(text_of(*ran));
    REQUIRE(ran->status == KGEN_STATUS_OK);
    CHECK((arena.holds_answer(0) && arena.holds_answer(1) && arena.holds_answer(2)));
    // A single call has a graph of its own.
    arena.poison();
    REQUIRE(runner.ask(KGEN_OP_RUN, {1, 0, KGEN_RUN_GRAPH, 0, 1})->status == KGEN_STATUS_OK);
    CHECK((arena.holds_answer(0) && !arena.holds_answer(1)));
    // And so has a shorter series.
    arena.poison();
    REQUIRE(runner.ask(KGEN_OP_RUN, {1, 0, KGEN_RUN_GRAPH, 0, 2})->status == KGEN_STATUS_OK);
    CHECK((arena.holds_answer(0) && arena.holds_answer(1) && !arena.holds_answer(2)));
  }
}

TEST_CASE("on a device a series begins with the first slot, and is a graph", "[gpu][runner]") {
  const DeviceArena arena(3);
  Runner runner(on_device());
  make_ready(runner, arena, "device_queued");
  const auto status = [&](std::uint64_t flags, std::uint64_t first, std::uint64_t calls) {
    return runner.ask(KGEN_OP_RUN, {1, 0, flags, first, calls})->status;
  };
  CHECK(status(KGEN_RUN_GRAPH, 0, 4) == KGEN_STATUS_PROTOCOL);
  CHECK(status(KGEN_RUN_GRAPH, 1, 1) == KGEN_STATUS_PROTOCOL);
  CHECK(status(KGEN_RUN_GRAPH, 1, 2) == KGEN_STATUS_PROTOCOL);
  CHECK(status(0, 0, 3) == KGEN_STATUS_PROTOCOL);
  CHECK(status(0, 0, 1) == KGEN_STATUS_OK);
}

TEST_CASE("a series of nothing is rehearsed on a device", "[gpu][runner]") {
  const DeviceArena arena(3);
  Runner runner(on_device());
  const SharedMemory job(device_job_text(device_uuid(), 3));
  REQUIRE(runner.ask(KGEN_OP_JOB, {}, {job.fd(), arena.fd(), arena.fd()})->status == KGEN_STATUS_OK);
  CHECK(runner.ask(KGEN_OP_RUN, {0, 0, KGEN_RUN_GRAPH, 0, 3})->status == KGEN_STATUS_OK);
  CHECK_FALSE(arena.holds_answer());
}

TEST_CASE("the activities of a call on a device are collected", "[gpu][runner]") {
  const DeviceArena arena;
  Runner runner(on_device());
  make_ready(runner, arena, "device_queued");
  const auto examined = runner.ask(KGEN_OP_EXAMINE, {1, 0, 0});
  REQUIRE(examined);
  // The fake CUPTI does not start without activities; a verdict sets them: tests/cli/fake_gpu_test.py.
  CHECK(examined->status == KGEN_STATUS_FAILED);
  CHECK(text_of(*examined) == "CUPTI does not start (error 15)");
  CHECK(runner.ask(KGEN_OP_RUN, {1, 0, 0})->status == KGEN_STATUS_OK);
}

TEST_CASE("a device fault is told in the driver's words", "[gpu][runner]") {
  const DeviceArena arena;
  Runner runner(on_device());
  make_ready(runner, arena, "device_fault");
  const auto ran = runner.ask(KGEN_OP_RUN, {1, 0, 0});
  REQUIRE(ran);
  CHECK(ran->status == KGEN_STATUS_DEVICE_FAULT);
  CHECK(ran->detail == 700);
  CHECK(text_of(*ran).find("an illegal memory access was encountered") != std::string::npos);
}

TEST_CASE("what a kernel reports fails the call, and is told by its name", "[gpu][runner]") {
  const DeviceArena arena;
  Runner runner(on_device());
  make_ready(runner, arena, "reports");
  const auto run_with = [&](float first) {
    arena.put_first(first);
    const auto ran = runner.ask(KGEN_OP_RUN, {1, 0, 0});
    REQUIRE(ran);
    return *ran;
  };
  CHECK(run_with(0).status == KGEN_STATUS_OK);
  const auto named = run_with(2);
  CHECK(named.status == KGEN_STATUS_FAILED);
  CHECK(named.detail == 2);
  CHECK(text_of(named).starts_with("a kernel reported 'h_full' in block 37, "));
  CHECK(text_of(named).ends_with(" us after the call began"));
  // One report is told once.
  CHECK(run_with(0).status == KGEN_STATUS_OK);
  CHECK(text_of(run_with(3)).starts_with("a kernel reported code 3 in block 37, "));
  const auto fault = run_with(-1);
  CHECK(fault.status == KGEN_STATUS_DEVICE_FAULT);
  CHECK(fault.detail == 719);
  CHECK(text_of(fault).starts_with("a kernel reported 'input_ready' in block 37, "));
  CHECK(text_of(fault).ends_with(" us after the call began"));
}

namespace {

/// The reply to a call of the candidate that stands in for ROCm's runtime; see device_aborts.c.
kgen_reply aborted_call(const DeviceArena& arena, Runner& runner, float what) {
  arena.put_first(what);
  if (!runner.send(KGEN_OP_RUN, {1, 0, 0})) FAIL("the runner is gone");
  auto reply = runner.receive();
  REQUIRE(reply);
  return *reply;
}

kgen_reply aborted_call(float what) {
  const DeviceArena arena;
  Runner runner(on_device());
  make_ready(runner, arena, "device_aborts");
  return aborted_call(arena, runner, what);
}

}  // namespace

TEST_CASE("a fault of an AMD GPU is told with its page and the nearest tensor", "[gpu][runner]") {
  for (const float what : {1.0F, 2.0F}) {
    const auto crash = aborted_call(what);
    CHECK(crash.op == KGEN_OP_CRASH);
    CHECK(crash.status == KGEN_STATUS_DEVICE_FAULT);
    CHECK(crash.detail == SIGABRT);
    CHECK(crash.arg[0] % 4096 == 0);
    const auto text = text_of(crash);
    INFO(text);
    CHECK(text.starts_with("Memory access fault by GPU node-1 "));
    CHECK(text.find("Reason: Page not present or supervisor privilege. The page is at address 0x") != text.npos);
    CHECK(text.ends_with(" bytes past the end of output 'y'"));
  }
  CHECK(text_of(aborted_call(3)).ends_with("The page is at address 0x0, a null pointer"));
}

TEST_CASE("an exception and a hang of an AMD GPU are told without the prefix of a log", "[gpu][runner]") {
  const auto exception = aborted_call(4);
  CHECK(exception.status == KGEN_STATUS_DEVICE_FAULT);
  CHECK(text_of(exception) ==
        "HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a hardware exception. code: 0x1016");
  const auto hang = aborted_call(5);
  CHECK(hang.status == KGEN_STATUS_DEVICE_FAULT);
  CHECK(text_of(hang) == "HW Exception by GPU node-2 (Agent handle: 0x55cf74a379c0) reason :GPU Hang");
}

TEST_CASE("the text of a fault alone changes nothing", "[gpu][runner]") {
  const DeviceArena arena;
  Runner runner(on_device());
  make_ready(runner, arena, "device_aborts");
  const auto called = aborted_call(arena, runner, 6);
  CHECK(called.op == KGEN_OP_RUN);
  CHECK(called.status == KGEN_STATUS_OK);
  // What was printed in an earlier call is no reason of a later abort.
  const auto aborted = aborted_call(arena, runner, 8);
  CHECK(aborted.status == KGEN_STATUS_FAILED);
  CHECK(text_of(aborted) == "SIGABRT (abort was called)");
  const auto crashed = aborted_call(7);
  CHECK(crashed.status == KGEN_STATUS_FAILED);
  CHECK(text_of(crashed) == "SIGSEGV at address 0x0, a null pointer");
}

TEST_CASE("a log gets what a candidate on a device writes to standard error", "[gpu][runner]") {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  const DeviceArena arena;
  {
    Runner runner({.arguments = {"--gpu", device_uuid(), "--log", std::to_string(ends[1])}});
    make_ready(runner, arena, "device_aborts");
    CHECK(aborted_call(arena, runner, 5).status == KGEN_STATUS_DEVICE_FAULT);
  }
  std::array<char, 256> text{};
  REQUIRE(read(ends[0], text.data(), text.size()) > 0);
  CHECK(std::string(text.data()).starts_with("HW Exception by GPU node-2"));
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("work beside the stream is told", "[gpu][runner]") {
  const DeviceArena arena;
  Runner runner(on_device());
  make_ready(runner, arena, "device_late");
  const auto ran = runner.ask(KGEN_OP_RUN, {1, 0, 0});
  REQUIRE(ran);
  REQUIRE(ran->status == KGEN_STATUS_OK);
  CHECK(ran->arg[1] >= 5'000'000);
}

TEST_CASE("a candidate makes no further context, whose work no clock would see", "[gpu][runner]") {
  const DeviceArena arena;
  Runner runner(on_device());
  make_ready(runner, arena, "device_context");
  const auto ran = runner.ask(KGEN_OP_RUN, {1, 0, 0});
  REQUIRE(ran);
  INFO(text_of(*ran));
  CHECK(ran->status == KGEN_STATUS_OK);
}

TEST_CASE("a candidate that fails while it is captured can still be called", "[gpu][runner]") {
  const DeviceArena arena;
  Runner runner(on_device());
  make_ready(runner, arena, "fails_with_text");
  const auto captured = runner.ask(KGEN_OP_RUN, {1, 0, KGEN_RUN_GRAPH});
  REQUIRE(captured);
  CHECK(captured->status == KGEN_STATUS_NOT_CAPTURABLE);
  const auto called = runner.ask(KGEN_OP_RUN, {1, 0, 0});
  REQUIRE(called);
  CHECK(called->status == KGEN_STATUS_FAILED);
  CHECK(text_of(*called) == text_of(*captured));
}

TEST_CASE("a device that is not there is told in HELLO", "[gpu][runner]") {
  Runner runner({.arguments = {"--gpu", "GPU-none"}});
  CHECK(runner.hello().status == KGEN_STATUS_DEVICE_FAULT);
  CHECK(text_of(runner.hello()) == "there is no GPU GPU-none");
}

TEST_CASE("a job for another device is refused", "[gpu][runner]") {
  const DeviceArena arena;
  Runner with(on_device());
  CHECK(with.load("correct", job_text(), {arena.fd()})->status == KGEN_STATUS_PROTOCOL);
  Runner without;
  CHECK(without.load("correct", device_job_text(device_uuid()), {})->status == KGEN_STATUS_PROTOCOL);
}
