#include "exec/zygote.hpp"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <thread>

#include <kernelgen/exec/process.hpp>

#include "support/catch.hpp"
#include "support/random_id.hpp"
#include "support/socket.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

/// A directory with kernelgen's common package and a zygote without torch: its forks write one word.
class Modules {
 public:
  Modules() : path_(fs::temp_directory_path() / ("kernelgen-zygote-" + random_id())) {
    fs::create_directories(path_ / "one_word");
    fs::create_directory_symlink(fs::path(KERNELGEN_SOURCE_DIR) / "lib/python/kernelgen_common",
                                 path_ / "kernelgen_common");
    std::ofstream(path_ / "one_word" / "__init__.py");
    std::ofstream(path_ / "one_word" / "__main__.py") << R"(import os, socket, sys
from kernelgen_common import zygote

def child(request, descriptors):
    os.write(descriptors[0], b"word")
    return 0

sys.exit(zygote.serve(socket.socket(fileno=int(sys.argv[2])), {}, child))
)";
  }
  ~Modules() { fs::remove_all(path_); }
  Modules(const Modules&) = delete;
  Modules& operator=(const Modules&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

std::string word_of_child(Zygote& zygote) {
  auto pipe = make_stream_pair().value();
  const auto pid = zygote.fork(std::array<int, 1>{pipe.theirs.get()});
  INFO((pid ? "" : pid.error().message));
  REQUIRE(pid);
  pipe.theirs.reset();
  std::array<char, 16> word{};
  const auto count = ::read(pipe.ours.get(), word.data(), word.size());
  return {word.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

}  // namespace

TEST_CASE("a zygote lives on when the thread that started it has ended", "[exec][zygote]") {
  const Modules modules;
  std::unique_ptr<Zygote> zygote;
  std::thread([&] {
    zygote = Zygote::start({.python = "python3",
                            .python_dir = modules.path(),
                            .module = "one_word",
                            .environment = clean_environment(current_environment())})
                 .value();
    REQUIRE(zygote->wait_ready(30s, {}));
  }).join();
  CHECK(word_of_child(*zygote) == "word");
  CHECK(word_of_child(*zygote) == "word");
}
