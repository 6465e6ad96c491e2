#include <algorithm>
#include <cctype>

#include "prompt/error_kinds.hpp"
#include "prompt/error_rules.hpp"
#include "prompt/error_text.hpp"
#include "prompt/known_names.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// "NameError: name 'math' is not defined" of something that everybody imports.
bool lacks_import(std::string_view reason) {
  return reason.starts_with("NameError") && is_imported_name(quoted(reason, 0));
}

// -- Python, torch, Triton -------------------------------------------------------------------------------------------

bool is_access(std::string_view pointed) {
  return pointed.starts_with("tl.load(") || pointed.starts_with("tl.store(") || pointed.starts_with("tl.atomic_");
}

/// "x[0]" at the place that Triton points at: an index, not a call.
bool is_subscript(std::string_view pointed) {
  const auto name_end =
      std::find_if(pointed.begin(), pointed.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '_'; });
  return name_end != pointed.begin() && name_end != pointed.end() && *name_end == '[';
}

/// "acc[k] += 1.0": the index stands on the left.
bool is_item_assignment(std::string_view pointed) {
  const auto close = pointed.find(']');
  if (!is_subscript(pointed) || close == pointed.npos) return false;
  const auto rest = trim(pointed.substr(close + 1));
  const auto equal = rest.find('=');
  return equal <= 2 && rest.substr(equal, 2) != "==";
}

