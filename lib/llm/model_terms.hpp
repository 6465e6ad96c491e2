#pragma once

/// \file
/// The terms of several models of which any may be asked.

#include <kernelgen/llm/llm_client.hpp>

namespace kernelgen {
inline namespace v0 {

/// Terms at which no request costs more with either model. Unknown is what is unknown of one of them.
[[nodiscard]] ModelTerms highest_terms(const ModelTerms& a, const ModelTerms& b);

}  // namespace v0
}  // namespace kernelgen
