#include "batch_log.hpp"

#include <chrono>

#include <kernelgen/core/version.hpp>

#include "support/clock.hpp"

namespace kernelgen::cli {

BatchLog::BatchLog(const std::filesystem::path& results)
    : name_((results / "batch_run.log").string()),
      file_(name_, std::ios::app),
      lines_({}, [this](std::string_view text) { (file_ << text).flush(); }) {
  file_ << utc_iso8601(std::chrono::system_clock::now()) << " kgen " << version() << '\n';
}

Result<void> BatchLog::finish() {
  lines_.finish();
  if (file_.flush()) return {};
  return Error{ErrorCode::Io, "cannot write all lines to " + name_};
}

}  // namespace kernelgen::cli
