#!/usr/bin/env python3
"""The recipes in packaging/ agree with CMake: they name every dependency that CMake asks for, with the same oldest version, and no
other; they have the project's version; and every option that they set exists.
"""

import ast
import json
import re
import sys

import tree

RECIPES = {"conan": "packaging/conan/conanfile.py", "vcpkg": "packaging/vcpkg/kernelgen/vcpkg.json",
           "conda": "packaging/conda/recipe.yaml", "spack": "packaging/spack/spack_repo/kernelgen/packages/kernelgen/package.py"}

# What CMake asks for -> how the recipe of each system calls it. A system is left out where the package comes with another one.
PACKAGES = {
    "CMake": {"conan": "cmake", "conda": "cmake", "spack": "cmake"},
    "Boost": {"conan": "boost", "conda": "libboost-devel", "spack": "boost"},
    "Boost::json": {"vcpkg": "boost-json", "spack": "boost+json"},
    # Spack's package of Boost cannot build it, so that recipe wants a Boost before 1.86, which has it as headers.
    "Boost::process": {"vcpkg": "boost-process"},
    "Boost::regex": {"vcpkg": "boost-regex", "spack": "boost+regex"},
    "fmt": {"conan": "fmt", "vcpkg": "fmt", "conda": "fmt", "spack": "fmt"},
    "CURL": {"conan": "libcurl", "vcpkg": "curl", "conda": "libcurl", "spack": "curl"},
    "OpenSSL": {"conan": "openssl", "vcpkg": "openssl", "conda": "openssl", "spack": "openssl"},
    "SQLite3": {"conan": "sqlite3", "vcpkg": "sqlite3", "conda": "libsqlite", "spack": "sqlite"},
    "ZLIB": {"conan": "zlib", "vcpkg": "zlib", "conda": "zlib", "spack": "zlib"},
    "CLI11": {"conan": "cli11", "vcpkg": "cli11", "conda": "cli11", "spack": "cli11"},
    "kainjow/mustache.hpp": {"conan": "kainjow-mustache", "vcpkg": "kainjow-mustache", "conda": "kainjow-mustache",
                             "spack": "kainjow-mustache"},
    "toml++/toml.h": {"conan": "tomlplusplus", "vcpkg": "tomlplusplus", "conda": "tomlplusplus", "spack": "tomlplusplus"},
}
# What a system has as a package, and CMake takes for granted or finds with another one.
TAKEN_FOR_GRANTED = {
    "conan": set(),
    "vcpkg": {"boost-asio", "boost-beast", "vcpkg-cmake", "vcpkg-cmake-config"},
    "conda": {"ninja", "python", "pytorch"},
    "spack": {"c", "cxx", "python", "boost+container", "zlib-api"},
}
# Its versions follow from the baseline that a user chooses for all ports.
WITHOUT_VERSIONS = {"vcpkg"}


def without_comments(text):
    return re.sub(r"#[^\n]*", "", text)


def asked_by_cmake(root):
    """Yields (name, oldest version or "") of what CMake asks for."""
    yield "CMake", re.search(r"cmake_minimum_required\(VERSION ([\d.]+)", read(root, "CMakeLists.txt"))[1]
    text = without_comments(read(root, "cmake/KernelgenDependencies.cmake"))
    oldest = {}
    for name, version in re.findall(r"find_package\((\w+)(?:\s+([\d.]+))?", text):
        # A second call is for what newer versions have besides.
        oldest.setdefault(name, version)
    oldest.pop("Threads", None)
    yield from oldest.items()
    for words in re.findall(r"(?:set\(|list\(APPEND )KERNELGEN_BOOST_COMPONENTS ([\w ]+)\)", text):
        yield from ((f"Boost::{component}", "") for component in words.split())
    yield from ((header, "") for header in re.findall(r"find_path\(\w+ (\S+)", text))


def read(root, name):
    return (root / name).read_text(encoding="utf-8")


def read_conan(text):
    """{name: oldest version or ""}, and the version of the recipe, or None where it reads CMake's."""
    ast.parse(text)
    found = dict(re.findall(r'requires\("([\w-]+)/(?:\[>=)?([\d.]+)', text))
    return found, None if "def set_version" in text else ""


