#include "compile/toolchain.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include <kernelgen/device/cpu.hpp>

#include "support/sha256.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// Changes whenever one of the files is replaced or written.
std::string stamp_of(const std::vector<std::string>& files) {
  std::string stamp;
  for (const auto& file : files) {
    struct stat info {};
    if (::stat(file.c_str(), &info) != 0) return {};
    stamp +=
        fmt::format("{} {} {} {}.{}\n", file, info.st_ino, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  }
  return stamp;
}

/// Words of a dry run: separated by blanks, quoted with ", escaped with a backslash.
std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\' && i + 1 < line.size()) {
      word += line[++i];
      inside = true;
    } else if (c == '"') {
      quoted = !quoted;
      inside = true;
    } else if (c == ' ' && !quoted) {
      if (inside) words.push_back(std::exchange(word, {}));
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (inside) words.push_back(std::move(word));
  return words;
}

Result<std::string> digest_of_program(const std::string& name, const std::map<std::string, std::string>& environment,
                                      std::vector<std::string>& files) {
  KERNELGEN_TRY(const auto found, find_program(name, environment));
  std::error_code error;
  const auto real = std::filesystem::canonical(found, error);
  const std::string path = error ? found : real.string();
  files.push_back(found);
  if (path != found) files.push_back(path);
  return sha256_file(path);
}

}  // namespace

std::vector<std::string> parse_resolved_command(std::string_view dry_run) {
  for (const std::string_view line : split_lines(dry_run)) {
    if (line.empty() || line.front() != ' ') continue;
    const auto words = split_words(line);
    if (words.empty()) continue;
    const std::string program = words.front().substr(words.front().rfind('/') + 1);
    const bool gcc = program == "cc1plus" || program == "cc1";
    const bool clang = words.size() > 1 && words[1] == "-cc1";
    if (!gcc && !clang) continue;
    std::vector<std::string> kept;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] == "-o")
        ++i;
      else
        kept.push_back(words[i]);
    }
    return kept;
  }
  return {};
}

Toolchain::Toolchain(std::string compiler, std::map<std::string, std::string> environment, ProcessRunner& runner)
    : compiler_(std::move(compiler)), environment_(std::move(environment)), runner_(runner) {}

Result<std::string> Toolchain::locate() const {
  auto found = find_program(compiler_, environment_);
  if (found) return found;
  Error error = std::move(found).error();
  if (error.code == ErrorCode::MissingTool)
    error.message += "; install a C++ compiler (Debian and Ubuntu: apt install g++) or name another one";
  return error;
}

Result<ProcessOutcome> Toolchain::run(std::vector<std::string> command, std::stop_token stop) const {
  return runner_.run({.command = std::move(command),
                      .environment = environment_,
                      .timeout = std::chrono::seconds(20),
                      .max_output_bytes = 1u << 20},
                     std::move(stop));
}

Result<ToolchainFacts> Toolchain::ask(const std::string& driver, const std::vector<std::string>& flags,
                                      std::vector<std::string>& files, std::stop_token stop) const {
  ToolchainFacts facts;
  KERNELGEN_TRY(facts.driver_digest, digest_of_program(driver, environment_, files));
  KERNELGEN_TRY(const auto version, run({driver, "--version"}, stop));
  if (version.timed_out) return Error{ErrorCode::Timeout, compiler_ + " --version: " + version.to_line(), {}};
  const auto lines = split_lines(version.standard_output);
  facts.version = lines.empty() ? "unknown" : sanitize_line(lines.front(), 300);

  std::vector<std::string> dry{driver};
  dry.insert(dry.end(), flags.begin(), flags.end());
  if (std::find(flags.begin(), flags.end(), "-x") == flags.end()) dry.insert(dry.end(), {"-x", "c++"});
  dry.insert(dry.end(), {"-###", "-c", "/dev/null", "-o", "/dev/null"});
  KERNELGEN_TRY(const auto resolved, run(std::move(dry), stop));
  const auto command = parse_resolved_command(resolved.standard_error);
  if (!command.empty()) {
    facts.resolved_flags = join(std::span(command).subspan(1), " ");
    if (auto digest = digest_of_program(command.front(), environment_, files)) facts.backend_digest = *digest;
  } else {
    // A compiler that explains nothing: what it makes of -march=native can only depend on the processor.
    KERNELGEN_TRY(const auto cpu, read_cpu_facts());
    facts.resolved_flags = join(flags, " ") + " on " + cpu.model + " " + cpu.flags_digest;
  }

  KERNELGEN_TRY(const auto linker, run({driver, "-print-prog-name=ld"}, stop));
  const std::string name(trim(linker.standard_output));
  if (linker.success() && !name.empty() && name.find('\n') == std::string::npos)
    if (auto digest = digest_of_program(name, environment_, files)) facts.linker_digest = *digest;
  return facts;
}

Result<ToolchainFacts> Toolchain::facts(const std::vector<std::string>& flags, std::stop_token stop) {
  KERNELGEN_TRY(const auto driver, locate());
  const std::string key = driver + "\n" + join(flags, "\n");
  {
    std::lock_guard lock(mutex_);
    const auto found = remembered_.find(key);
    if (found != remembered_.end()) {
      const std::string now = stamp_of(files_[key]);
      if (!now.empty() && now == found->second.stamp) return found->second.facts;
    }
  }
  // Without the lock: asking twice costs milliseconds, waiting for a compiler that hangs costs everybody.
  std::vector<std::string> files;
  KERNELGEN_TRY(auto facts, ask(driver, flags, files, std::move(stop)));
  std::lock_guard lock(mutex_);
  remembered_[key] = {stamp_of(files), facts};
  files_[key] = std::move(files);
  return facts;
}

}  // namespace v0
}  // namespace kernelgen
