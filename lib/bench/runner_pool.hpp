#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include <kernelgen/core/installation.hpp>
#include <kernelgen/device/gpu.hpp>

#include "bench/emulator.hpp"
#include "bench/runner.hpp"

namespace kernelgen {
inline namespace v0 {

/// Options for starting runners.
struct RunnerPoolOptions {
  Installation installation;
  std::string python = "python3";
  /// The whole environment of every runner; no secrets.
  std::map<std::string, std::string> environment;
  /// The directory that caches Python candidates' builds; empty: they are not cached.
  std::string builds_dir{};
  /// The device of the candidates; unset: the processor.
  std::optional<GpuFacts> gpu{};
  /// Executes what native candidates launch; unset: they launch nothing, or on `gpu`.
  std::optional<Emulator> emulator{};
};

/// Makes a pool that keeps a standby runner of each requested kind. Thread-safe. Use it in a child subreaper only.
[[nodiscard]] std::unique_ptr<RunnerSource> make_runner_pool(RunnerPoolOptions options);

}  // namespace v0
}  // namespace kernelgen