/// "twice(x)": a call of something by its own name.
bool is_call(std::string_view pointed) {
  const auto open = pointed.find('(');
  return open != pointed.npos && open > 0 &&
         std::all_of(pointed.begin(), pointed.begin() + static_cast<long>(open),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

/// Python's own min and max, which a kernel has for numbers only.
bool is_builtin_call(std::string_view pointed) {
  return pointed.starts_with("max(") || pointed.starts_with("min(") || pointed.starts_with("sum(");
}

/// A line that launches a kernel: kernel[grid](x).
bool is_launch(std::string_view place) { return contains(place, "]("); }

std::string refine_in_kernel(const PythonFailure& failure) {
  const std::string_view reason = failure.reason;
  // A tl function that was asked for what only a compiler has: in a kernel, an operator of Python's made the call.
  if (contains(reason, "argument must be provided outside of JIT functions")) {
    if (is_item_assignment(failure.pointed)) return "triton.item_assignment";
    return is_subscript(failure.pointed) ? "triton.tensor_index" : "triton.constexpr";
  }
  if (is_subscript(failure.pointed) && contains(reason, "AssertionError()")) return "triton.item_assignment";
  if (failure.type == "InterpreterError") {
    // The interpreter replaces what tl's functions do; it does not know whether a kernel called them.
    if (!is_launch(failure.place) || contains(reason, "'grid_idx'")) return "triton.outside_kernel";
    if (contains(reason, "'int' object is not iterable")) return "triton.tensor_index";
  }
  std::string found(first_match(triton_rules(), reason));
  if (found == "triton.operand_type" && failure.pointed.starts_with("not ")) return "triton.tensor_condition";
  if (found == "triton.arguments" && is_builtin_call(failure.pointed)) return "triton.host_function";
  if (found == "triton.block_shape" && is_access(failure.pointed)) return "triton.pointer_mask";
  if (found == "triton.global_variable" && is_call(failure.pointed)) return "triton.host_function";
  if (found == "triton.decorator_order") return "triton.host_function";
  if (!found.empty()) return found;
  if (failure.type == "CompileTimeAssertionFailure") return "triton.static_assert";
  if (failure.type == "UnsupportedLanguageConstruct") return "triton.unsupported_syntax";
  if (contains(reason, "AssertionError")) return "triton.static_assert";
  return "triton.other";
}

/// "raise ValueError(...)", "assert x.is_cuda": the words are the candidate's own, and tell nothing about torch. What
/// is computed in such a line can fail as well: "assert (x > 0)".
bool is_own_check(std::string_view place, std::string_view type) {
  return (place.starts_with("raise ") && contains(place, type)) ||
         (place.starts_with("assert ") && type == "AssertionError");
}

std::string class_of_exception(const PythonFailure& failure) {
  const std::string_view reason = failure.reason;
  const auto type = reason.substr(0, reason.find(':'));
  auto found = is_own_check(failure.place, type) ? std::string_view() : first_match(python_rules(), reason);
  if (found.empty()) found = first_match(exception_rules(), type);
  return found.empty() ? "python.other" : std::string(found);
}

std::string refine_host(const PythonFailure& failure, std::string_view source) {
  const std::string_view reason = failure.reason;
  if (contains(reason, "argument must be provided outside of JIT functions") ||
      contains(reason, "outside of the scope of a kernel"))
    return "triton.outside_kernel";
  const bool tuned = contains(failure.place, "triton.autotune(");
  if (tuned && reason.starts_with("NameError")) return "triton.autotune_key";
  const bool launch = is_launch(failure.place);
  // A configuration of autotune gives the argument a second time; the launcher does not know of it.
  if (launch && contains(reason, "got multiple values for") && contains(source, "triton.autotune("))
    return "triton.autotune_conflict";
  if (launch && contains(reason, "was specified but unrecognised")) return "triton.arguments";
  if (launch && (reason.starts_with("KeyError") || contains(reason, "object is not iterable") ||
                 contains(reason, "has no len()")))
    return "triton.grid";
  if (lacks_import(reason)) return "python.missing_import";
  std::string triton(first_match(triton_rules(), reason));
  // Nobody else says such things.
  for (const std::string_view sure :
       {"triton.autotune_conflict", "triton.autotune_key", "triton.decorator_order", "triton.cpu_tensor",
        "triton.missing_tanh", "triton.missing_function", "triton.missing_module_function", "triton.thread_index"})
    if (triton == sure) return triton;
  // The line that launches also makes tensors and sizes: what else is said there may be torch's or Python's.
  for (const std::string_view launched : {"triton.arguments", "triton.value", "triton.power_of_two",
                                          "triton.not_jitted", "triton.too_large", "triton.internal", "triton.grid"})
    if (triton == launched && (launch || tuned)) return triton;
  if (launch && triton == "triton.unsupported_syntax" && !contains(reason, "<lambda>")) return triton;
  if (contains(reason, "Unsupported function referenced")) return "triton.host_function";
  return class_of_exception(failure);
}

bool is_runtime_error(std::string_view reason) {
  return contains(reason, "CUDA error:") || contains(reason, "HIP error:") || contains(reason, "Triton Error [") ||
         contains(reason, "hipError") || contains(reason, "CUDA driver error") || contains(reason, "cudaError");
}

}  // namespace

std::optional<std::string> lacking_resource(std::string_view text) {
  if (!contains(text, "out of resource")) return std::nullopt;
  for (const auto& [words, name] : {std::pair{"out of resource: shared memory", "resource.shared_memory"},
                                    std::pair{"out of resource: tensor memory", "resource.tensor_memory"},
                                    std::pair{"out of resource: threads", "resource.threads"}})
    if (contains(text, words)) return name;
  return "resource.registers";
}

Found classify_python(std::string_view text, std::string_view source, Target target) {
  auto failure = read_python_failure(text);
  Found found{"", failure.reason, failure.lines};
  if (auto resource = lacking_resource(failure.reason)) {
    found.error_class = *std::move(resource);
  } else if (contains(failure.reason, "Error building extension") ||
             contains(failure.reason, "Error compiling objects for extension")) {
    // What the compiler said decides, not who started it.
    found = classify_compiler_log(text, target);
  } else if (is_runtime_error(failure.reason)) {
    // torch goes on with advice about other errors.
    found.reason = failure.reason.substr(0, failure.reason.find('\n'));
    found.error_class = first_match(runtime_rules(), found.reason);
    if (found.error_class.empty()) found.error_class = "device.other";
  } else if (failure.in_kernel) {
    found.error_class = refine_in_kernel(failure);
  } else {
    found.error_class = refine_host(failure, source);
  }
  return found;
}

}  // namespace v0
}  // namespace kernelgen
