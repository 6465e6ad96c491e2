#include <filesystem>
#include <map>
#include <string>

#include <kernelgen/device/cpu.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

using Files = std::map<std::string, std::string>;

/// A root directory with the given files in it.
class CpuMachine {
 public:
  explicit CpuMachine(const Files& files)
      : directory_(TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-test-").value()) {
    for (const auto& [name, text] : files) {
      const fs::path path = directory_.path() / name;
      make_directories(path.parent_path()).value();
      write_file_atomic(path, text).value();
    }
  }
  [[nodiscard]] std::string path() const { return directory_.path().string(); }
  [[nodiscard]] CpuFacts facts() const { return read_cpu_facts({.root = directory_.path().string()}).value(); }

 private:
  TemporaryDirectory directory_;
};

const std::map<std::string, std::string> k_workstation{
    {"proc/cpuinfo",
     "processor\t: 0\nmodel name\t: Some CPU  3000\nflags\t\t: fpu avx2 sse\n\n"
     "processor\t: 1\nmodel name\t: Some CPU  3000\nflags\t\t: fpu avx2 sse\n"},
    {"proc/self/status", "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t2-7,9\n"},
    {"proc/meminfo", "MemTotal:       16000000 kB\nMemFree: 1 kB\n"},
    {"proc/self/cgroup", "0::/user.slice/job\n"},
    {"sys/devices/system/cpu/cpu2/cache/index0/level", "1\n"},
    {"sys/devices/system/cpu/cpu2/cache/index0/type", "Data\n"},
    {"sys/devices/system/cpu/cpu2/cache/index0/size", "32K\n"},
    {"sys/devices/system/cpu/cpu2/cache/index0/shared_cpu_list", "2,10\n"},
    {"sys/devices/system/cpu/cpu2/cache/index1/level", "3\n"},
    {"sys/devices/system/cpu/cpu2/cache/index1/type", "Unified\n"},
    {"sys/devices/system/cpu/cpu2/cache/index1/size", "32M\n"},
    {"sys/devices/system/cpu/cpu2/cache/index1/shared_cpu_list", "0-15\n"},
};

std::map<std::string, std::string> with(std::map<std::string, std::string> files,
                                        const std::map<std::string, std::string>& more) {
  for (const auto& [name, text] : more) files[name] = text;
  return files;
}

}  // namespace

TEST_CASE("a workstation without limits", "[device][cpu]") {
  const auto facts = CpuMachine(k_workstation).facts();
  CHECK(facts.model == "Some CPU 3000");
  CHECK(facts.allowed_cores == 7);
  CHECK(facts.usable_cores == 7);
  CHECK_FALSE(facts.quota_cores);
  CHECK(facts.memory_bytes == 16'000'000ull * 1024);
  REQUIRE(facts.caches.size() == 2);
  CHECK(facts.caches[0] == CpuCache{1, "Data", 32768, 2});
  CHECK(facts.caches[1] == CpuCache{3, "Unified", 32u << 20, 16});
  CHECK(facts.to_line() == "cpu: Some CPU 3000, 7 cores");
}

TEST_CASE("a cgroup v2 quota counts wherever it stands above us", "[device][cpu]") {
  const auto facts = CpuMachine(with(k_workstation, {{"sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n"},
                                                     {"sys/fs/cgroup/user.slice/cpu.max", "250000 100000\n"},
                                                     {"sys/fs/cgroup/user.slice/memory.max", "1000000\n"},
                                                     {"sys/fs/cgroup/user.slice/job/memory.max", "max\n"}}))
                         .facts();
  CHECK(facts.quota_cores == 2.5);
  CHECK(facts.usable_cores == 2);
  CHECK(facts.allowed_cores == 7);
  CHECK(facts.memory_bytes == 1'000'000);
}

TEST_CASE("a quota below one core is one core", "[device][cpu]") {
  CHECK(CpuMachine(with(k_workstation, {{"sys/fs/cgroup/cpu.max", "50000 100000"}})).facts().usable_cores == 1);
}

