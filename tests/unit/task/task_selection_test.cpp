#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <kernelgen/task/task_selection.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "task/task_names.hpp"
#include "task/task_numbers.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

using Names = std::vector<std::string>;

/// A folder with a KernelBench checkout in "kb" and files of other kinds.
class Tree {
 public:
  Tree() {
    for (const char* name : {"level1/1_Square", "level1/2_Standard", "level1/10_Batched", "level1/19_ReLU",
                             "level1/40_LayerNorm", "level2/1_Conv", "level2/5_Gemm", "level2/9_Mean", "level2/10_Max",
                             "level2/12_Scale", "level2/19_ReLU", "level3/33_VanillaRNN", "level3/40_GRUHidden"})
      add(std::string("kb/KernelBench/") + name + ".py");
    add("kb/setup.py");
  }
  [[nodiscard]] fs::path path(const std::string& name = "") const { return directory_.path() / name; }
  fs::path add(const std::string& name, const std::string& text = "class Model: pass\n") const {
    fs::create_directories(path(name).parent_path());
    std::ofstream(path(name)) << text;
    return path(name);
  }
  [[nodiscard]] Result<std::vector<SelectedTask>> select(const TaskSelection& selection,
                                                         const std::string& root = "kb") const {
    return select_tasks(selection, {.kernelbench_dir = root.empty() ? "" : path(root).string()});
  }
  [[nodiscard]] std::vector<SelectedTask> tasks(const TaskSelection& selection, const std::string& root = "kb") const {
    auto selected = select(selection, root);
    INFO((selected ? "" : selected.error().to_line()));
    REQUIRE(selected);
    return *std::move(selected);
  }
  [[nodiscard]] Names names(const TaskSelection& selection, const std::string& root = "kb") const {
    Names names;
    for (const auto& task : tasks(selection, root)) names.push_back(task.name);
    return names;
  }
  [[nodiscard]] Names names_of(const std::string& source, const std::string& root = "kb") const {
    return names(TaskSelection{.sources = {source}}, root);
  }
  /// The line of the error, with "TREE" for the folder's own path.
  [[nodiscard]] std::string failure(const TaskSelection& selection, ErrorCode code,
                                    const std::string& root = "kb") const {
    const auto selected = select(selection, root);
    REQUIRE_FALSE(selected);
    CHECK(selected.error().code == code);
    auto line = selected.error().to_line();
    CHECK(line.find('\n') == line.npos);
    const auto own = path().parent_path().string();
    for (auto at = line.find(own); at != line.npos; at = line.find(own)) line.replace(at, own.size(), "TREE");
    return line;
  }
  [[nodiscard]] std::string failure_of(const std::string& source, ErrorCode code,
                                       const std::string& root = "kb") const {
    return failure(TaskSelection{.sources = {source}}, code, root);
  }

 private:
  TemporaryDirectory directory_ = TemporaryDirectory::create(fs::temp_directory_path(), "selection-").value();
};

}  // namespace

TEST_CASE("a task file is selected as it is named", "[task][task_selection]") {
  const Tree tree;
  const auto file = tree.add("mine/7_relu.py");
  const auto tasks = tree.tasks({.sources = {file.string()}});
  REQUIRE(tasks.size() == 1);
  CHECK(tasks[0] == SelectedTask{.path = file, .name = "7_relu", .level = {}, .number = 7});
}

TEST_CASE("a folder gives its own task files in the order of their numbers", "[task][task_selection]") {
  const Tree tree;
  for (const char* name : {"10_x.py", "2_x.py", "a.py", "2_a.py", "2d.py", "__init__.py", ".hidden.py", "notes.txt",
                           "__pycache__/1_x.py", ".cache/1_x.py", "results/code_1.py"})
    tree.add(std::string("mine/") + name);
  fs::create_directory(tree.path("mine/3_folder.py"));
  REQUIRE(::mkfifo(tree.path("mine/4_fifo.py").c_str(), 0600) == 0);
  CHECK(tree.names_of(tree.path("mine/").string()) == Names{"2_a", "2_x", "2d", "10_x", "a"});
  const auto tasks = tree.tasks({.sources = {tree.path("mine").string()}});
  CHECK(tasks[0].number == 2);
  CHECK_FALSE(tasks[2].number);
  CHECK_FALSE(tasks[4].number);
  CHECK_FALSE(tasks[4].level);
}

