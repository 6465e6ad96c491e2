#include "compile/sandboxed_compiler.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "compile/content_files.hpp"
#include "compile/diagnostics.hpp"
#include "exec/sandbox.hpp"
#include "support/files.hpp"
#include "support/sha256.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

/// Format of keys; raise it if kernelgen compiles the same source differently.
constexpr const char* k_key_format = "2";
constexpr std::size_t k_max_source_bytes = 8u << 20;
constexpr std::size_t k_max_log_bytes = 256u << 10;
constexpr std::size_t k_max_artifact_bytes = 512u << 20;
constexpr std::chrono::seconds k_check_timeout{30};
constexpr std::uint64_t k_compiler_memory = 8ull << 30;
constexpr std::size_t k_max_source_line = 300;
constexpr const char* k_output_name = "candidate.so";
/// The folder of a build that the compiler may write.
constexpr const char* k_work = "work";

/// Variables that change what a compiler finds, and so belong into the key.
constexpr const char* k_search_variables[] = {"CPATH",        "C_INCLUDE_PATH",  "CPLUS_INCLUDE_PATH",
                                              "LIBRARY_PATH", "LD_LIBRARY_PATH", "SOURCE_DATE_EPOCH"};

/// Search folders that the user gave the compiler, in its environment or on its command line.
std::vector<std::string> search_folders(const std::map<std::string, std::string>& environment,
                                        const std::vector<std::string>& flags) {
  std::vector<std::string> folders;
  const auto home = environment.find("HOME");
  const auto add = [&](std::string_view folder) {
    // A whole home directory is no toolchain.
    if (folder.empty() || folder.front() != '/' || (home != environment.end() && folder == home->second)) return;
    folders.emplace_back(folder);
  };
  for (const char* name : k_search_variables)
    if (const auto found = environment.find(name); found != environment.end())
      for (const auto folder : split(found->second, ':')) add(folder);
  // /folder (after -I), -I/folder, --sysroot=/folder.
  for (const std::string_view flag : flags)
    if (const auto slash = flag.find('/'); slash != flag.npos)
      if (slash == 0 || flag[slash - 1] == '=' || (slash == 2 && flag[0] == '-')) add(flag.substr(slash));
  return folders;
}

/// Sorted `name value` lines. Line ends in values are replaced, so that no value can imitate another line.
std::string key_text(const std::map<std::string, std::string>& values) {
  std::string text;
  for (const auto& [name, value] : values) {
    text += name + " ";
    for (const char c : value)
      text += c == '\n' ? std::string("%0A") : c == '%' ? std::string("%25") : std::string(1, c);
    text += "\n";
  }
  return text;
}

/// True if the text lacks punctuation that every program has.
bool looks_like_prose(std::string_view source) { return source.find_first_of("{;") == std::string_view::npos; }

/// True if the log says that the disk is full and it is: a candidate could produce the message, too.
bool disk_is_full(std::string_view log, const fs::path& directory) {
  if (log.find("No space left on device") == std::string_view::npos) return false;
  struct statvfs info {};
  return ::statvfs(directory.c_str(), &info) == 0 && info.f_bavail * info.f_frsize < (4u << 20);
}

std::string first_error(const std::vector<Diagnostic>& diagnostics) {
  for (const auto& one : diagnostics) {
    if (one.severity != "error") continue;
    std::string place = one.file;
    if (!place.empty() && one.line > 0) place += ":" + std::to_string(one.line);
    return sanitize_line((place.empty() ? "" : place + ": ") + one.message, 500);
  }
  return {};
}

std::optional<Outcome> refuse_without_compiling(const std::string& source) {
  const auto syntax = [](std::string detail, std::string message) {
    return Outcome{OutcomeKind::Syntax, std::move(detail), std::move(message)};
  };
  if (trim(source).empty()) return syntax("empty", "the source is empty");
  if (source.size() > k_max_source_bytes)
    return syntax("too_large", "the source has more than " + std::to_string(k_max_source_bytes) + " bytes");
  if (source.find('\0') != std::string::npos || !is_valid_utf8(source))
    return syntax("not_text", "the source is not a text in UTF-8");
  return std::nullopt;
}

/// Adds the source lines to diagnostics, so that they can be shown without the source.
void quote_source(std::vector<Diagnostic>& diagnostics, const Candidate& candidate) {
  const auto name = source_file_name(candidate.target, candidate.language);
  const auto lines = split_lines(candidate.source);
  for (auto& one : diagnostics)
    if (one.file == name && one.line > 0 && static_cast<std::size_t>(one.line) <= lines.size())
      one.source_line = sanitize_line(trim(lines[static_cast<std::size_t>(one.line) - 1]), k_max_source_line);
}