TEST_CASE("cgroup v1, with only our own part mounted", "[device][cpu]") {
  const auto facts = CpuMachine(with(k_workstation, {{"proc/self/cgroup", "4:memory:/a/b\n2:cpu,cpuacct:/a/b\n0::/\n"},
                                                     {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n"},
                                                     {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"},
                                                     {"sys/fs/cgroup/memory/memory.limit_in_bytes", "2000000\n"}}))
                         .facts();
  CHECK(facts.usable_cores == 3);
  CHECK(facts.memory_bytes == 2'000'000);
  const auto unlimited = CpuMachine(with(k_workstation, {{"proc/self/cgroup", "2:cpu:/\n"},
                                                         {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
                                                         {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}}))
                             .facts();
  CHECK(unlimited.usable_cores == 7);
}

TEST_CASE("an ARM machine that names no model", "[device][cpu]") {
  const auto facts =
      CpuMachine(Files{{"proc/cpuinfo",
                        "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n\n"
                        "processor\t: 1\nFeatures\t: fp asimd\n"}})
          .facts();
  CHECK(facts.model == "ARM implementer 0x41 part 0xd0c");
  CHECK(facts.allowed_cores == 2);
  CHECK(facts.caches.empty());
  CHECK(facts.memory_bytes == 0);
}

TEST_CASE("cores and hardware threads are told apart", "[device][cpu]") {
  auto files = k_workstation;
  CHECK(CpuMachine(files).facts().physical_cores == 0);
  for (const auto& [thread, siblings] : std::map<std::string, std::string>{
           {"2", "2,10"}, {"3", "3,11"}, {"4", "4-5"}, {"5", "4-5"}, {"6", "6,14"}, {"7", "7,15"}}) {
    files["sys/devices/system/cpu/cpu" + thread + "/topology/thread_siblings_list"] = siblings + "\n";
    // Hardware thread 9 is still unknown.
    CHECK(CpuMachine(files).facts().physical_cores == 0);
  }
  files["sys/devices/system/cpu/cpu9/topology/thread_siblings_list"] = "9\n";
  CHECK(CpuMachine(files).facts().allowed_cores == 7);
  CHECK(CpuMachine(files).facts().physical_cores == 6);
}

TEST_CASE("the clock is the highest one, and none that changes", "[device][cpu]") {
  const auto clock = [](const Files& more) { return CpuMachine(with(k_workstation, more)).facts().max_gigahertz; };
  CHECK(clock({}) == 0);
  CHECK(clock({{"sys/devices/system/cpu/cpu2/cpufreq/cpuinfo_max_freq", "3400000\n"}}) == 3.4);
  CHECK(clock({{"proc/cpuinfo", "flags : fpu hypervisor\ncpu MHz : 2600.000\n"}}) == 2.6);
  CHECK(clock({{"proc/cpuinfo", "flags : fpu\ncpu MHz : 1200.000\n"}}) == 0);
  CHECK(clock({{"proc/cpuinfo", "flags : fpu hypervisor\ncpu MHz : fast\n"}}) == 0);
}

TEST_CASE("the digest of the flags ignores their order and sees their set", "[device][cpu]") {
  const auto digest = [](const std::string& flags) {
    return CpuMachine(Files{{"proc/cpuinfo", "flags : " + flags + "\n"}}).facts().flags_digest;
  };
  CHECK(digest("a b") == digest("b a"));
  CHECK(digest("a b") != digest("a"));
  CHECK(digest("a").size() == 64);
}

TEST_CASE("vector instruction sets are named", "[device][cpu]") {
  const auto flags = [](const std::string& line) {
    return CpuMachine(Files{{"proc/cpuinfo", line + "\n"}}).facts().vector_flags;
  };
  CHECK(flags("flags : fpu sse4_2 avx2 fma avx2 nx") == std::vector<std::string>{"sse4_2", "fma", "avx2"});
  CHECK(flags("Features : fp asimd sve") == std::vector<std::string>{"asimd", "sve"});
  CHECK(flags("model name : x").empty());
}

TEST_CASE("no cpuinfo at all is an error; nonsense in the files is not", "[device][cpu]") {
  CHECK(read_cpu_facts({.root = "/no/such/root"}).error().code == ErrorCode::NotFound);
  const auto facts = CpuMachine(with(k_workstation, {{"proc/cpuinfo", "\x01\x02"},
                                                     {"proc/self/status", "Cpus_allowed_list:\tx-y,-\n"},
                                                     {"proc/meminfo", "MemTotal: much\n"},
                                                     {"proc/self/cgroup", "garbage\n0::\n"},
                                                     {"sys/fs/cgroup/cpu.max", "lots 0"}}))
                         .facts();
  CHECK(facts.model == "unknown");
  CHECK(facts.usable_cores == 1);
}

TEST_CASE("this machine can be read", "[device][cpu]") {
  const auto facts = read_cpu_facts().value();
  CHECK(facts.usable_cores >= 1);
  CHECK(facts.memory_bytes > 0);
}
