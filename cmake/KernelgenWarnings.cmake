# Warnings for our own targets only; nothing of it reaches the exported target.
function(kernelgen_warnings target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers>
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>)
  # Compiled together, files shadow each other's names.
  if(NOT CMAKE_UNITY_BUILD)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:-Wshadow>)
  endif()
  # g++ 12 sees overlaps in std::string that are not there: https://gcc.gnu.org/bugzilla/show_bug.cgi?id=105651
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
  endif()
  if(KERNELGEN_DEVELOPER)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
