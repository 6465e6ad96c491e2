#include "flow/same_code.hpp"

#include <random>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

bool same(std::string_view a, std::string_view b, Language language = Language::Cuda) {
  return code_essence(a, language) == code_essence(b, language);
}

bool same_python(std::string_view a, std::string_view b) { return same(a, b, Language::Python); }

}  // namespace

TEST_CASE("comments, blanks and line ends do not make another C source", "[flow][same_code]") {
  CHECK(same("int f(int a) { return a; }", "// first\nint f( int a )\n{\n  return a;  /* its value */\n}\n"));
  CHECK(same("#include <a.h>\nint x;\n", "#include <a.h>  // for x\r\n\r\nint x;\r\n"));
  CHECK(same("a = 1'000; // x'y", "a = 1'000;"));
  CHECK(same("#define A(x) \\\n  (x)\n", "#define A(x)   (x)\n"));
  CHECK(same("f(a); // goes \\\n on\ng();", "f(a);\ng();"));
}

TEST_CASE("what means something makes another C source", "[flow][same_code]") {
  CHECK_FALSE(same("int x;", "int y;"));
  CHECK_FALSE(same("for (;;) f();", "#pragma unroll\nfor (;;) f();"));
  CHECK_FALSE(same("a + +b", "a ++b"));
  CHECK_FALSE(same("int ab;", "int a/**/b;"));
  CHECK_FALSE(same("#define A (x)\n", "#define A(x)\n"));
  CHECK_FALSE(same("#define A\nb", "#define A b"));
  CHECK_FALSE(same("#if 0\nf();\n#endif\n", "#if 0\ng();\n#endif\n"));
  CHECK_FALSE(same("s = \"a  b\";", "s = \"a b\";"));
  CHECK_FALSE(same("s = \"// a\";", "s = \"// b\";"));
  CHECK_FALSE(same("s = \"\\\"// a\";", "s = \"\\\"// b\";"));
  CHECK_FALSE(same("c = '\"'; // a\"\nx", "c = '\"'; // a\"\ny"));
  CHECK_FALSE(same("s = R\"x(\" // a)x\";", "s = R\"x(\" // b)x\";"));
}

TEST_CASE("comments, blank lines and blanks do not make another Python source", "[flow][same_code]") {
  CHECK(same_python("def f(a):\n    return a\n", "# first\ndef f( a ):  # second\n\n   \n    return  a\n\n"));
  CHECK(same_python("x = 1\r\ny = 2\r\n", "x = 1\ny = 2"));
}

TEST_CASE("what means something makes another Python source", "[flow][same_code]") {
  CHECK_FALSE(same_python("if a:\n    b\nc\n", "if a:\n    b\n    c\n"));
  CHECK_FALSE(same_python("s = '# a'", "s = '# b'"));
  CHECK_FALSE(same_python("s = \"\"\"\n# a\n\"\"\"", "s = \"\"\"\n# b\n\"\"\""));
  CHECK_FALSE(same_python("s = '\\'# a'", "s = '\\'# b'"));
  CHECK_FALSE(same_python("num_warps=4", "num_warps=8"));
}

TEST_CASE("a language of another program is compared as it is", "[flow][same_code]") {
  CHECK(same("a b", "a b", Language::Custom));
  CHECK_FALSE(same("a b", "a  b", Language::Custom));
}

TEST_CASE("sources for another target or in another language are not the same", "[flow][same_code]") {
  CHECK(is_same_code(make_candidate(Target::Cpp, "a;"), make_candidate(Target::Cpp, "a; // b")));
  CHECK_FALSE(is_same_code(make_candidate(Target::Cpp, "a;"), make_candidate(Target::Cuda, "a;")));
  CHECK_FALSE(is_same_code(make_candidate(Target::Cpp, Language::C, "a;"), make_candidate(Target::Cpp, "a;")));
}

TEST_CASE("any text has an essence, which is no longer than the text and a line end", "[flow][same_code]") {
  std::mt19937 random(1);
  constexpr std::string_view k_pieces[] = {"\"", "'", "\\", "\n", "/*", "*/", "//",     "#", "R\"", "(",
                                           ")",  " ", "\t", "\r", "a",  "1",  "\"\"\"", ";", "\0x", "\xff"};
  for (int round = 0; round < 4000; ++round) {
    std::string text;
    for (auto count = random() % 24; count > 0; --count) text += k_pieces[random() % std::size(k_pieces)];
    for (const auto language : {Language::Cpp, Language::Python}) {
      const auto essence = code_essence(text, language);
      // A directive that begins within a line of the essence gets a line of its own.
      const auto directives = static_cast<std::size_t>(std::count(text.begin(), text.end(), '#'));
      CHECK(essence.size() <= text.size() + 1 + directives);
      CHECK(code_essence(text, language) == essence);
    }
  }
}
