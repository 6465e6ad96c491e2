"""Conan 2: `conan create packaging/conan` builds the clone that this file lies in."""

import os
import re
import shutil

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

required_conan_version = ">=2.0.9"


class Kernelgen(ConanFile):
    name = "kernelgen"
    description = "Language models write GPU kernels; kernelgen judges them"
    license = "Apache-2.0"
    topics = ("gpu", "kernels", "benchmark", "llm")
    # A shared library finds its worker, judge and headers relative to itself.
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"

    @property
    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self._root, "CMakeLists.txt"))
        self.version = re.search(r"project\(kernelgen VERSION ([\d.]+)", text).group(1)

    def export_sources(self):
        for name in ("CMakeLists.txt", "LICENSE", "README.md", "CHANGELOG.md", "ARCHITECTURE.md"):
            shutil.copy2(os.path.join(self._root, name), self.export_sources_folder)
        # Folder by folder, because copy() would look through every build directory in the root.
        for folder in ("apps", "bench", "cmake", "docs", "examples", "include", "lib", "tests/attacks", "tests/honest", "tests/tasks"):
            copy(self, "*", os.path.join(self._root, folder), os.path.join(self.export_sources_folder, folder), excludes="*__pycache__*")

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires("boost/[>=1.81]")
        self.requires("cli11/[>=2.1]")
        self.requires("fmt/[>=9]")
        self.requires("kainjow-mustache/4.1")
        self.requires("libcurl/[>=7.68]")
        self.requires("openssl/[>=3]")
        self.requires("sqlite3/[>=3.36]")
        self.requires("tomlplusplus/[>=3]")
        self.requires("zlib/[>=1.2.11]")

    def build_requirements(self):
        self.tool_requires("cmake/[>=3.25]")

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("kernelgen needs Linux: its sandbox is made of namespaces")
        check_min_cppstd(self, 20)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["BUILD_SHARED_LIBS"] = True
        toolchain.cache_variables["KERNELGEN_BUILD_TESTS"] = False
        toolchain.cache_variables["KERNELGEN_BUILD_EXAMPLES"] = False
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "LICENSE.*", os.path.join(self.source_folder, "lib", "report", "html", "third_party"),
             os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.libs = ["kernelgen"]
        # The installed CMake package serves consumers, so CMakeDeps makes none.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "kernelgen")]
