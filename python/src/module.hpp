#pragma once

/// \file
/// The parts of the module.

#include <nanobind/nanobind.h>

namespace kernelgen_python {

/// Judges, and calls in general.
void bind_judge(nanobind::module_& module);
/// Models, providers, prices.
void bind_models(nanobind::module_& module);
/// Policies, repairs, searches, journals.
void bind_flow(nanobind::module_& module);
/// Campaigns, and selections of tasks for them.
void bind_campaign(nanobind::module_& module);
/// Profiles.
void bind_profile(nanobind::module_& module);
/// Targets and compilers of a program's own.
void bind_compilers(nanobind::module_& module);
/// Audits.
void bind_audit(nanobind::module_& module);
/// Tasks, candidates, records, prompts, errors, the detector: functions that take no time.
void bind_values(nanobind::module_& module);

}  // namespace kernelgen_python
