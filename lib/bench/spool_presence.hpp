#pragma once

/// \file
/// How a worker shows that it serves a spool directory: NAME.worker.json (docs/protocol.md, spool directories).

#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <kernelgen/bench/spool.hpp>

namespace kernelgen {
inline namespace v0 {

/// The file of one worker. It is removed at the end of this object's life. Thread-safe. A file that cannot be written
/// is no error: the worker judges all the same, and what is wrong with the directory is told by what follows.
class SpoolPresence {
 public:
  SpoolPresence(std::filesystem::path directory, int jobs);
  ~SpoolPresence();
  SpoolPresence(const SpoolPresence&) = delete;
  SpoolPresence& operator=(const SpoolPresence&) = delete;

  /// A request is judged from now on, under the name of its claim.
  void begin(const std::string& id, const std::string& holder);
  void end(const std::string& id);
  /// Writes the file anew, which is the sign of life.
  void renew();

 private:
  struct Judged {
    std::string holder;
    std::chrono::steady_clock::time_point began;
  };

  void write();

  const std::filesystem::path path_;
  const int jobs_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::map<std::string, Judged> judged_;
};

/// What a worker's file says.
struct SpoolPresenceReport {
  SpoolWorkerStatus worker;
  /// How long each of its requests has been judged, by the name of the claim.
  std::map<std::string, std::chrono::milliseconds> judged;
};

/// All workers' files in a directory, those of dead workers included. Files that hold something else are left out.
[[nodiscard]] Result<std::vector<SpoolPresenceReport>> read_presences(const std::filesystem::path& directory);

/// Removes the files of workers that gave no sign of life for more than `lease`.
[[nodiscard]] Result<void> remove_dead_presences(const std::filesystem::path& directory,
                                                 std::chrono::milliseconds lease);

}  // namespace v0
}  // namespace kernelgen
