#include <unistd.h>

#include <optional>

#include <kernelgen/bench/worker.hpp>

#include "commands.hpp"
#include "evaluation_flags.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

struct WorkerCommandOptions {
  std::string python;
  std::string cache_dir;
  std::string spool;
  bool once = false;
  std::optional<int> jobs;
};

Result<ExitCode> run(const WorkerCommandOptions& options, Context& context) {
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
  KERNELGEN_CHECK(run_spool_worker(worker,
                                   {.directory = options.spool,
                                    .mode = options.once ? SpoolMode::Once : SpoolMode::UntilStopped,
                                    .jobs = options.jobs,
                                    .on_answer = on_answer},
                                   context.stop));
  return ExitCode::Success;
}

}  // namespace

Command make_worker_command(Context& context) {
  const auto options = std::make_shared<WorkerCommandOptions>();
  return {
      .name = "worker",
      .summary = "Judge for another program: messages over standard input and output, or files",
      .options = {python_option(options->python, context.environment),
                  cache_dir_option(options->cache_dir, "Compiled kernels and admitted tasks; XDG_CACHE_HOME/kernelgen"),
                  {.name = "--spool",
                   .value_name = "DIR",
                   .help = "Answer the requests that are files in this directory instead",
                   .value = directory(options->spool)},
                  {.name = "--jobs",
                   .value_name = "N",
                   .help = "Requests at a time; default: two for each GPU, else two",
                   .value = whole_number(options->jobs, {1, 1024}),
                   .needs = "--spool"},
                  {.name = "--once",
                   .help = "Answer what is there and end",
                   .value = flag(options->once),
                   .needs = "--spool"}},
      .run = [options, &context] { return run(*options, context); }};
}

}  // namespace kernelgen::cli
