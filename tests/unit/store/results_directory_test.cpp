#include <kernelgen/store/results_directory.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

TEST_CASE("a results directory belongs to one kgen at a time", "[store][results]") {
  const auto directory = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-results-").value();
  auto first = open_results_directory(directory.path() / "results");
  REQUIRE(first);
  const auto second = open_results_directory(directory.path() / "results");
  REQUIRE_FALSE(second);
  CHECK(second.error().code == ErrorCode::Busy);
  CHECK(second.error().message == (directory.path() / "results").string() + " is in use by another kgen");
  first->reset();
  CHECK(open_results_directory(directory.path() / "results"));
}

TEST_CASE("runs of a task lie below its name", "[store][results]") {
  const auto directory = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-results-").value();
  const auto results = open_results_directory(directory.path()).value();
  CHECK(results->run_directory("relu", "").value() == directory.path() / "relu");
  CHECK(results->run_directory("relu", "second-try_2").value() == directory.path() / "relu" / "second-try_2");
  for (const char* name : {"../x", "a/b", ".hidden", "a b"}) {
    const auto refused = results->run_directory("relu", name);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::InvalidArgument);
  }
}