/// The outcome of a run that ended without an artifact.
Outcome refusal(const CompileRequest& request, const ProcessOutcome& run, const CompileReport& report) {
  constexpr std::string_view k_resource = "resource:";
  Outcome outcome;
  outcome.kind = OutcomeKind::Compile;
  outcome.detail = run.signal ? "compiler_crashed" : classify_refusal(report.diagnostics, report.log);
  outcome.message = first_error(report.diagnostics);
  if (outcome.message.empty()) outcome.message = "the compiler ended with " + run.to_line();
  if (run.success()) outcome.message = "the compiler ended with exit 0 but wrote no output";
  if (outcome.detail.compare(0, k_resource.size(), k_resource) == 0) {
    outcome.kind = OutcomeKind::Resource;
    outcome.detail.erase(0, k_resource.size());
  } else if (outcome.detail != "compiler_crashed" && looks_like_prose(request.candidate.source)) {
    outcome.kind = OutcomeKind::Syntax;
    outcome.detail = "not_code";
  }
  return outcome;
}

class SandboxedCompiler final : public KernelCompiler {
 public:
  SandboxedCompiler(std::unique_ptr<Toolset> toolset, BuildPlaces places, ProcessRunner& runner)
      : toolset_(std::move(toolset)), places_(std::move(places)), runner_(runner) {}

  [[nodiscard]] bool supports(Target target) const override { return target == toolset_->target(); }
  Result<CompileKey> key(const CompileRequest& request, std::stop_token stop) override;
  Result<CompileOutcome> compile(const CompileRequest& request, std::stop_token stop) override;

 private:
  [[nodiscard]] Result<void> check(const CompileRequest& request) const;
  [[nodiscard]] Result<SandboxView> view(const std::vector<std::string>& command, std::stop_token stop) const;
  /// One compilation in the sandbox.
  struct Job {
    /// The name of the source in the working directory.
    std::string file;
    std::string_view text;
    std::vector<std::string> command;
    std::chrono::milliseconds timeout{};
  };
  [[nodiscard]] Result<SandboxedOutcome> run_in(const fs::path& directory, const Job& job,
                                                const std::stop_token& stop) const;
  [[nodiscard]] Result<void> check_works(Job job, const std::stop_token& stop) const;
  [[nodiscard]] Result<CompileOutcome> judge(const CompileRequest& request, const ProcessOutcome& run,
                                             CompileReport report, const fs::path& directory) const;
  [[nodiscard]] Result<std::string> publish(const fs::path& built) const;

  std::unique_ptr<Toolset> toolset_;
  BuildPlaces places_;
  ProcessRunner& runner_;
};

Result<void> SandboxedCompiler::check(const CompileRequest& request) const {
  if (supports(request.candidate.target)) return {};
  return Error{ErrorCode::Unsupported,
               toolset_->name() + " does not compile the target " + std::string(to_string(request.candidate.target)),
               {}};
}

Result<CompileKey> SandboxedCompiler::key(const CompileRequest& request, std::stop_token stop) {
  KERNELGEN_CHECK(check(request));
  const auto flags = toolset_->flags(request);
  KERNELGEN_TRY(auto values, toolset_->key_values(flags, std::move(stop)));
  KERNELGEN_TRY(values["abi.header"], sha256_file(fs::path(places_.abi_dir) / "kernelgen" / "abi.h"));
  values["flags"] = join(flags, " ");
  values["format"] = k_key_format;
  values["language"] = to_string(request.candidate.language);
  values["source"] = sha256_hex(request.candidate.source);
  // The way in which a source is rewritten may change from version to version.
  if (!refuse_without_compiling(request.candidate.source))
    if (const auto text = toolset_->source_text(request.candidate); text != request.candidate.source)
      values["source.rewritten"] = sha256_hex(text);
  values["target"] = to_string(request.candidate.target);
  values.merge(environment_key_values(toolset_->environment()));
  CompileKey key;
  key.text = key_text(values);
  key.digest = sha256_hex(key.text);
  return key;
}

