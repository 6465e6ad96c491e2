#include "support/regex.hpp"

#include <boost/regex.hpp>
#include <string>

#include "support/catch.hpp"

using kernelgen::match_length;

TEST_CASE("the length of a match is that of the first one", "[support][regex]") {
  const boost::regex pattern("ab+");
  CHECK(match_length(pattern, "xxabbb ab") == 4);
  CHECK(match_length(pattern, "xx") == std::nullopt);
  CHECK(match_length(pattern, "") == std::nullopt);
}

TEST_CASE("a search that takes too many steps finds nothing and throws nothing", "[support][regex]") {
  const boost::regex pattern("(x+x+)+y");
  const std::string text(2000, 'x');
  boost::cmatch match;
  CHECK_THROWS_AS(boost::regex_search(text.data(), text.data() + text.size(), match, pattern), std::runtime_error);
  CHECK(match_length(pattern, text) == std::nullopt);
}
