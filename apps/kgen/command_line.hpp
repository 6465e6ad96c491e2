#pragma once

/// \file
/// kgen's command line as data. Parsing, help, shell completion, the manual page and the configuration files all read
/// the same description, so that none of them can differ from the others.

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <kernelgen/core/result.hpp>

#include "exit_codes.hpp"

namespace kernelgen::cli {

/// The kind of names that a shell completes a value with, besides Value::completions.
enum class Completion { None, Files, Directories, Programs };

/// The notation of a value in a configuration file.
enum class Notation { Boolean, Number, Text };

/// The values that an option accepts, and where they are stored.
struct Value {
  /// Checks the text of one value and stores it. The error says what was expected, without the option's name.
  std::function<Result<void>(const std::string&)> store;
  /// The default value; empty: none.
  std::string default_text{};
  Notation notation = Notation::Text;
  /// Values, or beginnings of values, that a shell offers.
  std::vector<std::string> completions{};
  Completion completion = Completion::None;
  /// True for names that are separated by commas.
  bool is_list = false;
};

/// The reason why the kgen.toml of a task's folder may not set an option. Such a file may come from a stranger, so it
/// may shape a search, but not run programs, write files, spend money or weaken a verdict.
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
  /// Names of earlier versions, which are accepted but not shown.
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
  /// True if the option means the same in every command, so that it may be set at the top of a configuration file.
  bool is_shared = false;
  /// True if no configuration file may set it, because it belongs to one call of kgen.
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
  /// The option that names the task, for the kgen.toml in its folder; empty: the command has none.
  std::string task_option{};
  /// Values that follow from the given arguments, by option. They stand back behind every other source.
  std::function<std::map<std::string, std::string>(const std::vector<std::string>& arguments)> implied{};
  /// Where `implied` comes from, for people: "START END".
  std::string implied_by{};
  /// True if it is left out of help and completion.
  bool is_hidden = false;

  /// The option with this name or alias; nullptr if there is none.
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
/// Parses a number within a range, both ends included.
[[nodiscard]] Result<double> parse_number(const std::string& text, Range<double> range);
/// Parses a size in bytes: "512MB", "8GB", "1.5 GiB", or a number. Units are powers of 1024.
[[nodiscard]] Result<std::uint64_t> parse_size(const std::string& text);
/// The error for a name that is not among `names`: "expected cpp, cuda or triton; did you mean cuda?".
[[nodiscard]] Error unknown_name(const std::string& text, const std::vector<std::string>& names);

/// The shortest text that reads back as the same number: "0.7".
[[nodiscard]] std::string to_text(double number);

/// Values of options. Each checks a text and stores its value in a variable, which must outlive the Value.
namespace values {

/// A flag: true if the option is given. --name=false overrides a configuration file that sets it.
[[nodiscard]] Value flag(bool& place);
/// Any text except an empty one.
[[nodiscard]] Value text(std::string& place);
/// All given texts, in their order.
[[nodiscard]] Value texts(std::vector<std::string>& place);
[[nodiscard]] Value file(std::string& place);
[[nodiscard]] Value files(std::vector<std::string>& place);
[[nodiscard]] Value directory(std::string& place);
[[nodiscard]] Value directories(std::vector<std::string>& place);
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

/// A value of an enumeration, stored in a variable of its type or an optional one. `parse` accepts names; `names` are
/// offered for completion.
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
