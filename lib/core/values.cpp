#include <algorithm>
#include <array>
#include <initializer_list>

#include "core/enum_names.hpp"
#include "core/target_registry.hpp"
#include "support/sha256.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// True if a line of the source, behind blanks, begins with one of these.
bool has_line_with(std::string_view source, std::initializer_list<std::string_view> beginnings) {
  const auto lines = split_lines(source);
  return std::any_of(lines.begin(), lines.end(), [&](auto line) {
    return std::any_of(beginnings.begin(), beginnings.end(), [&](auto text) { return trim(line).starts_with(text); });
  });
}

/// Text in comments and strings seldom stands at the beginning of a line.
bool imports_triton(std::string_view source) { return has_line_with(source, {"import triton", "from triton"}); }

/// True for C++ that only a compiler of GPU code takes: HIP, because CUDA's compiler wants another file extension.
bool has_gpu_kernels(std::string_view source) {
  return has_line_with(source, {"#include <hip/", "#include \"hip/", "__global__"});
}

Target hip_target(std::string_view source) {
  return source.find("kittens") == source.npos ? Target::Hip : Target::Hipkittens;
}

}  // namespace

std::string_view to_string(DType dtype) { return names_of<DType>.name(dtype); }
std::optional<DType> parse_dtype(std::string_view name) { return names_of<DType>.find(name); }

std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::Complex128:
      return 16;
    case DType::Float64:
    case DType::Int64:
    case DType::Complex64:
      return 8;
    case DType::Float32:
    case DType::Int32:
      return 4;
    case DType::Float16:
    case DType::BFloat16:
    case DType::Int16:
      return 2;
    case DType::Int8:
    case DType::UInt8:
    case DType::Bool:
      return 1;
  }
  return 0;
}

std::string_view to_string(TaskLevel level) { return names_of<TaskLevel>.name(level); }
std::optional<TaskLevel> parse_task_level(std::string_view name) { return names_of<TaskLevel>.find(name); }

std::string_view to_string(OperationFamily family) { return names_of<OperationFamily>.name(family); }
std::string_view to_string(RecurrenceKind kind) { return names_of<RecurrenceKind>.name(kind); }
std::string_view to_string(OutputRequirement requirement) { return names_of<OutputRequirement>.name(requirement); }
std::string_view to_string(ModuleMode mode) { return names_of<ModuleMode>.name(mode); }

std::string_view to_string(ForwardRandomness randomness) { return names_of<ForwardRandomness>.name(randomness); }

std::string_view to_string(PrecisionClass precision) { return names_of<PrecisionClass>.name(precision); }
std::optional<PrecisionClass> parse_precision(std::string_view name) { return names_of<PrecisionClass>.find(name); }

std::string_view to_string(Language language) { return names_of<Language>.name(language); }
std::optional<Language> parse_language(std::string_view name) { return names_of<Language>.find(name); }

Language default_language(Target target) {
  static constexpr Language k_languages[] = {Language::Cpp, Language::Cuda,   Language::Hip,
                                             Language::Hip, Language::Python, Language::Python};
  return is_built_in(target) ? k_languages[static_cast<std::size_t>(target)] : Language::Custom;
}

std::string_view file_extension(Target target, Language language) {
  return language == Language::C ? ".c" : std::string_view(traits_of(target).file_extension);
}

std::optional<Target> guess_target(std::string_view file_name, std::string_view source) {
  const auto dot = file_name.rfind('.');
  const auto extension = dot == std::string_view::npos ? std::string_view{} : file_name.substr(dot);
  if (extension == ".c") return Target::Cpp;
  if (extension == ".cpp" || extension == ".cc" || extension == ".cxx")
    return has_gpu_kernels(source) ? hip_target(source) : Target::Cpp;
  if (extension == ".cu" || extension == ".cuh") return Target::Cuda;
  if (extension == ".hip") return hip_target(source);
  if (extension == ".py") return imports_triton(source) ? Target::Triton : Target::Torch;
  return TargetRegistry::of_process().find_custom(extension);
}

Language guess_language(std::string_view file_name, Target target) {
  return target == Target::Cpp && file_name.ends_with(".c") ? Language::C : default_language(target);
}

Candidate make_candidate(Target target, std::string source) {
  return make_candidate(target, default_language(target), std::move(source));
}

Candidate make_candidate(Target target, Language language, std::string source) {
  Candidate candidate;
  candidate.target = target;
  candidate.language = language;
  // A line end cannot occur in a name, so the parts cannot run into each other. The default language is left out: ids
  // that were stored before candidates had a language stay the same.
  std::string head(to_string(target));
  if (language != default_language(target)) head += ' ' + std::string(to_string(language));
  candidate.id = sha256_hex(head + '\n' + source);
  candidate.source = std::move(source);
  return candidate;
}

std::string source_file_name(Target target, Language language) {
  return "candidate" + std::string(file_extension(target, language));
}

