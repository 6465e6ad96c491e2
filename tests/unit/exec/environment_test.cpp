#include <kernelgen/exec/process.hpp>

#include "support/catch.hpp"

using namespace kernelgen;

TEST_CASE("the clean environment keeps what tools need", "[exec][environment]") {
  const auto clean = clean_environment({{"PATH", "/bin"},
                                        {"HOME", "/home/u"},
                                        {"LC_ALL", "C"},
                                        {"CUDA_VISIBLE_DEVICES", "0"},
                                        {"OMP_NUM_THREADS", "2"},
                                        {"LD_PRELOAD", "x.so"},
                                        {"PS1", "$"}});
  CHECK(clean.size() == 5);
  CHECK(clean.count("LD_PRELOAD") == 0);
  CHECK(clean.count("PS1") == 0);
}

TEST_CASE("the clean environment drops everything that looks like a secret", "[exec][environment]") {
  const auto clean = clean_environment({{"OPENAI_API_KEY", "s"},
                                        {"KGEN_API_KEY", "s"},
                                        {"kgen_token", "s"},
                                        {"KGEN_TOKEN", "s"},
                                        {"TORCH_HUB_TOKEN_FILE", "s"},
                                        {"KGEN_PASSWORD2", "s"},
                                        {"KGEN_CLIENT_SECRETS", "s"},
                                        {"SLURM_AUTH_X", "s"},
                                        {"KGEN_KEYBOARD", "kept"}});
  CHECK(clean == std::map<std::string, std::string>{{"KGEN_KEYBOARD", "kept"}});
}

TEST_CASE("programs are found on the given PATH only", "[exec][environment]") {
  CHECK(find_program("sh", {{"PATH", "/nowhere:/bin"}}).value() == "/bin/sh");
  CHECK(find_program("sh", {}).has_value());
  CHECK(find_program("./sh", {}).value() == "./sh");
  CHECK(find_program("sh", {{"PATH", ""}}).error().code == ErrorCode::MissingTool);
  CHECK(find_program("sh", {{"PATH", "bin:.:"}}).error().code == ErrorCode::MissingTool);
}
