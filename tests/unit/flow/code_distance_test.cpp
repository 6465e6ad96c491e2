#include "flow/code_distance.hpp"

#include <cmath>
#include <string>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

double code_distance(const std::string& a, const std::string& b, Target target = Target::Cpp) {
  return distance_of(sketch_of(make_candidate(target, a)), sketch_of(make_candidate(target, b)));
}

}  // namespace

TEST_CASE("comments and blanks make no distance between codes", "[flow][code_distance]") {
  CHECK(code_distance("int f(int x) { return x + 1; }", "int f(int x)\n{\n  // one more\n  return x + 1;\n}\n") == 0);
  CHECK(code_distance("def f(x):\n    return x + 1\n", "def f(x):  # more\n    return x  + 1\n", Target::Triton) == 0);
}

TEST_CASE("the distance is the share of runs of three tokens that are not in common", "[flow][code_distance]") {
  // Runs of the first: abc, bcd, cd, d. Of the second: abc, bcx, cx, x.
  CHECK(std::abs(code_distance("a b c d", "a b c x") - (1 - 1.0 / 7)) < 1e-9);
  CHECK(code_distance("a b c d", "p q r s") == 1);
  CHECK(code_distance("a b c d", "a b c d a b c d") > 0);
}

TEST_CASE("a kernel with another constant is nearer than one of another structure", "[flow][code_distance]") {
  const std::string tiled = "for (int i = 0; i < n; i += 32) sum += row[i] * column[i];";
  const std::string wider = "for (int i = 0; i < n; i += 64) sum += row[i] * column[i];";
  const std::string other =
      "while (left > 0) { const auto part = next(); total = fma(part.a, part.b, total); --left; }";
  CHECK(code_distance(tiled, wider) > 0);
  CHECK(code_distance(tiled, wider) < code_distance(tiled, other));
  CHECK(code_distance(tiled, other) == code_distance(other, tiled));
}

TEST_CASE("codes without a token have no distance", "[flow][code_distance]") {
  CHECK(code_distance("", " \n") == 0);
  CHECK(code_distance("", "x") == 1);
  CHECK(code_distance(std::string("\0\xff\x80", 3), "x") == 1);
}
