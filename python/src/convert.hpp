#pragma once

/// \file
/// Values between Python and the library. Structures of Python come as dictionaries, which the package makes of its
/// dataclasses; structures of the library go as their JSON, which is stable.

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/core/action.hpp>
#include <kernelgen/core/candidate.hpp>
#include <kernelgen/core/installation.hpp>
#include <kernelgen/core/record.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/core/task.hpp>
#include <kernelgen/store/event.hpp>

namespace kernelgen_python {

namespace nb = nanobind;

/// Raises the exception of Python that belongs to the error's code.
[[noreturn]] void raise(const kernelgen::Error& error);

/// The value of a result; raises its error.
template <class T>
T value_of(kernelgen::Result<T> result) {
  if (!result) raise(result.error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// The text of a `str`. InvalidArgument, with the place, for one that has half of a surrogate pair: UTF-8 has no such
/// character, and neither has any text of the library.
[[nodiscard]] std::string text_of(nb::handle text);
/// Whether an object is such a text, or a list, a tuple or a dictionary that has one in it.
[[nodiscard]] bool has_unencodable_text(nb::handle object);

/// A text that a function takes. nanobind's own conversion would raise a TypeError that names no reason; a conversion
/// itself cannot raise another one, so get() does.
class Text {
 public:
  Text() = default;
  explicit Text(nb::object text) : text_(std::move(text)) {}
  [[nodiscard]] std::string get() const { return text_of(text_); }

 private:
  nb::object text_;
};

/// The parts of an error, of which errors.error_from() makes an exception; None for none.
[[nodiscard]] nb::object error_parts(const std::optional<kernelgen::Error>& error);

/// The error of the library that an exception of this package stands for; nothing for any other exception.
[[nodiscard]] std::optional<kernelgen::Error> error_of(const nb::python_error& error);

/// Raises InvalidArgument for an option with a value of a wrong type, or with a text that cannot be encoded.
[[noreturn]] void raise_wrong_type(const char* option, const nb::object& value, std::string_view expected);

/// What a value of a type is called in messages.
template <class T>
constexpr std::string_view described_type() {
  if constexpr (std::is_same_v<T, bool>) return "True or False";
  if constexpr (std::is_integral_v<T>) return "a whole number that is not too large";
  if constexpr (std::is_floating_point_v<T>) return "a number";
  if constexpr (std::is_same_v<T, std::string>) return "a text";
  if constexpr (std::is_same_v<T, nb::dict>) return "a group of options";
  return "a list";
}

/// A member of a dictionary; nothing where it is missing or None. InvalidArgument, naming the member, for a value of
/// another type.
template <class T>
std::optional<T> find(const nb::dict& from, const char* name) {
  if (!from.contains(name)) return {};
  const nb::object found = from[name];
  if (found.is_none()) return {};
  T value;
  if (!nb::try_cast(found, value)) raise_wrong_type(name, found, described_type<T>());
  return value;
}

/// A member of a dictionary that the package always sets.
template <class T>
T require(const nb::dict& from, const char* name) {
  auto found = find<T>(from, name);
  if (!found) raise_wrong_type(name, nb::none(), described_type<T>());
  return *std::move(found);
}

/// Replaces a value by the dictionary's member, if there is one.
template <class T>
void assign(const nb::dict& from, const char* name, T& into) {
  if (auto found = find<T>(from, name)) into = *std::move(found);
}

/// The value of an enum by its name; InvalidArgument, naming the option and what was expected, for an unknown one.
template <class Parse>
auto named(std::string_view option, const std::string& name, Parse&& parse, std::string_view expected) {
  auto found = parse(name);
  if (!found) {
    raise({kernelgen::ErrorCode::InvalidArgument,
           "option " + std::string(option) + " is \"" + name + "\"; it must be " + std::string(expected)});
  }
  return *found;
}

inline constexpr std::string_view k_prompt_kinds =
    "seed, repair, analysis, optimize, stage, reflect, critic or crossover";
inline constexpr std::string_view k_finish_reasons = "stop, length, refused or other";
inline constexpr std::string_view k_languages = "a language of the target: cpp, c, cuda, hip, python or custom";

/// A limit in milliseconds from one in seconds; InvalidArgument for what is no number or too large.
[[nodiscard]] std::chrono::milliseconds milliseconds_of(std::string_view option, double seconds);
void assign_seconds(const nb::dict& from, const char* name, std::chrono::milliseconds& into);
/// The same for a limit that must be above 0.
void assign_limit(const nb::dict& from, const char* name, std::chrono::milliseconds& into);

[[nodiscard]] kernelgen::Target target_of(const std::string& name);
[[nodiscard]] kernelgen::TaskSource task_of(const nb::dict& from);
[[nodiscard]] nb::dict dict_of(const kernelgen::TaskSource& task);
/// The id is computed.
[[nodiscard]] kernelgen::Candidate candidate_of(const nb::dict& from);
[[nodiscard]] nb::dict dict_of(const kernelgen::Candidate& candidate);
/// Members that are missing keep the library's defaults. The options are checked.
[[nodiscard]] kernelgen::EvaluationOptions options_of(const nb::dict& from);
[[nodiscard]] nb::dict dict_of(const kernelgen::EvaluationOptions& options);
[[nodiscard]] kernelgen::Action action_of(const nb::dict& from);
/// The installation at a prefix; without one, that of the package.
[[nodiscard]] kernelgen::Result<kernelgen::Installation> installation_of(const std::string& prefix);

/// A line of a journal with the value in it: lines have a public JSON form, and hold every structure of a search.
[[nodiscard]] std::string json_of(const kernelgen::TaskDescription& description);
[[nodiscard]] std::string json_of(const kernelgen::ActionResult& result);
/// Reads such a line.
[[nodiscard]] kernelgen::Result<kernelgen::TaskDescription> description_of(std::string_view line);

}  // namespace kernelgen_python

template <>
struct nanobind::detail::type_caster<kernelgen_python::Text> {
  NB_TYPE_CASTER(kernelgen_python::Text, const_name("str"))

  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    if (!PyUnicode_Check(source.ptr())) return false;
    value = kernelgen_python::Text(borrow(source));
    return true;
  }
};
