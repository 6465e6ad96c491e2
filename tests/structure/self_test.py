#!/usr/bin/env python3
"""Each structure check rejects a tree that is wrong on purpose, and accepts the honest counterpart."""

import pathlib
import tempfile
import unittest

import check_docs
import check_forbidden
import check_layers
import check_messages
import check_public_headers
import check_recipes
import check_reference
import check_snippets
import check_symbols
import check_words

FIGURE = "<svg xmlns='http://www.w3.org/2000/svg'><title>t</title>{}</svg>\n"
HEADER = "#pragma once\nnamespace kernelgen {\ninline namespace KERNELGEN_API v0 {\n}\n}\n"


class Fixture(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.directory.name)

    def tearDown(self):
        self.directory.cleanup()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def assert_finding(self, check, text):
        findings = check(self.root)
        self.assertTrue(any(text in finding for finding in findings), f"{text!r} not in {findings}")

    def assert_clean(self, check):
        self.assertEqual(check(self.root), [])


class Layers(Fixture):
    def test_downward_include_is_fine(self):
        self.write("lib/bench/a.cpp", '#include <kernelgen/core/x.hpp>\n#include "support/y.hpp"\n#include <vector>\n')
        self.assert_clean(check_layers.check)

    def test_upward_include(self):
        self.write("lib/core/a.cpp", '#include "exec/process.hpp"\n')
        self.assert_finding(check_layers.check, "exec stands above")

    def test_upward_include_through_dots(self):
        self.write("lib/bench/x.hpp", "")
        self.write("lib/core/a.cpp", '#include "../bench/x.hpp"\n')
        self.assert_finding(check_layers.check, "bench stands above")

    def test_neighbours(self):
        self.write("lib/task/a.cpp", "#  include <kernelgen/device/facts.hpp>\n")
        self.assert_finding(check_layers.check, "neighbours")

    def test_public_header_sees_support(self):
        self.write("include/kernelgen/bench/a.hpp", "#include <kernelgen/support/try.hpp>\n")
        self.assert_finding(check_layers.check, "private")

    def test_flow_sees_a_backend(self):
        self.write("lib/flow/a.cpp", '#include "compile/cpp_compiler.hpp"\n')
        self.assert_finding(check_layers.check, "public interfaces and support only")

    def test_flow_sees_exec(self):
        self.write("lib/flow/a.cpp", "#include <kernelgen/exec/process.hpp>\n")
        self.assert_finding(check_layers.check, "public interfaces and support only")

    def test_flow_uses_helpers(self):
        self.write("lib/flow/a.cpp", '#include "support/sleep.hpp"\n#include <kernelgen/llm/llm_client.hpp>\n')
        self.assert_clean(check_layers.check)

    def test_core_and_support(self):
        self.write("lib/core/a.cpp", '#include "support/text.hpp"\n')
        self.write("lib/support/a.cpp", "#include <kernelgen/core/result.hpp>\n")
        self.assert_clean(check_layers.check)

    def test_support_sees_what_is_private_in_core(self):
        self.write("lib/support/a.hpp", '#include "core/json.hpp"\n')
        self.assert_finding(check_layers.check, "public headers of core only")

    def test_package_of_one_file(self):
        self.write("lib/exec/spawn.cpp", "#include <boost/process/v2/process.hpp>\n")
        self.assert_clean(check_layers.check)
        self.write("lib/llm/a.cpp", "#include <boost/asio/io_context.hpp>\n")
        self.assert_finding(check_layers.check, "boost/asio is for lib/exec/spawn.cpp and lib/report/monitor_server.cpp")

    def test_umbrella(self):
        self.write("include/kernelgen/kernelgen.hpp", "#include <kernelgen/core/a.hpp>\n")
        self.assert_clean(check_layers.check)
        self.write("lib/core/a.cpp", "#include <kernelgen/kernelgen.hpp>\n")
        self.assert_finding(check_layers.check, "includes everything")

    def test_unknown_module(self):
        self.write("lib/misc/a.cpp", "")
        self.assert_finding(check_layers.check, "not in a module")


