#pragma once

#include <cstddef>
#include <cstdint>

/// Reads bytes as the message, the log and the source of failed candidates of every kind. Aborts when a report breaks
/// its promise. Returns the processor time of the slowest report, in milliseconds. Run by libFuzzer (KERNELGEN_FUZZERS,
/// clang) and, bounded, by a unit test.
double fuzz_error(const std::uint8_t* data, std::size_t size);
