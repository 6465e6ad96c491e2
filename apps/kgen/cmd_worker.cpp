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
  if (!options.python.empty())
    worker.python = options.python;
  else if (!context.environment.python.empty())
    worker.python = context.environment.python;
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

void add_worker_command(CLI::App& app, Context& context, Action& action) {
  auto* command =
      app.add_subcommand("worker", "Judge for another program: messages over standard input and output, or files");
  const auto options = std::make_shared<WorkerCommandOptions>();
  command->add_option("--python", options->python, "The Python that has torch; KGEN_PYTHON, else python3")
      ->type_name("PROGRAM");
  command
      ->add_option("--cache-dir", options->cache_dir, "Compiled kernels and admitted tasks; XDG_CACHE_HOME/kernelgen")
      ->type_name("DIR");
  auto* spool =
      command->add_option("--spool", options->spool, "Answer the requests that are files in this directory instead")
          ->type_name("DIR");
  command->add_option("--jobs", options->jobs, "Requests at a time; default: two for each GPU, else two")
      ->type_name("N")
      ->check(quiet(CLI::Range(1, 1024)))
      ->needs(spool);
  command->add_flag("--once", options->once, "Answer what is there and end")->needs(spool);
  command->callback([options, &context, &action] { action = [options, &context] { return run(*options, context); }; });
}

}  // namespace kernelgen::cli