class PublicHeaders(Fixture):
    def test_honest_header(self):
        self.write("include/kernelgen/core/b.hpp", HEADER)
        self.write("include/kernelgen/core/a.hpp", "#include <vector>\n#include <kernelgen/core/b.hpp>\n" + HEADER)
        self.write("lib/headers.cmake", "set(H\n core/a.hpp\n core/b.hpp\n kernelgen.hpp)")
        self.write("include/kernelgen/kernelgen.hpp",
                   "#pragma once\n#include <kernelgen/core/a.hpp>\n#include <kernelgen/core/b.hpp>\n")
        self.write("docs/embedding.md", "| `core/a.hpp`, `core/b.hpp` | both |\n")
        self.assert_clean(check_public_headers.check)

    def test_umbrella_that_lacks_a_header(self):
        self.write("include/kernelgen/core/a.hpp", HEADER)
        self.assert_finding(check_public_headers.check, "kernelgen.hpp: does not include core/a.hpp")

    def test_index_of_headers(self):
        self.write("include/kernelgen/core/a.hpp", HEADER)
        self.write("docs/embedding.md", "see `core/a.hpp`\n| `core/b.hpp` | gone |\n")
        self.assert_finding(check_public_headers.check, "the index of headers names core/a.hpp 0 times")
        self.assert_finding(check_public_headers.check, "there is no header core/b.hpp")

    def test_third_party(self):
        self.write("include/kernelgen/core/a.hpp", "#include <boost/json.hpp>\n" + HEADER)
        self.assert_finding(check_public_headers.check, "boost/json.hpp")

    def test_not_installed(self):
        self.write("include/kernelgen/core/a.hpp", HEADER)
        self.assert_finding(check_public_headers.check, "headers.cmake")

    def test_missing_kernelgen_header(self):
        self.write("include/kernelgen/core/a.hpp", "#include <kernelgen/core/gone.hpp>\n" + HEADER)
        self.assert_finding(check_public_headers.check, "does not exist")

    def test_version_namespace(self):
        self.write("include/kernelgen/core/a.hpp", "#pragma once\nnamespace kernelgen {}\n")
        self.assert_finding(check_public_headers.check, "v0")

    def test_abi_header_is_c(self):
        self.write("include/kernelgen/abi/kernelgen/abi.h", "#include <cstdint>\n")
        self.assert_finding(check_public_headers.check, "cstdint")


class Symbols(unittest.TestCase):
    TEXT = "struct A {\n  int member() const;\n};\n[[nodiscard]] Result<int> make_it(int a,\n    int b = {});\ninline int two() { return 2; }\n"

    def test_what_is_declared_is_exported(self):
        symbols = ["kernelgen::v0::make_it(int, int)", "vtable for kernelgen::v0::A", "kernelgen::v0::A::member() const"]
        self.assertEqual(list(check_symbols.findings(symbols, [("a.hpp", self.TEXT)])), [])

    def test_what_is_missing(self):
        self.assertIn("make_it() is not exported", list(check_symbols.findings([], [("a.hpp", self.TEXT)]))[0])

    def test_what_is_exported_by_mistake(self):
        symbols = ["kernelgen::v0::make_it(int, int)", "boost::json::value::value()", "std::vector<kernelgen::v0::A>::size()"]
        self.assertEqual(len(list(check_symbols.findings(symbols, [("a.hpp", self.TEXT)]))), 2)

    def test_promised_functions(self):
        mangled = ("kernelgen::v0::make_it[abi:cxx11](std::map<std::__cxx11::basic_string<char, std::char_traits<char>, "
                   "std::allocator<char> >, std::vector<int, std::allocator<int> >, std::less<std::__cxx11::basic_string<char, "
                   "std::char_traits<char>, std::allocator<char> > > > const&)")
        symbols = [(mangled, "T"), ("kernelgen::v0::A::member() const", "T"), ("kernelgen::v0::A::member() const", "T"),
                   ("kernelgen::v0::two()", "W"), ("vtable for kernelgen::v0::A", "V"), ("kernelgen::v0::hidden(int)", "T")]
        self.assertEqual(check_symbols.promised_functions(symbols, [("a.hpp", self.TEXT + "// hidden\n")]),
                         ["kernelgen::v0::A::member() const",
                          "kernelgen::v0::make_it(std::map<std::string, std::vector<int>> const&)"])

    def test_a_function_that_is_new(self):
        found = list(check_symbols.differences(["lib.so.0.1", "f()"], ["lib.so.0.1", "f()", "g()"]))
        self.assertEqual(found[0], "+g()")
        self.assertFalse([line for line in found if "need what is gone" in line])

    def test_a_function_that_is_gone(self):
        found = list(check_symbols.differences(["lib.so.0.1", "f(int)"], ["lib.so.0.1", "f(long)"]))
        self.assertEqual(found[:2], ["-f(int)", "+f(long)"])
        self.assertIn("linked to lib.so.0.1 need what is gone", found[2])
        found = list(check_symbols.differences(["lib.so.0.1", "f()"], ["lib.so.0.2"]))
        self.assertFalse([line for line in found if "need what is gone" in line])

    def test_a_list_that_has_not_changed(self):
        self.assertEqual(list(check_symbols.differences(["lib.so.0.1", "f()"], ["lib.so.0.1", "f()"])), [])


