#pragma once

#include <utility>

// Returns from the function on an Error. Two forms:
//   KERNELGEN_TRY(auto text, read_file(path));    declares `text`
//   KERNELGEN_CHECK(write_file(path, text));      for Result<void>
#define KERNELGEN_TRY_CONCAT_(a, b) a##b
#define KERNELGEN_TRY_NAME_(line) KERNELGEN_TRY_CONCAT_(kernelgen_try_, line)
#define KERNELGEN_TRY(declaration, ...)                                                        \
  auto KERNELGEN_TRY_NAME_(__LINE__) = (__VA_ARGS__);                                          \
  if (!KERNELGEN_TRY_NAME_(__LINE__)) return std::move(KERNELGEN_TRY_NAME_(__LINE__)).error(); \
  declaration = *std::move(KERNELGEN_TRY_NAME_(__LINE__))
#define KERNELGEN_CHECK(...)                                                                                     \
  do {                                                                                                           \
    if (auto kernelgen_checked = (__VA_ARGS__); !kernelgen_checked) return std::move(kernelgen_checked).error(); \
  } while (false)
