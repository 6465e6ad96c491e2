#include "apps/runner/native/gpu_nodes.hpp"

#include <filesystem>
#include <fstream>

#include "support/catch.hpp"

namespace fs = std::filesystem;
using kgen_runner::gpu_nodes;
using kgen_runner::minor_of;

namespace {

/// A temporary folder of the test.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "kernelgen-nodes-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name) << text;
  }
};

}  // namespace

TEST_CASE("a GPU's node is found by its UUID", "[gpu_nodes]") {
  const Folder told;
  told.write("0000:01:00.0/information", "Model: \t\t NVIDIA\nGPU UUID: \t GPU-aaaa\nDevice Minor: \t 0\n");
  told.write("0000:02:00.0/information", "Model: \t\t NVIDIA\nGPU UUID: \t GPU-bbbb\nDevice Minor: \t 13\n");
  told.write("0000:03:00.0/information", "Model: \t\t NVIDIA\nGPU UUID: \t GPU-????\nDevice Minor: \t ?\n");
  CHECK(minor_of("GPU-bbbb", told.path.string()) == "13");
  CHECK_FALSE(minor_of("GPU-cccc", told.path.string()));
  CHECK_FALSE(minor_of("GPU-????", told.path.string()));
  CHECK_FALSE(minor_of("GPU-bbbb", (told.path / "missing").string()));
}

TEST_CASE("a runner gets the nodes of its GPU, and no other GPU's", "[gpu_nodes]") {
  const Folder dev;
  for (const char* name : {"nvidia0", "nvidia1", "nvidia10", "nvidiactl", "nvidia-uvm", "null", "sda"})
    dev.write(name, "");
  CHECK(gpu_nodes("1", dev.path.string()) ==
        std::vector<std::string>{"/dev/nvidia-uvm", "/dev/nvidia1", "/dev/nvidiactl"});
  CHECK(gpu_nodes(std::nullopt, dev.path.string()).size() == 5);
}