class Forbidden(Fixture):
    def test_ordinary_text(self):
        self.write("a.md", "see $HOME/x, ~/.cache, build/work/y, /tmp/z and https://example.org/home/page\n")
        self.assert_clean(check_forbidden.check)

    def test_home_path(self):
        self.write("a.sh", "cd /ho" + "me/alice/kernelgen\n")
        self.assert_finding(check_forbidden.check, "somebody's machine")

    def test_root_path(self):
        self.write("a.sh", "PYTHON=/ro" + "ot/venv/bin/python\n")
        self.assert_finding(check_forbidden.check, "somebody's machine")

    def test_api_key(self):
        self.write("a.py", 'client("sk' + "-" + "a1B2" * 8 + '")\n')
        self.assert_finding(check_forbidden.check, "an API key")

    def test_assigned_key(self):
        self.write("a.py", "api" + '_key = "' + "0123456789abcdef" * 2 + '"\n')
        self.assert_finding(check_forbidden.check, "a key in source")

    def test_private_key(self):
        self.write("a.pem", "-----BEGIN RSA PRIVATE" + " KEY-----\n")
        self.assert_finding(check_forbidden.check, "a private key")

    def test_trailer(self):
        self.write("a.txt", "Co-Authored" + "-By: somebody\n")
        self.assert_finding(check_forbidden.check, "trailer")


class Words(Fixture):
    def test_plain_words(self):
        self.write("include/kernelgen/task/a.hpp", '/// A range of bytes.\nstruct ByteRange {};  // stands alone\n')
        self.write("a.py", 'x = "who # nobody"\n')
        self.write("a.sh", 'echo "$# who"\n')
        self.write("a.md", "who may park a car beside a `work_queue`\n")
        self.write("CHANGELOG.md", "`Stretch` is `ByteRange`\n")
        self.write("tests/data/a.cpp", "// nobody\n")
        self.assert_clean(check_words.check)

    def test_retired_name_in_a_header(self):
        self.write("include/kernelgen/task/a.hpp", "struct Stretch {};\nint doubt_time();\n")
        self.assert_finding(check_words.check, "a.hpp:1: Stretch is retired; its successor is ByteRange")
        self.assert_finding(check_words.check, "a.hpp:2: doubt_time is retired")

    def test_retired_name_in_a_page(self):
        self.write("docs/a.md", "text\n\n```cpp\nread_work(x);\n```\nand `in_total`\n")
        self.assert_finding(check_words.check, "a.md:3: read_work")
        self.assert_finding(check_words.check, "a.md:6: in_total")

    def test_people_in_comments(self):
        for name, text in (("a.cpp", "int a;  // nobody reads it\n"), ("a.c", "/* a process\n * whose pipe */\n"),
                           ("a.py", 'def f():\n    """Who calls it."""\n'), ("b.py", "x = 1  # somebody\n"),
                           ("a.sh", "# everybody waits\n"), ("CMakeLists.txt", "# for whoever builds\n")):
            with self.subTest(name=name):
                self.write(name, text)
                self.assert_finding(check_words.check, f"{name}:")

    def test_riddle(self):
        self.write("lib/task/a.hpp", "struct A {\n  /// Of the kernel.\n  int ns;\n};\n")
        self.assert_finding(check_words.check, "does not say what the thing is")

    def test_number_of_a_requirement(self):
        self.write("a.cpp", "// See requirement R29.\n")
        self.assert_finding(check_words.check, "say the reason")


