// Targets that a program registers, and targets that only a record names.

#include <kernelgen/core/candidate.hpp>
#include <kernelgen/core/record.hpp>
#include <kernelgen/store/event.hpp>

#include "core/json.hpp"
#include "core/json_codec.hpp"
#include "core/target_registry.hpp"
#include "support/catch.hpp"

using namespace kernelgen;

namespace {

std::string refusal_of(TargetTraits traits) {
  const auto refused = register_target(std::move(traits));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::InvalidArgument);
  return refused.error().message;
}

}  // namespace

TEST_CASE("kernelgen's own targets keep their traits", "[core][target]") {
  CHECK(to_string(Target::Hipkittens) == "hipkittens");
  CHECK(traits_of(Target::Triton).artifact == ArtifactKind::PythonModule);
  CHECK(traits_of(Target::Triton).device == TargetDevice::Any);
  CHECK(needs_gpu(Target::Cuda));
  CHECK_FALSE(needs_gpu(Target::Cpp));
  CHECK_FALSE(needs_gpu(Target::Torch));
  for (const auto target :
       {Target::Cpp, Target::Cuda, Target::Hip, Target::Hipkittens, Target::Triton, Target::Torch}) {
    CHECK(is_built_in(target));
    CHECK(is_registered(target));
    CHECK(parse_target(to_string(target)) == target);
  }
}

TEST_CASE("a registered target is found by its name and by its extension", "[core][target]") {
  const auto target = register_target({.name = "found-dsl", .file_extension = ".fdsl", .language = "Found"}).value();
  CHECK(parse_target("found-dsl") == target);
  CHECK(to_string(target) == "found-dsl");
  CHECK(is_registered(target));
  CHECK_FALSE(is_built_in(target));
  CHECK(traits_of(target).fence_tag == "found-dsl");
  CHECK(guess_target("a/b.fdsl", "") == target);
  CHECK(default_language(target) == Language::Custom);
  const auto candidate = make_candidate(target, "x = y");
  CHECK(source_file_name(candidate.target, candidate.language) == "candidate.fdsl");
  CHECK(candidate.id != make_candidate(Target::Cpp, "x = y").id);
}

TEST_CASE("a target may have the extension of one of kernelgen's, which then wins", "[core][target]") {
  const auto target =
      register_target({.name = "python-dsl", .artifact = ArtifactKind::PythonModule, .file_extension = ".py"}).value();
  CHECK(guess_target("a.py", "import torch") == Target::Torch);
  CHECK(file_extension(target, Language::Custom) == ".py");
}

TEST_CASE("names that are taken or malformed are refused", "[core][target]") {
  REQUIRE(register_target({.name = "taken", .file_extension = ".taken"}));
  CHECK(refusal_of({.name = "taken", .file_extension = ".other"}) == "there is a target taken already");
  CHECK(refusal_of({.name = "cuda"}) == "there is a target cuda already");
  CHECK(refusal_of({.name = "other", .file_extension = ".taken"}) ==
        "target other cannot have the file extension .taken: target taken has it");
  for (const char* name : {"", "My", "1st", "a b", "a/b", "a.b", "-a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}) {
    INFO(name);
    CHECK(refusal_of({.name = name, .file_extension = ".x"}).starts_with("bad name \"" + std::string(name)));
    CHECK_FALSE(TargetRegistry::of_process().find_or_name(name));
  }
  for (const char* extension : {"x", ".", "./x", ".X", ".aaaaaaaaaaaaaaaaa"}) {
    INFO(extension);
    CHECK(refusal_of({.name = "extension", .file_extension = extension}).starts_with("bad file extension"));
  }
  CHECK_FALSE(parse_target("extension"));
}

TEST_CASE("a target that is registered again with the same traits is the same", "[core][target]") {
  const TargetTraits traits{.name = "again", .language = "Again", .prompt_text = "Write it."};
  const auto target = register_target(traits).value();
  CHECK(register_target(traits).value() == target);
  // Members that follow from the name may be named.
  CHECK(register_target(traits_of(target)).value() == target);
  auto other = traits;
  other.prompt_text = "Write it well.";
  CHECK(refusal_of(other) == "there is a target again already");
  CHECK(refusal_of(traits_of(Target::Cuda)) == "there is a target cuda already");
}

TEST_CASE("a record of a target that this program does not know is read and written as it was", "[core][target]") {
  EvaluationRecord record;
  record.target = register_target({.name = "written"}).value();
  record.language = default_language(record.target);
  auto text = to_json(record);
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (auto at = text.find(from); at != text.npos; at = text.find(from)) text.replace(at, from.size(), to);
  };
  replace("\"written\"", "\"elsewhere\"");
  const auto read = parse_record(text).value();
  CHECK(to_string(read.target) == "elsewhere");
  CHECK(read.language == Language::Custom);
  CHECK_FALSE(is_registered(read.target));
  CHECK_FALSE(parse_target("elsewhere"));
  CHECK(to_json(read) == text);
  // A candidate has the same id in a program that knows its target as in one that does not.
  const auto id = make_candidate(read.target, "source").id;
  const auto target = register_target({.name = "elsewhere", .artifact = ArtifactKind::PythonModule}).value();
  CHECK(target == read.target);
  CHECK(is_registered(read.target));
  CHECK_FALSE(is_native(target));
  CHECK(make_candidate(target, "source").id == id);
}

TEST_CASE("names of targets in hostile files do not fill the memory", "[core][target]") {
  TargetRegistry registry;
  for (std::size_t i = 0; i < k_max_unregistered_targets; ++i)
    REQUIRE(registry.find_or_name("hostile" + std::to_string(i)));
  CHECK_FALSE(registry.find_or_name("one-more"));
  CHECK(registry.find_or_name("hostile7"));
  CHECK(registry.find_or_name("cuda") == Target::Cuda);
  // Registering goes on, and makes room where a name becomes known.
  CHECK(registry.add({.name = "one-more"}));
  CHECK(registry.add({.name = "hostile7"}));
  CHECK(registry.find_or_name("another"));
}

TEST_CASE("a malformed name of a target in a file is an error", "[core][target]") {
  const auto refused = from_value<Candidate>(boost::json::parse(R"({"target": "not a name"})"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "target: unknown name \"not a name\"");
  CHECK(to_string(static_cast<Target>(1'000'000)) == "unknown");
  CHECK_FALSE(is_registered(static_cast<Target>(-1)));
}
