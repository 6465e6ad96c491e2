#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <kernelgen/device/gpu.hpp>
#include <kernelgen/platform/platform.hpp>

#include "device/gpu_json.hpp"
#include "device/gpu_names.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr int k_catalog_schema = 2;
constexpr std::size_t k_max_bytes = 4u << 20;
/// Number of suggestions for an unknown name.
constexpr std::size_t k_max_listed = 16;

struct CatalogFile {
  int schema = 0;
  std::vector<GpuModel> gpus;
};
BOOST_DESCRIBE_STRUCT(CatalogFile, (), (schema, gpus))

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

/// Words that do not help to tell a model from others.
bool is_noise(const std::string& word) {
  static const std::set<std::string, std::less<>> k_noise{"nvidia", "amd",    "geforce",  "instinct", "tesla",
                                                          "quadro", "radeon", "graphics", "gpu"};
  return k_noise.count(word) > 0;
}

std::string concatenated(const std::vector<std::string>& words) { return join(words, ""); }

bool has_name(const GpuModel& model, std::string_view name) {
  return same_gpu_name(model.facts.name, name) ||
         std::any_of(model.aliases.begin(), model.aliases.end(),
                     [&](const auto& also) { return same_gpu_name(also, name); });
}

bool contains_all(std::vector<std::string> words, std::vector<std::string> wanted) {
  std::sort(words.begin(), words.end());
  std::sort(wanted.begin(), wanted.end());
  return !wanted.empty() && std::includes(words.begin(), words.end(), wanted.begin(), wanted.end());
}

std::string list_of(const GpuInventory& reading) {
  std::string text;
  for (std::size_t i = 0; i < std::min(reading.gpus.size(), k_max_listed); ++i) {
    const auto& gpu = reading.gpus[i];
    text += fmt::format("{}{} {} ({})", text.empty() ? "" : ", ", gpu.index, gpu.name, gpu.uuid);
  }
  return text;
}

bool is_like(const GpuFacts& a, const GpuFacts& b) {
  // Drivers reserve slightly different amounts of memory; the next larger model has half as much again.
  constexpr std::uint64_t k_memory_part = 64;
  const auto [less, more] = std::minmax(a.memory_bytes, b.memory_bytes);
  return a.vendor == b.vendor && a.name == b.name && a.architecture == b.architecture &&
         a.multiprocessors == b.multiprocessors && more - less <= more / k_memory_part;
}

bool is_index(std::string_view text) {
  return !text.empty() && text.size() < 6 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// The GPU with this number among those of one vendor, in the driver's order.
const GpuFacts* of_vendor(const std::vector<GpuFacts>& gpus, std::string_view vendor, std::string_view number) {
  for (const auto& gpu : gpus) {
    const auto before = std::count_if(
        gpus.begin(), gpus.end(), [&](const auto& other) { return other.vendor == vendor && other.index < gpu.index; });
    if (gpu.vendor == vendor && std::to_string(before) == number) return &gpu;
  }
  return nullptr;
}

/// Why a GPU that was asked for by its maker is not there; empty where nothing is known.
std::string why_absent(const GpuInventory& reading, std::string_view asked) {
  const auto found = reading.absent.find(std::string(asked.substr(0, asked.find(':'))));
  return found == reading.absent.end() ? std::string() : "; " + found->second;
}

}  // namespace

std::vector<std::string> gpu_name_words(std::string_view name) {
  std::vector<std::string> words;
  std::string word;
  const auto finish = [&] {
    if (!word.empty() && !is_noise(word)) words.push_back(word);
    word.clear();
  };
  for (char c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (is_alphanumeric(c))
      word += c;
    else
      finish();
  }
  finish();
  return words;
}

bool same_gpu_name(std::string_view a, std::string_view b) {
  auto left = gpu_name_words(a);
  auto right = gpu_name_words(b);
  if (left.empty() || right.empty()) return false;
  if (concatenated(left) == concatenated(right)) return true;
  std::sort(left.begin(), left.end());
  std::sort(right.begin(), right.end());
  return left == right;
}