std::string_view to_string(OutcomeKind kind) { return names_of<OutcomeKind>.name(kind); }
std::optional<OutcomeKind> parse_outcome_kind(std::string_view name) { return names_of<OutcomeKind>.find(name); }

std::string Outcome::to_class() const {
  std::string name(to_string(kind));
  if (!detail.empty()) name += ':' + detail;
  return name;
}

std::string_view to_string(StandIn stand_in) { return names_of<StandIn>.name(stand_in); }
std::string_view to_string(SanitizerStatus status) { return names_of<SanitizerStatus>.name(status); }

std::string_view to_string(StopReason reason) { return names_of<StopReason>.name(reason); }
std::optional<StopReason> parse_stop_reason(std::string_view name) { return names_of<StopReason>.find(name); }

std::string_view to_string(LibraryUse use) { return names_of<LibraryUse>.name(use); }
std::optional<LibraryUse> parse_library_use(std::string_view name) { return names_of<LibraryUse>.find(name); }

std::string_view to_string(EvaluationMode mode) { return names_of<EvaluationMode>.name(mode); }
std::optional<EvaluationMode> parse_evaluation_mode(std::string_view name) {
  return names_of<EvaluationMode>.find(name);
}

std::string_view to_string(BaselineKind kind) { return names_of<BaselineKind>.name(kind); }
std::optional<BaselineKind> parse_baseline_kind(std::string_view name) { return names_of<BaselineKind>.find(name); }

std::string_view to_string(PromptKind kind) { return names_of<PromptKind>.name(kind); }
std::optional<PromptKind> parse_prompt_kind(std::string_view name) { return names_of<PromptKind>.find(name); }

std::string_view to_string(FinishReason reason) { return names_of<FinishReason>.name(reason); }
std::optional<FinishReason> parse_finish_reason(std::string_view name) { return names_of<FinishReason>.find(name); }

std::string_view to_string(Recurrence recurrence) { return names_of<Recurrence>.name(recurrence); }
std::optional<Recurrence> parse_recurrence(std::string_view name) { return names_of<Recurrence>.find(name); }

std::string_view to_string(ActionStatus status) { return names_of<ActionStatus>.name(status); }
std::optional<ActionStatus> parse_action_status(std::string_view name) { return names_of<ActionStatus>.find(name); }

// The same numbers as in lib/python/kernelgen_judge/target.py. The judge's own decide, and the record has them.
Tolerance standard_tolerance(const TaskDescription& task) {
  const bool half = std::any_of(task.outputs.begin(), task.outputs.end(), [](const TensorSpec& output) {
    return output.dtype == DType::Float16 || output.dtype == DType::BFloat16;
  });
  if (half) return {.rtol = 1e-2, .atol = 1e-2, .max_rms_error_multiple = 8};
  return {.max_rms_error_multiple = 256};
}

std::optional<double> score_of(const EvaluationRecord& record) {
  if (!record.outcome.correct() || !record.timing) return std::nullopt;
  for (const auto& label : record.labels)
    if (label.starts_with("interpreter") || label.starts_with("fake device")) return std::nullopt;
  const double score = record.timing->scored_speedup().value;
  return score > 0 ? std::optional(score) : std::nullopt;
}

std::chrono::milliseconds device_time_of(const EvaluationRecord& record) {
  const auto& phases = record.phases;
  const auto wait =
      std::find_if(phases.begin(), phases.end(), [](const auto& phase) { return phase.name == k_device_wait_phase; });
  std::chrono::duration<double, std::milli> time{0};
  if (wait != phases.end())
    for (auto phase = wait + 1; phase != phases.end(); ++phase)
      time += decltype(time)(std::max(phase->milliseconds, 0.0));
  return std::chrono::duration_cast<std::chrono::milliseconds>(time);
}

namespace {

bool is_part_of_path(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '.' || c == '/';
}

/// `text` with `file` for each mention of `name` that is no part of a longer name or path.
std::string replace_name(std::string_view text, std::string_view name, std::string_view file) {
  std::string replaced;
  for (std::size_t at = 0; at < text.size();) {
    const auto found = text.find(name, at);
    if (found == text.npos) {
      replaced += text.substr(at);
      break;
    }
    const auto end = found + name.size();
    const bool alone = (found == 0 || !is_part_of_path(text[found - 1])) &&
                       (end == text.size() || !is_part_of_path(text[end]) || text[end] == '.');
    replaced += text.substr(at, found - at);
    replaced += alone ? file : name;
    at = end;
  }
  return replaced;
}

}  // namespace

void name_source_file(EvaluationRecord& record, std::string_view file) {
  const auto name = source_file_name(record.target, record.language);
  record.outcome.message = replace_name(record.outcome.message, name, file);
  if (!record.compile) return;
  record.compile->log = replace_name(record.compile->log, name, file);
  for (auto& one : record.compile->diagnostics) {
    if (one.file == name) one.file = file;
    one.message = replace_name(one.message, name, file);
  }
}

}  // namespace v0
}  // namespace kernelgen
