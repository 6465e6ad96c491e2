#include <kernelgen/core/target.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/enum_names.hpp"
#include "core/target_registry.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_max_name = 32;
constexpr std::size_t k_max_extension = 16;

/// The traits of kernelgen's own targets, in the order of the enum. Their texts for prompts are templates.
std::deque<TargetTraits> built_in_targets() {
  using enum ArtifactKind;
  const std::string native = "kgen_run", python = "ModelNew";
  return {
      {"cpp", SharedObject, TargetDevice::Cpu, "", ".cpp", "C++", "cpp", native, ""},
      {"cuda", SharedObject, TargetDevice::Gpu, "nvidia", ".cu", "CUDA C++", "cpp", native, ""},
      {"hip", SharedObject, TargetDevice::Gpu, "amd", ".hip", "HIP C++", "cpp", native, ""},
      {"hipkittens", SharedObject, TargetDevice::Gpu, "amd", ".hip", "HIP C++ (HipKittens)", "cpp", native, ""},
      {"triton", PythonModule, TargetDevice::Any, "", ".py", "Python", "python", python, ""},
      {"torch", PythonModule, TargetDevice::Any, "", ".py", "Python", "python", python, ""},
  };
}

bool is_word(std::string_view text, std::size_t max_size, std::string_view more) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_part = [&](char c) { return is_lower(c) || (c >= '0' && c <= '9') || more.find(c) != more.npos; };
  return !text.empty() && text.size() <= max_size && is_lower(text.front()) &&
         std::all_of(text.begin(), text.end(), is_part);
}

bool is_target_name(std::string_view name) { return is_word(name, k_max_name, "_-"); }

bool is_extension(std::string_view extension) {
  return !extension.empty() && extension.front() == '.' && is_word(extension.substr(1), k_max_extension, "_-");
}

bool are_equal(const TargetTraits& one, const TargetTraits& other) {
  const auto members = [](const TargetTraits& traits) {
    return std::tie(traits.name, traits.artifact, traits.device, traits.gpu_vendor, traits.file_extension,
                    traits.language, traits.fence_tag, traits.entry_point, traits.prompt_text);
  };
  return members(one) == members(other);
}

Error invalid(std::string message) { return {ErrorCode::InvalidArgument, std::move(message)}; }

}  // namespace

TargetRegistry::TargetRegistry() : kept_(built_in_targets()), built_ins_(kept_.size()) {
  for (const auto& traits : kept_) entries_.push_back({&traits, true});
}

TargetRegistry& TargetRegistry::of_process() {
  static TargetRegistry registry;
  return registry;
}

Result<Target> TargetRegistry::add(TargetTraits traits) {
  if (!is_target_name(traits.name))
    return invalid(
        "bad name \"" + traits.name +
        "\" of a target: expected a lower-case letter, then lower-case letters, digits, '_' and '-', at most " +
        std::to_string(k_max_name));
  if (traits.file_extension.empty()) traits.file_extension = "." + traits.name;
  if (traits.language.empty()) traits.language = traits.name;
  if (traits.fence_tag.empty()) traits.fence_tag = traits.name;
  if (!is_extension(traits.file_extension))
    return invalid("bad file extension \"" + traits.file_extension + "\" of target " + traits.name +
                   ": expected a dot, a lower-case letter, then lower-case letters, digits, '_' and '-', at most " +
                   std::to_string(k_max_extension));
  const std::scoped_lock lock(mutex_);
  const auto known = find(traits.name);
  if (known && entries_[*known].is_registered) {
    // A cell of a notebook is run twice.
    if (*known >= built_ins_ && are_equal(*entries_[*known].traits, traits)) return static_cast<Target>(*known);
    return invalid("there is a target " + traits.name + " already");
  }
  if (const auto other = find_extension(traits.file_extension))
    return invalid("target " + traits.name + " cannot have the file extension " + traits.file_extension + ": target " +
                   entries_[*other].traits->name + " has it");
  const Entry entry{&kept_.emplace_back(std::move(traits)), true};
  if (known) {
    entries_[*known] = entry;
    --unregistered_;
    return static_cast<Target>(*known);
  }
  entries_.push_back(entry);
  return static_cast<Target>(entries_.size() - 1);
}

std::optional<Target> TargetRegistry::find_registered(std::string_view name) const {
  const std::scoped_lock lock(mutex_);
  const auto found = find(name);
  return found && entries_[*found].is_registered ? std::optional(static_cast<Target>(*found)) : std::nullopt;
}

std::optional<Target> TargetRegistry::find_or_name(std::string_view name) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = find(name)) return static_cast<Target>(*found);
  if (!is_target_name(name) || unregistered_ >= k_max_unregistered_targets) return std::nullopt;
  ++unregistered_;
  const std::string text(name);
  entries_.push_back(
      {&kept_.emplace_back(TargetTraits{
           .name = text, .device = TargetDevice::Any, .file_extension = ".txt", .language = text, .fence_tag = text}),
       false});
  return static_cast<Target>(entries_.size() - 1);
}

std::optional<Target> TargetRegistry::find_custom(std::string_view extension) const {
  const std::scoped_lock lock(mutex_);
  const auto found = find_extension(extension);
  return found ? std::optional(static_cast<Target>(*found)) : std::nullopt;
}

const TargetTraits& TargetRegistry::traits(Target target) const {
  const std::scoped_lock lock(mutex_);
  const auto place = static_cast<std::size_t>(target);
  return place < entries_.size() ? *entries_[place].traits : unknown_;
}

bool TargetRegistry::is_registered(Target target) const {
  const std::scoped_lock lock(mutex_);
  const auto place = static_cast<std::size_t>(target);
  return place < entries_.size() && entries_[place].is_registered;
}

std::optional<std::size_t> TargetRegistry::find(std::string_view name) const {
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].traits->name == name) return i;
  return std::nullopt;
}

std::optional<std::size_t> TargetRegistry::find_extension(std::string_view extension) const {
  for (std::size_t i = built_ins_; i < entries_.size(); ++i)
    if (entries_[i].is_registered && entries_[i].traits->file_extension == extension) return i;
  return std::nullopt;
}

std::string_view to_string(ArtifactKind kind) { return names_of<ArtifactKind>.name(kind); }
std::string_view to_string(TargetDevice device) { return names_of<TargetDevice>.name(device); }

Result<Target> register_target(TargetTraits traits) { return TargetRegistry::of_process().add(std::move(traits)); }

const TargetTraits& traits_of(Target target) { return TargetRegistry::of_process().traits(target); }
bool is_registered(Target target) { return TargetRegistry::of_process().is_registered(target); }
bool is_built_in(Target target) { return TargetRegistry::of_process().is_built_in(target); }

std::string_view to_string(Target target) { return traits_of(target).name; }
std::optional<Target> parse_target(std::string_view name) { return TargetRegistry::of_process().find_registered(name); }

bool is_native(Target target) { return traits_of(target).artifact == ArtifactKind::SharedObject; }
bool needs_gpu(Target target) { return traits_of(target).device == TargetDevice::Gpu; }

}  // namespace v0
}  // namespace kernelgen
