#include "bench/process_tree.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "device/processors.hpp"
#include "exec/child.hpp"
#include "support/catch.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;

namespace {

/// A supervisor that runs `script` as its runner.
ChildProcess start(const std::string& script) {
  ChildRequest request;
  // The outer shell must not replace itself by the inner one.
  request.command = {"/bin/sh", "-c", "/bin/sh -c \"$1\" & wait; sleep 1000", "supervisor", script};
  request.environment = {{"PATH", "/usr/bin:/bin"}};
  return ChildProcess::spawn(request).value();
}

/// Looks until it holds, or a minute is over.
bool becomes_true(const std::function<bool()>& holds) {
  for (int i = 0; i < 6000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

pid_t runner_of(const ChildProcess& supervisor) {
  std::vector<pid_t> children;
  REQUIRE(becomes_true([&] { return (children = children_of(supervisor.pid())).size() == 1; }));
  return children.front();
}

}  // namespace

TEST_CASE("a runner that works alone has no helpers", "[bench][process_tree]") {
  const auto supervisor = start("while :; do :; done");
  const auto runner = runner_of(supervisor);
  CHECK(is_running(runner));
  std::this_thread::sleep_for(100ms);
  CHECK_FALSE(has_helpers(supervisor.pid(), runner));
  const auto found = processes_of(supervisor.pid(), runner);
  CHECK(found.helpers == 0);
  CHECK(found.helper_time == 0ns);
  CHECK(becomes_true([&] { return processes_of(supervisor.pid(), runner).processor_time > 0ns; }));
}

TEST_CASE("the work of a runner's helpers is seen while they run, at any depth", "[bench][process_tree]") {
  const auto supervisor = start("(/bin/sh -c 'while :; do :; done' & wait) & wait");
  const auto runner = runner_of(supervisor);
  CHECK(becomes_true([&] { return processes_of(supervisor.pid(), runner).helpers == 2; }));
  CHECK(has_helpers(supervisor.pid(), runner));
  const auto before = processes_of(supervisor.pid(), runner).helper_time;
  CHECK(becomes_true([&] { return processes_of(supervisor.pid(), runner).helper_time > before; }));
}

TEST_CASE("the work of helpers that have ended is not lost", "[bench][process_tree]") {
  const auto supervisor =
      start("/bin/sh -c 'i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done'; while :; do sleep 1000; done");
  const auto runner = runner_of(supervisor);
  const auto sleeps = [&] {
    const auto children = children_of(runner);
    std::string name;
    if (!children.empty()) std::ifstream("/proc/" + std::to_string(children.front()) + "/comm") >> name;
    return name == "sleep";
  };
  REQUIRE(becomes_true(sleeps));
  CHECK(processes_of(supervisor.pid(), runner).helper_time >= 50ms);
}

TEST_CASE("a process whose first thread has ended runs while another one does", "[bench][process_tree]") {
  ChildRequest request;
  request.command = {KERNELGEN_MISBEHAVE, "outlive"};
  const auto process = ChildProcess::spawn(request).value();
  const auto shows_zombie = [&] {
    std::ifstream file("/proc/" + std::to_string(process.pid()) + "/stat");
    std::string number, name, state;
    file >> number >> name >> state;
    return state == "Z";
  };
  REQUIRE(becomes_true(shows_zombie));
  CHECK(is_running(process.pid()));
}

TEST_CASE("a process is bound to as many processors as it may have threads", "[bench][process_tree]") {
  ChildRequest request;
  request.command = {KERNELGEN_MISBEHAVE, "sleep"};
  const auto process = ChildProcess::spawn(request).value();
  bind_to_processors(process.pid(), 1);
  cpu_set_t bound;
  REQUIRE(sched_getaffinity(process.pid(), sizeof bound, &bound) == 0);
  CHECK(CPU_COUNT(&bound) == 1);
  CHECK(processors_for(100'000) == 0);
}

TEST_CASE("waiting for a processor is told for each process", "[bench][process_tree]") {
  const auto one = start("while :; do :; done"), other = start("while :; do :; done");
  const auto process = runner_of(one), rival = runner_of(other);
  // Kernels without these statistics tell nothing.
  if (!std::ifstream(fmt::format("/proc/{}/schedstat", process)).good()) return;
  bind_to_processors(process, 1);
  bind_to_processors(rival, 1);
  const auto before = waiting_time_of(process);
  CHECK(becomes_true([&] { return waiting_time_of(process) - before > 100ms; }));
  CHECK(waiting_time_of_this_thread() > 0ns);
}

TEST_CASE("helpers that keep each other from a processor are seen to wait", "[bench][process_tree]") {
  const std::string spins = "/bin/sh -c 'while :; do :; done' & ";
  const auto supervisor = start(spins + spins + "wait");
  const auto runner = runner_of(supervisor);
  if (!std::ifstream(fmt::format("/proc/{}/schedstat", runner)).good()) return;
  REQUIRE(becomes_true([&] { return children_of(runner).size() == 2; }));
  for (const auto helper : children_of(runner)) bind_to_processors(helper, 1);
  CHECK(becomes_true([&] { return processes_of(supervisor.pid(), runner).waiting_time > 50ms; }));
}

TEST_CASE("a process that is gone has no children and does not run", "[bench][process_tree]") {
  constexpr pid_t k_no_process = 0x7FFFFFF0;
  CHECK(children_of(k_no_process).empty());
  CHECK_FALSE(is_running(k_no_process));
  CHECK(waiting_time_of(k_no_process) == 0ns);
  CHECK(processes_of(k_no_process, k_no_process).helpers == 0);
}
