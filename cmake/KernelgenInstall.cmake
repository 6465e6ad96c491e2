# What `cmake --install` puts where. The layout below the prefix is part of the API (see core/installation.hpp): the
# library finds its worker, runner, judge and ABI header relative to itself, so everything can be moved as a whole.
#
#   bin/kgen   lib/libkernelgen.*   include/kernelgen/   libexec/kernelgen/   share/kernelgen/{python,abi,prompts,devices,hip_cpu,hip_cuda,report,selftest}
#   share/doc/kernelgen/{README.md,docs,examples}   share/man/man1/kgen.1   completion scripts where shells look for them
include(CMakePackageConfigHelpers)

set(KERNELGEN_INSTALL_CMAKEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/kernelgen)

install(TARGETS kernelgen EXPORT kernelgenTargets
  RUNTIME DESTINATION ${KERNELGEN_INSTALL_BINDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# $ORIGIN keeps the tree movable.
file(RELATIVE_PATH kernelgen_bin_to_lib /${KERNELGEN_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
if(TARGET kgen)
  set_target_properties(kgen PROPERTIES INSTALL_RPATH "$ORIGIN/${kernelgen_bin_to_lib}")
  install(TARGETS kgen RUNTIME DESTINATION ${KERNELGEN_INSTALL_BINDIR})
endif()
# The runners and the ABI header install themselves (apps/runner).

install(DIRECTORY ${PROJECT_SOURCE_DIR}/lib/python/ DESTINATION ${KERNELGEN_INSTALL_DATADIR}/python
  FILES_MATCHING PATTERN "*.py" PATTERN "*.json" PATTERN "*.h" PATTERN "__pycache__" EXCLUDE PATTERN "CMakeFiles" EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/lib/prompt/templates/ DESTINATION ${KERNELGEN_INSTALL_DATADIR}/prompts)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/lib/report/html/ DESTINATION ${KERNELGEN_INSTALL_DATADIR}/report)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/lib/device/data/ DESTINATION ${KERNELGEN_INSTALL_DATADIR}/devices)
install(FILES LICENSE README.md CHANGELOG.md ARCHITECTURE.md DESTINATION share/doc/kernelgen)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples DESTINATION share/doc/kernelgen
  PATTERN "__pycache__" EXCLUDE)
# The manual page and the completion scripts install themselves (apps/kgen).

# find_package(kernelgen)
install(EXPORT kernelgenTargets NAMESPACE kernelgen:: DESTINATION ${KERNELGEN_INSTALL_CMAKEDIR})
get_target_property(kernelgen_type kernelgen TYPE)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/kernelgenConfig.cmake.in
  ${PROJECT_BINARY_DIR}/kernelgenConfig.cmake INSTALL_DESTINATION ${KERNELGEN_INSTALL_CMAKEDIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/kernelgenConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/kernelgenConfig.cmake ${PROJECT_BINARY_DIR}/kernelgenConfigVersion.cmake
  DESTINATION ${KERNELGEN_INSTALL_CMAKEDIR})

# pkg-config. A static library cannot name its own dependencies, so its users get them in Libs and Requires.
file(RELATIVE_PATH kernelgen_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" kernelgen_pc_to_prefix "${kernelgen_pc_to_prefix}")
set(kernelgen_pc_libs "-L\${libdir} -lkernelgen")
set(kernelgen_pc_requires "")
if(kernelgen_type STREQUAL "STATIC_LIBRARY")
  foreach(library ${KERNELGEN_BOOST_COMPONENTS} container)
    string(APPEND kernelgen_pc_libs " -lboost_${library}")
  endforeach()
  string(APPEND kernelgen_pc_libs " -pthread")
  foreach(library ${CMAKE_DL_LIBS})
    string(APPEND kernelgen_pc_libs " -l${library}")
  endforeach()
  set(kernelgen_pc_requires "fmt libcrypto libcurl sqlite3 zlib")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/kernelgen.pc.in ${PROJECT_BINARY_DIR}/kernelgen.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/kernelgen.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
