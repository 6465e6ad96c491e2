#include <ostream>

#include <kernelgen/detect/persistent_detector.hpp>

#include "commands.hpp"
#include "evaluation_flags.hpp"
#include "render.hpp"
#include "support/files.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

struct DetectOptions {
  std::string file;
  std::optional<Target> target;
  bool json = false;
};

Result<ExitCode> run_detect(const DetectOptions& options, Context& context) {
  KERNELGEN_TRY(const auto source, read_file(options.file, k_max_source_bytes));
  KERNELGEN_TRY(const auto target, choose_target(options.target, options.file, source));
  const auto report = make_persistent_detector()->inspect(source, target);
  const auto& terminal = context.out_terminal;
  context.out << (options.json ? to_json(report)
                               : render_persistence(report, {.width = terminal.interactive ? terminal.width : 80,
                                                             .color = terminal.color}));
  return ExitCode::Success;
}

}  // namespace

Command make_detect_command(Context& context) {
  const auto options = std::make_shared<DetectOptions>();
  return {.name = "detect",
          .summary = "Does a kernel keep its time loop on the device?",
          .options = {{.name = "file",
                       .value_name = "FILE",
                       .help = "The kernel: a source file",
                       .value = values::file(options->file),
                       .is_required = true},
                      {.name = "--target",
                       .value_name = "NAME",
                       .help = "As for eval; guessed from the file when not given",
                       .value = target_value(options->target)},
                      {.name = "--json", .help = "Print the report as JSON", .value = values::flag(options->json)}},
          .run = [options, &context] { return run_detect(*options, context); }};
}

}  // namespace kernelgen::cli
