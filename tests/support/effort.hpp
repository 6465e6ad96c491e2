#pragma once

namespace kernelgen::testing {

/// Lengths and numbers of rounds that a test takes once per round are divided by this. Sanitizers make everything 40
/// times slower, and what they look for shows early; the ordinary build goes all the way.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int k_less = 8;
#else
inline constexpr int k_less = 1;
#endif

}  // namespace kernelgen::testing
