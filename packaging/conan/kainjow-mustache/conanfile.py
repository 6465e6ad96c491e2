"""The header kainjow/mustache.hpp: `conan create packaging/conan/kainjow-mustache`. The recipe of ConanCenter is one for Conan 1."""

import os

from conan import ConanFile
from conan.tools.files import copy, get
from conan.tools.layout import basic_layout


class KainjowMustache(ConanFile):
    name = "kainjow-mustache"
    version = "4.1"
    description = "Mustache text templates for modern C++"
    license = "BSL-1.0"
    homepage = "https://github.com/kainjow/Mustache"
    package_type = "header-library"
    no_copy_source = True

    def layout(self):
        basic_layout(self, src_folder="src")

    def package_id(self):
        self.info.clear()

    def source(self):
        get(self, f"https://github.com/kainjow/Mustache/archive/v{self.version}.tar.gz", strip_root=True,
            sha256="acd66359feb4318b421f9574cfc5a511133a77d916d0b13c7caa3783c0bfe167")

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "mustache.hpp", self.source_folder, os.path.join(self.package_folder, "include", "kainjow"))

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
