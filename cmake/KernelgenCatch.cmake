# kernelgen_add_catch_tests(TARGET PREFIX [FILTER SPEC] [WITHOUT NAME...] [ENVIRONMENT NAME=VALUE...]): one test of CTest
# for each NAME_test.cpp of the target: PREFIX.FOLDER.NAME, or PREFIX.NAME for a file beside the target's CMakeLists.txt.
#
# A process for each test case would start a thousand times, which takes longer than the tests; one for all of them would
# leave a processor idle. FILTER is a test specification that further narrows the test cases of every file. Call it when
# the target has all its sources.
function(kernelgen_add_catch_tests target prefix)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "FILTER" "WITHOUT;ENVIRONMENT")
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "_test\\.cpp$")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    cmake_path(GET source STEM stem)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    string(REGEX REPLACE "_test$" "" name ${stem})
    if(name IN_LIST arg_WITHOUT)
      continue()
    endif()
    # Catch2 selects by file name alone.
    if(stem IN_LIST stems)
      message(FATAL_ERROR "${target} has two files ${stem}.cpp: rename one, they could not be run apart")
    endif()
    list(APPEND stems ${stem})
    string(REPLACE "/." "" full_name "${prefix}/${folder}/${name}")
    string(REPLACE "/" "." full_name "${full_name}")
    # Without a matching test case the test fails.
    add_test(NAME ${full_name} COMMAND ${target} --filenames-as-tags --warn NoTests "[#${stem}]${arg_FILTER}")
    set_tests_properties(${full_name} PROPERTIES ENVIRONMENT "${arg_ENVIRONMENT}")
  endforeach()
endfunction()
