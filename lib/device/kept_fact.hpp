#pragma once

/// \file
/// Facts about a GPU that take long to find out, kept in files for the same GPU under the same driver.

#include <filesystem>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include <kernelgen/device/gpu.hpp>

#include "core/json_codec.hpp"
#include "support/files.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {

/// The file of a fact, with an ending such as ".json"; empty without a directory: then nothing is kept.
[[nodiscard]] inline std::filesystem::path kept_fact_file(const GpuFacts& gpu, const std::filesystem::path& cache_dir,
                                                          std::string_view ending) {
  if (cache_dir.empty()) return {};
  return cache_dir / "devices" / fmt::format("{}-{}{}", percent_encode(gpu.uuid), gpu.driver_version, ending);
}

/// Reads a described structure with the members schema, uuid and driver_version. Nothing for any reason, another
/// schema, GPU or driver among them: then the fact is found out again.
template <class Kept>
[[nodiscard]] std::optional<Kept> read_kept_fact(const std::filesystem::path& file, int schema, const GpuFacts& gpu) {
  constexpr std::size_t k_max_bytes = 1u << 16;
  if (file.empty()) return std::nullopt;
  const auto text = read_file(file, k_max_bytes);
  const auto json = text ? parse_json(*text) : text.error();
  const auto kept = json ? from_value<Kept>(*json) : json.error();
  if (!kept || kept->schema != schema || kept->uuid != gpu.uuid || kept->driver_version != gpu.driver_version)
    return std::nullopt;
  return *kept;
}

/// If this fails, the fact is found out again next time.
template <class Kept>
void keep_fact(const std::filesystem::path& file, const Kept& kept) {
  if (file.empty()) return;
  const auto text = to_pretty_json(to_value(kept));
  if (make_directories(file.parent_path())) (void)write_file_atomic(file, text, {.durability = Durability::Rename});
}

}  // namespace v0
}  // namespace kernelgen
