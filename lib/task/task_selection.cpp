#include <kernelgen/task/task_selection.hpp>

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "support/errno_error.hpp"
#include "support/files.hpp"
#include "support/natural_order.hpp"
#include "support/text.hpp"
#include "support/try.hpp"
#include "task/kernelbench_layout.hpp"
#include "task/task_names.hpp"
#include "task/task_numbers.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_max_list_bytes = 4u << 20;

/// One source as it was written, and where.
struct SourceText {
  std::string text;
  /// The folder that its paths are relative to; empty: the current one.
  fs::path folder;
  /// "tasks.txt, line 3"; empty for a source that is not of a list.
  std::string place;
};

Error refused_source(const std::string& source, const std::string& why) {
  return {ErrorCode::InvalidArgument, "cannot take tasks from " + source + ": " + why};
}

bool is_task_file_name(const fs::path& name) {
  return name.extension() == k_task_extension && name != "__init__.py" && name.string().front() != '.';
}

/// The names of a folder's task files in natural order.
Result<std::vector<std::string>> task_file_names(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> names;
  fs::directory_iterator entry(folder, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    // A link to nothing is a task, too: that its file is missing is said where it is read, instead of dropping it.
    std::error_code ignored;
    const auto type = entry->status(ignored).type();
    const auto name = entry->path().filename();
    if ((type == fs::file_type::regular || type == fs::file_type::not_found) && is_task_file_name(name))
      names.push_back(name.string());
  }
  if (error) return errno_error(error.value(), "cannot list " + folder.string());
  std::sort(names.begin(), names.end(), naturally_less);
  return names;
}

Result<std::vector<fs::path>> task_files_in(const fs::path& folder) {
  KERNELGEN_TRY(const auto names, task_file_names(folder));
  std::vector<fs::path> files;
  files.reserve(names.size());
  for (const auto& name : names) files.push_back(folder / name);
  return files;
}

/// Says which subfolders of a folder hold task files: ", but there are some in a, b".
std::string hint_at_subfolders(const fs::path& folder) {
  std::vector<std::string> with_tasks;
  std::error_code error;
  for (const auto& name : sorted_names_in(folder)) {
    if (name.front() == '.' || !fs::is_directory(folder / name, error)) continue;
    if (const auto tasks = task_file_names(folder / name); tasks && !tasks->empty()) with_tasks.push_back(name);
  }
  if (with_tasks.empty()) return "";
  constexpr std::size_t k_most = 3;
  const bool is_cut = with_tasks.size() > k_most;
  with_tasks.resize(std::min(with_tasks.size(), k_most));
  return ", but there are some in " + join(with_tasks, ", ") + (is_cut ? ", ..." : "");
}

/// The tasks of all levels, or of the folder itself when it holds no levels.
Result<std::vector<fs::path>> files_of_folder(const std::string& source, const fs::path& folder) {
  const auto root = find_kernelbench(folder);
  std::vector<fs::path> files;
  if (root.own_level.empty()) {
    for (const auto& level : levels_in(root.directory)) {
      KERNELGEN_TRY(const auto more, task_files_in(root.directory / level));
      files.insert(files.end(), more.begin(), more.end());
    }
    if (!files.empty()) return files;
  }
  KERNELGEN_TRY(files, task_files_in(folder));
  if (!files.empty()) return files;
  return refused_source(source, folder.string() + " holds no .py files" + hint_at_subfolders(folder));
}

Result<std::vector<fs::path>> files_by_number(const std::string& source, std::string_view numbers,
                                              const fs::path& folder) {
  KERNELGEN_TRY(const auto ranges, parse_numbers(numbers).context("cannot take tasks from " + source));
  KERNELGEN_TRY(const auto files, task_files_in(folder));
  std::vector<int> existing;
  for (const auto& file : files)
    if (const auto number = leading_number(file.stem().string())) existing.push_back(*number);
  for (const auto& range : ranges)
    if (std::none_of(existing.begin(), existing.end(), [&](int number) { return range.holds(number); }))
      return Error{ErrorCode::NotFound,
                   "cannot find task " + source + ": " + folder.string() + ' ' + describe_missing(range, existing)};
  auto chosen = files;
  std::erase_if(chosen, [&](const fs::path& file) {
    const auto number = leading_number(file.stem().string());
    return !number || std::none_of(ranges.begin(), ranges.end(), [&](const auto& one) { return one.holds(*number); });
  });
  return chosen;
}

/// A source split at its last slash.
struct SplitSource {
  std::string head;
  std::string tail;
};

SplitSource split_source(const std::string& text) {
  const auto slash = text.rfind('/');
  if (slash == std::string::npos) return {"", text};
  return {text.substr(0, slash), text.substr(slash + 1)};
}

/// "level3" of "level3" and of "KernelBench/level3"; nothing for other names.
std::optional<std::string> level_name(std::string_view text) {
  constexpr std::string_view k_root = "KernelBench/";
  if (text.substr(0, k_root.size()) == k_root) text.remove_prefix(k_root.size());
  return level_number(text) ? std::optional(std::string(text)) : std::nullopt;
}