TEST_CASE("a link to a file that is missing stays a task", "[task][task_selection]") {
  const Tree tree;
  tree.add("mine/1_here.py");
  fs::create_symlink("nowhere", tree.path("mine/2_gone.py"));
  CHECK(tree.names_of(tree.path("mine").string()) == Names{"1_here", "2_gone"});
}

TEST_CASE("levels of KernelBench, whole and by number", "[task][task_selection]") {
  const Tree tree;
  CHECK(tree.names_of("level1") == Names{"1_Square", "2_Standard", "10_Batched", "19_ReLU", "40_LayerNorm"});
  CHECK(tree.names_of("KernelBench/level3/") == Names{"33_VanillaRNN", "40_GRUHidden"});
  CHECK(tree.names_of("level3/33-42") == Names{"33_VanillaRNN", "40_GRUHidden"});
  CHECK(tree.names_of("level3/33") == Names{"33_VanillaRNN"});
  CHECK(tree.names_of("level2/12,1, 9-10") == Names{"1_Conv", "9_Mean", "10_Max", "12_Scale"});
  CHECK(tree.names_of("level1/002") == Names{"2_Standard"});
  CHECK(tree.names_of("level3/40_GRUHidden") == Names{"40_GRUHidden"});
  CHECK(tree.names_of("33_VanillaRNN") == Names{"33_VanillaRNN"});
  const auto tasks = tree.tasks({.sources = {"level3/40"}});
  CHECK(tasks[0] == SelectedTask{.path = tree.path("kb/KernelBench/level3/40_GRUHidden.py"),
                                 .name = "40_GRUHidden",
                                 .level = 3,
                                 .number = 40});
}

TEST_CASE("two numbers are tasks of the level's folder, or of level1", "[task][task_selection]") {
  const Tree tree;
  const auto chosen = [&](int first, int last, const std::string& root) {
    const auto source = level_range(first, last, {.kernelbench_dir = tree.path(root).string()});
    return tree.names({.sources = {source.value()}}, root);
  };
  CHECK(chosen(2, 39, "kb") == Names{"2_Standard", "10_Batched", "19_ReLU"});
  CHECK(chosen(1, 10, "kb/KernelBench/level2/") == Names{"1_Conv", "5_Gemm", "9_Mean", "10_Max"});
  tree.add("plain/7_a.py");
  tree.add("plain/9_b.py");
  CHECK(chosen(8, 100, "plain") == Names{"9_b"});
  // A choice alone is one of the folder's tasks.
  CHECK(tree.names({.sources = {}, .start = 8}, "plain") == Names{"9_b"});
  CHECK(tree.names({.sources = {}, .first = 1}, "plain") == Names{"7_a"});
  const auto missing = level_range(1, 2, {});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::InvalidArgument);
  CHECK(missing.error().message.find("say where its checkout is") != std::string::npos);
}

TEST_CASE("the root is a checkout, its inner folder, or the folder of a level", "[task][task_selection]") {
  const Tree tree;
  for (const char* root : {"kb", "kb/", "kb/KernelBench", "kb/KernelBench/level1", "kb/KernelBench/level3/"}) {
    INFO(root);
    CHECK(tree.names_of("level3", root) == Names{"33_VanillaRNN", "40_GRUHidden"});
    CHECK(tree.names_of("level3/40", root) == Names{"40_GRUHidden"});
  }
  // In the folder of a level, numbers alone are enough.
  CHECK(tree.names_of("33-42", "kb/KernelBench/level3") == Names{"33_VanillaRNN", "40_GRUHidden"});
  CHECK(tree.names_of("40", "kb/KernelBench/level3") == Names{"40_GRUHidden"});
  tree.add("own/3_x.py");
  CHECK(tree.names_of("1-5", "own") == Names{"3_x"});
  CHECK(tree.failure_of("33-42", ErrorCode::InvalidArgument) ==
        "cannot take tasks from 33-42: the numbers need a level or a folder, as in level1/33-42");
  CHECK(tree.failure_of("40", ErrorCode::InvalidArgument) ==
        "task 40 is ambiguous: level1/40_LayerNorm, level3/40_GRUHidden");
}