Result<GpuCatalog> read_gpu_catalog(const std::filesystem::path& devices_dir) {
  const auto path = devices_dir / "gpus.json";
  const auto wrong = [&](const std::string& why) { return Error{ErrorCode::Protocol, path.string() + ": " + why, {}}; };
  KERNELGEN_TRY(const auto text, read_file(path, k_max_bytes));
  const auto json = parse_json(text);
  if (!json) return wrong(json.error().message);
  auto file = from_value<CatalogFile>(*json);
  if (!file) return wrong(file.error().message);
  if (file->schema != k_catalog_schema)
    return wrong(fmt::format("schema {} is not {}", file->schema, k_catalog_schema));
  std::set<std::string> names;
  for (auto& model : file->gpus) {
    if (gpu_name_words(model.facts.name).empty()) return wrong("a device has no name");
    if (!names.insert(concatenated(gpu_name_words(model.facts.name))).second)
      return wrong(model.facts.name + " is listed twice");
    model.facts.model = model.facts.name;
  }
  return std::move(file->gpus);
}

std::vector<const GpuModel*> find_gpu_models(const GpuCatalog& catalog, std::string_view name) {
  std::vector<const GpuModel*> found;
  for (const auto& model : catalog)
    if (has_name(model, name)) found.push_back(&model);
  return found;
}

GpuInventory gpus_for(const GpuInventory& reading, std::string_view vendor) {
  GpuInventory found{.gpus = {}, .reason = reading.reason, .absent = reading.absent};
  for (const auto& gpu : reading.gpus)
    if (serves_vendor(gpu.vendor, vendor)) found.gpus.push_back(gpu);
  if (found.gpus.empty() && !reading.gpus.empty())
    found.reason = fmt::format("{} is no GPU for it{}", reading.gpus.front().name, why_absent(reading, vendor));
  return found;
}

Result<GpuFacts> choose_gpu(const GpuInventory& reading, const GpuCatalog& catalog, std::string_view asked) {
  const auto& gpus = reading.gpus;
  if (gpus.empty())
    return Error{ErrorCode::MissingDevice,
                 fmt::format("there is no GPU here: {}; mend that, or use a machine that has one",
                             reading.reason.empty() ? "none was found" : reading.reason),
                 {}};
  asked = trim(asked);
  if (asked.empty()) return gpus.front();
  const auto take = [&](auto fits) -> const GpuFacts* {
    const auto found = std::find_if(gpus.begin(), gpus.end(), fits);
    return found == gpus.end() ? nullptr : &*found;
  };
  const GpuFacts* chosen = nullptr;
  if (const auto colon = asked.find(':'); colon != asked.npos && is_index(asked.substr(colon + 1)))
    chosen = of_vendor(gpus, asked.substr(0, colon), asked.substr(colon + 1));
  if (is_index(asked)) chosen = take([&](const auto& gpu) { return std::to_string(gpu.index) == asked; });
  if (chosen == nullptr && (asked.starts_with("GPU-") || asked.starts_with("PCI-")) && asked.size() > 4)
    chosen = take([&](const auto& gpu) { return gpu.uuid.compare(0, asked.size(), asked) == 0; });
  if (chosen == nullptr) chosen = take([&](const auto& gpu) { return same_gpu_name(gpu.name, asked); });
  const auto meant = find_gpu_models(catalog, asked);
  for (const auto* model : meant)
    if (chosen == nullptr) chosen = take([&](const auto& gpu) { return gpu.model == model->facts.name; });
  // A device that the catalog does not list: "l40" for an NVIDIA L40. A listed name would mean another device.
  if (chosen == nullptr && meant.empty())
    chosen = take([&](const auto& gpu) { return contains_all(gpu_name_words(gpu.name), gpu_name_words(asked)); });
  if (chosen != nullptr) return *chosen;
  return Error{ErrorCode::MissingDevice,
               fmt::format("there is no GPU '{}' here; there is: {}; choose by index, UUID or name, such as {}{}",
                           sanitize_line(asked, 100), list_of(reading), gpus.front().index, why_absent(reading, asked)),
               {}};
}

std::vector<GpuFacts> gpus_like_first(const GpuInventory& reading) {
  std::vector<GpuFacts> found;
  for (const auto& gpu : reading.gpus)
    if (is_like(gpu, reading.gpus.front())) found.push_back(gpu);
  return found;
}

}  // namespace v0
}  // namespace kernelgen