/// The folder in which tasks are chosen by number; nothing when the source does not choose by number, or names no
/// folder.
Result<std::optional<fs::path>> folder_of_numbers(const SourceText& source, const TaskLocator& locator) {
  const auto [head, tail] = split_source(source.text);
  if (!looks_like_numbers(tail)) return std::optional<fs::path>();
  std::error_code error;
  if (!head.empty()) {
    if (fs::is_directory(source.folder / head, error)) return std::optional(source.folder / head);
    const auto level = level_name(head);
    if (!level || locator.kernelbench_dir.empty()) return std::optional<fs::path>();
    KERNELGEN_TRY(auto folder, find_level(source.text, *level, locator.kernelbench_dir));
    return std::optional(std::move(folder));
  }
  if (!locator.kernelbench_dir.empty()) {
    const fs::path folder = locator.kernelbench_dir;
    const auto root = find_kernelbench(folder);
    const auto names = task_file_names(folder);
    const bool is_one_level = !root.own_level.empty() || levels_in(root.directory).empty();
    if (is_one_level && names && !names->empty()) return std::optional(folder);
  }
  if (is_decimal(tail)) return std::optional<fs::path>();
  return refused_source(source.text, "the numbers need a level or a folder, as in level1/" + tail);
}

/// Task files and folders that lie where a missing path would.
std::vector<std::string> names_beside(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  auto names = python_files_in(folder);
  std::error_code error;
  for (const auto& name : sorted_names_in(folder))
    if (name.front() != '.' && fs::is_directory(folder / name, error)) names.push_back(name);
  return names;
}

/// The files of a source that is no path.
Result<std::vector<fs::path>> files_by_name(const SourceText& source, const TaskLocator& locator) {
  KERNELGEN_TRY(const auto folder, folder_of_numbers(source, locator));
  if (folder) return files_by_number(source.text, split_source(source.text).tail, *folder);
  if (!locator.kernelbench_dir.empty()) {
    if (const auto level = level_name(source.text)) {
      KERNELGEN_TRY(const auto level_folder, find_level(source.text, *level, locator.kernelbench_dir));
      return files_of_folder(source.text, level_folder);
    }
    if (const auto name = parse_bench_name(source.text)) {
      KERNELGEN_TRY(auto file, find_in_kernelbench(source.text, *name, locator.kernelbench_dir));
      return std::vector{std::move(file)};
    }
  }
  return no_such_task(source.text, names_beside(source.folder / source.text));
}

Result<std::vector<fs::path>> files_of_source(SourceText source, const TaskLocator& locator) {
  while (source.text.size() > 1 && source.text.back() == '/') source.text.pop_back();
  if (source.text.empty() || source.text.find('\0') != std::string::npos)
    return Error{ErrorCode::InvalidArgument, "a source of tasks needs a path or a KernelBench name"};
  const fs::path path = source.folder / source.text;
  std::error_code error;
  const auto status = fs::status(path, error);
  if (fs::is_directory(status)) return files_of_folder(source.text, path);
  if (fs::is_regular_file(status)) {
    if (path.extension() == k_task_extension) return std::vector{path};
    return refused_source(source.text, "not a .py file; a file with a name on each line is given as a list");
  }
  if (fs::exists(status)) return refused_source(source.text, "neither a file nor a folder");
  if (status.type() == fs::file_type::none) return errno_error(error.value(), "cannot read task " + source.text);
  return files_by_name(source, locator);
}

