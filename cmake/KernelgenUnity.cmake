# With CMAKE_UNITY_BUILD, files are compiled together: the sources of this project share most of the headers that they
# include, and reading these takes most of the time.
set(KERNELGEN_UNITY_GROUP_SIZE 10 CACHE STRING "Source files of one module that are compiled together")
mark_as_advanced(KERNELGEN_UNITY_GROUP_SIZE)

# kernelgen_group_by_folder(TARGET): groups are files of one folder, so that a change compiles its own module again and
# no other. Call it when the target has all its sources.
#
# The groups are files of our own, with relative paths in them. CMake's unity files name their sources by absolute paths, and
# no compiler cache would know them in another clone.
function(kernelgen_group_by_folder target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  if(NOT "$CACHE{CMAKE_UNITY_BUILD}")
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  set(groups "")
  foreach(source IN LISTS sources)
    # Files that are compiled in their own way are compiled alone.
    set(is_alone NO)
    foreach(property SKIP_UNITY_BUILD_INCLUSION COMPILE_DEFINITIONS COMPILE_OPTIONS INCLUDE_DIRECTORIES)
      get_source_file_property(value ${source} TARGET_DIRECTORY ${target} ${property})
      if(value)
        set(is_alone YES)
      endif()
    endforeach()
    if(is_alone)
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE path)
    cmake_path(GET path PARENT_PATH folder)
    cmake_path(GET folder FILENAME module)
    math(EXPR group "${count_${module}}0 / (10 * ${KERNELGEN_UNITY_GROUP_SIZE})")
    math(EXPR count_${module} "${count_${module}}+1")
    list(APPEND groups ${module}_${group})
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/unity)
    string(APPEND includes_${module}_${group} "#include \"${path}\"\n")
    # It stays among the sources, and is not compiled by itself.
    set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES HEADER_FILE_ONLY ON)
  endforeach()
  list(REMOVE_DUPLICATES groups)
  foreach(group IN LISTS groups)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/unity/unity_${target}_${group}.cpp)
    file(CONFIGURE OUTPUT ${file} CONTENT "${includes_${group}}" @ONLY)
    target_sources(${target} PRIVATE ${file})
  endforeach()
endfunction()
