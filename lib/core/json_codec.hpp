#pragma once

/// \file
/// Reads and writes every described structure as JSON. The conversions of Boost.JSON are not enough: they refuse
/// missing members and do not say which member was wrong.

#include <array>
#include <boost/describe.hpp>
#include <boost/json.hpp>
#include <boost/mp11.hpp>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/enum_names.hpp"
#include "core/json.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {

BOOST_DESCRIBE_STRUCT(TensorSpec, (), (name, dtype, shape, strides))
BOOST_DESCRIBE_STRUCT(ScalarSpec, (), (name, type, value))
BOOST_DESCRIBE_STRUCT(TaskSource, (), (name, path, text, content_id, level))
BOOST_DESCRIBE_STRUCT(OperationFact, (), (name, count, inputs, outputs, dtype))
BOOST_DESCRIBE_STRUCT(RecurrenceFact, (), (kind, layers, directions, steps, hidden_size, returns))
BOOST_DESCRIBE_STRUCT(TaskFacts, (),
                      (operations, unlisted_operations, product_flops, other_flops, input_bytes, state_bytes,
                       output_bytes, families, recurrence, least_flops, least_read_bytes))
BOOST_DESCRIBE_STRUCT(ReferenceTime, (), (call_ns, graph_ns, on_gpu))
BOOST_DESCRIBE_STRUCT(TaskDescription, (),
                      (name, content_id, level, mode, randomness, precision, inputs, parameters, buffers, attributes,
                       draws, outputs, scalars, mutated_inputs, mutated_buffers, labels, facts, reference_time))
BOOST_DESCRIBE_STRUCT(Candidate, (), (target, language, source, id))
BOOST_DESCRIBE_STRUCT(Diagnostic, (), (severity, file, line, column, message, source_line))
BOOST_DESCRIBE_STRUCT(KernelResources, (),
                      (name, registers, spill_store_bytes, spill_load_bytes, stack_bytes, static_shared_bytes,
                       constant_bytes, barriers, scalar_registers, spilled_scalar_registers, accumulation_registers,
                       occupancy, dynamic_shared_bytes))
BOOST_DESCRIBE_STRUCT(CompileReport, (),
                      (command, diagnostics, log, log_truncated, duration, cache, isolation, kernels))
BOOST_DESCRIBE_STRUCT(Outcome, (), (kind, detail, message))
BOOST_DESCRIBE_STRUCT(Tolerance, (), (rtol, atol, max_rms_error_multiple, standard))
BOOST_DESCRIBE_STRUCT(OutputError, (),
                      (output, max_abs, mean_abs, max_error_ratio, rms_error_vs_float64, reference_rms_error_vs_float64,
                       kernelbench_allclose))
BOOST_DESCRIBE_STRUCT(CaseResult, (), (distribution, seed, weight_set, call, outcome, outputs))
BOOST_DESCRIBE_STRUCT(WeightReport, (), (by_content, by_name, by_declaration, unmapped))
BOOST_DESCRIBE_STRUCT(Ratio, (), (value, low, high))
BOOST_DESCRIBE_STRUCT(BaselineReport, (), (name, samples_ns, median_ns, speedup, reason))
BOOST_DESCRIBE_STRUCT(MeasureOptions, (),
                      (max_relative_interval, full_comparisons, max_samples, warmup_calls, deadline))
BOOST_DESCRIBE_STRUCT(ReplayedSeries, (), (calls, host_ns, overhead_ns, looseness_ns, least_call_ns, least_replay_ns))
BOOST_DESCRIBE_STRUCT(SeparateCalls, (), (reference_ns, candidate_ns, host_ns, speedup))
BOOST_DESCRIBE_STRUCT(MemoryFloor, (), (read_bytes, written_bytes, bytes_per_second))
BOOST_DESCRIBE_STRUCT(TimingReport, (),
                      (options, reference_alone_before_ns, reference_ns, candidate_ns, host_ns, calls,
                       clock_overhead_ns, clock_looseness_ns, clock_per_call_ns, fresh, reference_alone_after_ns,
                       off_stream_ns, clock_mhz, reference_alone_graph_ns, reference_graph_ns, candidate_graph_ns,
                       graph_host_ns, replayed_series, separate_calls, reference_median_ns, candidate_median_ns,
                       speedup_call, speedup_device, speedup_device_reason, stop_reason, full_comparisons,
                       sampled_comparisons, discarded, contention, device_contention, memory_floor, prepare_ns,
                       first_call_ns, baselines))
