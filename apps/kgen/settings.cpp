#include "settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

constexpr std::size_t k_value_columns = 44;

/// The name of an option in a configuration file.
std::string key_of(const std::string& option_name) { return option_name.substr(option_name.find_first_not_of('-')); }

bool is_configurable(const Option& option) { return !option.is_argument() && !option.is_command_line_only; }

const Option* find_by_key(const Command& command, const std::string& key) {
  const auto* option = command.find("--" + key);
  return option != nullptr && is_configurable(*option) ? option : nullptr;
}

std::vector<std::string> keys_of(const Command& command) {
  std::vector<std::string> keys;
  for (const auto& option : command.options)
    if (is_configurable(option)) keys.push_back(key_of(option.name));
  return keys;
}

Error error_at(const ConfigFile& file, const ConfigEntry& entry, const std::string& text) {
  return {ErrorCode::InvalidArgument,
          fmt::format("{}: {}: {}", location_of(file, entry), sanitize_line(entry.key, 80), text)};
}

std::string_view reason_of(TaskFileRule rule) {
  switch (rule) {
    case TaskFileRule::StartsProgram:
      return "it decides which programs run";
    case TaskFileRule::WritesFiles:
      return "it names a place that is written to";
    case TaskFileRule::Spends:
      return "it decides how much may be spent";
    case TaskFileRule::WeakensVerdict:
      return "it could make a verdict weaker";
    case TaskFileRule::Allowed:
    case TaskFileRule::NotAboutTask:
      return "it is not about the task";
  }
  return "";
}

/// The options that an entry sets: one of a section's command, or those of all commands that share it.
Result<std::vector<const Option*>> options_of(const ConfigFile& file, const ConfigEntry& entry,
                                              const std::vector<Command>& commands) {
  std::vector<const Option*> options;
  std::vector<std::string> keys, sections;
  for (const auto& command : commands) {
    if (!entry.section.empty() && command.name != entry.section) continue;
    for (const auto& key : keys_of(command)) keys.push_back(key);
    const auto* option = find_by_key(command, entry.key);
    if (option == nullptr) continue;
    sections.push_back('[' + command.name + ']');
    if (!entry.section.empty() || option->is_shared) options.push_back(option);
  }
  if (!options.empty()) return options;
  if (!sections.empty()) return error_at(file, entry, "it belongs into the section " + list_alternatives(sections));
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  const auto where = entry.section.empty() ? "kgen" : "kgen " + entry.section;
  return error_at(file, entry, "unknown option of " + where + did_you_mean(entry.key, keys));
}

Result<void> check_section(const ConfigFile& file, const ConfigEntry& entry, const std::vector<Command>& commands) {
  if (entry.section.empty()) return {};
  std::vector<std::string> names;
  for (const auto& command : commands) {
    if (command.name == entry.section) return {};
    if (!command.is_hidden) names.push_back(command.name);
  }
  return Error{ErrorCode::InvalidArgument,
               fmt::format("{}: [{}] is no command of kgen{}", location_of(file, entry),
                           sanitize_line(entry.section, 80), did_you_mean(entry.section, names))};
}

/// The value of one entry, joined where the option is a list with commas.
Result<std::vector<std::string>> values_for(const Option& option, const ConfigFile& file, const ConfigEntry& entry) {
  if (entry.is_boolean != option.is_flag())
    return error_at(file, entry, option.is_flag() ? "expected true or false" : "expected a value, not true or false");
  if (entry.values.size() == 1 || option.is_repeatable) return entry.values;
  if (option.value.is_list) return std::vector{join(entry.values, ",")};
  return error_at(file, entry, "expected one value, not a list");
}

/// Replaces ~ at the beginning of paths, as a shell does.
void expand_home(const Option& option, const std::string& home, std::vector<std::string>& values) {
  if (option.value.completion == Completion::None || home.empty()) return;
  for (auto& value : values)
    if (value == "~" || value.starts_with("~/")) value.replace(0, 1, home);
}

/// Adds the settings of a file. The section of the command overrides keys above all sections.
Result<void> add_file(const Command& command, const ConfigFile& file, Source source, const std::string& home,
                      Settings& settings) {
  for (const bool in_section : {false, true}) {
    for (const auto& entry : file.entries) {
      if (entry.section != (in_section ? command.name : "")) continue;
      const auto* option = find_by_key(command, entry.key);
      if (option == nullptr || !(in_section || option->is_shared)) continue;
      KERNELGEN_TRY(auto values, values_for(*option, file, entry));
      expand_home(*option, home, values);
      settings[option->name] = {std::move(values), source, location_of(file, entry)};
    }
  }
  return {};
}

std::string spelled(const std::string& name, const Setting& setting) {
  switch (setting.source) {
    case Source::CommandLine:
      return name;
    case Source::Variable:
      return setting.place;
    case Source::Implied:
      return name;
    case Source::UserFile:
    case Source::TaskFile:
      break;
  }
  return setting.place + ": " + key_of(name);
}

/// The setting of an option; nothing for one that is not set, or is turned off.
Settings::iterator find_active(Settings& settings, const std::string& name) {
  const auto found = settings.find(name);
  return found != settings.end() && found->second.values.front() == "false" ? settings.end() : found;
}

