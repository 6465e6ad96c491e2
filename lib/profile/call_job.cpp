#include "profile/call_job.hpp"

#include <boost/json.hpp>
#include <utility>

#include <kernelgen/platform/platform.hpp>

#include "exec/sandbox.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

constexpr std::size_t k_max_words = 600;

}  // namespace

Result<std::filesystem::path> write_call_job(const ProfileRequest& request, const CallJob& job,
                                             const std::filesystem::path& path) {
  json::object text{{"schema", 1},
                    {"mode", job.mode},
                    {"task", {{"name", request.task.name}, {"text", request.task.text}, {"path", request.task.path}}},
                    {"precision", std::string(to_string(request.precision))},
                    {"device", !request.gpu ? "cpu" : "cuda"},
                    {"warmups", job.warmups},
                    {"calls", job.calls},
                    {"seconds", job.seconds},
                    {"result", job.result}};
  json::array shrink;
  for (const auto& [name, value] : request.shrink) shrink.push_back(json::array{name, value});
  text["shrink"] = std::move(shrink);
  if (request.candidate) {
    text["target"] = std::string(to_string(request.candidate->target));
    if (is_native(request.candidate->target)) {
      text["artifact"] = request.artifact;
    } else {
      text["source"] = request.candidate->source;
    }
  }
  KERNELGEN_CHECK(write_file_atomic(path, json::serialize(text), {.mode = 0600, .durability = Durability::Rename}));
  return path;
}

std::vector<std::string> call_command(const std::string& python, const std::filesystem::path& job) {
  return {python, "-s", "-B", "-m", "kernelgen_profile", job.string()};
}

void set_call_environment(std::map<std::string, std::string>& environment, const Installation& installation,
                          const ProfileRequest& request) {
  environment["PYTHONPATH"] = installation.python_dir.string();
  environment["PYTHONSAFEPATH"] = "1";
  if (!request.gpu) return;
  if (const auto& variable = platform_of(request.gpu->vendor).choosing_variable; !variable.empty())
    environment[variable] = request.gpu->uuid;
}

Result<ProcessOutcome> run_call_sandboxed(ProcessRequest process, const ProfileRequest& request,
                                          const CallSandbox& place, ProcessRunner& runner, std::stop_token stop) {
  const auto& installation = place.installation;
  const auto found = process.environment.find("HOME");
  const auto home = found == process.environment.end() ? std::string() : found->second;
  SandboxView view{.readable = place.readable, .hidden = {}, .writable = place.work.string(), .as_runner = true};
  for (const auto& program : {place.python, place.program}) {
    if (program.empty()) continue;
    const auto folders = toolchain_folders(program, home);
    view.readable.insert(view.readable.end(), folders.begin(), folders.end());
  }
  for (const auto& path :
       {installation.python_dir, installation.runner_support.parent_path(), std::filesystem::path(request.artifact)})
    if (!path.empty()) view.readable.push_back(path.string());
  if (const auto& gpu = request.gpu) view.devices = platform_of(gpu->vendor).device_nodes(gpu->uuid, "/");
  for (const auto& [name, folder] :
       {std::pair("TORCH_EXTENSIONS_DIR", k_extensions), std::pair("TRITON_CACHE_DIR", "triton"),
        std::pair("TORCHINDUCTOR_CACHE_DIR", "inductor")})
    process.environment[name] = (place.work / folder).string();
  KERNELGEN_TRY(auto outcome,
                run_sandboxed(installation.sandbox.string(), view, (place.work.parent_path() / "sandbox").string(),
                              std::move(process), runner, std::move(stop)));
  return std::move(outcome.process);
}

std::string last_output_line(const ProcessOutcome& outcome) {
  const auto text = trim(outcome.standard_error.empty() ? outcome.standard_output : outcome.standard_error);
  const auto start = text.rfind('\n');
  return sanitize_line(start == text.npos ? text : text.substr(start + 1), k_max_words);
}

}  // namespace v0
}  // namespace kernelgen
