#pragma once

/// \file
/// PersistentDetector: does a source keep its time loop inside the kernel?

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/action.hpp>
#include <kernelgen/core/api.hpp>
#include <kernelgen/core/candidate.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// The kind of a piece of evidence.
enum class EvidenceKind {
  DeviceKernel,    ///< a function that runs on the device
  DeviceFunction,  ///< a function that device kernels call
  DeviceLoop,      ///< a loop inside one of these
  CarriedState,    ///< a value that an iteration takes from the previous one
  Launch,          ///< the host starts a kernel
  HostLoop,        ///< a loop on the host around a launch
  Barrier,         ///< a synchronization across threads, blocks or the grid
};
[[nodiscard]] std::string_view to_string(EvidenceKind kind);

/// One finding of the detector, with its place.
struct Evidence {
  EvidenceKind kind = EvidenceKind::DeviceKernel;
  /// 1-based, in the source.
  int line = 0;
  /// Name of the function, loop variable or call.
  std::string name;
  /// One sentence.
  std::string detail;
};

/// A property that makes a persistent kernel slow or wrong, in a sentence that a model can act on.
struct DetectorWarning {
  int line = 0;
  std::string name;  ///< stable: "single_program", "serial_hidden", "unsynchronized_state"
  std::string message;
};

/// The verdict and its evidence, in the order of lines.
struct PersistenceReport {
  Recurrence verdict = Recurrence::Unknown;
  /// The reason for the verdict, in one sentence.
  std::string reason;
  std::vector<Evidence> evidence;
  std::vector<DetectorWarning> warnings;
};

/// The report as JSON text: verdict, reason, evidence, warnings.
[[nodiscard]] std::string to_json(const PersistenceReport& report);

/// Judges structure, never names or comments. Implementations are thread-safe and pure, and accept any text.
class PersistentDetector {
 public:
  virtual ~PersistentDetector() = default;
  /// The verdict on one source text, with its evidence. The target says in which language it is written.
  [[nodiscard]] virtual PersistenceReport inspect(std::string_view source, Target target) const = 0;
};

/// Reads Python (triton, torch with inline sources) and the C family (cpp, cuda, hip, hipkittens). The verdict on a
/// target that is not kernelgen's own is Unknown.
[[nodiscard]] std::unique_ptr<PersistentDetector> make_persistent_detector();

}  // namespace v0
}  // namespace kernelgen
