#pragma once

/// \file
/// Golden files: texts compared with files under tests/data/golden. KERNELGEN_ACCEPT_GOLDEN=1 writes the new text
/// instead; read the difference before you commit it.

#include <string>

namespace kernelgen::testing {

/// Compares `text` with tests/data/golden/<name>; a failed check shows both.
void check_golden(const std::string& name, const std::string& text);
/// Reads a file below tests/data.
[[nodiscard]] std::string read_test_data(const std::string& path);

}  // namespace kernelgen::testing
