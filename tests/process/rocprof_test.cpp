/// The profiler with a rocprofv3 that misbehaves, and with a Python that needs no torch.
#include <filesystem>

#include <kernelgen/profile/findings.hpp>
#include <kernelgen/profile/profiler.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

/// Behaves as the profiled process does, where its mode is "timeline": two launches of gemm and one of relu in a call.
/// With counters it does nothing.
constexpr const char* k_python = R"sh(#!/bin/sh
for job; do :; done
grep -q '"mode":"timeline"' "$job" || exit 0
result=$(sed 's/.*"result":"\([^"]*\)".*/\1/' "$job")
echo '{"schema": 1, "device": "AMD Instinct MI300X", "call_ns": 50000, "span_ns": 40000, "kernels": [
  {"name": "void gemm<256>(float*, int)", "launches": 2, "duration_ns": 30000},
  {"name": "relu(float*)", "launches": 1, "duration_ns": 10000}]
}' > "$result"
)sh";

/// Writes what rocprofv3 writes, a row for each counter of each dispatch, for four calls and the kernel that makes the
/// inputs. The last call has the values that a test looks for. $unknown is a counter that spoils its pass.
constexpr const char* k_rocprofv3 = R"sh(#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in
    -i) input=$2; shift ;;
    -d) out=$2; shift ;;
    --) shift; break ;;
  esac
  shift
done
counters=$(sed 's/pmc://' "$input")
echo "$counters" >> "$LOG"
"$@" || exit $?
case " $counters " in *" ${unknown:-none} "*) exit 0 ;; esac
mkdir -p "$out/pass_1"
table=$out/pass_1/counters_counter_collection.csv
echo '"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id","Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"'"$more_names" > "$table"
dispatch=0
launch() {
  dispatch=$((dispatch + 1))
  for counter in $counters; do
    value=$2
    case $counter in TCC_MISS_sum) value=$((100 - $2)) ;; FETCH_SIZE) value=20000 ;; WRITE_SIZE) value=4000 ;; esac
    echo "$dispatch,$dispatch,\"Agent 2\",1,7,7,1048576,3,\"$1\",256,0,0,192,64,32,\"$counter\",${zero:-$value.000000},$((dispatch * 100000)),$((dispatch * 100000 + 15000))$more_values" >> "$table"
  done
}
launch "at::native::uniform_kernel(int)" 1
for call in 1 2 3;
do
  launch "void gemm<256>(float*, int)" 5
  launch "relu(float*)" 6
  launch "void gemm<256>(float*, int)" 5
done
launch "void gemm<256>(float*, int)" 70
launch "relu(float*)" 20
launch "void gemm<256>(float*, int)" 80
)sh";

struct Machine {
  TemporaryDirectory directory = TemporaryDirectory::create(fs::temp_directory_path(), "rocprof-test-").value();
  std::unique_ptr<ProcessRunner> runner = make_process_runner();
  LocalProfilerOptions options;
  ProfileRequest request;

  Machine() {
    REQUIRE(make_directories(directory.path() / "python" / "kernelgen_profile"));
    write("python", k_python);
    options.installation.python_dir = directory.path() / "python";
    options.python = (directory.path() / "bin/python").string();
    options.environment = {{"PATH", (directory.path() / "bin").string() + ":/usr/bin:/bin"},
                           {"LOG", (directory.path() / "log").string()}};
    options.scratch_dir = (directory.path() / "scratch").string();
    request.task = {.name = "gemm", .path = "", .text = "class Model", .content_id = "", .level = TaskLevel::Unknown};
    request.gpu = GpuFacts{.vendor = "amd",
                           .uuid = "GPU-1",
                           .architecture = "gfx942",
                           .multiprocessors = 304,
                           .warp_threads = 64,
                           .threads_per_multiprocessor = 2048,
                           .registers_per_multiprocessor = 131072,
                           .memory_bytes_per_second = 5e12};
  }

  void write(const std::string& name, const std::string& script) const {
    REQUIRE(make_directories(directory.path() / "bin"));
    REQUIRE(write_file_atomic(directory.path() / "bin" / name, script, {.mode = 0755}));
  }

  Profile profile() { return make_local_profiler(options, *runner).value()->profile(request, {}).value(); }

  /// The timeline of a profile without counters; its reason.
  std::string reason() {
    const auto made = profile();
    CHECK(made.source == "timeline");
    CHECK(made.kernels.size() == 2);
    REQUIRE(made.no_counters);
    return made.no_counters->reason;
  }

  /// The counters of each run.
  [[nodiscard]] std::string log() const { return read_file(directory.path() / "log").value(); }
};

}  // namespace

TEST_CASE("rocprofv3 counts in passes, and the last call is read", "[profile][rocprof]") {
  Machine machine;
  machine.write("rocprofv3", k_rocprofv3);
  const auto profile = machine.profile();
  CHECK_FALSE(profile.no_counters);
  CHECK(profile.source == "rocprofv3");
  CHECK(profile.device == "AMD Instinct MI300X");
  REQUIRE(profile.kernels.size() == 2);
  const auto& gemm = profile.kernels[0];
  CHECK(gemm.duration_ns == 30000);
  CHECK(gemm.counted_launches == 2);
  CHECK(gemm.metric("sm_throughput_pct") == 75);
  CHECK(gemm.metric("l2_hit_pct") == 75);
  CHECK(gemm.metric("registers_per_thread") == 256);
  CHECK(gemm.metric("occupancy_limit_registers") == 2);
  // 24000 KiB in 15 us.
  CHECK(gemm.metric("dram_throughput_pct") == Approx(32.768));
  CHECK(profile.kernels[1].metric("l2_hit_pct") == 20);
  CHECK(machine.log() == " VALUBusy OccupancyPercent FETCH_SIZE\n WRITE_SIZE TCC_HIT_sum TCC_MISS_sum\n");
  CHECK(fs::is_empty(machine.options.scratch_dir));
}

