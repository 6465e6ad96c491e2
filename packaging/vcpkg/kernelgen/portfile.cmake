# The port builds the clone that it lies in. vcpkg does not look for changes there: `vcpkg remove kernelgen` comes before a new build.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
# The library finds bin/kgen and its other parts relative to its own place, so they stay where CMake installs them.
set(VCPKG_POLICY_ALLOW_EXES_IN_BIN enabled)
set(VCPKG_POLICY_DLLS_IN_STATIC_LIBRARY enabled)
# A second set of programs for debugging would serve no consumer.
set(VCPKG_BUILD_TYPE release)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DKERNELGEN_BUILD_TESTS=OFF -DKERNELGEN_BUILD_EXAMPLES=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/kernelgen)
vcpkg_fixup_pkgconfig()

file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
set(third_party "${SOURCE_PATH}/lib/report/html/third_party")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE"
  "${third_party}/LICENSE.chartjs" "${third_party}/LICENSE.jsdiff" "${third_party}/LICENSE.prism")
