#include <kernelgen/core/version.hpp>

namespace kernelgen {
inline namespace v0 {

std::string_view version() { return KERNELGEN_VERSION; }

}  // namespace v0
}  // namespace kernelgen
