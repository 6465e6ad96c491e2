#include <sys/utsname.h>

#include <filesystem>

#include <fmt/format.h>

#include <kernelgen/device/gpu.hpp>
#include <kernelgen/platform/platform.hpp>

#include "device/gpu_program.hpp"
#include "device/kept_fact.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

/// kgen-gpu tries two ways, each for less than a minute.
constexpr std::chrono::seconds k_sharing_timeout{180};
constexpr int k_sharing_schema = 1;

struct FoundSharing {
  std::string sharing;
};
BOOST_DESCRIBE_STRUCT(FoundSharing, (), (sharing))

struct KeptSharing {
  int schema = 0;
  std::string uuid;
  int driver_version = 0;
  std::string place;
  std::string sharing;
};
BOOST_DESCRIBE_STRUCT(KeptSharing, (), (schema, uuid, driver_version, place, sharing))

bool is_way(std::string_view text) { return text == "virtual_memory" || text == "ipc_handle"; }

/// What decides besides the driver: the kernel, and the PID namespace, because a container may forbid more than its
/// host.
std::string place_of_process() {
  utsname system{};
  ::uname(&system);
  std::error_code error;
  const auto space = fs::read_symlink("/proc/self/ns/pid", error).string();
  return fmt::format("{} {}", system.release, space);
}

fs::path sharing_file(const GpuFacts& gpu, const fs::path& cache_dir) {
  return kept_fact_file(gpu, cache_dir, ".sharing.json");
}

std::optional<std::string> read_sharing(const GpuFacts& gpu, const fs::path& cache_dir) {
  const auto kept = read_kept_fact<KeptSharing>(sharing_file(gpu, cache_dir), k_sharing_schema, gpu);
  if (!kept || kept->place != place_of_process() || !is_way(kept->sharing)) return std::nullopt;
  return kept->sharing;
}

void keep_sharing(const GpuFacts& gpu, const std::string& way, const fs::path& cache_dir) {
  keep_fact(sharing_file(gpu, cache_dir),
            KeptSharing{k_sharing_schema, gpu.uuid, gpu.driver_version, place_of_process(), way});
}

}  // namespace

Result<std::string> find_memory_sharing(const GpuFacts& gpu, const GpuProbeOptions& options, ProcessRunner& runner,
                                        std::stop_token stop) {
  if (auto kept = read_sharing(gpu, options.cache_dir)) return *std::move(kept);
  const auto& platform = platform_of(gpu.vendor);
  std::vector<std::string> arguments{"sharing", gpu.uuid, platform.choosing_variable};
  for (auto& node : platform.device_nodes(gpu.uuid, "/")) arguments.push_back(std::move(node));
  KERNELGEN_TRY(const auto outcome,
                run_gpu_probe(options, std::move(arguments), k_sharing_timeout, runner, std::move(stop)));
  if (outcome.exit_code == k_probe_not_tried) return std::string();
  if (outcome.exit_code == k_probe_lacks_device)
    return Error{ErrorCode::MissingDevice, "cannot use " + gpu.name + ": " + probe_error_line(outcome), {}};
  if (!outcome.success())
    return Error{ErrorCode::Unavailable,
                 "cannot try how memory of " + gpu.name + " is shared: " + probe_error_line(outcome),
                 {}};
  const auto json = parse_json(outcome.standard_output);
  if (!json) return unreadable_probe(json.error().message);
  const auto found = from_value<FoundSharing>(*json);
  if (!found) return unreadable_probe(found.error().message);
  if (!is_way(found->sharing)) return unreadable_probe("no way of sharing memory");
  keep_sharing(gpu, found->sharing, options.cache_dir);
  return found->sharing;
}

}  // namespace v0
}  // namespace kernelgen
