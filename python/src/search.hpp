#pragma once

/// \file
/// What repairs, searches and campaigns have in common: policies, budgets, prices, and requests made of dictionaries.

#include <nanobind/nanobind.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <kernelgen/core/prompt.hpp>
#include <kernelgen/flow/engine.hpp>
#include <kernelgen/flow/policy.hpp>

#include "adapters.hpp"
#include "convert.hpp"

namespace kernelgen_python {

/// A policy of the library by its name. `strategies` tell its seeds apart unless the settings name others.
[[nodiscard]] std::unique_ptr<kernelgen::Policy> make_policy(const std::string& name, const nb::dict& settings,
                                                             const std::vector<std::string>& strategies);

/// The policy in a call: a pair of a name and settings, or an object of Python.
[[nodiscard]] std::shared_ptr<const kernelgen::Policy> policy_of_search(CallState& state, const nb::object& policy,
                                                                        const kernelgen::PromptBuilder& prompts,
                                                                        kernelgen::Target target);

/// The options of a search; task, target, name, start and device are left to the caller.
[[nodiscard]] kernelgen::FlowRequest flow_request_of(const nb::dict& from);

/// Takes prices from the model, and for limits of cost or tokens the longest reply that it gives. InvalidArgument for a
/// limit of cost without prices.
[[nodiscard]] kernelgen::Result<void> add_terms(kernelgen::FlowRequest& request, const kernelgen::LLMClient& model,
                                                bool limits_cost, bool limits_tokens);

/// Puts the facts about the device that judges into a request.
[[nodiscard]] kernelgen::Result<void> find_device(kernelgen::FlowRequest& request,
                                                  const kernelgen::Installation& installation,
                                                  const std::stop_token& stop);

[[nodiscard]] kernelgen::Prices prices_of(const nb::dict& from);
[[nodiscard]] nb::object dict_of(const std::optional<kernelgen::Prices>& prices);
[[nodiscard]] nb::dict dict_of(const kernelgen::ResourceUsage& spent);

/// Raises InvalidArgument for a negative limit.
template <class Number>
void check_limit(const char* option, const std::optional<Number>& limit) {
  if (limit && *limit < 0)
    raise({kernelgen::ErrorCode::InvalidArgument,
           "option " + std::string(option) + " has a negative limit; limits are 0 or more"});
}
/// A limit of time in seconds, rounded up. `option` is its name in messages.
[[nodiscard]] std::optional<std::chrono::seconds> time_limit_of(const nb::dict& from, const char* name,
                                                                const char* option);

}  // namespace kernelgen_python
