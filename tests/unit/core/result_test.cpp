#include <kernelgen/core/result.hpp>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

Error no_such_file() { return {ErrorCode::NotFound, "no such file"}; }

/// The types that an access gives for each kind of object are those of std::expected, except for a temporary's.
template <class T>
constexpr bool k_accesses_as_documented = std::is_same_v<decltype(std::declval<Result<T>&>().value()), T&>&&
    std::is_same_v<decltype(std::declval<const Result<T>&>().value()), const T&>&& std::is_same_v<
        decltype(std::declval<Result<T>>().value()), T>&& std::is_same_v<decltype(*std::declval<Result<T>>()), T>&&
        std::is_same_v<decltype(std::declval<Result<T>>().error()), Error>;
static_assert(k_accesses_as_documented<int>);
static_assert(k_accesses_as_documented<std::unique_ptr<int>>);

}  // namespace

TEST_CASE("a constant result gives its value", "[core][result]") {
  const Result<std::string> found = std::string("kernel");
  CHECK(found.value() == "kernel");
  // No copy: it is the very value.
  CHECK(&found.value() == &*found);
  const Result<std::unique_ptr<int>> owner = std::make_unique<int>(7);
  CHECK(*owner.value() == 7);
}

TEST_CASE("a loop over the value of a temporary sees the whole value", "[core][result]") {
  const auto words = [] {
    return Result(std::vector<std::string>{"one", "two, which is too long to be stored inside"});
  };
  std::string seen;
  for (const auto& word : words().value()) seen += word + ';';
  for (const auto& word : *words()) seen += word + ';';
  for (const char c : Result<std::string>(no_such_file()).error().message) seen += c;
  CHECK(seen ==
        "one;two, which is too long to be stored inside;one;two, which is too long to be stored inside;no such file");
}

TEST_CASE("the value of an error is thrown as one, by every kind of access", "[core][result]") {
  Result<int> variable = no_such_file();
  const Result<int> constant = no_such_file();
  const auto code = [](auto&& access) {
    try {
      access();
    } catch (const BadResult& bad) {
      return bad.error().code;
    }
    return ErrorCode::Internal;
  };
  CHECK(code([&] { static_cast<void>(variable.value()); }) == ErrorCode::NotFound);
  CHECK(code([&] { static_cast<void>(constant.value()); }) == ErrorCode::NotFound);
  CHECK(code([&] { static_cast<void>(std::move(constant).value()); }) == ErrorCode::NotFound);
  CHECK(constant.error().message == "no such file");
  CHECK(code([&] { static_cast<void>(std::move(variable).value()); }) == ErrorCode::NotFound);
}