class Messages(Fixture):
    def setUp(self):
        super().setUp()
        self.write("apps/kgen/cmd_eval.cpp", 'return {.name = "eval", .options = {{.name = "--device", .help = "Where"}}};\n')

    def test_honest(self):
        self.write("lib/bench/a.cpp", 'add("--device", x); fail("choose another device"); fix("kgen eval --device 1"); '
                   'run("nvcc --devices all"); // with --device\n')
        self.assert_clean(check_messages.check)

    def test_option(self):
        self.write("lib/bench/a.cpp", 'fail("choose another one with --device");\n')
        self.assert_finding(check_messages.check, "lib/bench/a.cpp:1: a message of the library names --device")

    def test_command(self):
        self.write("lib/python/a/b.py", "x = 1\nfail(f\"{why}; `kgen eval` tells more\")\n")
        self.assert_finding(check_messages.check, "lib/python/a/b.py:2: a message of the library names kgen eval")

    def test_no_options(self):
        self.write("apps/kgen/cmd_eval.cpp", "")
        self.assert_finding(check_messages.check, "no option and no command is found")


class Snippets(Fixture):
    def setUp(self):
        super().setUp()
        self.write("examples/a.cpp", "int main() {\n  int a = 1;\n  int b = 2;\n  return a + b;\n}\n")

    def test_excerpt(self):
        self.write("a.md", "<!-- from: examples/a.cpp -->\n```cpp\nint a = 1;\nint b = 2;\n```\n")
        self.assert_clean(check_snippets.check)

    def test_excerpt_with_gap(self):
        self.write("a.md", "<!-- from: examples/a.cpp -->\n```cpp\nint a = 1;\n// ...\nreturn a + b;\n```\n")
        self.assert_clean(check_snippets.check)

    def test_stale(self):
        self.write("a.md", "<!-- from: examples/a.cpp -->\n```cpp\nint a = 3;\n```\n")
        self.assert_finding(check_snippets.check, "not an excerpt")

    def test_wrong_order(self):
        self.write("a.md", "<!-- from: examples/a.cpp -->\n```cpp\nint b = 2;\n...\nint a = 1;\n```\n")
        self.assert_finding(check_snippets.check, "not an excerpt")

    def test_missing_file(self):
        self.write("a.md", "<!-- from: gone.cpp -->\n```cpp\nint a;\n```\n")
        self.assert_finding(check_snippets.check, "does not exist")

    def test_unmarked(self):
        self.write("a.md", "text\n\n```cpp\nint a;\n```\n")
        self.assert_finding(check_snippets.check, "without")

    def test_shell_is_free(self):
        self.write("a.md", "```sh\nls\n```\n")
        self.assert_clean(check_snippets.check)


class Reference(unittest.TestCase):
    def test_what_needs_a_comment(self):
        where, of = "/a/b.hpp:7: warning: ", "of class kernelgen::v0::A is not documented."
        self.assertEqual(list(check_reference.undocumented([
            f"{where}Member run(int x) (function) {of}", f"{where}Member Answer (typedef) {of}",
            f"{where}Compound kernelgen::v0::A is not documented."])),
            ["/a/b.hpp:7: run(int x) has no comment", "/a/b.hpp:7: Answer has no comment", "kernelgen::v0::A has no comment"])

    def test_what_needs_none(self):
        of = "of struct kernelgen::v0::A is not documented."
        self.assertEqual(list(check_reference.undocumented([
            f"x: error: Member rtol (variable) {of}", f"x: error: Member to_string(A a) (function) {of}",
            f"x: error: Member operator==(const A &) const =default (function) {of}"])), [])


class Docs(Fixture):
    def test_good_links(self):
        self.write("b.md", "# One & two\n")
        self.write("a.md", "[b](b.md) [b2](b.md#one--two) [w](https://example.org)\n")
        self.assert_clean(check_docs.check)

    def test_dead_link(self):
        self.write("a.md", "[b](b.md)\n")
        self.assert_finding(check_docs.check, "does not exist")

    def test_dead_anchor(self):
        self.write("b.md", "# One\n")
        self.write("a.md", "[b](b.md#two)\n")
        self.assert_finding(check_docs.check, "no heading")

    def test_figure(self):
        self.write("a.svg", FIGURE.format("<path d='M0,0' marker-end='url(#arrow)'/>"))
        self.write("a.md", "![what it shows](a.svg)\n")
        self.assert_clean(check_docs.check)

    def test_missing_figure(self):
        self.write("a.md", "![what it shows](a.svg)\n")
        self.assert_finding(check_docs.check, "does not exist")

    def test_figure_with_a_script(self):
        self.write("a.svg", FIGURE.format("<script>alert(1)</script>"))
        self.assert_finding(check_docs.check, "it has a script")

    def test_figure_that_needs_another_file(self):
        self.write("a.svg", FIGURE.format("<image href='b.png'/><style>rect { fill: url(c.svg#d) }</style>"))
        self.assert_finding(check_docs.check, "it refers to b.png")
        self.assert_finding(check_docs.check, "its style refers to another file")

    def test_figure_with_a_font_that_few_have(self):
        self.write("a.svg", FIGURE.format("<text style='font-family: Menlo, monospace'/>"))
        self.assert_finding(check_docs.check, "Menlo is no generic font")

    def test_figure_that_cannot_be_read(self):
        self.write("a.svg", "<svg>")
        self.assert_finding(check_docs.check, "not well-formed")
        self.write("a.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>")
        self.assert_finding(check_docs.check, "it has no title")


