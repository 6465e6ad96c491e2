import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Kernelgen(CMakePackage):
    """Language models write GPU kernels; kernelgen judges them. Builds what is committed in the clone that this file lies in."""

    git = pathlib.Path(__file__).resolve().parents[6].as_uri()

    license("Apache-2.0")

    version("0.1.0", branch="main")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("python@3.10:", type=("build", "run"))
    # Boost.Process is a library since 1.86, which Spack's package of Boost cannot build.
    depends_on("boost@1.81:1.85+container+json+regex")
    depends_on("cli11@2.1:", type="build")
    depends_on("curl@7.68:")
    depends_on("fmt@9:")
    depends_on("kainjow-mustache", type="build")
    depends_on("openssl@3:")
    depends_on("sqlite@3.36:")
    depends_on("tomlplusplus@3:", type="build")
    depends_on("zlib-api")
    depends_on("zlib@1.2.11:", when="^[virtuals=zlib-api] zlib")

    requires("platform=linux", msg="the sandbox is made of namespaces")
    conflicts("%gcc@:11")
    conflicts("%clang@:13")

    def cmake_args(self):
        return [
            self.define("BUILD_SHARED_LIBS", True),
            self.define("KERNELGEN_BUILD_TESTS", False),
            self.define("KERNELGEN_BUILD_EXAMPLES", False),
        ]
