#include <sys/stat.h>

#include <filesystem>
#include <string>

#include <kernelgen/task/task_source.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/sha256.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

constexpr const char* k_text = "class Model: pass\n";

/// A checkout with a few empty tasks.
class Checkout {
 public:
  Checkout() : directory_(TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-test-").value()) {
    for (const char* name : {"level1/19_ReLU", "level1/40_LayerNorm", "level2/4_Same", "level2/19_Twin",
                             "level3/40_GRUHidden", "level3/4_LeNet5", "level3/7_Both", "level3/7_Also"})
      add(std::string("KernelBench/") + name + ".py", k_text);
  }
  fs::path add(const std::string& name, const std::string& text) const {
    const fs::path path = root() / name;
    make_directories(path.parent_path()).value();
    write_file_atomic(path, text).value();
    return path;
  }
  [[nodiscard]] const fs::path& root() const { return directory_.path(); }
  [[nodiscard]] Result<TaskSource> load(const std::string& name) const {
    return load_task_source(name, {.kernelbench_dir = root().string()});
  }
  [[nodiscard]] Error failure(const std::string& name) const {
    auto result = load(name);
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().message.find('\n') == std::string::npos);
    return result.error();
  }

 private:
  TemporaryDirectory directory_;
};

bool mentions(const Error& error, const std::string& text) { return error.message.find(text) != std::string::npos; }

}  // namespace

TEST_CASE("a task is read by path", "[task][task_source]") {
  Checkout checkout;
  const auto path = checkout.add("mine/relu.py", k_text);
  const auto task = load_task_source(path.string(), {}).value();
  CHECK(task.name == "relu");
  CHECK(task.path == path.string());
  CHECK(task.text == k_text);
  CHECK(task.content_id == sha256_hex(k_text));
  CHECK(task.level == TaskLevel::Unknown);
}

TEST_CASE("the level comes from the directory", "[task][task_source]") {
  Checkout checkout;
  CHECK(checkout.load("level1/19").value().level == TaskLevel::SingleOperator);
  CHECK(checkout.load("level2/4").value().level == TaskLevel::Fusion);
  CHECK(checkout.load("level3/40").value().level == TaskLevel::Network);
  const auto path = checkout.add("level9/x.py", k_text);
  CHECK(load_task_source(path.string(), {}).value().level == TaskLevel::Unknown);
}

TEST_CASE("a task is read by KernelBench name in every spelling", "[task][task_source]") {
  Checkout checkout;
  for (const char* name : {"level3/40", "level3/40_GRUHidden", "level3/40_GRUHidden.py", "KernelBench/level3/40",
                           "KernelBench/level3/40_GRUHidden.py", "40_GRUHidden"}) {
    INFO(name);
    const auto task = checkout.load(name).value();
    CHECK(task.name == "40_GRUHidden");
    CHECK(task.level == TaskLevel::Network);
  }
  // The data directory itself is accepted, too.
  CHECK(load_task_source("level3/40", {.kernelbench_dir = (checkout.root() / "KernelBench").string()}).has_value());
}

TEST_CASE("in the folder of a level, a name means that level", "[task][task_source]") {
  Checkout checkout;
  const TaskLocator level3{.kernelbench_dir = (checkout.root() / "KernelBench/level3/").string()};
  CHECK(load_task_source("40", level3).value().name == "40_GRUHidden");
  CHECK(load_task_source("level1/40", level3).value().name == "40_LayerNorm");
  CHECK(load_task_source("19", level3).error().code == ErrorCode::NotFound);
}

TEST_CASE("a number is a whole number", "[task][task_source]") {
  Checkout checkout;
  CHECK(checkout.load("level3/4").value().name == "4_LeNet5");
}

TEST_CASE("an ambiguous task names all that fit", "[task][task_source]") {
  Checkout checkout;
  auto error = checkout.failure("level3/7");
  CHECK(error.code == ErrorCode::InvalidArgument);
  CHECK(error.message == "task level3/7 is ambiguous: level3/7_Also, level3/7_Both");
  error = checkout.failure("19");
  CHECK(error.message == "task 19 is ambiguous: level1/19_ReLU, level2/19_Twin");
}

TEST_CASE("a task that does not exist is NotFound with close names", "[task][task_source]") {
  Checkout checkout;
  auto error = checkout.failure("level3/40_GRUHiden");
  CHECK(error.code == ErrorCode::NotFound);
  CHECK(mentions(error, "did you mean 40_GRUHidden?"));
  error = checkout.failure("level3/99");
  CHECK(error.code == ErrorCode::NotFound);
  error = checkout.failure("level7/1");
  CHECK(mentions(error, "has level1, level2, level3 only"));
  const auto path = checkout.add("mine/softmax.py", k_text);
  error = load_task_source((path.parent_path() / "softmx.py").string(), {}).error();
  CHECK(error.code == ErrorCode::NotFound);
  CHECK(mentions(error, "did you mean softmax?"));
}

TEST_CASE("the file of a task is found without being read", "[task][task_source]") {
  Checkout checkout;
  const auto path = checkout.add("mine/empty.py", "");
  CHECK(find_task_file(path.string(), {}).value() == path);
  CHECK(find_task_file(path.string() + "x", {}).error().code == ErrorCode::NotFound);
}

TEST_CASE("a KernelBench name without a checkout says what to set", "[task][task_source]") {
  auto error = load_task_source("level3/40", {}).error();
  CHECK(error.code == ErrorCode::NotFound);
  CHECK(mentions(error, "say where its checkout is"));
  error = load_task_source("level3/40", {.kernelbench_dir = "/no/such/directory"}).error();
  CHECK(error.code == ErrorCode::NotFound);
  CHECK(mentions(error, "no KernelBench levels in /no/such/directory"));
}

TEST_CASE("a directory and a FIFO are refused without reading", "[task][task_source]") {
  Checkout checkout;
  auto error = checkout.failure(checkout.root().string());
  CHECK(error.code == ErrorCode::InvalidArgument);
  CHECK(mentions(error, "it is a directory"));
  const auto fifo = checkout.root() / "fifo.py";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  error = checkout.failure(fifo.string());
  CHECK(mentions(error, "not a regular file"));
}

TEST_CASE("files that cannot be tasks are InvalidTask", "[task][task_source]") {
  Checkout checkout;
  auto error = checkout.failure(checkout.add("big.py", std::string(k_max_task_bytes + 1, '#')).string());
  CHECK(error.code == ErrorCode::InvalidTask);
  CHECK(mentions(error, "larger than 4194304 bytes"));
  CHECK(checkout.load(checkout.add("fits.py", std::string(k_max_task_bytes, '#')).string()).has_value());
  error = checkout.failure(checkout.add("latin.py", "# caf\xE9\n").string());
  CHECK(error.code == ErrorCode::InvalidTask);
  CHECK(mentions(error, "UTF-8"));
  error = checkout.failure(checkout.add("zero.py", std::string("a\0b", 3)).string());
  CHECK(error.code == ErrorCode::InvalidTask);
  error = checkout.failure(checkout.add("empty.py", " \n").string());
  CHECK(error.code == ErrorCode::InvalidTask);
  CHECK(mentions(error, "empty"));
}

TEST_CASE("names that cannot be names are InvalidArgument", "[task][task_source]") {
  Checkout checkout;
  CHECK(checkout.failure("").code == ErrorCode::InvalidArgument);
  CHECK(checkout.load("level3/../level1/19_ReLU.py").has_value() == false);
}
