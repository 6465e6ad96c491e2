#include "exec/launch.hpp"

#include <algorithm>
#include <filesystem>

#include <kernelgen/exec/process.hpp>

#include "support/command_text.hpp"

namespace kernelgen {
inline namespace v0 {

std::vector<std::string> launch_command(const std::vector<std::string>& launcher,
                                        const std::vector<std::string>& command) {
  const bool is_split_again = std::any_of(launcher.begin(), launcher.end(), [](const std::string& word) {
    return std::filesystem::path(word).filename() == "ssh";
  });
  auto words = launcher;
  for (const auto& word : command) words.push_back(is_split_again ? shell_word(word) : word);
  return words;
}

std::map<std::string, std::string> launch_environment() {
  const auto current = current_environment();
  auto environment = clean_environment(current);
  for (const char* name : {"SSH_AUTH_SOCK", "KRB5CCNAME"})
    if (const auto found = current.find(name); found != current.end()) environment.insert(*found);
  return environment;
}

}  // namespace v0
}  // namespace kernelgen
