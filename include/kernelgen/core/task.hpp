#pragma once

/// \file
/// Tasks as plain values: the source, and the facts that the judge found by building and running the reference.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/api.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Element types of tensors. Stored by name; names are torch's ("float32").
enum class DType {
  Float64,
  Float32,
  Float16,
  BFloat16,
  Int64,
  Int32,
  Int16,
  Int8,
  UInt8,
  Bool,
  Complex64,
  Complex128,
};

/// The torch name, such as "bfloat16".
[[nodiscard]] std::string_view to_string(DType dtype);
[[nodiscard]] std::optional<DType> parse_dtype(std::string_view name);
/// Bytes per element.
[[nodiscard]] std::size_t size_of(DType dtype);

/// One tensor of a task.
struct TensorSpec {
  /// Path name: "x", "inputs[1]", "gru.weight_ih_l0", "output.hidden".
  std::string name;
  DType dtype = DType::Float32;
  std::vector<std::int64_t> shape;
  /// Strides in elements, as in torch.
  std::vector<std::int64_t> strides;
  bool operator==(const TensorSpec&) const = default;
};

/// One number or text among the inputs or the constructor arguments.
struct ScalarSpec {
  std::string name;
  /// "bool", "int", "float", "str" or "none".
  std::string type;
  /// The value as a Python literal.
  std::string value;
  bool operator==(const ScalarSpec&) const = default;
};

/// KernelBench's levels: one operator, a few fused ones, a whole network.
enum class TaskLevel { Unknown, SingleOperator, Fusion, Network };
[[nodiscard]] std::string_view to_string(TaskLevel level);
[[nodiscard]] std::optional<TaskLevel> parse_task_level(std::string_view name);

/// The mode in which the task leaves its module.
enum class ModuleMode { Train, Eval };
[[nodiscard]] std::string_view to_string(ModuleMode mode);

/// Whether and how forward() draws random numbers.
enum class ForwardRandomness {
  None,
  Traced,      ///< draws are recorded and handed to native candidates as named inputs
  Stochastic,  ///< live dropout: labelled, never compared elementwise
};
[[nodiscard]] std::string_view to_string(ForwardRandomness randomness);

/// The precision of computing and comparing. Candidates are only scored against others of one class.
enum class PrecisionClass {
  Strict,   ///< TF32 off everywhere
  Default,  ///< PyTorch's own settings
  Tf32,
  Fp16,
  Bf16,
};
[[nodiscard]] std::string_view to_string(PrecisionClass precision);
[[nodiscard]] std::optional<PrecisionClass> parse_precision(std::string_view name);

/// The text of a KernelBench-format file; nothing of it has been run.
struct TaskSource {
  /// File name without ".py", for example "40_GRUHidden".
  std::string name;
  /// The path of the file. Empty when the text came over a connection.
  std::string path;
  std::string text;
  /// SHA-256 of the text, in hex.
  std::string content_id;
  /// The level given by the path or an override; Unknown lets the module decide.
  TaskLevel level = TaskLevel::Unknown;
};

/// One torch function that forward() calls, with equal calls counted together.
struct OperationFact {
  /// The name of the function in torch: "linear", "softmax".
  std::string name;
  std::int64_t count = 1;
  std::vector<std::vector<std::int64_t>> inputs;
  std::vector<std::vector<std::int64_t>> outputs;
  /// The torch name of the element type of the first output.
  std::string dtype;
  bool operator==(const OperationFact&) const = default;
};

/// A kind of work that operations are of.
enum class OperationFamily {
  Attention,
  Convolution,
  Gemm,
  Scan,
  Normalization,
  Loss,
  Reduction,
  Pooling,
};
[[nodiscard]] std::string_view to_string(OperationFamily family);

/// The cell of a recurrence.
enum class RecurrenceKind {
  Gru,
  Lstm,
  Rnn,
  Loop,  ///< a loop of other operations
};
[[nodiscard]] std::string_view to_string(RecurrenceKind kind);

