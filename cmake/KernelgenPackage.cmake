# `cpack --config build/CPackConfig.cmake -G DEB` makes kernelgen_VERSION-1_ARCHITECTURE.deb from a build, and `-G TGZ` an archive
# of the installed tree. One package has everything that `cmake --install` installs; docs/install.md says how to use it.
set(CPACK_PACKAGE_NAME kernelgen)
set(CPACK_PACKAGE_VENDOR kernelgen)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
# A domain that can never exist says that there is no address. `cpack -D CPACK_PACKAGE_CONTACT="NAME <ADDRESS>"` sets one.
set(CPACK_PACKAGE_CONTACT "kernelgen maintainers <maintainers@kernelgen.invalid>")
set(CPACK_PACKAGE_DESCRIPTION "kernelgen finds out whether a kernel that replaces a PyTorch module is
correct and faster. This package has the program kgen, the library
libkernelgen with its headers, CMake package and pkg-config file, the
judge, and the manual. Judging needs a Python with torch 2.4 or newer,
named by KGEN_PYTHON.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_RESOURCE_FILE_README ${PROJECT_SOURCE_DIR}/README.md)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR})
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
# The libraries that the build was linked with, by dpkg-shlibdeps.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
# Which package a program needs that is linked with libkernelgen; and the loader's cache is renewed when this one is installed.
set(kernelgen_soname_version ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/debian/shlibs CONTENT "libkernelgen ${kernelgen_soname_version} kernelgen (>= ${PROJECT_VERSION})\n")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/debian/triggers CONTENT "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/shlibs ${PROJECT_BINARY_DIR}/debian/triggers)
# What kgen starts or reads at run time: a Python for the judge, a compiler for `cpp` candidates, certificates for models' servers.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3 (>= 3.10), g++ | c++-compiler, ca-certificates")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-venv, python3-pip")
set(KERNELGEN_THIRD_PARTY ${PROJECT_SOURCE_DIR}/lib/report/html/third_party)
configure_file(${PROJECT_SOURCE_DIR}/cmake/debian/complete_tree.cmake.in ${PROJECT_BINARY_DIR}/debian/complete_tree.cmake @ONLY)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_BINARY_DIR}/debian/complete_tree.cmake)
include(CPack)