/// A line without its comment and the blanks around it.
std::string_view strip_comment(std::string_view line) {
  for (auto at = line.find('#'); at != line.npos; at = line.find('#', at + 1))
    if (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t') return trim(line.substr(0, at));
  return trim(line);
}

Result<std::vector<SourceText>> read_list(const std::string& file) {
  KERNELGEN_TRY(const auto text, read_file(file, k_max_list_bytes));
  if (!is_valid_utf8(text) || text.find('\0') != std::string::npos)
    return Error{ErrorCode::InvalidArgument, "cannot use the list " + file + ": not a text in UTF-8"};
  std::vector<SourceText> sources;
  int number = 0;
  for (const auto line : split_lines(without_byte_order_mark(text))) {
    ++number;
    const auto source = strip_comment(line);
    if (!source.empty())
      sources.push_back({std::string(source), fs::path(file).parent_path(), file + ", line " + std::to_string(number)});
  }
  if (sources.empty()) return Error{ErrorCode::InvalidArgument, "the list " + file + " names no task"};
  return sources;
}

Result<std::vector<SourceText>> all_sources(const TaskSelection& selection, const TaskLocator& locator) {
  std::vector<SourceText> sources;
  for (const auto& text : selection.sources) sources.push_back({text, {}, ""});
  const bool chooses = selection.start || selection.end || selection.first || selection.sample;
  if (sources.empty() && selection.list_files.empty() && chooses && !locator.kernelbench_dir.empty())
    sources.push_back({locator.kernelbench_dir, {}, ""});
  for (const auto& file : selection.list_files) {
    KERNELGEN_TRY(auto more, read_list(file));
    std::move(more.begin(), more.end(), std::back_inserter(sources));
  }
  if (sources.empty())
    return Error{ErrorCode::InvalidArgument, "no tasks to take: name a file, a folder or a KernelBench level"};
  return sources;
}

/// The path by which two names of one file are recognized. Links to folders are resolved, those to files are not: in a
/// store of data sets, files of different names may be links to one content.
fs::path identity_of(const fs::path& file) {
  std::error_code error;
  const auto folder = fs::canonical(file.has_parent_path() ? file.parent_path() : fs::path("."), error);
  return (error ? fs::absolute(file).lexically_normal().parent_path() : folder) / file.filename();
}

std::optional<int> level_of_file(const fs::path& file, const fs::path& identity) {
  auto level = level_above(identity);
  if (!level) level = level_above(file);
  return level ? leading_number(*level) : std::nullopt;
}

/// Makes tasks of files, each file once.
std::vector<SelectedTask> make_tasks(const std::vector<fs::path>& files) {
  std::vector<SelectedTask> tasks;
  std::vector<fs::path> identities;
  std::set<fs::path> seen;
  for (const auto& file : files) {
    auto identity = identity_of(file);
    if (!seen.insert(identity).second) continue;
    tasks.push_back({.path = file,
                     .name = {},
                     .level = level_of_file(file, identity),
                     .number = leading_number(file.stem().string())});
    identities.push_back(std::move(identity));
  }
  auto names = unique_names(identities);
  for (std::size_t i = 0; i < tasks.size(); ++i) tasks[i].name = std::move(names[i]);
  return tasks;
}

Result<void> check_choice(const TaskSelection& selection) {
  const auto wrong = [](std::string message) { return Error{ErrorCode::InvalidArgument, std::move(message)}; };
  if (selection.first && *selection.first < 1)
    return wrong("cannot take the first " + std::to_string(*selection.first) + " tasks: expected at least 1");
  if (selection.sample && selection.sample->count < 1)
    return wrong("cannot draw a sample of " + std::to_string(selection.sample->count) + " tasks: expected at least 1");
  if (selection.first && selection.sample) return wrong("take the first tasks or a sample of them, not both");
  if (selection.start && selection.end && *selection.start > *selection.end)
    return wrong("the tasks from " + std::to_string(*selection.start) + " to " + std::to_string(*selection.end) +
                 " end before they begin");
  return {};
}

Result<void> keep_range(const TaskSelection& selection, std::vector<SelectedTask>& tasks) {
  if (!selection.start && !selection.end) return {};
  const NumberRange range{selection.start.value_or(0), selection.end.value_or(std::numeric_limits<int>::max())};
  std::vector<int> existing;
  for (const auto& task : tasks)
    if (task.number) existing.push_back(*task.number);
  std::erase_if(tasks, [&](const SelectedTask& task) { return !task.number || !range.holds(*task.number); });
  if (!tasks.empty()) return {};
  return Error{ErrorCode::NotFound, "the selection " + describe_missing(range, existing)};
}

}  // namespace

Result<std::string> level_range(int first, int last, const TaskLocator& locator) {
  if (locator.kernelbench_dir.empty())
    return Error{ErrorCode::InvalidArgument,
                 "the tasks from " + std::to_string(first) + " to " + std::to_string(last) +
                     " are those of a KernelBench level; say where its checkout is, or the folder of the level"};
  const auto root = find_kernelbench(locator.kernelbench_dir);
  const auto levels = levels_in(root.directory);
  const bool has_first_level = std::find(levels.begin(), levels.end(), "level1") != levels.end();
  const auto folder =
      root.own_level.empty() && has_first_level ? root.directory / "level1" : fs::path(locator.kernelbench_dir);
  return (folder / (std::to_string(first) + '-' + std::to_string(last))).string();
}

Result<std::vector<SelectedTask>> select_tasks(const TaskSelection& selection, const TaskLocator& locator) {
  KERNELGEN_CHECK(check_choice(selection));
  KERNELGEN_TRY(const auto sources, all_sources(selection, locator));
  std::vector<fs::path> files;
  for (const auto& source : sources) {
    auto more = files_of_source(source, locator);
    if (!more && !source.place.empty()) return std::move(more).context(source.place).error();
    if (!more) return std::move(more).error();
    std::move(more->begin(), more->end(), std::back_inserter(files));
  }
  auto tasks = make_tasks(files);
  KERNELGEN_CHECK(keep_range(selection, tasks));
  if (selection.first) tasks.resize(std::min(tasks.size(), std::size_t(*selection.first)));
  if (!selection.sample) return tasks;
  std::vector<std::string> names;
  names.reserve(tasks.size());
  for (const auto& task : tasks) names.push_back(task.name);
  std::vector<SelectedTask> sample;
  for (const auto place : draw_sample(names, std::size_t(selection.sample->count), selection.sample->seed))
    sample.push_back(std::move(tasks[place]));
  return sample;
}

}  // namespace v0
}  // namespace kernelgen
