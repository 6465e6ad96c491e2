// The tables are synthetic: see tests/data/rocprof/README.md.
#include <kernelgen/profile/report_reader.hpp>

#include <sqlite3.h>

#include <string>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;

namespace {

std::string data(const std::string& name) { return read_file(KERNELGEN_TEST_DATA "/rocprof/" + name).value(); }

Profile profile_named(const std::vector<std::string>& names) {
  std::vector<std::string> texts;
  for (const auto& name : names) texts.push_back(data(name));
  const auto profile = read_profile_reports(texts);
  REQUIRE(profile);
  CHECK_FALSE(profile->unavailable);
  return *profile;
}

/// The content of all tables: two launches of step, the second one shorter, and one of gemm.
void check_launches(const Profile& profile) {
  REQUIRE(profile.kernels.size() == 2);
  CHECK(profile.kernels[0].function == "gemm");
  CHECK(profile.kernels[0].launches == 1);
  CHECK(profile.kernels[0].duration_ns == 6000);
  CHECK(profile.kernels[1].function == "step");
  CHECK(profile.kernels[1].launches == 2);
  CHECK(profile.kernels[1].duration_ns == 4000);
  CHECK(profile.kernels[1].metric("grid_blocks") == 1024);
  // 128, and 64 for accumulation.
  CHECK(profile.kernels[0].metric("registers_per_thread") == 192);
  CHECK(profile.kernels[0].metric("shared_bytes_per_block") == 65536);
}

/// The file of a database that these statements make.
std::string database(const std::string& statements) {
  sqlite3* made = nullptr;
  REQUIRE(sqlite3_open(":memory:", &made) == SQLITE_OK);
  REQUIRE(sqlite3_exec(made, statements.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_int64 size = 0;
  auto* bytes = sqlite3_serialize(made, "main", &size, 0);
  REQUIRE(bytes != nullptr);
  std::string file(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  sqlite3_close(made);
  return file;
}

/// The whole of what JSON and rocpd hold.
void check_counters(const Profile& profile) {
  CHECK(profile.source == "rocprofv3");
  CHECK(profile.device == "AMD Instinct MI300X");
  check_launches(profile);
  CHECK(profile.kernels[0].metric("l2_hit_pct") == 90);
  CHECK(profile.kernels[0].metric("tensor_pipe_pct") == 41.5);
  // 800 of 1000, of which 500 and 300 are two instances, and 600 of 1000.
  CHECK(profile.kernels[1].metric("l2_hit_pct") == 75);
  CHECK(profile.kernels[1].metric("block_threads") == 64);
  CHECK_FALSE(profile.kernels[1].metric("tensor_pipe_pct"));
}

std::string message_of(const std::vector<std::string>& texts) {
  const auto profile = read_profile_reports(texts);
  REQUIRE_FALSE(profile);
  CHECK(profile.error().code == ErrorCode::InvalidArgument);
  return profile.error().message;
}

}  // namespace

TEST_CASE("rocprof: one column for each counter, names without their descriptor", "[profile][rocprof]") {
  const auto profile = profile_named({"v1.csv"});
  CHECK(profile.source == "rocprof");
  check_launches(profile);
  const auto& step = profile.kernels[1];
  CHECK(step.name == "step(float*, int)");
  CHECK(step.metric("block_threads") == 64);
  // Weighted by the durations, 3000 and 1000.
  CHECK(step.metric("l2_hit_pct") == 75);
  CHECK(step.metric("sm_throughput_pct") == 15);
  CHECK(step.metric("dram_read_bytes") == 1000 * 1024);
  CHECK(step.metric("dram_write_bytes") == 500 * 1024);
  CHECK(profile.kernels[0].counted_launches == 1);
}

TEST_CASE("rocprofv2: hits and misses make the share that no counter has", "[profile][rocprof]") {
  const auto profile = profile_named({"v2.csv"});
  CHECK(profile.source == "rocprofv2");
  check_launches(profile);
  CHECK(profile.kernels[0].metric("l2_hit_pct") == 90);
  CHECK(profile.kernels[1].metric("l2_hit_pct") == 75);
  CHECK(profile.kernels[0].metric("dram_read_bytes") == 8000 * 1024);
}

TEST_CASE("rocprofv3: a row for each counter, and a file for each pass", "[profile][rocprof]") {
  const auto profile = profile_named({"v3_pass1.csv", "v3_pass2.csv"});
  CHECK(profile.source == "rocprofv3");
  check_launches(profile);
  CHECK(profile.kernels[1].metric("l2_hit_pct") == 75);
  CHECK(profile.kernels[1].metric("occupancy_pct") == 25);
  CHECK(profile.kernels[0].metric("occupancy_pct") == 62.5);
}

TEST_CASE("rocprofv3: a trace has times and sizes", "[profile][rocprof]") {
  const auto profile = profile_named({"v3_kernel_trace.csv"});
  check_launches(profile);
  CHECK_FALSE(profile.kernels[0].metric("l2_hit_pct"));
  const auto both = profile_named({"v3_kernel_trace.csv", "v3_pass2.csv"});
  check_launches(both);
  CHECK(both.kernels[0].metric("occupancy_pct") == 62.5);
}

TEST_CASE("rocpd's own CSV has names in another case", "[profile][rocprof]") {
  const auto profile = profile_named({"v3_rocpd2csv.csv", "v3_pass2.csv"});
  CHECK(profile.source == "rocprofv3");
  check_launches(profile);
  CHECK(profile.kernels[0].metric("occupancy_pct") == 62.5);
}

TEST_CASE("rocprofv3 of ROCm 6.2: no times, and the same dispatch of two processes", "[profile][rocprof]") {
  const auto profile = profile_named({"v3_rocm62.csv"});
  REQUIRE(profile.kernels.size() == 1);
  CHECK(profile.kernels[0].launches == 2);
  // 400 of 1600 cycles in two instances, and none.
  CHECK(profile.kernels[0].metric("shared_conflict_pct") == 12.5);
  CHECK(profile.kernels[0].metric("registers_per_thread") == 32);
}

TEST_CASE("rocprofv3: a newer version's columns are passed over", "[profile][rocprof]") {
  auto text = data("v3_pass1.csv");
  std::string wider;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    wider += text.substr(at, end - at) + (at == 0 ? ",\"Cluster_Size\"\n" : ",7\n");
    at = end + 1;
  }
  const auto profile = read_profile_reports({wider});
  REQUIRE(profile);
  check_launches(*profile);
  CHECK(profile->kernels[1].metric("l2_hit_pct") == 75);
}

TEST_CASE("rocprof: shares that follow from raw counters", "[profile][rocprof]") {
  const auto metrics = [](const std::string& columns, const std::string& values) {
    const auto profile = read_profile_reports({"Index,KernelName,DurationNs," + columns + "\n0,k,10," + values + "\n"});
    REQUIRE(profile);
    return profile->kernels.at(0);
  };
  // 2048 wavefronts: 16 requests each where neighbouring threads take neighbouring words, 64 where none do.
  CHECK(metrics("TA_TOTAL_WAVEFRONTS_sum,TCP_TOTAL_ACCESSES_sum", "2048,32768").metric("coalesced_pct") == 100);
  CHECK(metrics("TA_TOTAL_WAVEFRONTS_sum,TCP_TOTAL_ACCESSES_sum", "2048,131072").metric("coalesced_pct") == 25);
  CHECK(metrics("TA_TOTAL_WAVEFRONTS_sum,TCP_TOTAL_ACCESSES_sum", "2048,0").metric("coalesced_pct") == std::nullopt);
  CHECK(metrics("GL2C_HIT_sum,GL2C_MISS_sum", "3,1").metric("l2_hit_pct") == 75);
  CHECK(metrics("SQC_LDS_BANK_CONFLICT,SQC_LDS_IDX_ACTIVE", "1,4").metric("shared_conflict_pct") == 25);
  CHECK(metrics("SQ_LDS_BANK_CONFLICT,SQ_LDS_IDX_ACTIVE", "0,0").metric("shared_conflict_pct") == 0);
  CHECK(metrics("LDSBankConflict", "12.5").metric("shared_conflict_pct") == 12.5);
}

TEST_CASE("rocprofv3: JSON has the counters, the times and the device", "[profile][rocprof]") {
  check_counters(profile_named({"v3_results.json"}));
  // ROCm 6.2 writes one process, and not a list of them.
  auto text = data("v3_results.json");
  text.replace(text.find('['), 1, " ");
  text.replace(text.rfind(']'), 1, " ");
  const auto single = read_profile_reports({text});
  REQUIRE(single);
  check_counters(*single);
}

TEST_CASE("JSON of another program is no report", "[profile][rocprof]") {
  CHECK(message_of({R"({"traceEvents": []})"}).find("report 1 has no table") == 0);
  CHECK(message_of({R"({"rocprofiler-sdk-tool": )"}).find("report 1 has no table") == 0);
  const auto empty = read_profile_reports({R"({"rocprofiler-sdk-tool": [{"agents": 7, "counters": {}}]})"});
  REQUIRE(empty);
  REQUIRE(empty->unavailable);
  CHECK(empty->unavailable->reason == "no kernel was launched");
}

TEST_CASE("a database of rocpd has what JSON has", "[profile][rocprof]") {
  const auto file = database(data("rocpd.sql"));
  const auto profile = read_profile_reports({file});
  REQUIRE(profile);
  check_counters(*profile);
  // rocprofv3 leaves its databases in the mode of a write-ahead log.
  auto logged = file;
  logged[18] = logged[19] = 2;
  const auto again = read_profile_reports({logged});
  REQUIRE(again);
  check_counters(*again);
}

TEST_CASE("a database of rocpd and a table are two passes", "[profile][rocprof]") {
  const auto profile = read_profile_reports({database(data("rocpd.sql")), data("v3_pass2.csv")});
  REQUIRE(profile);
  check_counters(*profile);
  CHECK(profile->kernels[0].metric("occupancy_pct") == 62.5);
}

TEST_CASE("a database that cannot be read says why", "[profile][rocprof]") {
  const auto reason = [](const std::string& file) { return message_of({file}); };
  CHECK(reason(database("CREATE TABLE t (x);"))
            .find("report 1 is a database, but not one of rocpd that can be read: "
                  "no such table: rocpd_kernel_dispatch") == 0);
  CHECK(reason(database("CREATE TABLE rocpd_kernel_dispatch (start_id); CREATE TABLE rocpd_info_kernel_symbol (id);"))
            .find("no such column: K.guid") != std::string::npos);
  const auto whole = database(data("rocpd.sql"));
  CHECK_FALSE(reason(whole.substr(0, 4096)).empty());
  CHECK_FALSE(reason(std::string("SQLite format 3\0", 16)).empty());
}

TEST_CASE("a database whose views never end is given up", "[profile][rocprof]") {
  auto statements = data("rocpd.sql");
  statements +=
      "DROP VIEW rocpd_kernel_dispatch; CREATE VIEW rocpd_kernel_dispatch AS WITH RECURSIVE n(x) AS (SELECT 1 UNION "
      "ALL "
      "SELECT x + 1 FROM n) SELECT x AS id, 'g' AS guid, 2 AS agent_id, 10 AS kernel_id, x AS dispatch_id, 1 AS start, "
      "2 AS \"end\", 0 AS group_segment_size, 1 AS workgroup_size_x, 1 AS workgroup_size_y, 1 AS workgroup_size_z, 1 "
      "AS "
      "grid_size_x, 1 AS grid_size_y, 1 AS grid_size_z, x AS event_id FROM n;";
  CHECK(message_of({database(statements)}).find("its views take too long to read") != std::string::npos);
}

TEST_CASE("Nsight Compute's table is read as well", "[profile][rocprof]") {
  const auto profile =
      read_profile_reports({"\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\",\"launch__grid_size\"\n"
                            "\"\",\"\",\"us\",\"\"\n\"0\",\"step(int)\",\"2.5\",\"1,024\"\n"});
  REQUIRE(profile);
  CHECK(profile->source == "ncu");
  REQUIRE(profile->kernels.size() == 1);
  CHECK(profile->kernels[0].duration_ns == 2500);
  CHECK(profile->kernels[0].metric("grid_blocks") == 1024);
}

TEST_CASE("a table without rows is a profile that is not there", "[profile][rocprof]") {
  const auto header = data("v2.csv").substr(0, data("v2.csv").find('\n'));
  const auto profile = read_profile_reports({header});
  REQUIRE(profile);
  REQUIRE(profile->unavailable);
  CHECK(profile->unavailable->reason == "no kernel was launched");
  const auto refused = read_profile_reports({"==ERROR== ERR_NVGPUCTRPERM\n"});
  REQUIRE(refused);
  CHECK(refused->unavailable->reason.find("ERR_NVGPUCTRPERM") != std::string::npos);
}

TEST_CASE("what has no table is refused by its number", "[profile][rocprof]") {
  for (const std::string text : {"", "a,b\n1,2\n", "Kernel_Name,x\nstep,1\n", "{}", "Index,Name\n0,step\n"}) {
    const auto profile = read_profile_reports({data("v1.csv"), text});
    REQUIRE_FALSE(profile);
    CHECK(profile.error().code == ErrorCode::InvalidArgument);
    CHECK(profile.error().message.find("report 2 has no table") == 0);
  }
  CHECK_FALSE(read_profile_reports({}));
}

TEST_CASE("damaged tables lose rows, and nothing else", "[profile][rocprof]") {
  for (const std::string name : {"v1.csv", "v2.csv", "v3_pass1.csv", "v3_kernel_trace.csv", "v3_results.json"}) {
    const auto whole = data(name);
    for (std::size_t cut = 0; cut < whole.size(); cut += 7) (void)read_profile_reports({whole.substr(0, cut)});
    auto text = whole;
    for (std::size_t at = 0; at < text.size(); at += 11) text[at] = "\",\n\0x9-"[at % 7];
    (void)read_profile_reports({text});
  }
  const auto whole = database(data("rocpd.sql"));
  for (std::size_t at = 100; at < whole.size(); at += 997) {
    auto damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    (void)read_profile_reports({damaged});
  }
  SUCCEED();
}

TEST_CASE("the device of a report is that of the catalog, else what the profiler tells of it", "[profile][rocprof]") {
  Profile profile;
  profile.source = "rocprofv3";
  CHECK(reported_gpu(profile, {}).value().vendor == "amd");
  profile.source = "ncu";
  CHECK_FALSE(reported_gpu(profile, {}));
  GpuModel model;
  model.facts.name = "H200";
  model.facts.vendor = "nvidia";
  profile.device = "NVIDIA H200";
  CHECK(reported_gpu(profile, {model}).value().name == "H200");
}