TEST_CASE("the folder of all levels gives all of them", "[task][task_selection]") {
  const Tree tree;
  for (const char* folder : {"kb", "kb/KernelBench"}) {
    const auto tasks = tree.tasks({.sources = {tree.path(folder).string()}}, "");
    REQUIRE(tasks.size() == 13);
    CHECK(tasks.front().name == "1_Square");
    CHECK(tasks.back().name == "40_GRUHidden");
    CHECK(tasks.back().level == 3);
  }
  // A folder that is named like a level is one.
  CHECK(tree.names_of(tree.path("kb/KernelBench/level3").string(), "").size() == 2);
  CHECK(tree.names_of(tree.path("kb/KernelBench/level3").string() + "/33", "") == Names{"33_VanillaRNN"});
}

TEST_CASE("sources keep their order, and a file counts once", "[task][task_selection]") {
  const Tree tree;
  fs::create_directory_symlink(tree.path("kb/KernelBench/level3"), tree.path("linked"));
  CHECK(tree.names({.sources = {"level3", "level1/19", "level3/40", tree.path("linked").string(),
                                tree.path("kb/../kb/KernelBench/level1/19_ReLU.py").string(), "level1/1"}}) ==
        Names{"33_VanillaRNN", "40_GRUHidden", "19_ReLU", "1_Square"});
  // The level of a file that was reached by a link is that of its real folder.
  CHECK(tree.tasks({.sources = {tree.path("linked").string()}})[0].level == 3);
}

TEST_CASE("links to one content are tasks of their own", "[task][task_selection]") {
  const Tree tree;
  tree.add("store/blob");
  for (const char* name : {"1_a.py", "2_b.py"}) {
    fs::create_directories(tree.path("set/level2"));
    fs::create_symlink(tree.path("store/blob"), tree.path("set/level2") / name);
  }
  const auto tasks = tree.tasks({.sources = {"level2"}}, "set");
  REQUIRE(tasks.size() == 2);
  CHECK(tasks[1].name == "2_b");
  CHECK(tasks[1].level == 2);
}

TEST_CASE("files of one name get names of their own", "[task][task_selection]") {
  const Tree tree;
  CHECK(tree.names({.sources = {"level2/19", "level1/19", "level1/1"}}) ==
        Names{"level2-19_ReLU", "level1-19_ReLU", "1_Square"});
  // Names do not depend on what is left out afterwards.
  CHECK(tree.names({.sources = {"level2/19", "level1/19", "level1/1"}, .first = 1}) == Names{"level2-19_ReLU"});
  CHECK(unique_names({"/a/x/relu.py", "/b/x/relu.py"}) == Names{"a-x-relu", "b-x-relu"});
  CHECK(unique_names({"/relu.py", "/a/relu.py"}) == Names{"relu", "a-relu"});
  CHECK(unique_names({"/t/a b.py", "/t/a_b.py", "/t/a_b-2.py"}) == Names{"a_b", "a_b-3", "a_b-2"});
  CHECK(unique_names({"/t/a_b-2.py", "/t/a_b.py", "/t/a b.py"}) == Names{"a_b-2", "a_b-3", "a_b"});
  CHECK(unique_names({"/t/\xC3\xA4.py", "/t/.x.py"}) == Names{"__", "_.x"});
}

TEST_CASE("a list holds one source on each line, relative to its folder", "[task][task_selection]") {
  const Tree tree;
  tree.add("lists/tasks/b.py");
  tree.add("lists/tasks/a.py");
  tree.add("lists/c#.py");
  const auto list =
      tree.add("lists/some.txt",
               "\xEF\xBB\xBF# tasks of today\r\n\n  level3/40   # the GRU\r\ntasks\n\t# nothing\nc#.py\nlevel1/19");
  CHECK(tree.names({.sources = {"level1/1"}, .list_files = {list.string()}}) ==
        Names{"1_Square", "40_GRUHidden", "a", "b", "c_", "19_ReLU"});
}

TEST_CASE("an error of a list names the list and the line", "[task][task_selection]") {
  const Tree tree;
  tree.add("tasks.txt", "level1/1\n\nlevel1/9-3\n");
  const auto list_failure = [&](ErrorCode code) {
    return tree.failure(TaskSelection{.list_files = {tree.path("tasks.txt").string()}}, code);
  };
  CHECK(list_failure(ErrorCode::InvalidArgument) ==
        "TREE/tasks.txt, line 3: cannot take tasks from level1/9-3: the range 9-3 ends before it begins; did you mean "
        "3-9?");
  tree.add("relu.py");
  tree.add("tasks.txt", "# paths\nrellu.py");
  CHECK(list_failure(ErrorCode::NotFound).find("TREE/tasks.txt, line 2: cannot find task rellu.py") == 0);
  tree.add("tasks.txt", "# nothing\n\n");
  CHECK(list_failure(ErrorCode::InvalidArgument) == "the list TREE/tasks.txt names no task");
  tree.add("tasks.txt", "a\xFF.py\n");
  CHECK(list_failure(ErrorCode::InvalidArgument) == "cannot use the list TREE/tasks.txt: not a text in UTF-8");
  fs::remove(tree.path("tasks.txt"));
  CHECK(list_failure(ErrorCode::NotFound).find("TREE/tasks.txt") != std::string::npos);
}

