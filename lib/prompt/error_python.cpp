#include "prompt/error_steps.hpp"
#include "prompt/error_text.hpp"
#include "prompt/known_names.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// "NameError: name 'math' is not defined", for a name that is usually imported.
bool lacks_import(std::string_view reason) {
  return reason.starts_with("NameError") && is_imported_name(quoted(reason, 0));
}

/// A line that launches a kernel: kernel[grid](x).
bool is_launch(std::string_view place) { return contains(place, "]("); }

ErrorTool tool_of_place(std::string_view place, std::string_view source) {
  if (contains(place, "triton.autotune(")) return ErrorTool::Autotune;
  if (!is_launch(place)) return ErrorTool::Module;
  return contains(source, "triton.autotune(") ? ErrorTool::TunedLaunch : ErrorTool::Launch;
}

std::string classify_in_kernel(const PythonFailure& failure, const ToolMessage& message) {
  // The interpreter replaces the functions of tl without knowing whether a kernel called them.
  if (failure.type == "InterpreterError" && !is_launch(failure.candidate_line)) return "triton.outside_kernel";
  if (const auto found = class_of_message(message); !found.empty()) return std::string(found);
  if (failure.type == "UnsupportedLanguageConstruct") return "triton.unsupported_syntax";
  if (failure.type == "CompileTimeAssertionFailure" || contains(failure.reason, "AssertionError"))
    return "triton.static_assert";
  return "triton.other";
}

/// "raise ValueError(...)", "assert x.is_cuda": the words are the candidate's own, and say nothing about torch. An
/// expression in such a line can fail as well: "assert (x > 0)".
bool is_own_check(std::string_view place, std::string_view type) {
  return (place.starts_with("raise ") && contains(place, type)) ||
         (place.starts_with("assert ") && type == "AssertionError");
}

/// Tries the whole reason, then the type of the exception alone. `message` becomes the text that decided.
std::string classify_exception(const PythonFailure& failure, ToolMessage& message) {
  if (lacks_import(failure.reason)) return "python.missing_import";
  const auto type = failure.reason.substr(0, failure.reason.find(':'));
  std::string_view found;
  if (!is_own_check(failure.candidate_line, type)) found = class_of_message(message);
  if (found.empty()) {
    message.text = type;
    found = class_of_message(message);
  }
  return found.empty() ? "python.other" : std::string(found);
}

bool is_runtime_error(std::string_view reason) {
  return contains(reason, "CUDA error:") || contains(reason, "HIP error:") || contains(reason, "Triton Error [") ||
         contains(reason, "hipError") || contains(reason, "CUDA driver error") || contains(reason, "cudaError");
}

bool is_extension_build(std::string_view reason) {
  return contains(reason, "Error building extension") || contains(reason, "Error compiling objects for extension");
}

}  // namespace

std::optional<std::string> class_of_resource(std::string_view text) {
  if (!contains(text, "out of resource")) return std::nullopt;
  for (const auto& [words, name] : {std::pair{"out of resource: shared memory", "resource.shared_memory"},
                                    std::pair{"out of resource: tensor memory", "resource.tensor_memory"},
                                    std::pair{"out of resource: threads", "resource.threads"}})
    if (contains(text, words)) return name;
  return "resource.registers";
}

ClassifiedError classify_python(std::string_view text, std::string_view source, Target target) {
  auto failure = read_python_failure(text);
  // The compiler's message decides, even if torch started the compiler.
  if (is_extension_build(failure.reason)) return classify_compiler_log(text, target);
  ClassifiedError found{"", failure.reason, failure.lines, {}};
  if (auto resource = class_of_resource(failure.reason)) {
    found.error_class = *std::move(resource);
  } else if (is_runtime_error(failure.reason)) {
    // torch appends advice about other errors.
    found.reason = failure.reason.substr(0, failure.reason.find('\n'));
    found.message = {ErrorTool::Runtime, found.reason, ""};
    found.error_class = class_of_message(*found.message);
    if (found.error_class.empty()) found.error_class = "device.other";
  } else if (failure.in_kernel) {
    found.message = {ErrorTool::Kernel, failure.reason, failure.kernel_code};
    found.error_class = classify_in_kernel(failure, *found.message);
  } else {
    found.message = {tool_of_place(failure.candidate_line, source), failure.reason, failure.candidate_line};
    found.error_class = classify_exception(failure, *found.message);
  }
  return found;
}

}  // namespace v0
}  // namespace kernelgen
