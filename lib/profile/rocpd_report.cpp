#include <fmt/format.h>
#include <sqlite3.h>

#include <cmath>
#include <cstring>
#include <map>
#include <memory>

#include "profile/csv_text.hpp"
#include "profile/rocprof_dispatch.hpp"
#include "profile/rocprof_report.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// Limits for a database that is not what it seems. Its views may take instructions of SQLite's machine as to its size:
/// a dispatch has about 150 bytes, and takes about 100.
constexpr int k_instructions_per_check = 100'000;
constexpr std::size_t k_instructions_per_byte = 20, k_least_instructions = 10'000'000;
/// Rows of an answer, and bytes of a row.
constexpr int k_max_rows = 1'000'000;
constexpr int k_max_row_bytes = 16 << 20;

constexpr std::string_view k_sqlite_magic{"SQLite format 3\0", 16};

/// Each run has its own tables; views without its number in their names join them.
constexpr const char* k_dispatch_query =
    "SELECT K.guid, K.event_id, coalesce(S.display_name, S.kernel_name), K.start, K.\"end\","
    " K.grid_size_x, K.grid_size_y, K.grid_size_z, K.workgroup_size_x, K.workgroup_size_y, K.workgroup_size_z,"
    " K.group_segment_size, S.arch_vgpr_count, S.accum_vgpr_count"
    " FROM rocpd_kernel_dispatch K JOIN rocpd_info_kernel_symbol S ON S.id = K.kernel_id AND S.guid = K.guid"
    " ORDER BY K.start, K.id";
/// The numeric columns of that, from the fourth on.
constexpr const char* k_dispatch_columns[] = {
    "Start_Timestamp",  "End_Timestamp",    "Grid_Size_X",    "Grid_Size_Y", "Grid_Size_Z",     "Workgroup_Size_X",
    "Workgroup_Size_Y", "Workgroup_Size_Z", "LDS_Block_Size", "VGPR_Count",  "Accum_VGPR_Count"};
constexpr int k_first_dispatch_column = 3;
/// There is a value for each instance of a unit.
constexpr const char* k_counter_query =
    "SELECT E.guid, E.event_id, P.name, sum(E.value)"
    " FROM rocpd_pmc_event E JOIN rocpd_info_pmc P ON P.id = E.pmc_id AND P.guid = E.guid"
    " GROUP BY E.guid, E.event_id, P.name";
constexpr const char* k_device_query =
    "SELECT coalesce(A.product_name, A.name) FROM rocpd_info_agent A JOIN rocpd_kernel_dispatch K"
    " ON A.id = K.agent_id AND A.guid = K.guid LIMIT 1";

struct SqliteDeleter {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

/// A database in memory, which is only read.
class SqliteDatabase {
 public:
  static Result<SqliteDatabase> open(std::string_view bytes) {
    SqliteDatabase made;
    *made.checks_left_ =
        static_cast<int>((k_least_instructions + k_instructions_per_byte * bytes.size()) / k_instructions_per_check);
    sqlite3* database = nullptr;
    const int opened = sqlite3_open_v2(":memory:", &database, SQLITE_OPEN_READWRITE, nullptr);
    made.database_.reset(database);
    if (opened != SQLITE_OK) return made.wrong();
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, k_max_row_bytes);
    auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size()));
    if (copy == nullptr) return made.wrong();
    std::memcpy(copy, bytes.data(), bytes.size());
    // A database in memory has no write-ahead log: https://www.sqlite.org/c3ref/deserialize.html
    constexpr std::size_t k_write_version = 18, k_read_version = 19;
    if (bytes.size() > k_read_version) copy[k_write_version] = copy[k_read_version] = 1;
    const auto size = static_cast<sqlite3_int64>(bytes.size());
    if (sqlite3_deserialize(database, "main", copy, size, size,
                            SQLITE_DESERIALIZE_READONLY | SQLITE_DESERIALIZE_FREEONCLOSE) != SQLITE_OK)
      return made.wrong();
    sqlite3_progress_handler(database, k_instructions_per_check, &SqliteDatabase::is_over, made.checks_left_.get());
    return made;
  }

  /// Calls `row` with each row of the answer.
  template <class Row>
  Result<void> query(const char* sql, const Row& row) const {
    sqlite3_stmt* prepared = nullptr;
    const int ready = sqlite3_prepare_v2(database_.get(), sql, -1, &prepared, nullptr);
    const std::unique_ptr<sqlite3_stmt, SqliteDeleter> statement(prepared);
    if (ready != SQLITE_OK) return wrong();
    int step = SQLITE_ROW;
    for (int rows = 0; (step = sqlite3_step(prepared)) == SQLITE_ROW; ++rows) {
      if (rows == k_max_rows)
        return Error{ErrorCode::InvalidArgument,
                     fmt::format("it has more than {} dispatches, or counters of them", k_max_rows),
                     {}};
      row(prepared);
    }
    if (step == SQLITE_INTERRUPT) return Error{ErrorCode::InvalidArgument, "its views take too long to read", {}};
    if (step != SQLITE_DONE) return wrong();
    return {};
  }

 private:
  [[nodiscard]] Error wrong() const {
    return {ErrorCode::InvalidArgument, sanitize_line(sqlite3_errmsg(database_.get()), k_max_name), {}};
  }

  static int is_over(void* checks_left) { return --*static_cast<int*>(checks_left) < 0 ? 1 : 0; }

  std::unique_ptr<int> checks_left_ = std::make_unique<int>(0);
  std::unique_ptr<sqlite3, SqliteDeleter> database_;
};

std::string column_text(sqlite3_stmt* row, int column) {
  const auto* found = sqlite3_column_text(row, column);
  return found == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(found));
}

std::optional<double> column_number(sqlite3_stmt* row, int column) {
  const int type = sqlite3_column_type(row, column);
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return std::nullopt;
  const double found = sqlite3_column_double(row, column);
  return std::isfinite(found) ? std::optional(found) : std::nullopt;
}

}  // namespace

bool is_sqlite(std::string_view bytes) { return bytes.starts_with(k_sqlite_magic); }

Result<RocprofReport> read_rocpd(std::string_view bytes) {
  KERNELGEN_TRY(const auto database, SqliteDatabase::open(bytes));
  std::vector<RocprofDispatch> dispatches;
  std::map<std::string, std::size_t> by_event;
  KERNELGEN_CHECK(database.query(k_dispatch_query, [&](sqlite3_stmt* row) {
    by_event.emplace(column_text(row, 0) + ' ' + column_text(row, 1), dispatches.size());
    auto& dispatch = dispatches.emplace_back();
    dispatch.kernel = column_text(row, 2);
    int column = k_first_dispatch_column;
    for (const auto* name : k_dispatch_columns)
      if (const auto value = column_number(row, column++)) dispatch.values[name] = *value;
  }));
  KERNELGEN_CHECK(database.query(k_counter_query, [&](sqlite3_stmt* row) {
    const auto found = by_event.find(column_text(row, 0) + ' ' + column_text(row, 1));
    const auto value = column_number(row, 3);
    if (found != by_event.end() && value) dispatches[found->second].values[column_text(row, 2)] = *value;
  }));
  RocprofReport report{"rocprofv3", {}, {}};
  KERNELGEN_CHECK(database.query(
      k_device_query, [&](sqlite3_stmt* row) { report.device = sanitize_line(column_text(row, 0), k_max_name); }));
  for (const auto& dispatch : dispatches) report.launches.push_back(to_launch(dispatch));
  return report;
}

}  // namespace v0
}  // namespace kernelgen
