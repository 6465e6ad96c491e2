#pragma once

/// \file
/// kgen's command line as data. Parsing, help, shell completion, the manual page and the configuration files all read
/// the same description, so that none of them can differ from the others.

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <kernelgen/core/result.hpp>

#include "exit_codes.hpp"

namespace kernelgen::cli {

/// What a shell offers for a value, besides Value::completions.
enum class Completion { None, Files, Directories, Programs };

/// How a value is written in a configuration file.
enum class Notation { Boolean, Number, Text };

/// What an option takes, and where its value goes.
struct Value {
  /// Checks the text of one value and stores it. The error says what was expected, without the option's name.
  std::function<Result<void>(const std::string&)> store;
  /// The value that holds without the option; empty: none.
  std::string default_text{};
  Notation notation = Notation::Text;
  /// Values, or beginnings of values, that a shell offers.
  std::vector<std::string> completions{};
  Completion completion = Completion::None;
  /// Names with commas between them.
  bool is_list = false;
};

/// Why the kgen.toml of a task's folder may not set an option. Such a file comes with a task from elsewhere, so it may
/// set what shapes a search, and nothing that runs programs, writes files, spends money or makes a verdict weaker.
enum class TaskFileRule {
  Allowed,
  NotAboutTask,
  StartsProgram,
  WritesFiles,
  Spends,
  WeakensVerdict,
};

/// One option of a command, or one of its arguments.
struct Option {
  /// "--code"; an argument has no dashes: "task".
  std::string name;
  /// Further names, shown with the first one: "-h", "--task".
  std::vector<std::string> aliases{};
  /// Names that earlier versions had; understood, and shown nowhere.
  std::vector<std::string> retired{};
  /// "FILE"; empty for an option without a value.
  std::string value_name{};
  std::string help;
  Value value;
  bool is_required = false;
  bool is_repeatable = false;
  /// Heading in the help; empty: "Options".
  std::string group{};
  /// Names of options that cannot be given together with this one.
  std::vector<std::string> excludes{};
  /// The option without which this one has no meaning; empty: none.
  std::string needs{};
  /// Name and value of the environment variable that stands in for the option; nothing when there is none.
  std::string variable{};
  std::string variable_value{};
  /// Means the same in every command that has it, so it may stand at the top of a configuration file.
  bool is_shared = false;
  /// No configuration file may set it: it says what kgen does now.
  bool is_command_line_only = false;
  TaskFileRule task_file = TaskFileRule::NotAboutTask;

  [[nodiscard]] bool is_argument() const { return name.front() != '-'; }
  [[nodiscard]] bool is_flag() const { return value.notation == Notation::Boolean; }
};

/// A command of kgen and what it does.
struct Command {
  std::string name;
  /// One line.
  std::string summary;
  std::vector<Option> options{};
  /// Called once all options have their values.
  std::function<Result<ExitCode>()> run{};
  /// The option that names the task, whose folder may hold a kgen.toml; empty: none does.
  std::string task_option{};
  /// Left out of help and completion.
  bool is_hidden = false;

  /// By any of its names; nullptr when there is none.
  [[nodiscard]] const Option* find(std::string_view option_name) const;
};

/// The numbers that an option takes, both ends included.
template <class T>
struct Range {
  T least = 0;
  T most = std::numeric_limits<T>::max();
};

/// The most that an option in seconds takes.
inline constexpr double k_day_seconds = 86400;

/// Checks of a text. Their errors say what was expected.
[[nodiscard]] Result<std::int64_t> parse_whole_number(const std::string& text, Range<std::int64_t> range);
/// Both ends included; `above_least` leaves the lower one out.
[[nodiscard]] Result<double> parse_number(const std::string& text, Range<double> range);
/// "512MB", "8GB", "1.5 GiB", or bytes; units are powers of 1024.
[[nodiscard]] Result<std::uint64_t> parse_size(const std::string& text);
/// For a name that is none of `names`: "expected cpp, cuda or triton; did you mean cuda?".
[[nodiscard]] Error unknown_name(const std::string& text, const std::vector<std::string>& names);

/// "0.7"; the shortest text that reads back as the same number.
[[nodiscard]] std::string to_text(double number);

/// What options take. Each checks a text and stores what it means in a place, which outlives the value.
namespace values {

/// True once the option is given; --name=false turns it off where a configuration file turned it on.
[[nodiscard]] Value flag(bool& place);
/// Anything but an empty text.
[[nodiscard]] Value text(std::string& place);
/// Every text that is given, in its order.
[[nodiscard]] Value texts(std::vector<std::string>& place);
[[nodiscard]] Value file(std::string& place);
[[nodiscard]] Value files(std::vector<std::string>& place);
[[nodiscard]] Value directory(std::string& place);
[[nodiscard]] Value program(std::string& place);
/// One of the names.
[[nodiscard]] Value choice(std::string& place, std::vector<std::string> names);
[[nodiscard]] Value size(std::uint64_t& place);
/// Seconds of at least `least` and at most a day.
[[nodiscard]] Value seconds(double& place, double least = 0.001);

/// A whole number, of type int, std::int64_t or std::optional of these.
template <class T>
[[nodiscard]] Value whole_number(T& place, Range<std::int64_t> range) {
  Value value{.store = [&place, range](const std::string& text) -> Result<void> {
                auto number = parse_whole_number(text, range);
                if (!number) return std::move(number).error();
                if constexpr (std::is_same_v<T, int> || std::is_same_v<T, std::optional<int>>)
                  place = static_cast<int>(*number);
                else
                  place = *number;
                return {};
              },
              .notation = Notation::Number};
  if constexpr (std::is_integral_v<T>) value.default_text = std::to_string(place);
  return value;
}

/// A value of an enumeration, into a place of its type or an optional one. `parse` decides what is known; `names` are
/// what is offered.
template <class T, class E>
[[nodiscard]] Value enumeration(T& place, std::vector<std::string> names, std::optional<E> (*parse)(std::string_view)) {
  Value value{.completions = names};
  if constexpr (std::is_same_v<T, E>) value.default_text = std::string(to_string(place));
  value.store = [&place, names = std::move(names), parse](const std::string& text) -> Result<void> {
    const auto parsed = parse(text);
    if (!parsed) return unknown_name(text, names);
    place = *parsed;
    return {};
  };
  return value;
}

/// A number, of type double or std::optional<double>.
template <class T>
[[nodiscard]] Value number(T& place, Range<double> range) {
  Value value{.store = [&place, range](const std::string& text) -> Result<void> {
                auto parsed = parse_number(text, range);
                if (!parsed) return std::move(parsed).error();
                place = *parsed;
                return {};
              },
              .notation = Notation::Number};
  if constexpr (std::is_same_v<T, double>) value.default_text = to_text(place);
  return value;
}

}  // namespace values
}  // namespace kernelgen::cli
