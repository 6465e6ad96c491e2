# Warnings for our own targets only; nothing of it reaches the exported target.
function(kernelgen_warnings target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers>
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>)
  if(KERNELGEN_DEVELOPER)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