def read_vcpkg(text):
    manifest = json.loads(text)
    names = [one if isinstance(one, str) else one["name"] for one in manifest["dependencies"]]
    return dict.fromkeys(names, ""), manifest["version"]


def read_conda(text):
    requirements = re.search(r"^requirements:\n((?: .*\n|\n)*)", text, re.M)[1]
    found = dict(re.findall(r"^ +- ([\w-]+)(?: >=([\d.]+))?$", requirements, re.M))
    found.update(dict.fromkeys(re.findall(r"^ +target_directory: ([\w-]+)", text, re.M), ""))
    return found, re.search(r'^  version: "([\d.]+)"$', text, re.M)[1]


def read_spack(text):
    ast.parse(text)
    found = {}
    for name, version, variants in re.findall(r'depends_on\("([\w-]+)(?:@([\d.]+):[\d.]*)?((?:\+\w+)*)"', text):
        found[name] = version
        found.update({f"{name}+{variant}": "" for variant in variants.split("+")[1:]})
    return found, re.search(r'^    version\("([\d.]+)"', text, re.M)[1]


READERS = {"conan": read_conan, "vcpkg": read_vcpkg, "conda": read_conda, "spack": read_spack}


def check_dependencies(system, named, asked):
    """What the recipe of one system has to learn from CMake."""
    for name, oldest in asked.items():
        package = PACKAGES.get(name, {}).get(system)
        if package is None:
            continue
        if package not in named:
            yield f"CMake asks for {name}, and there is no {package}"
        elif system not in WITHOUT_VERSIONS and oldest and named[package] != oldest:
            yield f"CMake asks for {name} {oldest}, and here it is {package} {named[package] or 'of any version'}"
    known = {names[system] for name, names in PACKAGES.items() if system in names and name in asked} | TAKEN_FOR_GRANTED[system]
    for package in sorted(named.keys() - known):
        yield f"CMake does not ask for {package}"


def check_config(root, asked):
    """The package file that is installed looks for the same versions where it is for a static library."""
    place = "cmake/kernelgenConfig.cmake.in"
    for name, version in re.findall(r"find_dependency\((\w+)(?:\s+([\d.]+))?", without_comments(read(root, place))):
        if asked.get(name, version) != version:
            yield f"{place}: {name} {version}, and the build wants {asked[name]}"


def check_options(root):
    files = tree.tracked_files(root)
    cmake = "\n".join(path.read_text(encoding="utf-8") for path in files
                      if path.name == "CMakeLists.txt" or path.parent.name == "cmake" and path.suffix == ".cmake")
    options = set(re.findall(r"(?:option|find_path)\((KERNELGEN_\w+)|set\((KERNELGEN_\w+)[^)]*\bCACHE\b", cmake))
    options = {name for pair in options for name in pair if name}
    for path in files:
        if path.relative_to(root).parts[0] != "packaging":
            continue
        for name in sorted(set(re.findall(r"\bKERNELGEN_[A-Z_]+\b", path.read_text(encoding="utf-8"))) - options):
            yield f"{path.relative_to(root)}: CMake has no option {name}"


def check(root):
    asked = dict(asked_by_cmake(root))
    version = re.search(r"project\(kernelgen VERSION ([\d.]+)", read(root, "CMakeLists.txt"))[1]
    place = "tests/structure/check_recipes.py"
    findings = [f"{place}: PACKAGES lacks {name}, which CMake asks for" for name in asked if name not in PACKAGES]
    findings += [f"{place}: PACKAGES has {name}, which CMake does not ask for" for name in PACKAGES if name not in asked]
    for system, recipe in RECIPES.items():
        named, own_version = READERS[system](read(root, recipe))
        findings += [f"{recipe}: {problem}" for problem in check_dependencies(system, named, asked)]
        if own_version not in (None, version):
            findings.append(f"{recipe}: version {own_version or 'unknown'}, and kernelgen is {version}")
    findings += check_config(root, asked)
    findings += check_options(root)
    return findings


if __name__ == "__main__":
    sys.exit(tree.main(check, __doc__))
