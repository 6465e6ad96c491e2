#pragma once

#include <cstddef>
#include <cstdint>

/// Reads bytes as a server's answer in every protocol, as a stream and in one piece, of status 200 and of others, in
/// pieces of every size. Aborts when an answer breaks its promise, or depends on the pieces. Run by libFuzzer
/// (KERNELGEN_FUZZERS, clang) and, bounded, by a unit test.
void fuzz_answer(const std::uint8_t* data, std::size_t size);
