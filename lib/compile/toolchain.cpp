#include "compile/toolchain.hpp"

#include <unistd.h>

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

/// Digest of the names and contents of files, in the given order.
std::string digest_of_files(const std::vector<std::string>& paths, std::vector<std::string>& files) {
  std::string text;
  for (const auto& path : paths) {
    const auto digest = sha256_file(path);
    if (!digest) continue;
    text += std::filesystem::path(path).filename().string() + " " + *digest + "\n";
    files.push_back(path);
  }
  return text.empty() ? std::string() : sha256_hex(text);
}

/// The files that end up in a shared object or decide how it is linked. The first file of each name counts.
constexpr const char* k_libraries[] = {
    "libc.so",      "libc.so.6", "libc_nonshared.a", "libm.so",        "libm.so.6",    "libgomp.so",    "libgomp.so.1",
    "libgomp.spec", "libomp.so", "libstdc++.so",     "libstdc++.so.6", "libstdc++.a",  "libgcc_s.so.1", "libgcc.a",
    "crti.o",       "crtn.o",    "crtbeginS.o",      "crtendS.o",      "crtfastmath.o"};

/// A source that includes headers with version numbers; see ToolchainFacts::headers_digest.
constexpr const char* k_version_headers =
    "#if __has_include(<features.h>)\n#include <features.h>\n#endif\n"
    "#if __has_include(<linux/version.h>)\n#include <linux/version.h>\n#endif\n"
    "#if __has_include(<omp.h>)\n#include <omp.h>\n#endif\n"
    "#ifdef __cplusplus\n#include <cstddef>\n#endif\n";

}  // namespace

std::string file_stamp(const std::vector<std::string>& files) {
  std::string stamp;
  for (const auto& file : files) {
    struct stat info {};
    if (::stat(file.c_str(), &info) != 0) return {};
    stamp +=
        fmt::format("{} {} {} {}.{}\n", file, info.st_ino, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  }
  return stamp;
}

std::vector<std::string> parse_library_folders(std::string_view search_dirs) {
  constexpr std::string_view k_start = "libraries: =";
  std::vector<std::string> folders;
  for (const std::string_view line : split_lines(search_dirs))
    if (line.find(k_start) == 0)
      for (const auto folder : split(line.substr(k_start.size()), ':'))
        if (!folder.empty()) folders.emplace_back(folder);
  return folders;
}

std::vector<std::string> parse_dependencies(std::string_view rule) {
  std::string line;
  for (const char c : rule) line += c == '\n' ? ' ' : c;
  std::vector<std::string> files;
  // A lone backslash at a line's end becomes an escaped blank, and so a word of one blank.
  for (auto& word : split_words(line))
    if (word.front() == '/' || word.front() == ' ') {
      const auto begin = word.find('/');
      if (begin != std::string::npos) files.push_back(word.substr(begin));
    }
  return files;
}

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

std::map<std::string, std::string> ToolchainFacts::key_values(const std::string& prefix) const {
  return {{prefix + "assembler", assembler_digest},
          {prefix + "backend", backend_digest},
          {prefix + "driver", driver_digest},
          {prefix + "headers", headers_digest},
          {prefix + "libraries", libraries_digest},
          {prefix + "linker", linker_digest},
          {prefix + "version", version}};
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

Result<ProcessOutcome> Toolchain::run(std::vector<std::string> command, std::stop_token stop,
                                      std::optional<std::string> input) const {
  return runner_.run({.command = std::move(command),
                      .environment = environment_,
                      .standard_input = std::move(input),
                      .timeout = std::chrono::seconds(20),
                      .max_output_bytes = 1u << 20},
                     std::move(stop));
}

/// The digest of the program that the driver names as the answer; empty when it names none.
Result<std::string> Toolchain::digest_of_part(const std::string& driver, const std::string& question,
                                              std::vector<std::string>& files, std::stop_token stop) const {
  KERNELGEN_TRY(const auto answer, run({driver, question}, std::move(stop)));
  const std::string name(trim(answer.standard_output));
  if (!answer.success() || name.empty() || name.find('\n') != std::string::npos) return std::string();
  auto digest = digest_of_program(name, environment_, files);
  return digest ? *digest : std::string();
}

Result<std::string> Toolchain::digest_of_libraries(const std::string& driver, std::vector<std::string>& files,
                                                   std::stop_token stop) const {
  KERNELGEN_TRY(const auto answer, run({driver, "-print-search-dirs"}, std::move(stop)));
  const auto folders = parse_library_folders(answer.standard_output);
  std::vector<std::string> found;
  for (const char* name : k_libraries)
    for (const auto& folder : folders) {
      const auto path = (std::filesystem::path(folder) / name).lexically_normal().string();
      std::error_code error;
      if (!std::filesystem::is_regular_file(path, error)) continue;
      found.push_back(path);
      break;
    }
  return digest_of_files(found, files);
}

Result<std::string> Toolchain::digest_of_headers(const std::string& driver, const std::vector<std::string>& flags,
                                                 std::vector<std::string>& files, std::stop_token stop) const {
  std::vector<std::string> command{driver};
  command.insert(command.end(), flags.begin(), flags.end());
  if (std::find(flags.begin(), flags.end(), "-x") == flags.end()) command.insert(command.end(), {"-x", "c++"});
  command.insert(command.end(), {"-M", "-"});
  KERNELGEN_TRY(const auto answer, run(std::move(command), std::move(stop), k_version_headers));
  return answer.success() ? digest_of_files(parse_dependencies(answer.standard_output), files) : std::string();
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
    // The compiler does not show resolved flags; its -march=native can only depend on the processor.
    KERNELGEN_TRY(const auto cpu, read_cpu_facts());
    facts.resolved_flags = join(flags, " ") + " on " + cpu.model + " " + cpu.flags_digest;
  }

  KERNELGEN_TRY(facts.assembler_digest, digest_of_part(driver, "-print-prog-name=as", files, stop));
  KERNELGEN_TRY(facts.linker_digest, digest_of_part(driver, "-print-prog-name=ld", files, stop));
  KERNELGEN_TRY(facts.libraries_digest, digest_of_libraries(driver, files, stop));
  KERNELGEN_TRY(facts.headers_digest, digest_of_headers(driver, flags, files, stop));
  return facts;
}

Result<ToolchainFacts> Toolchain::facts(const std::vector<std::string>& flags, std::stop_token stop) {
  KERNELGEN_TRY(const auto driver, locate());
  const std::string key = driver + "\n" + join(flags, "\n");
  {
    std::lock_guard lock(mutex_);
    const auto found = remembered_.find(key);
    if (found != remembered_.end()) {
      const std::string now = file_stamp(files_[key]);
      if (!now.empty() && now == found->second.stamp) return found->second.facts;
    }
  }
  // The lock is released meanwhile: a second query only costs milliseconds, and a compiler that hangs must not block
  // other requests.
  std::vector<std::string> files;
  KERNELGEN_TRY(auto facts, ask(driver, flags, files, std::move(stop)));
  std::lock_guard lock(mutex_);
  remembered_[key] = {file_stamp(files), facts};
  files_[key] = std::move(files);
  return facts;
}

std::string version_in_key(std::string_view key_text) {
  for (const std::string_view line : split_lines(key_text))
    for (const std::string_view name : {"compiler.version ", "hip.version ", "cuda.version "})
      if (line.starts_with(name)) return std::string(line.substr(name.size()));
  return {};
}

bool is_program(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace v0
}  // namespace kernelgen
