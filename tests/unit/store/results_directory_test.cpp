#include <kernelgen/store/results_directory.hpp>

#include "support/catch.hpp"

using namespace kernelgen;

TEST_CASE("runs of a task lie below its name", "[store][results]") {
  CHECK(run_directory("results", "relu", "").value() == "results/relu");
  CHECK(run_directory("results", "relu", "second-try_2").value() == "results/relu/second-try_2");
  for (const char* name : {"../x", "a/b", ".hidden", "a b"}) {
    const auto refused = run_directory("results", "relu", name);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::InvalidArgument);
    CHECK_FALSE(run_directory("results", name, ""));
  }
}
