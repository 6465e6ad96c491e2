#pragma once

#include <cstddef>
#include <cstdint>

/// Inspects the bytes as a source of every target and writes the reports as JSON.
/// Run by libFuzzer (KERNELGEN_FUZZERS, clang) and, bounded, by a unit test.
void fuzz_detector(const std::uint8_t* data, std::size_t size);
