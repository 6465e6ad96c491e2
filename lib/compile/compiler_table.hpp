#pragma once

#include <memory>
#include <string>
#include <vector>

#include <kernelgen/compile/kernel_compiler.hpp>

namespace kernelgen {
inline namespace v0 {

/// Makes a compiler that passes each request to the first compiler that supports its target; Unsupported, naming the
/// target, if none does.
[[nodiscard]] std::unique_ptr<KernelCompiler> make_compiler_table(
    std::vector<std::unique_ptr<KernelCompiler>> compilers);

/// Makes the compiler for `torch` and `triton` candidates, which publishes the source as the artifact: Python compiles
/// it in the runner.
[[nodiscard]] std::unique_ptr<KernelCompiler> make_python_publisher(std::string directory);

}  // namespace v0
}  // namespace kernelgen