Result<CompileOutcome> SandboxedCompiler::compile(const CompileRequest& request, std::stop_token stop) {
  KERNELGEN_CHECK(check(request));
  const std::string& source = request.candidate.source;
  CompileReport report;
  report.cache = "off (no cache)";
  if (auto refused = refuse_without_compiling(source)) return CompileOutcome(CompileFailed{*refused, report});

  const auto text = toolset_->source_text(request.candidate);
  KERNELGEN_TRY(const auto driver, toolset_->locate());
  KERNELGEN_TRY(const auto directory, TemporaryDirectory::create(fs::path(places_.output_dir) / "builds", "build-"));
  Job job{.file = source_file_name(request.candidate.target, request.candidate.language),
          .text = text,
          .timeout = request.timeout};
  job.command = toolset_->command_line(driver, toolset_->flags(request), job.file, k_output_name);
  report.command = job.command;
  KERNELGEN_TRY(const auto run, run_in(directory.path(), job, stop));
  report.isolation = run.isolation;
  KERNELGEN_TRY(auto outcome, judge(request, run.process, std::move(report), directory.path() / k_work));
  const auto* failed = std::get_if<CompileFailed>(&outcome);
  // A compiler that fails without a diagnostic may not work on this machine at all.
  if (failed != nullptr && failed->outcome.to_class() == "compile:other" && !failed->report.log_truncated &&
      failed->report.log.find(job.file) == std::string::npos)
    KERNELGEN_CHECK(check_works(std::move(job), stop));
  return outcome;
}

Result<SandboxView> SandboxedCompiler::view(const std::vector<std::string>& command, std::stop_token stop) const {
  const auto& environment = toolset_->environment();
  const auto home = environment.find("HOME");
  SandboxView view{.readable = toolchain_folders(command.front(), home == environment.end() ? "" : home->second),
                   .hidden = {fs::absolute(places_.output_dir).string()},
                   .writable = {}};
  const auto add = [&](const std::vector<std::string>& folders) {
    view.readable.insert(view.readable.end(), folders.begin(), folders.end());
  };
  KERNELGEN_TRY(const auto own, toolset_->toolchain_paths(command.front(), std::move(stop)));
  add(own);
  add(search_folders(environment, {command.begin() + 1, command.end()}));
  add(places_.toolchain_paths);
  return view;
}

/// Compiles a source in the sandbox. `directory` is private to this build: it has a folder for the compiler, and the
/// report about the sandbox beside that folder.
Result<SandboxedOutcome> SandboxedCompiler::run_in(const fs::path& directory, const Job& job,
                                                   const std::stop_token& stop) const {
  const fs::path work = fs::absolute(directory) / k_work;
  KERNELGEN_CHECK(make_directories(work));
  KERNELGEN_CHECK(write_file_atomic(work / job.file, job.text, {.durability = Durability::Rename}));
  auto environment = toolset_->environment();
  environment["TMPDIR"] = work.string();
  KERNELGEN_TRY(auto seen, view(job.command, stop));
  seen.writable = work.string();
  return run_sandboxed(places_.sandbox, seen, (fs::absolute(directory) / "sandbox").string(),
                       {.command = job.command,
                        .environment = std::move(environment),
                        .working_directory = work.string(),
                        .timeout = job.timeout,
                        .max_output_bytes = k_max_log_bytes,
                        .limits = {.address_space_bytes = k_compiler_memory, .file_size_bytes = k_max_artifact_bytes}},
                       runner_, stop);
}

/// Checks that the compiler can compile a correct source; if not, the failure is not of the candidate.
Result<void> SandboxedCompiler::check_works(Job job, const std::stop_token& stop) const {
  job.text = "int kgen_nothing;\n";
  job.timeout = k_check_timeout;
  KERNELGEN_TRY(const auto directory, TemporaryDirectory::create(fs::path(places_.output_dir) / "builds", "check-"));
  KERNELGEN_TRY(const auto run, run_in(directory.path(), job, stop));
  std::error_code error;
  if (run.process.success() &&
      fs::is_regular_file(fs::symlink_status(directory.path() / k_work / k_output_name, error)))
    return {};
  const auto lines = split_lines(run.process.standard_error);
  auto said = first_error(parse_diagnostics(run.process.standard_error));
  if (said.empty()) said = lines.empty() ? run.process.to_line() : std::string(lines.front());
  return Error{
      ErrorCode::MissingTool,
      toolset_->name() + " does not work in the sandbox: " + sanitize_line(said, 300) + "; " + toolset_->remedy(said),
      {}};
}

