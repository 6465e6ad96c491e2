#include "convert.hpp"

#include <cmath>
#include <utility>
#include <variant>

namespace kernelgen_python {

using namespace kernelgen;

void raise(const Error& error) {
  const nb::object make = nb::module_::import_("kernelgen.errors").attr("error_from");
  const nb::object exception =
      make(std::string(to_string(error.code)), error.message, nb::cast(error.context), error.to_line());
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

nb::object error_parts(const std::optional<Error>& error) {
  if (!error) return nb::none();
  return nb::make_tuple(std::string(to_string(error->code)), error->message, nb::cast(error->context),
                        error->to_line());
}

namespace {

/// A text for a message, in one line of a moderate length. What UTF-8 lacks is written as an escape.
std::string shown(nb::handle object) {
  constexpr std::size_t k_most_bytes = 200;
  auto text = nb::steal<nb::bytes>(PyUnicode_AsEncodedString(nb::repr(object).ptr(), "utf-8", "backslashreplace"));
  if (text.size() <= k_most_bytes) return {text.c_str(), text.size()};
  std::size_t end = k_most_bytes;
  // Not within a character.
  while ((static_cast<unsigned char>(text.c_str()[end]) & 0xC0u) == 0x80u) --end;
  return std::string(text.c_str(), end) + "...";
}

/// The index of the first half of a surrogate pair.
std::size_t first_half_surrogate(nb::handle text) {
  const auto size = static_cast<std::size_t>(PyUnicode_GetLength(text.ptr()));
  for (std::size_t at = 0; at < size; ++at) {
    const auto character = PyUnicode_ReadChar(text.ptr(), static_cast<Py_ssize_t>(at));
    if (character >= 0xD800 && character <= 0xDFFF) return at;
  }
  return size;
}

/// The UTF-8 of a text; nothing for one that has none.
std::optional<std::string> utf8_of(nb::handle text) {
  Py_ssize_t size = 0;
  const char* const data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (data != nullptr) return std::string(data, static_cast<std::size_t>(size));
  PyErr_Clear();
  return {};
}

}  // namespace

std::string text_of(nb::handle text) {
  if (auto found = utf8_of(text)) return *std::move(found);
  raise({ErrorCode::InvalidArgument, "the text " + shown(text) + " has half of a surrogate pair at index " +
                                         std::to_string(first_half_surrogate(text)) +
                                         "; it must have a form in UTF-8"});
}

bool has_unencodable_text(nb::handle object) {
  if (PyUnicode_Check(object.ptr())) return !utf8_of(object);
  if (nb::isinstance<nb::dict>(object)) {
    for (const auto& [key, value] : nb::borrow<nb::dict>(object))
      if (has_unencodable_text(key) || has_unencodable_text(value)) return true;
    return false;
  }
  if (!nb::isinstance<nb::list>(object) && !nb::isinstance<nb::tuple>(object)) return false;
  for (const auto& one : nb::borrow(object))
    if (has_unencodable_text(one)) return true;
  return false;
}

void raise_wrong_type(const char* option, const nb::object& value, std::string_view expected) {
  const bool is_unencodable = has_unencodable_text(value);
  raise(
      {ErrorCode::InvalidArgument, "option " + std::string(option) + " is " + shown(value) +
                                       (is_unencodable ? ", with half of a surrogate pair; it must have a form in UTF-8"
                                                       : "; it must be " + std::string(expected))});
}

std::optional<Error> error_of(const nb::python_error& error) {
  const nb::object base = nb::module_::import_("kernelgen.errors").attr("Error");
  const nb::handle value = error.value();
  if (!nb::isinstance(value, base)) return {};
  Error found;
  // An error must arrive whatever its text is: this is called while it is handled.
  const auto text_in = [&](const char* name) {
    const nb::str text(value.attr(name));
    const auto encoded = nb::steal<nb::bytes>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
    return std::string(encoded.c_str(), encoded.size());
  };
  found.code = parse_error_code(text_in("code")).value_or(ErrorCode::Internal);
  found.message = text_in("message");
  nb::try_cast(value.attr("context"), found.context);
  return found;
}

std::chrono::milliseconds milliseconds_of(std::string_view option, double seconds) {
  // Sums of longer times with the clock's could overflow. The library refuses what is longer than a week.
  constexpr double k_most_seconds = 1e9;
  if (!std::isfinite(seconds) || std::abs(seconds) > k_most_seconds) {
    raise({ErrorCode::InvalidArgument,
           "option " + std::string(option) + " is " + std::to_string(seconds) + " s; it must be a number of seconds"});
  }
  // A positive limit below a millisecond must not become 0, which some options read as "none".
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(seconds * 1000)));
}

