#pragma once

#include <cstddef>
#include <cstdint>

/// Reads bytes as what sanitizers print. Aborts when an answer breaks its promise. Run by libFuzzer (KERNELGEN_FUZZERS,
/// clang) and, bounded, by a unit test.
void fuzz_sanitizer(const std::uint8_t* data, std::size_t size);
