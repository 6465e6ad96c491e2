#include <unistd.h>

#include <filesystem>
#include <optional>
#include <ostream>

#include <kernelgen/bench/spool.hpp>
#include <kernelgen/bench/worker.hpp>

#include "commands.hpp"
#include "evaluation_flags.hpp"
#include "render_spool.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

struct WorkerCommandOptions {
  std::string python;
  std::string cache_dir;
  std::string spool;
  std::string status;
  bool create = false;
  bool once = false;
  bool json = false;
  std::optional<int> jobs;
  std::optional<double> idle_seconds;
  std::optional<double> lease_seconds;
  std::string client;
};

/// Checks that the directory exists. A mistyped one must not be created and served for ever.
Result<void> check_spool(const WorkerCommandOptions& options) {
  std::error_code ignored;
  if (options.create || std::filesystem::exists(options.spool, ignored)) return {};
  return Error{ErrorCode::NotFound, "the spool " + options.spool + " does not exist; pass --create to make it"};
}

Result<ExitCode> show_status(const WorkerCommandOptions& options, Context& context) {
  KERNELGEN_TRY(const auto status, inspect_spool(options.status));
  const auto& terminal = context.out_terminal;
  context.out << (options.json ? spool_status_to_json(options.status, status)
                               : render_spool_status(
                                     options.status, status,
                                     {.width = terminal.interactive ? terminal.width : 0, .color = terminal.color}));
  return ExitCode::Success;
}

Result<ExitCode> run(const WorkerCommandOptions& options, Context& context) {
  if (!options.status.empty()) return show_status(options, context);
  if (!options.spool.empty()) KERNELGEN_CHECK(check_spool(options));
  WorkerOptions worker;
  KERNELGEN_TRY(worker.installation, context.find_installation());
  KERNELGEN_TRY(worker.cache_dir, choose_cache_dir(options.cache_dir, context.environment));
  if (!options.python.empty()) worker.python = options.python;
  worker.environment = context.environment.clean;
  if (options.spool.empty()) {
    KERNELGEN_CHECK(run_worker(worker, STDIN_FILENO, STDOUT_FILENO, context.stop));
    return ExitCode::Success;
  }
  const auto on_answer = [&context](const std::string& id, const std::string& summary) {
    (context.err << id << ": " << summary << '\n').flush();
  };
  SpoolWorkerOptions spool{.directory = options.spool,
                           .mode = options.once ? SpoolMode::Once : SpoolMode::UntilStopped,
                           .jobs = options.jobs,
                           .client = options.client,
                           .on_answer = on_answer};
  if (options.idle_seconds) spool.idle_limit = to_milliseconds(*options.idle_seconds);
  if (options.lease_seconds) spool.lease = to_milliseconds(*options.lease_seconds);
  KERNELGEN_CHECK(run_spool_worker(worker, spool, context.stop));
  return ExitCode::Success;
}

}  // namespace

Command make_worker_command(Context& context) {
  constexpr double k_most_seconds = 604'800;
  const auto options = std::make_shared<WorkerCommandOptions>();
  return {
      .name = "worker",
      .summary = "Judge for another program: messages over standard input and output, or files",
      .options = {python_option(options->python, context.environment),
                  cache_dir_option(options->cache_dir, "Compiled kernels and admitted tasks; XDG_CACHE_HOME/kernelgen"),
                  {.name = "--spool",
                   .value_name = "DIR",
                   .help = "Answer the requests that are files in this directory instead",
                   .value = values::directory(options->spool)},
                  {.name = "--create",
                   .help = "Make the directory when it is missing",
                   .value = values::flag(options->create),
                   .needs = "--spool"},
                  {.name = "--jobs",
                   .value_name = "N",
                   .help = "Requests at a time; default: two for each GPU, else two",
                   .value = values::whole_number(options->jobs, {1, 1024}),
                   .needs = "--spool"},
                  {.name = "--once",
                   .help = "Answer what is there and end",
                   .value = values::flag(options->once),
                   .needs = "--spool"},
                  {.name = "--idle-timeout",
                   .value_name = "S",
                   .help = "End after so many seconds without a request",
                   .value = values::number(options->idle_seconds, {0.001, k_most_seconds}),
                   .needs = "--spool"},
                  {.name = "--lease",
                   .value_name = "S",
                   .help = "Silence after which others take a worker's requests; the same for all; default: 60",
                   .value = values::number(options->lease_seconds, {1, k_most_seconds}),
                   .needs = "--spool"},
                  {.name = "--client",
                   .value_name = "NAME",
                   .help = "End with the client of this name; what a batch gives to its workers",
                   .value = values::text(options->client),
                   .needs = "--spool"},
                  {.name = "--status",
                   .value_name = "DIR",
                   .help = "Judge nothing; show the workers, waiting requests and running ones of this directory",
                   .value = values::directory(options->status),
                   .excludes = {"--spool"}},
                  {.name = "--json",
                   .help = "Print the status as JSON",
                   .value = values::flag(options->json),
                   .needs = "--status"}},
      .run = [options, &context] { return run(*options, context); }};
}

}  // namespace kernelgen::cli
