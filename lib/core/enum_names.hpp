#pragma once

/// \file
/// Every enum of the core and its stored spellings. A Target is more than an enum: see core/target_registry.hpp. Names
/// are never reused for another meaning.

#include <kernelgen/core/action.hpp>
#include <kernelgen/core/candidate.hpp>
#include <kernelgen/core/outcome.hpp>
#include <kernelgen/core/profile.hpp>
#include <kernelgen/core/prompt.hpp>
#include <kernelgen/core/record.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/core/task.hpp>

#include "core/names.hpp"
#include "core/target_registry.hpp"

namespace kernelgen {
inline namespace v0 {

/// names_of<Enum>: the table of an enum; the JSON codec needs nothing else.
template <class Enum>
struct NoNames;
template <class Enum>
inline constexpr NoNames<Enum>* names_of = nullptr;

template <>
inline constexpr auto names_of<ErrorCode> = make_names<ErrorCode>({
    {ErrorCode::InvalidArgument, "invalid_argument"},
    {ErrorCode::NotFound, "not_found"},
    {ErrorCode::PermissionDenied, "permission_denied"},
    {ErrorCode::NoSpace, "no_space"},
    {ErrorCode::Io, "io"},
    {ErrorCode::MissingTool, "missing_tool"},
    {ErrorCode::MissingDevice, "missing_device"},
    {ErrorCode::UnsuitableDevice, "unsuitable_device"},
    {ErrorCode::Timeout, "timeout"},
    {ErrorCode::Cancelled, "cancelled"},
    {ErrorCode::Protocol, "protocol"},
    {ErrorCode::Unavailable, "unavailable"},
    {ErrorCode::Unsupported, "unsupported"},
    {ErrorCode::InvalidTask, "invalid_task"},
    {ErrorCode::OutOfMemory, "out_of_memory"},
    {ErrorCode::Busy, "busy"},
    {ErrorCode::PromptTooLong, "prompt_too_long"},
    {ErrorCode::Pending, "pending"},
    {ErrorCode::Internal, "internal"},
});

template <>
inline constexpr auto names_of<DType> = make_names<DType>({
    {DType::Float64, "float64"},
    {DType::Float32, "float32"},
    {DType::Float16, "float16"},
    {DType::BFloat16, "bfloat16"},
    {DType::Int64, "int64"},
    {DType::Int32, "int32"},
    {DType::Int16, "int16"},
    {DType::Int8, "int8"},
    {DType::UInt8, "uint8"},
    {DType::Bool, "bool"},
    {DType::Complex64, "complex64"},
    {DType::Complex128, "complex128"},
});

template <>
inline constexpr auto names_of<TaskLevel> = make_names<TaskLevel>({
    {TaskLevel::Unknown, "unknown"},
    {TaskLevel::SingleOperator, "single_operator"},
    {TaskLevel::Fusion, "fusion"},
    {TaskLevel::Network, "network"},
});

template <>
inline constexpr auto names_of<OperationFamily> = make_names<OperationFamily>({
    {OperationFamily::Attention, "attention"},
    {OperationFamily::Convolution, "convolution"},
    {OperationFamily::Gemm, "gemm"},
    {OperationFamily::Scan, "scan"},
    {OperationFamily::Normalization, "normalization"},
    {OperationFamily::Loss, "loss"},
    {OperationFamily::Reduction, "reduction"},
    {OperationFamily::Pooling, "pooling"},
});

template <>
inline constexpr auto names_of<RecurrenceKind> = make_names<RecurrenceKind>({
    {RecurrenceKind::Gru, "gru"},
    {RecurrenceKind::Lstm, "lstm"},
    {RecurrenceKind::Rnn, "rnn"},
    {RecurrenceKind::Loop, "loop"},
});

template <>
inline constexpr auto names_of<OutputRequirement> = make_names<OutputRequirement>({
    {OutputRequirement::FullSequence, "full_sequence"},
    {OutputRequirement::FinalStateOnly, "final_state_only"},
    {OutputRequirement::Other, "other"},
});

template <>
inline constexpr auto names_of<ModuleMode> = make_names<ModuleMode>({
    {ModuleMode::Train, "train"},
    {ModuleMode::Eval, "eval"},
});

template <>
inline constexpr auto names_of<ForwardRandomness> = make_names<ForwardRandomness>({
    {ForwardRandomness::None, "none"},
    {ForwardRandomness::Traced, "traced"},
    {ForwardRandomness::Stochastic, "stochastic"},
});

template <>
inline constexpr auto names_of<PrecisionClass> = make_names<PrecisionClass>({
    {PrecisionClass::Strict, "strict"},
    {PrecisionClass::Default, "default"},
    {PrecisionClass::Tf32, "tf32"},
    {PrecisionClass::Fp16, "fp16"},
    {PrecisionClass::Bf16, "bf16"},
});

template <>
inline constexpr auto names_of<Target> = TargetNames{};

template <>
inline constexpr auto names_of<ArtifactKind> = make_names<ArtifactKind>({
    {ArtifactKind::SharedObject, "shared_object"},
    {ArtifactKind::PythonModule, "python_module"},
});

template <>
inline constexpr auto names_of<TargetDevice> = make_names<TargetDevice>({
    {TargetDevice::Cpu, "cpu"},
    {TargetDevice::Gpu, "gpu"},
    {TargetDevice::Any, "any"},
});

template <>
inline constexpr auto names_of<Language> = make_names<Language>({
    {Language::Cpp, "cpp"},
    {Language::C, "c"},
    {Language::Cuda, "cuda"},
    {Language::Hip, "hip"},
    {Language::Python, "python"},
    {Language::Custom, "custom"},
});

template <>
inline constexpr auto names_of<EvaluationMode> = make_names<EvaluationMode>({
    {EvaluationMode::Full, "full"},
    {EvaluationMode::Quick, "quick"},
    {EvaluationMode::CorrectnessOnly, "correctness_only"},
});

template <>
inline constexpr auto names_of<LibraryUse> = make_names<LibraryUse>({
    {LibraryUse::OwnKernels, "own-kernels"},
    {LibraryUse::Assisted, "assisted"},
    {LibraryUse::Anything, "anything"},
});

template <>
inline constexpr auto names_of<OutcomeKind> = make_names<OutcomeKind>({
    {OutcomeKind::Correct, "correct"},
    {OutcomeKind::Syntax, "syntax"},
    {OutcomeKind::Import, "import"},
    {OutcomeKind::Interface, "interface"},
    {OutcomeKind::WeightSync, "weight_sync"},
    {OutcomeKind::Compile, "compile"},
    {OutcomeKind::Resource, "resource"},
    {OutcomeKind::Launch, "launch"},
    {OutcomeKind::DeviceFault, "device_fault"},
    {OutcomeKind::Accuracy, "accuracy"},
    {OutcomeKind::OffDistribution, "off_distribution"},
    {OutcomeKind::MutatedInput, "mutated_input"},
    {OutcomeKind::Race, "race"},
    {OutcomeKind::Timeout, "timeout"},
    {OutcomeKind::OutOfMemory, "out_of_memory"},
    {OutcomeKind::Crash, "crash"},
    {OutcomeKind::Cheat, "cheat"},
    {OutcomeKind::Suspect, "suspect"},
    {OutcomeKind::LibraryUse, "library_use"},
    {OutcomeKind::Sanitizer, "sanitizer"},
    {OutcomeKind::NotScored, "not_scored"},
});

template <>
inline constexpr auto names_of<StandIn> = make_names<StandIn>({
    {StandIn::Processor, "processor"},
    {StandIn::Emulator, "emulator"},
    {StandIn::OtherGpu, "other_gpu"},
});

template <>
inline constexpr auto names_of<SanitizerStatus> = make_names<SanitizerStatus>({
    {SanitizerStatus::Clean, "clean"},
    {SanitizerStatus::Found, "found"},
    {SanitizerStatus::NotFinished, "not_finished"},
    {SanitizerStatus::NotApplicable, "not_applicable"},
});

template <>
inline constexpr auto names_of<StopReason> = make_names<StopReason>({
    {StopReason::Criterion, "criterion"},
    {StopReason::MaxSamples, "max_samples"},
    {StopReason::Deadline, "deadline"},
    {StopReason::Cancelled, "cancelled"},
    {StopReason::Failed, "failed"},
});

template <>
inline constexpr auto names_of<BaselineKind> = make_names<BaselineKind>({
    {BaselineKind::Compile, "compile"},
    {BaselineKind::CompileMaxAutotune, "compile-max-autotune"},
});

template <>
inline constexpr auto names_of<PromptKind> = make_names<PromptKind>({
    {PromptKind::Seed, "seed"},
    {PromptKind::Repair, "repair"},
    {PromptKind::Analysis, "analysis"},
    {PromptKind::Optimize, "optimize"},
    {PromptKind::Stage, "stage"},
    {PromptKind::Reflect, "reflect"},
    {PromptKind::Critic, "critic"},
    {PromptKind::Crossover, "crossover"},
});

template <>
inline constexpr auto names_of<FinishReason> = make_names<FinishReason>({
    {FinishReason::Stop, "stop"},
    {FinishReason::Length, "length"},
    {FinishReason::Refused, "refused"},
    {FinishReason::Other, "other"},
});

template <>
inline constexpr auto names_of<Recurrence> = make_names<Recurrence>({
    {Recurrence::Persistent, "persistent"},
    {Recurrence::PerStep, "per-step"},
    {Recurrence::NotRecurrent, "not-recurrent"},
    {Recurrence::Unknown, "unknown"},
});

template <>
inline constexpr auto names_of<KernelOrigin> = make_names<KernelOrigin>({
    {KernelOrigin::Own, "own"},
    {KernelOrigin::Framework, "framework"},
    {KernelOrigin::Library, "library"},
    {KernelOrigin::Copy, "copy"},
});

template <>
inline constexpr auto names_of<ActionStatus> = make_names<ActionStatus>({
    {ActionStatus::Evaluated, "evaluated"},
    {ActionStatus::Analyzed, "analyzed"},
    {ActionStatus::NoCode, "no_code"},
    {ActionStatus::Duplicate, "duplicate"},
    {ActionStatus::Unchanged, "unchanged"},
    {ActionStatus::ModelFailed, "model_failed"},
    {ActionStatus::NotJudged, "not_judged"},
});

}  // namespace v0
}  // namespace kernelgen