void assign_seconds(const nb::dict& from, const char* name, std::chrono::milliseconds& into) {
  if (const auto seconds = find<double>(from, name)) into = milliseconds_of(name, *seconds);
}

void assign_limit(const nb::dict& from, const char* name, std::chrono::milliseconds& into) {
  assign_seconds(from, name, into);
  if (into.count() <= 0) {
    raise({ErrorCode::InvalidArgument,
           "option " + std::string(name) + " is " + std::to_string(into.count()) + " ms; it must be above 0"});
  }
}

namespace {

double seconds_of(std::chrono::milliseconds time) { return static_cast<double>(time.count()) / 1000; }

void assign_measure(const nb::dict& from, MeasureOptions& into) {
  assign(from, "max_relative_interval", into.max_relative_interval);
  assign(from, "full_comparisons", into.full_comparisons);
  assign(from, "max_samples", into.max_samples);
  assign(from, "warmup_calls", into.warmup_calls);
  if (const auto seconds = find<double>(from, "deadline"))
    into.deadline = milliseconds_of("measure.deadline", *seconds);
}

nb::dict dict_of_measure(const MeasureOptions& measure) {
  nb::dict to;
  to["max_relative_interval"] = measure.max_relative_interval;
  to["full_comparisons"] = measure.full_comparisons;
  to["max_samples"] = measure.max_samples;
  to["warmup_calls"] = measure.warmup_calls;
  to["deadline"] = seconds_of(measure.deadline);
  return to;
}

}  // namespace

Target target_of(const std::string& name) {
  return named("target", name, parse_target,
               "cpp, cuda, hip, hipkittens, triton, torch or one that this program registered");
}

TaskSource task_of(const nb::dict& from) {
  TaskSource task;
  assign(from, "name", task.name);
  assign(from, "path", task.path);
  assign(from, "text", task.text);
  assign(from, "content_id", task.content_id);
  if (const auto level = find<std::string>(from, "level"))
    task.level = named("level", *level, parse_task_level, "unknown, single_operator, fusion or network");
  return task;
}

nb::dict dict_of(const TaskSource& task) {
  nb::dict to;
  to["name"] = task.name;
  to["path"] = task.path;
  to["text"] = task.text;
  to["content_id"] = task.content_id;
  to["level"] = std::string(to_string(task.level));
  return to;
}

Candidate candidate_of(const nb::dict& from) {
  const Target target = target_of(find<std::string>(from, "target").value_or(""));
  auto source = find<std::string>(from, "source").value_or("");
  const auto language = find<std::string>(from, "language");
  if (!language) return make_candidate(target, std::move(source));
  return make_candidate(target, named("language", *language, parse_language, k_languages), std::move(source));
}

nb::dict dict_of(const Candidate& candidate) {
  nb::dict to;
  to["target"] = std::string(to_string(candidate.target));
  to["language"] = std::string(to_string(candidate.language));
  to["source"] = candidate.source;
  to["id"] = candidate.id;
  return to;
}

