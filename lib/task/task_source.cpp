#include <filesystem>
#include <utility>

#include <kernelgen/task/task_source.hpp>

#include "support/errno_error.hpp"
#include "support/files.hpp"
#include "support/sha256.hpp"
#include "support/text.hpp"
#include "support/try.hpp"
#include "task/kernelbench_layout.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

TaskLevel level_of(const fs::path& path) {
  const auto number = level_above(path).value_or("");
  return number == "1"   ? TaskLevel::SingleOperator
         : number == "2" ? TaskLevel::Fusion
         : number == "3" ? TaskLevel::Network
                         : TaskLevel::Unknown;
}

}  // namespace

Result<fs::path> find_task_file(const std::string& name, const TaskLocator& locator) {
  if (name.empty() || name.find('\0') != std::string::npos)
    return Error{ErrorCode::InvalidArgument, "a task needs a path or a KernelBench name", {}};
  std::error_code error;
  const fs::path path(name);
  const auto status = fs::status(path, error);
  if (fs::is_regular_file(status)) return path;
  const auto bench_name = parse_bench_name(name);
  if (bench_name && !locator.kernelbench_dir.empty() && !fs::exists(status))
    return find_in_kernelbench(name, *bench_name, locator.kernelbench_dir);
  if (fs::is_directory(status))
    return Error{
        ErrorCode::InvalidArgument, "cannot read task " + name + ": it is a directory; name a .py file in it", {}};
  if (fs::exists(status))  // a FIFO or device could block forever
    return Error{ErrorCode::InvalidArgument, "cannot read task " + name + ": not a regular file", {}};
  if (status.type() == fs::file_type::none) return errno_error(error.value(), "cannot read task " + name);
  const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  return no_such_task(name, python_files_in(directory));
}

Result<TaskSource> load_task_source(const std::string& name, const TaskLocator& locator) {
  KERNELGEN_TRY(const fs::path path, find_task_file(name, locator));
  auto text = read_file(path, k_max_task_bytes);
  if (!text) {
    Error error = std::move(text).error();
    // read_file() refuses a regular file only when it is too large.
    if (error.code == ErrorCode::InvalidArgument) error.code = ErrorCode::InvalidTask;
    return error;
  }
  const std::string what = "cannot use task " + path.string() + ": ";
  if (trim(*text).empty()) return Error{ErrorCode::InvalidTask, what + "the file is empty", {}};
  if (!is_valid_utf8(*text) || text->find('\0') != std::string::npos)
    return Error{ErrorCode::InvalidTask, what + "not a text in UTF-8", {}};
  TaskSource source;
  source.name = path.stem().string();
  source.path = path.string();
  source.content_id = sha256_hex(*text);
  source.text = *std::move(text);
  source.level = level_of(path);
  return source;
}

}  // namespace v0
}  // namespace kernelgen
