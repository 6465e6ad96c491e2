#pragma once

#include <cstddef>
#include <cstdint>

/// Reads bytes as the config.json of a prompt set, and looks places up in them. Aborts when an error has no place or is
/// more than a line, or when an error gets too many hints. Run by libFuzzer (KERNELGEN_FUZZERS, clang) and, bounded, by
/// a unit test.
void fuzz_prompt_set(const std::uint8_t* data, std::size_t size);
