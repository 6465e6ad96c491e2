#pragma once

namespace kernelgen {
inline namespace v0 {

/// Bytes.
constexpr double k_mib = 1024.0 * 1024.0;
constexpr double k_gib = 1024.0 * k_mib;

}  // namespace v0
}  // namespace kernelgen
