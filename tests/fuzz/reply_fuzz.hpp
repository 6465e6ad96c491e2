#pragma once

#include <cstddef>
#include <cstdint>

/// Reads bytes as a model's reply: its code for every target, its analysis and its critique. Aborts when an answer
/// breaks its promise. Run by libFuzzer (KERNELGEN_FUZZERS, clang) and, bounded, by a unit test.
void fuzz_reply(const std::uint8_t* data, std::size_t size);