Result<CompileOutcome> SandboxedCompiler::judge(const CompileRequest& request, const ProcessOutcome& run,
                                                CompileReport report, const fs::path& directory) const {
  report.duration = run.duration;
  report.log = sanitize_text(run.standard_error + run.standard_output, k_max_log_bytes);
  report.log_truncated =
      run.output_truncated || run.standard_error.size() + run.standard_output.size() > k_max_log_bytes;
  toolset_->read_log(report);
  quote_source(report.diagnostics, request.candidate);
  if (report.log_truncated)
    report.log += fmt::format("\n[cut: only the first {} KiB are kept]\n", k_max_log_bytes >> 10);
  if (run.success()) {
    std::error_code error;
    // A link by the compiler is not followed, because it could name files outside its sandbox.
    if (fs::is_regular_file(fs::symlink_status(directory / k_output_name, error))) {
      KERNELGEN_TRY(auto path, publish(directory / k_output_name));
      Artifact artifact;
      artifact.candidate_id = request.candidate.id;
      artifact.target = request.candidate.target;
      artifact.path = std::move(path);
      return CompileOutcome(Compiled{std::move(artifact), std::move(report)});
    }
  }
  if (run.timed_out) {
    const Outcome outcome{OutcomeKind::Timeout, std::string(k_build_timeout), "the compiler " + run.to_line()};
    return CompileOutcome(CompileFailed{outcome, std::move(report)});
  }
  if (disk_is_full(report.log, directory))
    return Error{ErrorCode::NoSpace, "cannot compile: no space left in " + places_.output_dir, {}};
  if (auto missing = toolset_->missing_part(report)) return *std::move(missing);
  if (auto unsuited = toolset_->unsuited(request.candidate, report)) return *std::move(unsuited);
  auto outcome = refusal(request, run, report);
  return CompileOutcome(CompileFailed{std::move(outcome), std::move(report)});
}

Result<std::string> SandboxedCompiler::publish(const fs::path& built) const {
  KERNELGEN_TRY(const auto content, read_file(built, k_max_artifact_bytes));
  KERNELGEN_TRY(const auto path, publish_content(places_.output_dir, content, ".so"));
  return path.string();
}

}  // namespace

std::string Toolset::remedy(std::string_view) const {
  return "it reads the folders of CPATH, LIBRARY_PATH and LD_LIBRARY_PATH, add what it needs there";
}

std::map<std::string, std::string> compiler_environment(const std::map<std::string, std::string>& from,
                                                        const std::vector<std::string>& more) {
  const auto clean = clean_environment(from);
  // Messages are parsed and shown to models, so their language is fixed.
  std::map<std::string, std::string> environment{{"LC_ALL", "C"}};
  const auto keep = [&](const std::string& name) {
    if (const auto found = clean.find(name); found != clean.end()) environment.insert(*found);
  };
  for (const char* name : {"PATH", "HOME"}) keep(name);
  for (const char* name : k_search_variables) keep(name);
  for (const auto& name : more) keep(name);
  return environment;
}

std::map<std::string, std::string> environment_key_values(const std::map<std::string, std::string>& environment) {
  std::map<std::string, std::string> values;
  for (const auto& [name, value] : environment)
    // PATH is part of the key only through the programs found on it.
    if (name != "PATH" && name != "HOME" && name != "LC_ALL") values.emplace("environment." + name, value);
  return values;
}

Result<std::unique_ptr<KernelCompiler>> make_sandboxed_compiler(std::unique_ptr<Toolset> toolset, BuildPlaces places,
                                                                ProcessRunner& runner) {
  if (places.output_dir.empty()) return Error{ErrorCode::InvalidArgument, "no directory for builds named", {}};
  const fs::path header = fs::path(places.abi_dir) / "kernelgen" / "abi.h";
  std::error_code error;
  if (!fs::is_regular_file(header, error))
    return Error{ErrorCode::NotFound, "cannot compile candidates: no kernel ABI header at " + header.string(), {}};
  if (::access(places.sandbox.c_str(), X_OK) != 0)
    return Error{
        ErrorCode::MissingTool,
        "cannot compile candidates: no sandbox program at '" + places.sandbox + "'; build or install all of kernelgen",
        {}};
  KERNELGEN_CHECK(make_directories(places.output_dir));
  return std::unique_ptr<KernelCompiler>(
      std::make_unique<SandboxedCompiler>(std::move(toolset), std::move(places), runner));
}

}  // namespace v0
}  // namespace kernelgen
