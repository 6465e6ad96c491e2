#pragma once

#include <cstddef>
#include <cstdint>

/// Reads bytes as eval_results.json, as claims and as times of references, and checks what was understood. Run by
/// libFuzzer (KERNELGEN_FUZZERS, clang) and, bounded, by a unit test.
void fuzz_kernelbench(const std::uint8_t* data, std::size_t size);
