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

TEST_CASE("a model's part of a name can name a directory", "[store][results]") {
  CHECK(run_name_of_model("openai gpt-5") == "gpt-5");
  CHECK(run_name_of_model("command /usr/bin/python3") == "-usr-bin-python3");
  CHECK(run_name_of_model("scripted") == "scripted");
  CHECK(run_name_of_model("test .hidden") == "_.hidden");
  CHECK(run_name_of_model("") == "_");
}
