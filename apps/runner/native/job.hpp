#pragma once

/// \file
/// The job text: the places of tensors in the exchange arena, and the task's scalars. ASCII, one item a line:
///
///     kgen-job 1
///     threads N
///     arena BYTES
///     device VENDOR UUID BYTES          on a device: `arena` is the host's then, and all tensors lie in these BYTES
///     tensor ROLE NAME DTYPE RANK DIM... STRIDE... SEGMENT_OFFSET SEGMENT_BYTES OFFSET_IN_SEGMENT NBYTES
///     absent input NAME
///     scalar input|init NAME TYPE VALUE
///     end
///
/// Names and values are percent-encoded. The judge writes it, so errors are bugs in kernelgen; they are still detected
/// here, because addresses are computed from these numbers.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kgen_runner {

enum class Role { Input, Parameter, Buffer, Attribute, Draw, Output };
inline constexpr int k_role_count = 6;
/// True for the tensors of which every slot has its own.
[[nodiscard]] bool is_in_slot(Role role);
/// "input", "parameter", ...
[[nodiscard]] const char* to_string(Role role);

struct JobTensor {
  Role role = Role::Input;
  std::string name;
  std::int32_t dtype = 0;  ///< KGEN_FLOAT32, ...
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< in elements, never negative
  std::uint64_t element_count = 0;
  std::uint64_t segment_offset = 0;  ///< in the arena; like segment_bytes a multiple of 4096
  std::uint64_t segment_bytes = 0;
  std::uint64_t offset = 0;  ///< in the segment, a multiple of 64
  std::uint64_t nbytes = 0;
};

enum class ScalarPlace { Input, Init };

struct JobScalar {
  ScalarPlace place = ScalarPlace::Input;
  std::string name;
  std::int32_t kind = 0;  ///< KGEN_SCALAR_INT, ...
  std::int64_t as_int = 0;
  double as_float = 0;
  std::string as_text;
};

struct JobDevice {
  std::string vendor;  ///< the one that the driver reports
  std::string uuid;
};

struct Job {
  int threads = 1;
  /// Bytes of the arena that holds the tensors.
  std::uint64_t arena_bytes = 0;
  std::optional<JobDevice> device;
  /// Places for the inputs, draws and outputs of a call, and the bytes from one place to the next.
  std::uint64_t slots = 1;
  std::uint64_t slot_bytes = 0;
  /// Inputs, draws and outputs are those of the first slot.
  std::vector<JobTensor> tensors;
  std::vector<JobScalar> scalars;
};

/// Either a job, or the reason why there is none, with its line.
struct JobResult {
  std::optional<Job> job;
  std::string error;
};

/// Parses a whole job text. Every number in the result has been checked against the others: segments are aligned, lie
/// in the arena and do not overlap; tensors lie in their segments and have the bytes that shape and strides give.
[[nodiscard]] JobResult parse_job(std::string_view text);

}  // namespace kgen_runner
