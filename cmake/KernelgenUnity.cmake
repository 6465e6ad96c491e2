# With CMAKE_UNITY_BUILD, files are compiled together: the sources of this project share most of the headers that they
# include, and reading these takes most of the time.
set(KERNELGEN_UNITY_GROUP_SIZE 10 CACHE STRING "Source files of one module that are compiled together")
mark_as_advanced(KERNELGEN_UNITY_GROUP_SIZE)

# kernelgen_group_by_folder(TARGET): groups are files of one folder, so that a change compiles its own module again and
# no other. Call it when the target has all its sources.
function(kernelgen_group_by_folder target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD "$CACHE{CMAKE_UNITY_BUILD}" UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources EXCLUDE REGEX "TARGET_OBJECTS")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE path)
    cmake_path(GET path PARENT_PATH folder)
    cmake_path(GET folder FILENAME module)
    math(EXPR group "${count_${module}}0 / (10 * ${KERNELGEN_UNITY_GROUP_SIZE})")
    math(EXPR count_${module} "${count_${module}}+1")
    set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${module}_${group})
  endforeach()
endfunction()
