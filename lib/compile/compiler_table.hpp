#pragma once

#include <memory>
#include <string>
#include <vector>

#include <kernelgen/compile/kernel_compiler.hpp>

namespace kernelgen {
inline namespace v0 {

/// Hands each request to the first compiler that supports its target; Unsupported, naming the target, when none does.
[[nodiscard]] std::unique_ptr<KernelCompiler> make_compiler_table(
    std::vector<std::unique_ptr<KernelCompiler>> compilers);

/// For `torch` and `triton` candidates, whose source file is the artifact: Python compiles it in the runner.
[[nodiscard]] std::unique_ptr<KernelCompiler> make_python_publisher(std::string directory);

}  // namespace v0
}  // namespace kernelgen