TEST_CASE("numbers that cannot be meant are refused", "[task][task_selection]") {
  const Tree tree;
  const auto refusal = [&](const std::string& numbers) {
    return tree.failure_of("level3/" + numbers, ErrorCode::InvalidArgument);
  };
  CHECK(refusal("9-3") == "cannot take tasks from level3/9-3: the range 9-3 ends before it begins; did you mean 3-9?");
  for (const char* numbers : {"33-", "-33", "33,,34", "1-2-3", "33 34", "12345678901", ",1"}) {
    INFO(numbers);
    CHECK(refusal(numbers).find("is no number and no range; expected numbers such as 33-42 or 1,5,9-12") !=
          std::string::npos);
  }
}

TEST_CASE("numbers that a level does not have are missed, with the nearest", "[task][task_selection]") {
  const Tree tree;
  CHECK(tree.failure_of("level1/18", ErrorCode::NotFound) ==
        "cannot find task level1/18: TREE/kb/KernelBench/level1 has no task 18; the nearest are 2, 10, 19");
  CHECK(tree.failure_of("level3/50-60", ErrorCode::NotFound) ==
        "cannot find task level3/50-60: TREE/kb/KernelBench/level3 has no task from 50 to 60; the nearest are 33, 40");
  // One wrong part is enough.
  CHECK(tree.failure_of("level3/33,41", ErrorCode::NotFound).find("has no task 41") != std::string::npos);
  tree.add("mine/relu.py");
  CHECK(tree.failure_of(tree.path("mine").string() + "/1", ErrorCode::NotFound).find("none has a number") !=
        std::string::npos);
  CHECK(describe_missing({5, 5}, {7}) == "has no task 5; the nearest is 7");
}

TEST_CASE("levels that do not exist, or hold no tasks", "[task][task_selection]") {
  const Tree tree;
  fs::create_directories(tree.path("kb/KernelBench/level9"));
  CHECK(tree.failure_of("level4", ErrorCode::NotFound) ==
        "cannot find task level4: TREE/kb/KernelBench has level1, level2, level3, level9 only");
  CHECK(tree.failure_of("level4/1-3", ErrorCode::NotFound).find("has level1, level2, level3, level9 only") !=
        std::string::npos);
  CHECK(tree.failure_of("level9", ErrorCode::InvalidArgument) ==
        "cannot take tasks from level9: TREE/kb/KernelBench/level9 holds no .py files");
  CHECK(tree.failure_of("level3", ErrorCode::NotFound, "") ==
        "cannot find task level3: no such file; for a KernelBench name say where its checkout is");
  CHECK(tree.failure_of("level3/33-42", ErrorCode::NotFound, "").find("say where its checkout is") !=
        std::string::npos);
  CHECK(tree.failure_of("level3", ErrorCode::NotFound, "nothing") ==
        "cannot find task level3: no KernelBench levels in TREE/nothing");
  CHECK(tree.failure_of("level3/40_GRUHiden", ErrorCode::NotFound).find("did you mean 40_GRUHidden?") !=
        std::string::npos);
}

TEST_CASE("what is no task and no source of tasks is refused", "[task][task_selection]") {
  const Tree tree;
  const auto mine = tree.add("mine/tasks/relu.py").parent_path();
  CHECK(tree.failure_of(tree.path("mine").string(), ErrorCode::InvalidArgument)
            .find("TREE/mine holds no .py files, but there are some in tasks") != std::string::npos);
  CHECK(tree.failure_of(tree.path("mine/taks").string(), ErrorCode::NotFound, "").find("did you mean tasks?") !=
        std::string::npos);
  CHECK(tree.failure_of(mine.string() + "/rellu.py", ErrorCode::NotFound, "").find("did you mean relu?") !=
        std::string::npos);
  CHECK(tree.failure_of(tree.add("mine/tasks.txt").string(), ErrorCode::InvalidArgument)
            .find("not a .py file; a file with a name on each line is given as a list") != std::string::npos);
  REQUIRE(::mkfifo(tree.path("fifo.py").c_str(), 0600) == 0);
  CHECK(
      tree.failure_of(tree.path("fifo.py").string(), ErrorCode::InvalidArgument).find("neither a file nor a folder") !=
      std::string::npos);
  CHECK(tree.failure_of("", ErrorCode::InvalidArgument) == "a source of tasks needs a path or a KernelBench name");
  CHECK(tree.failure(TaskSelection{}, ErrorCode::InvalidArgument) ==
        "no tasks to take: name a file, a folder or a KernelBench level");
}

