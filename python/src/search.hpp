#pragma once

/// \file
/// What repairs, searches and campaigns have in common: policies, budgets, prices, and requests made of dictionaries.

#include <nanobind/nanobind.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <kernelgen/core/installation.hpp>
#include <kernelgen/core/prompt.hpp>
#include <kernelgen/flow/engine.hpp>
#include <kernelgen/flow/policy.hpp>
#include <kernelgen/prompt/prompt_device.hpp>

#include "adapters.hpp"
#include "convert.hpp"

namespace kernelgen_python {

/// What a policy of the library takes from its search, as `kgen run` does it, unless its settings say something else.
struct PolicyDefaults {
  /// They tell seeds apart; the first one is that of a policy with one first kernel.
  std::vector<std::string> strategies{};
  kernelgen::ProfileUse profiles = kernelgen::ProfileUse::Never;
  /// The score at which the reflect policy ends; unset: its own default.
  std::optional<double> goal{};
};

/// The defaults for one search.
[[nodiscard]] PolicyDefaults policy_defaults_of(const kernelgen::FlowRequest& request,
                                                const kernelgen::PromptBuilder& prompts, bool takes_profiles);

/// A policy of the library by its name.
[[nodiscard]] std::unique_ptr<kernelgen::Policy> make_policy(const std::string& name, const nb::dict& settings,
                                                             const PolicyDefaults& defaults);

/// The policy in a call: a pair of a name and settings, or an object of Python.
[[nodiscard]] std::shared_ptr<const kernelgen::Policy> policy_of_search(CallState& state, const nb::object& policy,
                                                                        const PolicyDefaults& defaults);

/// The options of a search; task, target, name, start and device are left to the caller. InvalidArgument for a value
/// beyond the range that `kgen run` has for it.
[[nodiscard]] kernelgen::FlowRequest flow_request_of(const nb::dict& from);
/// The number of evaluations at once; nothing where it follows from the device.
[[nodiscard]] std::optional<int> parallel_evaluations_of(const nb::dict& from);

/// Takes prices from the model, and for limits of cost or tokens the longest reply that it gives. InvalidArgument for a
/// limit of cost without prices.
[[nodiscard]] kernelgen::Result<void> add_terms(kernelgen::FlowRequest& request, const kernelgen::LLMClient& model,
                                                bool limits_cost, bool limits_tokens);

/// Where candidates are judged, as far as that is known before they are.
struct JudgePlace {
  /// Whether it is this machine. A GPU that is missing is an error then.
  bool is_here = false;
  /// Cache directory of a judge on this machine; empty: that of kgen.
  std::filesystem::path cache_dir{};
};

/// The place of a judge in a call. That of a judge in Python is unknown.
[[nodiscard]] JudgePlace place_of(const nb::object& judge);

/// Finds the device before any request is paid for. MissingDevice where this machine judges and lacks a GPU.
[[nodiscard]] kernelgen::Result<kernelgen::PromptDevice> find_device(const kernelgen::FlowRequest& request,
                                                                     const JudgePlace& judge,
                                                                     const kernelgen::Installation& installation,
                                                                     const std::stop_token& stop);

/// Puts the device into a request. Without `parallel_evaluations` there is one evaluation at once for each GPU.
void set_device(kernelgen::FlowRequest& request, const kernelgen::PromptDevice& device,
                const std::optional<int>& parallel_evaluations);

[[nodiscard]] kernelgen::Prices prices_of(const nb::dict& from);
[[nodiscard]] nb::object dict_of(const std::optional<kernelgen::Prices>& prices);
[[nodiscard]] nb::dict dict_of(const kernelgen::ResourceUsage& spent);

/// Raises InvalidArgument for a negative limit, and for one that is no number.
template <class Number>
void check_limit(const char* option, const std::optional<Number>& limit) {
  if (limit && !(*limit >= 0))
    raise({kernelgen::ErrorCode::InvalidArgument,
           "option " + std::string(option) + " has a negative limit or one that is no number; limits are 0 or more"});
}
/// A limit of time in seconds, rounded up. `option` is its name in messages.
[[nodiscard]] std::optional<std::chrono::seconds> time_limit_of(const nb::dict& from, const char* name,
                                                                const char* option);

}  // namespace kernelgen_python