class Recipes(Fixture):
    """The recipes of this tree, each with one change."""

    DEPENDENCIES = "cmake/KernelgenDependencies.cmake"

    def setUp(self):
        super().setUp()
        root = pathlib.Path(__file__).resolve().parents[2]
        for name in ("CMakeLists.txt", self.DEPENDENCIES, "cmake/kernelgenConfig.cmake.in", *check_recipes.RECIPES.values()):
            self.write(name, (root / name).read_text(encoding="utf-8"))

    def change(self, name, before, after):
        text = (self.root / name).read_text(encoding="utf-8")
        self.assertIn(before, text)
        self.write(name, text.replace(before, after))

    def test_they_agree(self):
        self.assert_clean(check_recipes.check)

    def test_a_dependency_is_new_in_cmake(self):
        self.change(self.DEPENDENCIES, "find_package(fmt 9 REQUIRED)", "find_package(fmt 9 REQUIRED)\nfind_package(zstd 1.5 REQUIRED)")
        self.assert_finding(check_recipes.check, "PACKAGES lacks zstd")

    def test_a_component_is_new_in_cmake(self):
        self.change(self.DEPENDENCIES, "COMPONENTS json regex", "COMPONENTS json regex url")
        self.assert_finding(check_recipes.check, "PACKAGES lacks Boost::url")

    def test_a_dependency_is_gone_from_cmake(self):
        self.change(self.DEPENDENCIES, "find_package(SQLite3 3.36 REQUIRED)", "")
        self.assert_finding(check_recipes.check, "PACKAGES has SQLite3")
        self.assert_finding(check_recipes.check, "conanfile.py: CMake does not ask for sqlite3")

    def test_cmake_wants_a_newer_version(self):
        self.change(self.DEPENDENCIES, "find_package(fmt 9 REQUIRED)", "find_package(fmt 10 REQUIRED)")
        for recipe in ("conanfile.py", "recipe.yaml", "package.py"):
            self.assert_finding(check_recipes.check, f"{recipe}: CMake asks for fmt 10, and here it is fmt 9")
        self.assert_finding(check_recipes.check, "kernelgenConfig.cmake.in: fmt 9, and the build wants 10")

    def test_a_recipe_lacks_a_dependency(self):
        for system, line in (("conan", '        self.requires("zlib/[>=1.2.11]")\n'), ("vcpkg", '    "zlib"\n'),
                             ("conda", "    - zlib >=1.2.11\n"), ("spack", '    depends_on("zlib@1.2.11:"')):
            with self.subTest(system):
                self.change(check_recipes.RECIPES[system], line, '    "fmt"\n' if system == "vcpkg" else "    # ")
                self.assert_finding(check_recipes.check, f"{check_recipes.RECIPES[system]}: CMake asks for ZLIB")

    def test_a_recipe_lacks_a_component(self):
        self.change(check_recipes.RECIPES["spack"], "+regex", "")
        self.assert_finding(check_recipes.check, "CMake asks for Boost::regex")

    def test_a_recipe_lacks_a_version(self):
        self.change(check_recipes.RECIPES["conda"], "libcurl >=7.68", "libcurl")
        self.assert_finding(check_recipes.check, "CMake asks for CURL 7.68, and here it is libcurl of any version")

    def test_a_recipe_has_another_version(self):
        self.change("CMakeLists.txt", "project(kernelgen VERSION ", "project(kernelgen VERSION 7.")
        for system in ("vcpkg", "conda", "spack"):
            self.assert_finding(check_recipes.check, f"{check_recipes.RECIPES[system]}: version ")

    def test_a_recipe_sets_no_option(self):
        self.change(check_recipes.RECIPES["conan"], "KERNELGEN_BUILD_TESTS", "KERNELGEN_TESTS")
        self.assert_finding(check_recipes.check, "CMake has no option KERNELGEN_TESTS")


if __name__ == "__main__":
    unittest.main()