TEST_CASE("a counter that the GPU does not know costs itself only", "[profile][rocprof]") {
  Machine machine;
  machine.write("rocprofv3", k_rocprofv3);
  machine.options.environment["unknown"] = "VALUBusy";
  const auto profile = machine.profile();
  CHECK_FALSE(profile.no_counters);
  CHECK_FALSE(profile.kernels[0].metric("sm_throughput_pct"));
  CHECK(profile.kernels[0].metric("occupancy_pct") == 75);
  CHECK(profile.kernels[0].metric("l2_hit_pct") == 75);
}

TEST_CASE("rocprofv3 of a newer version writes more columns", "[profile][rocprof]") {
  Machine machine;
  machine.write("rocprofv3", k_rocprofv3);
  machine.options.environment["more_names"] = ",\"Cluster_Size\",\"Graph_Id\"";
  machine.options.environment["more_values"] = ",1,\"none, yet\"";
  const auto profile = machine.profile();
  CHECK_FALSE(profile.no_counters);
  CHECK(profile.kernels[0].metric("sm_throughput_pct") == 75);
}

TEST_CASE("rocprofv3 that writes nothing is told with its words", "[profile][rocprof]") {
  Machine machine;
  machine.write("rocprofv3", "#!/bin/sh\necho 'W0101 agent is not supported' >&2\n");
  CHECK(machine.reason() == "rocprofv3 wrote no table: W0101 agent is not supported");
}

TEST_CASE("rocprofv3 that crashes is told with its signal", "[profile][rocprof]") {
  Machine machine;
  machine.write("rocprofv3", "#!/bin/sh\necho run >> \"$LOG\"\necho 'Request exceeds the hardware' >&2\nkill -6 $$\n");
  CHECK_THAT(machine.reason(),
             Catch::StartsWith("rocprofv3 ended with signal 6") && Catch::EndsWith(": Request exceeds the hardware"));
  // The first pass, and each of its groups alone; no further pass.
  CHECK(machine.log().size() <= 4 * 4);
}

TEST_CASE("rocprofv3 that reads 0 from every counter counted nothing", "[profile][rocprof]") {
  Machine machine;
  machine.write("rocprofv3", k_rocprofv3);
  machine.options.environment["zero"] = "0.00000000e+00";
  CHECK(machine.reason() == "rocprofv3 read 0 from every counter");
}

TEST_CASE("rocprofv3 that counts other kernels", "[profile][rocprof]") {
  Machine machine;
  machine.write("rocprofv3", k_rocprofv3);
  auto python = std::string(k_python);
  python.replace(python.find("void gemm<256>"), 14, "void other<64>");
  python.replace(python.find("relu("), 4, "also");
  machine.write("python", python);
  CHECK(machine.reason() == "rocprofv3 counted other kernels than those of the call");
}

TEST_CASE("rocprofv3 that does not end is killed", "[profile][rocprof]") {
  Machine machine;
  machine.options.timeout = 2s;
  machine.write("rocprofv3", "#!/bin/sh\nsleep 600\n");
  CHECK(machine.reason() == "reading counters was not done within 2 s");
}

TEST_CASE("where rocprofv3 is missing, rocprof counts", "[profile][rocprof]") {
  Machine machine;
  // The old profiler has a column for each counter, and no "--" before the program.
  machine.write("rocprof", R"sh(#!/bin/sh
[ "$1 $3 $5 $6" = "-i -o --timestamp on" ] || exit 64
counters=$(sed 's/pmc: //; s/ /,/g' "$2"); out=$4
shift 6
"$@" || exit $?
echo "Index,KernelName,gpu-id,grd,wgr,lds,scr,arch_vgpr,accum_vgpr,sgpr,$counters,BeginNs,EndNs" > "$out"
values=$(echo "$counters" | sed 's/[^,]\{1,\}/40/g')
for index in 0 1 2 3 4 5; do
  echo "$index,\"void gemm<256>(float*, int) [clone .kd]\",0,65536,256,0,0,64,0,32,$values,1000,16000" >> "$out"
done
)sh");
  const auto profile = machine.profile();
  CHECK_FALSE(profile.no_counters);
  CHECK(profile.source == "rocprof");
  CHECK(profile.kernels[0].counted_launches == 2);
  CHECK(profile.kernels[0].metric("l2_hit_pct") == 50);
  CHECK(profile.kernels[1].counted_launches == 0);
}

TEST_CASE("without rocprofv3 and rocprof, what to install is said", "[profile][rocprof]") {
  Machine machine;
  CHECK(machine.reason() == "neither rocprofv3 nor rocprof is installed");
  CHECK_THAT(machine.profile().no_counters->remedy, Catch::Contains("apt install rocprofiler-sdk"));
  machine.options.rocprof = "/no/such/rocprofv3";
  CHECK(machine.reason() == "there is no program /no/such/rocprofv3");
}
