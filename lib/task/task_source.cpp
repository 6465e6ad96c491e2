#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include <kernelgen/task/task_source.hpp>

#include "support/errno_error.hpp"
#include "support/files.hpp"
#include "support/sha256.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view k_extension = ".py";

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// The N of "levelN".
std::optional<std::string_view> level_number(std::string_view directory) {
  constexpr std::string_view k_prefix = "level";
  if (directory.substr(0, k_prefix.size()) != k_prefix || !is_number(directory.substr(k_prefix.size())))
    return std::nullopt;
  return directory.substr(k_prefix.size());
}

TaskLevel level_of(const fs::path& path) {
  TaskLevel level = TaskLevel::Unknown;
  for (const auto& part : path.parent_path()) {  // the innermost one wins
    const std::string name = part.string();
    const auto number = level_number(name);
    if (!number) continue;
    level = *number == "1"   ? TaskLevel::SingleOperator
            : *number == "2" ? TaskLevel::Fusion
            : *number == "3" ? TaskLevel::Network
                             : TaskLevel::Unknown;
  }
  return level;
}

/// Sorted names in a directory; none when it cannot be read.
std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> tasks_in(const fs::path& directory) {
  auto names = names_in(directory);
  std::erase_if(names, [](const std::string& name) { return fs::path(name).extension() != k_extension; });
  for (auto& name : names) name.resize(name.size() - k_extension.size());
  return names;
}

/// The directory KernelBench/ of a checkout, or the given directory itself.
fs::path data_directory(const fs::path& given) {
  std::error_code error;
  const fs::path inner = given / "KernelBench";
  return fs::is_directory(inner, error) ? inner : given;
}

/// The parts of a KernelBench name: "level3/40_GRUHidden" has a level, "40_GRUHidden" has none.
struct BenchName {
  std::string level;
  std::string task;
};

std::optional<BenchName> parse_bench_name(std::string_view name) {
  constexpr std::string_view k_root = "KernelBench/";
  if (name.substr(0, k_root.size()) == k_root) name.remove_prefix(k_root.size());
  if (name.size() > k_extension.size() && name.substr(name.size() - k_extension.size()) == k_extension)
    name.remove_suffix(k_extension.size());
  const auto slash = name.find('/');
  if (slash == std::string_view::npos) return BenchName{"", std::string(name)};
  const auto level = name.substr(0, slash);
  const auto task = name.substr(slash + 1);
  if (!level_number(level) || task.empty() || task.find('/') != std::string_view::npos) return std::nullopt;
  return BenchName{std::string(level), std::string(task)};
}

bool fits(const std::string& task, const std::string& wanted) {
  if (task == wanted) return true;
  return is_number(wanted) && task.substr(0, wanted.size() + 1) == wanted + "_";
}

Result<fs::path> find_in_kernelbench(const std::string& name, const BenchName& wanted, const fs::path& directory) {
  const fs::path root = data_directory(directory);
  auto levels = names_in(root);
  std::erase_if(levels, [](const std::string& level) { return !level_number(level); });
  if (levels.empty())
    return Error{
        ErrorCode::NotFound, "cannot find task " + name + ": no KernelBench levels in " + directory.string(), {}};
  if (!wanted.level.empty() && std::find(levels.begin(), levels.end(), wanted.level) == levels.end())
    return Error{ErrorCode::NotFound,
                 "cannot find task " + name + ": " + root.string() + " has " + join(levels, ", ") + " only",
                 {}};
  std::vector<std::string> found;
  std::vector<std::string> known;
  for (const auto& level : levels) {
    if (!wanted.level.empty() && level != wanted.level) continue;
    for (const auto& task : tasks_in(root / level)) {
      if (fits(task, wanted.task)) found.push_back(level + "/" + task);
      known.push_back(task);
    }
  }
  if (found.size() == 1) return root / (found.front() + std::string(k_extension));
  if (found.size() > 1)
    return Error{ErrorCode::InvalidArgument, "task " + name + " is ambiguous: " + join(found, ", "), {}};
  return Error{
      ErrorCode::NotFound, "cannot find task " + name + " in " + root.string() + did_you_mean(wanted.task, known), {}};
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
  std::string message = "cannot find task " + name + ": no such file";
  if (bench_name && !bench_name->level.empty()) message += "; for a KernelBench name say where its checkout is";
  const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  return Error{ErrorCode::NotFound, message + did_you_mean(path.stem().string(), tasks_in(directory)), {}};
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
