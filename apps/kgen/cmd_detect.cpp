#include <ostream>

#include <kernelgen/detect/persistent_detector.hpp>

#include "commands.hpp"
#include "render.hpp"
#include "support/files.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

struct DetectOptions {
  std::string file;
  std::string target;
  bool json = false;
};

Result<Target> choose_target(const DetectOptions& options, const std::string& source) {
  if (options.target.empty()) {
    if (const auto guess = guess_target(options.file, source)) return *guess;
    return Error{ErrorCode::InvalidArgument,
                 "cannot tell the target of " + options.file + " from its name; pass --target"};
  }
  if (const auto target = parse_target(options.target)) return *target;
  return Error{ErrorCode::InvalidArgument,
               "unknown target " + options.target + "; targets are cpp, cuda, hip, hipkittens, triton, torch"};
}

Result<ExitCode> run_detect(const DetectOptions& options, Context& context) {
  KERNELGEN_TRY(const auto source, read_file(options.file, k_max_source_bytes));
  KERNELGEN_TRY(const auto target, choose_target(options, source));
  const auto report = make_persistent_detector()->inspect(source, target);
  const auto& terminal = context.out_terminal;
  context.out << (options.json ? to_json(report)
                               : render_persistence(report, {.width = terminal.interactive ? terminal.width : 80,
                                                             .color = terminal.color}));
  return ExitCode::Success;
}

}  // namespace

void add_detect_command(CLI::App& app, Context& context, Action& action) {
  auto* command = app.add_subcommand("detect", "Does a kernel keep its time loop on the device?");
  const auto options = std::make_shared<DetectOptions>();
  command->add_option("FILE", options->file, "The kernel: a source file")->required()->type_name("");
  command->add_option("--target", options->target, "As for eval; guessed from the file when not given")
      ->type_name("NAME");
  command->add_flag("--json", options->json, "Print the report as JSON");
  command->callback(
      [options, &context, &action] { action = [options, &context] { return run_detect(*options, context); }; });
}

}  // namespace kernelgen::cli
