#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <kernelgen/core/result.hpp>
#include <kernelgen/store/event.hpp>

namespace kernelgen {
inline namespace v0 {

/// The files that people open (prompt_N.txt, response_N.txt, code_N.EXT, result_N.json, best_*): a view of the events,
/// never read back.
class RunFiles {
 public:
  explicit RunFiles(std::filesystem::path directory) : directory_(std::move(directory)) {}

  /// Writes the files that belong to the event.
  Result<void> apply(const Event& event);
  /// Applies an event of an earlier session; writes only files that are missing after a crash.
  Result<void> restore(const Event& event);
  /// Called after the last restore(). Writes the files of the best candidate, which each BestChanged replaces.
  Result<void> restore_best();

 private:
  enum class Mode { Write, WriteMissing };
  Result<void> keep(const Event& event, Mode mode);
  Result<void> write(const std::string& name, std::string_view content, Mode mode) const;
  Result<void> write_result(const ActionResult& result, Mode mode) const;
  Result<void> write_best(const std::string& action_id) const;
  /// The record of a result with what the HIP framework's scripts look for.
  [[nodiscard]] std::string result_json(const ActionResult& result) const;
  Result<void> remove_best() const;

  std::filesystem::path directory_;
  /// Path of the task, and the GPU that judges it.
  std::string problem_;
  std::optional<GpuFacts> gpu_;
  std::map<int, std::string> prompts_;
  std::map<std::string, ActionResult> results_;
  std::string best_;
};

}  // namespace v0
}  // namespace kernelgen