EvaluationOptions options_of(const nb::dict& from) {
  EvaluationOptions options;
  if (const auto mode = find<std::string>(from, "mode"))
    options.mode = named("mode", *mode, parse_evaluation_mode, "full, quick or correctness_only");
  if (const auto precision = find<std::string>(from, "precision"))
    options.precision = named("precision", *precision, parse_precision, "strict, default, tf32, fp16 or bf16");
  options.rtol = find<double>(from, "rtol");
  options.atol = find<double>(from, "atol");
  if (const auto measure = find<nb::dict>(from, "measure")) assign_measure(*measure, options.measure);
  assign_seconds(from, "call_timeout", options.call_timeout);
  assign_seconds(from, "build_timeout", options.build_timeout);
  assign_seconds(from, "task_timeout", options.task_timeout);
  assign(from, "memory_limit", options.memory_limit);
  assign(from, "threads", options.threads);
  assign(from, "device", options.device);
  assign(from, "shrink", options.shrink);
  assign(from, "allow_weak_isolation", options.allow_weak_isolation);
  if (const auto use = find<std::string>(from, "library_use"))
    options.library_use = named("library_use", *use, parse_library_use, "own-kernels, assisted or anything");
  if (const auto baselines = find<nb::dict>(from, "baselines")) {
    for (const auto& kind : find<std::vector<std::string>>(*baselines, "kinds").value_or(std::vector<std::string>{}))
      options.baselines.kinds.push_back(
          named("baselines.kinds", kind, parse_baseline_kind, "compile or compile-max-autotune"));
    if (const auto seconds = find<double>(*baselines, "timeout"))
      options.baselines.timeout = milliseconds_of("baselines.timeout", *seconds);
  }
  if (const auto sanitizers = find<nb::dict>(from, "sanitizers")) {
    assign(*sanitizers, "enabled", options.sanitizers.enabled);
    if (const auto seconds = find<double>(*sanitizers, "timeout"))
      options.sanitizers.timeout = milliseconds_of("sanitizers.timeout", *seconds);
  }
  assign(from, "hip_wave_size", options.hip_cpu.wave_size);
  assign(from, "compile_for", options.compile_for.architectures);
  value_of(check_options(options));
  return options;
}

nb::dict dict_of(const EvaluationOptions& options) {
  nb::dict to;
  to["mode"] = std::string(to_string(options.mode));
  to["precision"] = std::string(to_string(options.precision));
  to["rtol"] = nb::cast(options.rtol);
  to["atol"] = nb::cast(options.atol);
  to["measure"] = dict_of_measure(options.measure);
  to["call_timeout"] = seconds_of(options.call_timeout);
  to["build_timeout"] = seconds_of(options.build_timeout);
  to["task_timeout"] = seconds_of(options.task_timeout);
  to["memory_limit"] = options.memory_limit;
  to["threads"] = options.threads;
  to["device"] = options.device;
  to["shrink"] = nb::cast(options.shrink);
  to["allow_weak_isolation"] = options.allow_weak_isolation;
  to["library_use"] = std::string(to_string(options.library_use));
  nb::dict baselines;
  nb::list kinds;
  for (const auto kind : options.baselines.kinds) kinds.append(std::string(to_string(kind)));
  baselines["kinds"] = kinds;
  baselines["timeout"] = seconds_of(options.baselines.timeout);
  to["baselines"] = baselines;
  nb::dict sanitizers;
  sanitizers["enabled"] = options.sanitizers.enabled;
  sanitizers["timeout"] = seconds_of(options.sanitizers.timeout);
  to["sanitizers"] = sanitizers;
  to["hip_wave_size"] = options.hip_cpu.wave_size;
  to["compile_for"] = nb::cast(options.compile_for.architectures);
  return to;
}

Action action_of(const nb::dict& from) {
  Action action;
  assign(from, "id", action.id);
  if (const auto kind = find<std::string>(from, "kind"))
    action.kind = named("kind", *kind, parse_prompt_kind, k_prompt_kinds);
  assign(from, "base", action.base);
  assign(from, "analysis", action.analysis);
  assign(from, "variant", action.variant);
  assign(from, "temperature", action.temperature);
  assign(from, "instructions", action.instructions);
  assign(from, "second_base", action.second_base);
  return action;
}

Result<Installation> installation_of(const std::string& prefix) {
  return prefix.empty() ? find_installation() : installation_at(prefix);
}

std::string json_of(const TaskDescription& description) {
  TaskDescribed event;
  event.description = description;
  return to_json(Event{"", std::move(event)});
}

std::string json_of(const ActionResult& result) { return to_json(Event{"", ActionFinished{result}}); }

Result<TaskDescription> description_of(std::string_view line) {
  auto event = parse_event(line);
  if (!event) return std::move(event).error();
  if (auto* described = std::get_if<TaskDescribed>(&event->body)) return std::move(described->description);
  return Error{ErrorCode::InvalidArgument, "not the description of a task"};
}

}  // namespace kernelgen_python
