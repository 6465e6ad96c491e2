#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include <kernelgen/core/target.hpp>

namespace kernelgen {
inline namespace v0 {

/// Targets that were named by records and journals, but never registered, are kept up to this number: a hostile file
/// must not fill the memory.
inline constexpr std::size_t k_max_unregistered_targets = 1000;

/// The targets that a process knows by name. The value of a target is its place in a list. Thread-safe.
class TargetRegistry {
 public:
  /// Makes a registry with kernelgen's own targets.
  TargetRegistry();
  /// The registry that the functions of core/target.hpp use.
  [[nodiscard]] static TargetRegistry& of_process();

  /// Adds a target; see register_target().
  [[nodiscard]] Result<Target> add(TargetTraits traits);
  [[nodiscard]] std::optional<Target> find_registered(std::string_view name) const;
  /// The target of this name, registered or not. Nothing when the name is malformed, or too many are unregistered.
  [[nodiscard]] std::optional<Target> find_or_name(std::string_view name);
  /// The registered target with this extension of sources, kernelgen's own excluded.
  [[nodiscard]] std::optional<Target> find_custom(std::string_view extension) const;
  [[nodiscard]] const TargetTraits& traits(Target target) const;
  [[nodiscard]] bool is_registered(Target target) const;
  [[nodiscard]] bool is_built_in(Target target) const { return static_cast<std::size_t>(target) < built_ins_; }

 private:
  struct Entry {
    const TargetTraits* traits = nullptr;
    bool is_registered = false;
  };

  /// Require: the mutex is held.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
  [[nodiscard]] std::optional<std::size_t> find_extension(std::string_view extension) const;

  mutable std::mutex mutex_;
  /// All traits that were ever given out; their addresses stay valid.
  std::deque<TargetTraits> kept_;
  const std::size_t built_ins_;
  std::vector<Entry> entries_;
  std::size_t unregistered_ = 0;
  const TargetTraits unknown_{.name = "unknown"};
};

/// The spellings of targets, in the form of a NameTable.
struct TargetNames {
  [[nodiscard]] std::string_view name(Target target) const { return to_string(target); }
  [[nodiscard]] std::optional<Target> find(std::string_view text) const {
    return TargetRegistry::of_process().find_or_name(text);
  }
};

}  // namespace v0
}  // namespace kernelgen