BOOST_DESCRIBE_STRUCT(WorkActivity, (), (name, origin, microseconds))
BOOST_DESCRIBE_STRUCT(WorkReport, (),
                      (source, own, library, framework, copies, examined_ns, timed_ns, activities, unavailable))
BOOST_DESCRIBE_STRUCT(EnvironmentReport, (),
                      (kernelgen_version, device, device_uuid, system, compiler, python, torch, triton, threads,
                       isolation, stand_in))
BOOST_DESCRIBE_STRUCT(SanitizerReport, (), (tool, version, status, reason, findings, duration))
BOOST_DESCRIBE_STRUCT(ArchitectureReport, (), (architecture, kernels, failure))
BOOST_DESCRIBE_STRUCT(Phase, (), (name, milliseconds))
BOOST_DESCRIBE_STRUCT(EvaluationRecord, (),
                      (schema, id, started, task_name, task_content_id, candidate_id, target, language, precision, mode,
                       outcome, labels, task, compile, tolerance, cases, weights, timing, work, sanitizers,
                       compiled_for, environment, phases))
BOOST_DESCRIBE_STRUCT(Prompt, (), (kind, text, estimated_tokens, dropped, fingerprint, shared_bytes))
BOOST_DESCRIBE_STRUCT(TokenUsage, (),
                      (input_tokens, output_tokens, cached_tokens, reasoning_tokens, cache_write_tokens))
BOOST_DESCRIBE_STRUCT(Reply, (), (text, finish, usage, model, latency, first_output, request_id, left_out, identity))
BOOST_DESCRIBE_STRUCT(Analysis, (),
                      (worth_optimizing, reason, bottleneck, method, plan, expected_speedup, output_requirement,
                       correction))
BOOST_DESCRIBE_STRUCT(Action, (), (id, kind, base, analysis, variant, temperature, instructions, second_base))
BOOST_DESCRIBE_STRUCT(Headroom, (), (bound, floor_ns, time_ns, ratio, sentence))
BOOST_DESCRIBE_STRUCT(Metric, (), (name, value, unit))
BOOST_DESCRIBE_STRUCT(KernelProfile, (), (name, function, origin, launches, duration_ns, counted_launches, metrics))
BOOST_DESCRIBE_STRUCT(ProfileUnavailable, (), (reason, remedy))
BOOST_DESCRIBE_STRUCT(Profile, (),
                      (schema, source, device, metric_set, call_ns, span_ns, kernels, unavailable, no_counters))
BOOST_DESCRIBE_STRUCT(ActionResult, (),
                      (action, number, status, message, candidate, record, analysis, critique, recurrence, headroom,
                       profile, change))

