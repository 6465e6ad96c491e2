# The kernels of tests/attacks and tests/honest that `kgen selftest` judges on a user's machine: those with first lines that
# say "installed: yes", with their tasks and twins; and the example kernels. The build tree gets links to them.
set(kernelgen_selftest ${PROJECT_BINARY_DIR}/share/kernelgen/selftest)
file(REMOVE_RECURSE ${kernelgen_selftest})

function(kernelgen_add_to_selftest folder file)
  file(MAKE_DIRECTORY ${kernelgen_selftest}/${folder})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/tests/${folder}/${file} ${kernelgen_selftest}/${folder}/${file} SYMBOLIC)
  install(FILES ${PROJECT_SOURCE_DIR}/tests/${folder}/${file}
    DESTINATION ${KERNELGEN_INSTALL_DATADIR}/selftest/${folder})
endfunction()

set(kernelgen_selftest_tasks "")
foreach(folder attacks honest)
  file(GLOB cases CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/tests/${folder} ${PROJECT_SOURCE_DIR}/tests/${folder}/*)
  foreach(case IN LISTS cases)
    file(STRINGS ${PROJECT_SOURCE_DIR}/tests/${folder}/${case} lines LIMIT_COUNT 3
      REGEX "^(#|//) (task|twin|installed): ")
    if(NOT lines MATCHES "installed: yes" OR NOT lines MATCHES "task: ([a-z_]+)")
      continue()
    endif()
    list(APPEND kernelgen_selftest_tasks ${CMAKE_MATCH_1}.py)
    kernelgen_add_to_selftest(${folder} ${case})
    if(lines MATCHES "twin: ([a-z_.]+)")
      kernelgen_add_to_selftest(honest ${CMAKE_MATCH_1})
    endif()
  endforeach()
endforeach()
list(REMOVE_DUPLICATES kernelgen_selftest_tasks)
foreach(task IN LISTS kernelgen_selftest_tasks)
  kernelgen_add_to_selftest(tasks ${task})
endforeach()

# The example kernels and their tasks.
file(MAKE_DIRECTORY ${kernelgen_selftest}/examples)
foreach(folder kernels tasks)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/examples/${folder} ${kernelgen_selftest}/examples/${folder} SYMBOLIC)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/${folder} DESTINATION ${KERNELGEN_INSTALL_DATADIR}/selftest/examples
    PATTERN "__pycache__" EXCLUDE)
endforeach()
