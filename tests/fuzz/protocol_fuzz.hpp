#pragma once

#include <cstddef>
#include <cstdint>

/// Feeds bytes to the message decoder in pieces of sizes that the bytes themselves choose, and re-encodes the messages.
/// Run by libFuzzer (KERNELGEN_FUZZERS, clang) and, bounded, by a unit test.
void fuzz_protocol(const std::uint8_t* data, std::size_t size);
