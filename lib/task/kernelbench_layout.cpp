#include "task/kernelbench_layout.hpp"

#include <algorithm>
#include <system_error>

#include "support/natural_order.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

bool fits(const std::string& task, const std::string& wanted) {
  if (task == wanted) return true;
  return is_decimal(wanted) && task.substr(0, wanted.size() + 1) == wanted + "_";
}

Result<std::vector<std::string>> known_levels(const std::string& name, const KernelBenchRoot& root,
                                              const fs::path& given) {
  auto levels = levels_in(root.directory);
  if (!levels.empty()) return levels;
  return Error{ErrorCode::NotFound, "cannot find task " + name + ": no KernelBench levels in " + given.string(), {}};
}

Result<void> check_level(const std::string& name, const std::string& level, const std::vector<std::string>& levels,
                         const KernelBenchRoot& root) {
  if (std::find(levels.begin(), levels.end(), level) != levels.end()) return {};
  return Error{ErrorCode::NotFound,
               "cannot find task " + name + ": " + root.directory.string() + " has " + join(levels, ", ") + " only",
               {}};
}

}  // namespace

bool is_decimal(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<std::string_view> level_number(std::string_view directory) {
  constexpr std::string_view k_prefix = "level";
  if (directory.substr(0, k_prefix.size()) != k_prefix || !is_decimal(directory.substr(k_prefix.size())))
    return std::nullopt;
  return directory.substr(k_prefix.size());
}

std::optional<std::string> level_above(const fs::path& file) {
  std::optional<std::string> level;
  for (const auto& part : file.parent_path()) {  // the innermost one wins
    const std::string name = part.string();
    if (const auto number = level_number(name)) level = std::string(*number);
  }
  return level;
}

std::vector<std::string> sorted_names_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> python_files_in(const fs::path& directory) {
  auto names = sorted_names_in(directory);
  std::erase_if(names, [](const std::string& name) { return fs::path(name).extension() != k_task_extension; });
  for (auto& name : names) name.resize(name.size() - k_task_extension.size());
  return names;
}

KernelBenchRoot find_kernelbench(const fs::path& given) {
  std::error_code error;
  const fs::path inner = given / "KernelBench";
  if (fs::is_directory(inner, error)) return {inner, ""};
  if (!levels_in(given).empty()) return {given, ""};
  auto absolute = fs::absolute(given, error).lexically_normal();
  if (!absolute.has_filename()) absolute = absolute.parent_path();  // "level1/"
  const auto name = absolute.filename().string();
  if (level_number(name)) return {absolute.parent_path(), name};
  return {given, ""};
}

std::vector<std::string> levels_in(const fs::path& directory) {
  auto levels = sorted_names_in(directory);
  std::error_code error;
  std::erase_if(levels, [&](const std::string& level) {
    return !level_number(level) || !fs::is_directory(directory / level, error);
  });
  std::sort(levels.begin(), levels.end(), naturally_less);
  return levels;
}

std::optional<BenchName> parse_bench_name(std::string_view name) {
  constexpr std::string_view k_root = "KernelBench/";
  if (name.substr(0, k_root.size()) == k_root) name.remove_prefix(k_root.size());
  if (name.size() > k_task_extension.size() && name.substr(name.size() - k_task_extension.size()) == k_task_extension)
    name.remove_suffix(k_task_extension.size());
  const auto slash = name.find('/');
  if (slash == std::string_view::npos) return BenchName{"", std::string(name)};
  const auto level = name.substr(0, slash);
  const auto task = name.substr(slash + 1);
  if (!level_number(level) || task.empty() || task.find('/') != std::string_view::npos) return std::nullopt;
  return BenchName{std::string(level), std::string(task)};
}

Error no_such_task(const std::string& name, const std::vector<std::string>& known) {
  std::string message = "cannot find task " + name + ": no such file";
  const auto bench_name = parse_bench_name(name);
  if (bench_name && (!bench_name->level.empty() || level_number(bench_name->task)))
    message += "; for a KernelBench name say where its checkout is";
  return {ErrorCode::NotFound, message + did_you_mean(fs::path(name).stem().string(), known), {}};
}

Result<fs::path> find_level(const std::string& name, const std::string& level, const fs::path& given) {
  const auto root = find_kernelbench(given);
  KERNELGEN_TRY(const auto levels, known_levels(name, root, given));
  KERNELGEN_CHECK(check_level(name, level, levels, root));
  return root.directory / level;
}

Result<fs::path> find_in_kernelbench(const std::string& name, const BenchName& wanted, const fs::path& given) {
  const auto root = find_kernelbench(given);
  KERNELGEN_TRY(const auto levels, known_levels(name, root, given));
  // In the folder of a level, a name without a level means that level.
  const auto wanted_level = wanted.level.empty() ? root.own_level : wanted.level;
  if (!wanted_level.empty()) KERNELGEN_CHECK(check_level(name, wanted_level, levels, root));
  std::vector<std::string> found;
  std::vector<std::string> known;
  for (const auto& level : levels) {
    if (!wanted_level.empty() && level != wanted_level) continue;
    for (const auto& task : python_files_in(root.directory / level)) {
      if (fits(task, wanted.task)) found.push_back(level + "/" + task);
      known.push_back(task);
    }
  }
  if (found.size() == 1) return root.directory / (found.front() + std::string(k_task_extension));
  if (found.size() > 1)
    return Error{ErrorCode::InvalidArgument, "task " + name + " is ambiguous: " + join(found, ", "), {}};
  return Error{ErrorCode::NotFound,
               "cannot find task " + name + " in " + root.directory.string() + did_you_mean(wanted.task, known),
               {}};
}

}  // namespace v0
}  // namespace kernelgen