TEST_CASE("the first tasks, and those of a range of numbers", "[task][task_selection]") {
  const Tree tree;
  CHECK(tree.names({.sources = {"level1"}, .first = 2}) == Names{"1_Square", "2_Standard"});
  CHECK(tree.names({.sources = {"level1"}, .first = 99}).size() == 5);
  CHECK(tree.names({.sources = {"level1"}, .start = 2, .end = 19}) == Names{"2_Standard", "10_Batched", "19_ReLU"});
  CHECK(tree.names({.sources = {"level1"}, .start = 19}) == Names{"19_ReLU", "40_LayerNorm"});
  CHECK(tree.names({.sources = {"level1"}, .end = 1}) == Names{"1_Square"});
  CHECK(tree.names({.sources = {"level1"}, .start = 2, .end = 19, .first = 1}) == Names{"2_Standard"});
  const auto relu = tree.add("relu.py").string();
  CHECK(tree.names({.sources = {relu, "level1/1"}, .end = 5}) == Names{"1_Square"});
  CHECK(tree.failure({.sources = {"level1"}, .start = 41, .end = 50}, ErrorCode::NotFound) ==
        "the selection has no task from 41 to 50; the nearest are 10, 19, 40");
  CHECK(tree.failure({.sources = {"level1"}, .start = 9, .end = 3}, ErrorCode::InvalidArgument) ==
        "the tasks from 9 to 3 end before they begin");
  CHECK(tree.failure({.sources = {"level1"}, .first = 0}, ErrorCode::InvalidArgument) ==
        "cannot take the first 0 tasks: expected at least 1");
}

TEST_CASE("a sample depends on its seed and the tasks alone", "[task][task_selection]") {
  const Tree tree;
  const auto sample = [&](Names sources, int count, std::int64_t seed) {
    return tree.names({.sources = std::move(sources), .sample = TaskSample{count, seed}});
  };
  const auto drawn = sample({"level1", "level2", "level3"}, 5, 7);
  REQUIRE(drawn.size() == 5);
  CHECK(drawn == sample({"level1", "level2", "level3"}, 5, 7));
  CHECK(drawn != sample({"level1", "level2", "level3"}, 5, 8));
  // The order of the list stays; the tasks that are drawn do not depend on it.
  auto reversed = sample({"level3", "level2", "level1"}, 5, 7);
  CHECK(reversed != drawn);
  CHECK(std::is_permutation(reversed.begin(), reversed.end(), drawn.begin(), drawn.end()));
  // A smaller sample is a part of a larger one.
  for (const auto& name : sample({"level1", "level2", "level3"}, 3, 7))
    CHECK(std::find(drawn.begin(), drawn.end(), name) != drawn.end());
  CHECK(sample({"level3"}, 99, 7).size() == 2);
  CHECK(tree.failure({.sources = {"level1"}, .sample = TaskSample{0, 7}}, ErrorCode::InvalidArgument) ==
        "cannot draw a sample of 0 tasks: expected at least 1");
  CHECK(tree.failure({.sources = {"level1"}, .first = 1, .sample = TaskSample{1, 7}}, ErrorCode::InvalidArgument) ==
        "take the first tasks or a sample of them, not both");
}

TEST_CASE("a sample is the same on every machine", "[task][task_selection]") {
  // The smallest of `printf 'task sample\n1\na' | sha256sum` and so on.
  CHECK(draw_sample({"a", "b", "c", "d", "e"}, 2, 1) == std::vector<std::size_t>{1, 2});
  CHECK(draw_sample({"a", "b", "c", "d", "e"}, 3, -1) == std::vector<std::size_t>{1, 2, 4});
  CHECK(draw_sample({}, 2, 1).empty());
}
