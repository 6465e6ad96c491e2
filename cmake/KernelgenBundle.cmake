# `cmake --build build --target bundle` makes kernelgen-bundle-VERSION-SYSTEM-PROCESSOR.tar.gz: kgen with every library
# that a machine may lack, for machines where nothing can be installed.
#
# kgen and the library are linked once more, from the same objects. An RPATH (not a RUNPATH) leads to the libraries
# beside them: the loader uses it for the libraries' own dependencies too.
if(NOT TARGET kgen)
  return()
endif()
find_package(Python3 3.10 COMPONENTS Interpreter REQUIRED)
set(bundle_parts ${PROJECT_BINARY_DIR}/bundle-parts)
set(bundle_older_symbols ${PROJECT_SOURCE_DIR}/cmake/bundle/older_symbols.cpp)
set(bundle_link_options
  -Wl,--disable-new-dtags -Wl,--wrap=_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE)

add_library(kernelgen_portable SHARED EXCLUDE_FROM_ALL
  $<TARGET_OBJECTS:kernelgen> $<TARGET_OBJECTS:kernelgen_support_objects> ${bundle_older_symbols})
target_link_libraries(kernelgen_portable PRIVATE $<TARGET_PROPERTY:kernelgen,LINK_LIBRARIES>)
target_link_options(kernelgen_portable PRIVATE
  -Wl,--version-script=${PROJECT_SOURCE_DIR}/lib/exported_symbols.map ${bundle_link_options})
set_target_properties(kernelgen_portable PROPERTIES
  OUTPUT_NAME kernelgen VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LIBRARY_OUTPUT_DIRECTORY ${bundle_parts}/lib BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")

add_executable(kgen_portable EXCLUDE_FROM_ALL
  ${PROJECT_SOURCE_DIR}/apps/kgen/main.cpp $<TARGET_OBJECTS:kgen_cli> ${bundle_older_symbols})
target_include_directories(kgen_portable PRIVATE $<TARGET_PROPERTY:kernelgen,INTERFACE_INCLUDE_DIRECTORIES>)
target_compile_features(kgen_portable PRIVATE cxx_std_20)
target_link_libraries(kgen_portable PRIVATE kernelgen_portable kernelgen_support Boost::json fmt::fmt)
target_link_options(kgen_portable PRIVATE ${bundle_link_options})
set_target_properties(kgen_portable PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${bundle_parts}/bin BUILD_WITH_INSTALL_RPATH ON
  INSTALL_RPATH "$ORIGIN/../lib")

string(TOLOWER ${CMAKE_SYSTEM_NAME} bundle_system)
set(bundle_name kernelgen-bundle-${PROJECT_VERSION}-${bundle_system}-${CMAKE_SYSTEM_PROCESSOR})
add_custom_target(bundle
  COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/tools/make_bundle.py
    --parts ${bundle_parts} --build ${PROJECT_BINARY_DIR} --source ${PROJECT_SOURCE_DIR} --strip ${CMAKE_STRIP}
    --output ${PROJECT_BINARY_DIR}/${bundle_name}.tar.gz
  DEPENDS ${PROJECT_SOURCE_DIR}/tools/make_bundle.py
  USES_TERMINAL VERBATIM)
add_dependencies(bundle kgen_portable kgen_manual kgen-runner kgen_runner_support kgen_openmp_order kgen-sandbox kgen-gpu)
