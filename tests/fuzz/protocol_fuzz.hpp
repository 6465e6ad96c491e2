#pragma once

#include <cstddef>
#include <cstdint>

/// Feeds bytes to the message decoder in pieces whose sizes the bytes themselves choose, and re-encodes what came out.
/// Run by libFuzzer (KERNELGEN_FUZZERS, clang) and, bounded, by a unit test.
void fuzz_protocol(const std::uint8_t* data, std::size_t size);
