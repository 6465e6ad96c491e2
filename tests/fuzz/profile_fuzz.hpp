#pragma once

#include <cstddef>
#include <cstdint>

/// Reads bytes as what ncu and as what kernelgen_profile wrote, adds one to the other and looks for bottlenecks. Aborts
/// when an answer breaks its promise. Run by libFuzzer (KERNELGEN_FUZZERS, clang) and, bounded, by a unit test.
void fuzz_profile(const std::uint8_t* data, std::size_t size);