namespace json_codec {

namespace json = boost::json;

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
template <class T>
struct is_vector : std::false_type {};
template <class T>
struct is_vector<std::vector<T>> : std::true_type {};
template <class T>
struct is_pair : std::false_type {};
template <class A, class B>
struct is_pair<std::pair<A, B>> : std::true_type {};
template <class T>
struct is_duration : std::false_type {};
template <class Rep, class Period>
struct is_duration<std::chrono::duration<Rep, Period>> : std::true_type {};

/// Members of such a type are left out of the JSON when they are empty(): a feature that few requests use must not
/// change the text of all others, and with it the names of requests in a spool.
template <class T>
inline constexpr bool k_left_out_when_empty = false;
template <>
inline constexpr bool k_left_out_when_empty<std::vector<BaselineReport>> = true;
template <>
inline constexpr bool k_left_out_when_empty<std::vector<SanitizerReport>> = true;
template <>
inline constexpr bool k_left_out_when_empty<std::vector<ArchitectureReport>> = true;

/// The name under which an earlier version wrote a member; it is read where the present name is missing.
struct FormerName {
  std::string_view now;
  std::string_view before;
};
template <class T>
inline constexpr std::array<FormerName, 0> k_former_names{};
template <>
inline constexpr auto k_former_names<Tolerance> = std::array{FormerName{"max_rms_error_multiple", "float64_multiple"}};
template <>
inline constexpr auto k_former_names<OutputError> =
    std::array{FormerName{"max_error_ratio", "max_scaled"}, FormerName{"rms_error_vs_float64", "float64_error"},
               FormerName{"reference_rms_error_vs_float64", "reference_float64_error"}};
template <>
inline constexpr auto k_former_names<TimingReport> = std::array{
    FormerName{"off_stream_ns", "late_ns"}, FormerName{"reference_alone_before_ns", "clean_before_ns"},
    FormerName{"reference_alone_after_ns", "clean_after_ns"}, FormerName{"reference_alone_graph_ns", "clean_graph_ns"},
    FormerName{"sampled_comparisons", "canary_comparisons"}};

/// Gives members that the object lacks a value that depends on other members. For most types there are none.
template <class T>
void complete(T&, const json::object&) {}
inline void complete(Candidate& candidate, const json::object& members) {
  if (!members.contains("language")) candidate.language = default_language(candidate.target);
}
inline void complete(EvaluationRecord& record, const json::object& members) {
  if (!members.contains("language")) record.language = default_language(record.target);
}

/// A number of milliseconds must not look like a number of seconds: its unit is part of the member's name.
template <class T>
std::string member_name(const char* name) {
  if constexpr (std::is_same_v<T, std::chrono::milliseconds>) return std::string(name) + "_ms";
  if constexpr (std::is_same_v<T, std::chrono::nanoseconds> ||
                std::is_same_v<T, std::optional<std::chrono::nanoseconds>>)
    return std::string(name) + "_ns";
  return name;
}

inline json::value write_double(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  return number;
}

template <class T>
json::value write(const T& object) {
  if constexpr (std::is_same_v<T, bool>) {
    return object;
  } else if constexpr (std::is_same_v<T, std::string>) {
    // Compilers and candidates print arbitrary bytes; JSON is UTF-8.
    return json::string(to_utf8(object));
  } else if constexpr (std::is_enum_v<T>) {
    return json::string(names_of<T>.name(object));
  } else if constexpr (std::is_floating_point_v<T>) {
    return write_double(object);
  } else if constexpr (std::is_integral_v<T>) {
    return object;
  } else if constexpr (is_duration<T>::value) {
    return object.count();
  } else if constexpr (is_optional<T>::value) {
    return object ? write(*object) : json::value(nullptr);
  } else if constexpr (is_pair<T>::value) {
    return json::array{write(object.first), write(object.second)};
  } else if constexpr (is_vector<T>::value) {
    json::array array;
    array.reserve(object.size());
    for (const auto& element : object) array.push_back(write(element));
    return array;
  } else {
    json::object members;
    boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_public>>([&](auto member) {
      using Member = std::remove_cvref_t<decltype(object.*member.pointer)>;
      if constexpr (k_left_out_when_empty<Member>)
        if ((object.*member.pointer).empty()) return;
      members.emplace(member_name<Member>(member.name), write(object.*member.pointer));
    });
    return members;
  }
}

/// The problem and its place: ".outcome.kind", "[2].name".
struct Failure {
  std::string path;
  std::string what;
};
using Verdict = std::optional<Failure>;

inline Failure expected(const char* what, const json::value& found) {
  return {"", std::string("expected ") + what + ", found " + std::string(json::to_string(found.kind()))};
}
inline Verdict inside(const std::string& step, Verdict verdict) {
  if (verdict) verdict->path.insert(0, step);
  return verdict;
}

inline Verdict read_double(const json::value& from, double& into) {
  if (from.is_null() || from == "nan") {
    into = std::numeric_limits<double>::quiet_NaN();
  } else if (from == "inf" || from == "-inf") {
    into = from == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  } else if (from.is_number()) {
    into = from.to_number<double>();
  } else {
    return expected("a number", from);
  }
  return {};
}

template <class T>
Verdict read_integer(const json::value& from, T& into) {
  boost::system::error_code error;
  const T number = from.to_number<T>(error);
  if (error) return expected("an integer in range", from);
  into = number;
  return {};
}

template <class T>
Verdict read(const json::value& from, T& into);

template <class T>
Verdict read_vector(const json::value& from, std::vector<T>& into) {
  const auto* array = from.if_array();
  if (array == nullptr) return expected("an array", from);
  std::vector<T> elements;
  elements.reserve(array->size());
  for (const auto& value : *array) {
    T element{};
    if (auto verdict = read(value, element)) return inside('[' + std::to_string(elements.size()) + ']', verdict);
    elements.push_back(std::move(element));
  }
  into = std::move(elements);
  return {};
}

template <class T>
Verdict read_members(const json::value& from, T& into) {
  const auto* object = from.if_object();
  if (object == nullptr) return expected("an object", from);
  Verdict verdict;
  boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_public>>([&](auto member) {
    using Member = std::remove_cvref_t<decltype(into.*member.pointer)>;
    if (verdict) return;
    std::string name = member_name<Member>(member.name);
    const auto* value = object->if_contains(name);
    for (const auto& [now, before] : k_former_names<T>) {
      if (value != nullptr || now != name) continue;
      value = object->if_contains(before);
      if (value != nullptr) name = before;
    }
    if (value != nullptr) verdict = inside('.' + name, read(*value, into.*member.pointer));
  });
  if (!verdict) complete(into, *object);
  return verdict;
}

template <class T>
Verdict read(const json::value& from, T& into) {
  if constexpr (std::is_same_v<T, bool>) {
    if (!from.is_bool()) return expected("true or false", from);
    into = from.get_bool();
    return {};
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!from.is_string()) return expected("a string", from);
    into = from.get_string();
    return {};
  } else if constexpr (std::is_enum_v<T>) {
    if (!from.is_string()) return expected("a name", from);
    const auto found = names_of<T>.find(from.get_string());
    if (!found) return Failure{"", "unknown name \"" + std::string(from.get_string()) + '"'};
    into = *found;
    return {};
  } else if constexpr (std::is_floating_point_v<T>) {
    return read_double(from, into);
  } else if constexpr (std::is_integral_v<T>) {
    return read_integer(from, into);
  } else if constexpr (is_duration<T>::value) {
    std::int64_t count = 0;
    if (auto verdict = read_integer(from, count)) return verdict;
    into = T(count);
    return {};
  } else if constexpr (is_optional<T>::value) {
    if (from.is_null()) {
      into.reset();
      return {};
    }
    return read(from, into.emplace());
  } else if constexpr (is_pair<T>::value) {
    const auto* array = from.if_array();
    if (array == nullptr || array->size() != 2) return expected("an array of two", from);
    if (auto verdict = read((*array)[0], into.first)) return inside("[0]", verdict);
    return inside("[1]", read((*array)[1], into.second));
  } else if constexpr (is_vector<T>::value) {
    return read_vector(from, into);
  } else {
    return read_members(from, into);
  }
}

}  // namespace json_codec

template <class T>
boost::json::value to_value(const T& object) {
  return json_codec::write(object);
}

template <class T>
Result<T> from_value(const boost::json::value& json) {
  T object{};
  if (const auto verdict = json_codec::read(json, object)) {
    const bool dotted = !verdict->path.empty() && verdict->path.front() == '.';
    const std::string path = dotted ? verdict->path.substr(1) : verdict->path;
    return Error{ErrorCode::InvalidArgument, path.empty() ? verdict->what : path + ": " + verdict->what, {}};
  }
  return object;
}

}  // namespace v0
}  // namespace kernelgen
