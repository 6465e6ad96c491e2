#include "support/golden.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "support/catch.hpp"

namespace kernelgen::testing {

std::string read_test_data(const std::string& path) {
  const std::string full = std::string(KERNELGEN_TEST_DATA) + '/' + path;
  std::ifstream file(full, std::ios::binary);
  INFO(full);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void check_golden(const std::string& name, const std::string& text) {
  const char* accept = std::getenv("KERNELGEN_ACCEPT_GOLDEN");
  if (accept != nullptr && std::string(accept) == "1") {
    std::ofstream file(std::string(KERNELGEN_TEST_DATA) + "/golden/" + name, std::ios::binary);
    file << text;
    REQUIRE(file.flush());
    return;
  }
  INFO("golden file " << name << "; KERNELGEN_ACCEPT_GOLDEN=1 accepts the new text");
  CHECK(read_test_data("golden/" + name) == text);
}

}  // namespace kernelgen::testing
