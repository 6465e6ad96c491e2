# Everything kernelgen is built with, with the oldest versions that work. All private: no public header includes them.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
set(KERNELGEN_BOOST_COMPONENTS json regex)
find_package(Boost 1.81 REQUIRED COMPONENTS ${KERNELGEN_BOOST_COMPONENTS})
# Boost.Process v2 is headers only before 1.86, and a library with headers since.
if(Boost_VERSION_STRING VERSION_GREATER_EQUAL 1.86)
  list(APPEND KERNELGEN_BOOST_COMPONENTS process)
  find_package(Boost 1.86 REQUIRED COMPONENTS ${KERNELGEN_BOOST_COMPONENTS})
endif()
list(TRANSFORM KERNELGEN_BOOST_COMPONENTS PREPEND Boost:: OUTPUT_VARIABLE KERNELGEN_BOOST_TARGETS)
find_package(fmt 9 REQUIRED)
find_package(CURL 7.68 REQUIRED)
find_package(OpenSSL 3 REQUIRED COMPONENTS Crypto)
find_package(SQLite3 3.36 REQUIRED)
find_package(ZLIB 1.2.11 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
# A single header without a package file of its own.
find_path(KERNELGEN_MUSTACHE_INCLUDE_DIR kainjow/mustache.hpp REQUIRED)
# tomlplusplus, version 3. Only its headers are used, so that kgen needs no further library where it runs.
find_path(KERNELGEN_TOML_INCLUDE_DIR toml++/toml.h REQUIRED)
mark_as_advanced(KERNELGEN_MUSTACHE_INCLUDE_DIR KERNELGEN_TOML_INCLUDE_DIR)
