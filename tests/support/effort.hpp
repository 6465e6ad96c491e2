#pragma once

namespace kernelgen::testing {

/// Divisor for lengths and numbers of rounds in long tests. Sanitizers make everything 40 times slower and find their
/// errors early; the ordinary build runs all rounds.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int k_less = 8;
#else
inline constexpr int k_less = 1;
#endif

}  // namespace kernelgen::testing
