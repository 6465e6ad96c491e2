#pragma once

#include <string_view>

namespace kernelgen {
inline namespace v0 {

/// Whether a reference carries state along a dimension: it uses a recurrent layer of torch.nn, or a loop takes one
/// slice of a tensor per turn and a value from the turn before. Looks at structure, not at names, comments or texts. A
/// loop over layers is none: it takes its slices from the module itself.
[[nodiscard]] bool is_recurrent(std::string_view python);

}  // namespace v0
}  // namespace kernelgen
