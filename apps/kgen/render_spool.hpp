#pragma once

#include <string>

#include <kernelgen/bench/spool.hpp>

#include "render.hpp"

namespace kernelgen::cli {

/// The status of a spool directory: a headline, the workers, and one line per request. Pure. Ends with a line end.
[[nodiscard]] std::string render_spool_status(const std::string& directory, const SpoolStatus& status,
                                              const RenderOptions& options);
/// The status as JSON, with every request.
[[nodiscard]] std::string spool_status_to_json(const std::string& directory, const SpoolStatus& status);

}  // namespace kernelgen::cli