/// Adds what the arguments imply and nothing else sets.
void add_implied(const Command& command, Settings& settings) {
  if (!command.implied) return;
  for (const auto& option : command.options) {
    const auto found = option.is_argument() ? settings.find(option.name) : settings.end();
    if (found == settings.end()) continue;
    for (const auto& [name, value] : command.implied(found->second.values))
      settings.try_emplace(name, Setting{{value}, Source::Implied, command.implied_by});
  }
}

Result<void> drop_excluded(const Command& command, Settings& settings) {
  for (const auto& option : command.options) {
    for (const auto& other : option.excludes) {
      const auto one = find_active(settings, option.name);
      const auto two = find_active(settings, other);
      if (one == settings.end() || two == settings.end()) continue;
      if (one->second.source == two->second.source)
        return Error{ErrorCode::InvalidArgument,
                     spelled(option.name, one->second) + " cannot be combined with " + spelled(other, two->second)};
      settings.erase(one->second.source < two->second.source ? one : two);
    }
  }
  return {};
}

Result<void> drop_incomplete(const Command& command, Settings& settings) {
  for (const auto& option : command.options) {
    const auto found = settings.find(option.name);
    if (option.needs.empty() || found == settings.end() || settings.contains(option.needs)) continue;
    if (found->second.source == Source::CommandLine)
      return Error{ErrorCode::InvalidArgument, option.name + " needs " + option.needs};
    settings.erase(found);
  }
  return {};
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      result += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else
      result += c;
  }
  return result + '"';
}

/// A value in TOML.
std::string to_toml(const Option& option, const std::vector<std::string>& values) {
  std::vector<std::string> texts;
  texts.reserve(values.size());
  for (const auto& value : values) texts.push_back(option.value.notation == Notation::Text ? quoted(value) : value);
  return option.is_repeatable ? '[' + join(texts, ", ") + ']' : texts.front();
}

std::string describe_source(const Setting& setting) {
  return setting.source == Source::CommandLine ? "command line" : setting.place;
}

}  // namespace

Result<void> check_user_file(const ConfigFile& file, const std::vector<Command>& commands) {
  for (const auto& entry : file.entries) {
    KERNELGEN_CHECK(check_section(file, entry, commands));
    KERNELGEN_CHECK(options_of(file, entry, commands));
  }
  return {};
}

Result<void> check_task_file(const ConfigFile& file, const std::vector<Command>& commands) {
  KERNELGEN_CHECK(check_user_file(file, commands));
  for (const auto& entry : file.entries) {
    KERNELGEN_TRY(const auto options, options_of(file, entry, commands));
    const auto is_about_task = [](const auto* option) { return option->task_file != TaskFileRule::NotAboutTask; };
    // Above all sections it means the commands about a task, if there is one.
    const bool skips_others = entry.section.empty() && std::any_of(options.begin(), options.end(), is_about_task);
    for (const auto* option : options) {
      if (option->task_file == TaskFileRule::Allowed || (skips_others && !is_about_task(option))) continue;
      return error_at(file, entry,
                      fmt::format("a task's kgen.toml may not set it, because {}; set it on the command line or in "
                                  "your own config.toml",
                                  reason_of(option->task_file)));
    }
  }
  return {};
}

Result<Settings> combine_settings(const Command& command, const GivenOptions& given, const ConfigFiles& files) {
  Settings settings;
  if (files.user) KERNELGEN_CHECK(add_file(command, *files.user, Source::UserFile, files.home, settings));
  if (files.task) KERNELGEN_CHECK(add_file(command, *files.task, Source::TaskFile, files.home, settings));
  for (const auto& option : command.options)
    if (!option.variable_value.empty())
      settings[option.name] = {{option.variable_value}, Source::Variable, option.variable};
  for (const auto& [name, values] : given) settings[name] = {values, Source::CommandLine};
  add_implied(command, settings);
  KERNELGEN_CHECK(drop_excluded(command, settings));
  KERNELGEN_CHECK(drop_incomplete(command, settings));
  return settings;
}

Result<void> store_settings(const Command& command, const Settings& settings) {
  for (const auto& option : command.options) {
    const auto found = settings.find(option.name);
    if (found == settings.end()) continue;
    for (const auto& value : found->second.values) {
      auto stored = option.value.store(value);
      if (!stored) {
        auto error = std::move(stored).error();
        error.message = spelled(option.name, found->second) + ": " + error.message;
        return error;
      }
    }
  }
  return {};
}

Result<void> check_required(const Command& command, const Settings& settings) {
  for (const auto& option : command.options)
    if (option.is_required && !settings.contains(option.name))
      return Error{ErrorCode::InvalidArgument, option.name + " is required"};
  return {};
}

std::string render_settings(const Command& command, const Settings& settings) {
  std::string text = fmt::format("[{}]\n", command.name);
  for (const auto& option : command.options) {
    const auto found = settings.find(option.name);
    const auto& fallback = option.is_flag() ? std::string("false") : option.value.default_text;
    if (option.is_command_line_only) continue;
    // Options without a value, and those that a configuration file cannot set, are comments.
    const bool has_value = found != settings.end() || !fallback.empty();
    if (option.is_argument() && !has_value) continue;
    std::string line = option.is_argument() || !has_value ? "# " : "";
    line += key_of(option.name);
    if (has_value)
      line += " = " + to_toml(option, found != settings.end() ? found->second.values : std::vector{fallback});
    const auto source = found != settings.end() ? describe_source(found->second) : has_value ? "default" : "not set";
    text += fmt::format("{:<{}}  # {}\n", line, k_value_columns, source);
  }
  return text;
}

}  // namespace kernelgen::cli