/// The part of its recurrence that a reference returns.
enum class OutputRequirement {
  FullSequence,    ///< something from every step
  FinalStateOnly,  ///< only the state after the last step
  Other,           ///< neither: a sum over all steps, a step in the middle
};
/// "full_sequence", "final_state_only", "other".
[[nodiscard]] std::string_view to_string(OutputRequirement requirement);

/// A reference that carries state along a dimension.
struct RecurrenceFact {
  RecurrenceKind kind = RecurrenceKind::Loop;
  /// Layers of all calls together.
  int layers = 1;
  int directions = 1;
  std::int64_t steps = 0;
  /// Unset for a loop without a cell of torch.nn.
  std::optional<std::int64_t> hidden_size;
  /// Unset where it could not be followed.
  std::optional<OutputRequirement> returns;
  bool operator==(const RecurrenceFact&) const = default;
};

/// The work of one call of the reference, as the judge observed it.
struct TaskFacts {
  /// In the order of their first call; views and copies are left out.
  std::vector<OperationFact> operations;
  /// Further calls, beyond the limit of the list.
  std::int64_t unlisted_operations = 0;
  /// Two for each multiply-add of products, convolutions, attention and recurrent layers.
  std::int64_t product_flops = 0;
  /// One for each element of every other operation.
  std::int64_t other_flops = 0;
  std::int64_t input_bytes = 0;
  /// Bytes of parameters, buffers and attributes.
  std::int64_t state_bytes = 0;
  std::int64_t output_bytes = 0;
  /// Empty if all operations are elementwise, or within a recurrent layer.
  std::vector<OperationFamily> families;
  /// Unset for a reference that is not recurrent.
  std::optional<RecurrenceFact> recurrence;
  /// FLOPs that no kernel can save; rather too few. Unset where they are not known.
  std::optional<std::int64_t> least_flops;
  /// Bytes of inputs and weights that every kernel must read; rather too few. Unset where they are not known.
  std::optional<std::int64_t> least_read_bytes;
  bool operator==(const TaskFacts&) const = default;
};

/// Times of the reference, alone on the device: medians of a few calls, in nanoseconds.
struct ReferenceTime {
  double call_ns = 0;
  /// Replayed as a graph; unset where it cannot be, and on a CPU.
  std::optional<double> graph_ns{};
  /// Whether the device is a GPU.
  bool on_gpu = false;
};

/// Facts that the judge found by building and running the reference.
struct TaskDescription {
  std::string name;
  std::string content_id;
  TaskLevel level = TaskLevel::Unknown;
  ModuleMode mode = ModuleMode::Train;
  ForwardRandomness randomness = ForwardRandomness::None;
  PrecisionClass precision = PrecisionClass::Strict;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> parameters;
  std::vector<TensorSpec> buffers;
  std::vector<TensorSpec> attributes;
  std::vector<TensorSpec> draws;
  std::vector<TensorSpec> outputs;
  std::vector<ScalarSpec> scalars;
  /// Names of inputs that the reference itself modifies.
  std::vector<std::string> mutated_inputs;
  /// Names of buffers that forward() modifies; restored before each call or series.
  std::vector<std::string> mutated_buffers;
  /// Why the task is not scored, or notes for a reader: "trivial: zeros pass", "stochastic", "shrunk: ...".
  std::vector<std::string> labels;
  /// Unset in descriptions of earlier versions, and where no judge ran the reference.
  std::optional<TaskFacts> facts;
  /// For prompts. Unset where nothing is timed, and in descriptions of earlier versions.
  std::optional<ReferenceTime> reference_time{};

  /// True if the reference is known to carry state along a dimension.
  [[nodiscard]] bool is_recurrent() const { return facts && facts->recurrence; }
};

}  // namespace v0
}  // namespace kernelgen
