#include <ostream>

#include <kernelgen/device/cpu.hpp>
#include <kernelgen/device/gpu.hpp>

#include "commands.hpp"
#include "evaluation_flags.hpp"
#include "local_device.hpp"
#include "render_devices.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

struct DevicesOptions {
  std::string cache_dir;
  bool all = false;
  bool json = false;
};

/// Measures unknown bandwidths. A device that cannot be measured is shown without a bandwidth.
Result<void> measure(GpuInventory& reading, const GpuProbeOptions& probe, Context& context) {
  for (auto& gpu : reading.gpus) {
    if (gpu.measured_bytes_per_second) continue;
    const auto measured = measure_gpu_bandwidth(gpu, probe, context.processes, context.stop);
    if (measured)
      gpu.measured_bytes_per_second = *measured;
    else if (measured.error().code == ErrorCode::Cancelled)
      return measured.error();
    else
      context.err << "kgen: " << measured.error().to_line() << '\n';
  }
  return {};
}

Result<ExitCode> run(const DevicesOptions& options, Context& context) {
  if (options.all) {
    KERNELGEN_TRY(const auto installation, context.find_installation());
    KERNELGEN_TRY(const auto catalog, read_gpu_catalog(installation.devices_dir));
    context.out << (options.json ? catalog_to_json(catalog) : render_catalog(catalog));
    return ExitCode::Success;
  }
  KERNELGEN_TRY(auto devices, read_devices(options.cache_dir, context));
  KERNELGEN_CHECK(measure(devices.gpus, devices.probe, context));
  context.out << (options.json ? devices_to_json(devices.cpu, devices.gpus, devices.uses)
                               : render_devices(devices.cpu, devices.gpus, devices.uses));
  return ExitCode::Success;
}

}  // namespace

Command make_devices_command(Context& context) {
  const auto options = std::make_shared<DevicesOptions>();
  return {.name = "devices",
          .summary = "The processor and the GPUs of this machine, and what they can do",
          .options = {{.name = "--all",
                       .help = "What is known of GPUs that are not here",
                       .value = values::flag(options->all)},
                      {.name = "--json", .help = "Print it as JSON", .value = values::flag(options->json)},
                      cache_dir_option(options->cache_dir, "Keeps the measured bandwidths; XDG_CACHE_HOME/kernelgen")},
          .run = [options, &context] { return run(*options, context); }};
}

}  // namespace kernelgen::cli
