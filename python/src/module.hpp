#pragma once

/// \file
/// The parts of the module.

#include <nanobind/nanobind.h>

namespace kernelgen_python {

/// Judges, and calls in general.
void bind_judge(nanobind::module_& module);
/// Models, policies, repairs, searches, journals.
void bind_flow(nanobind::module_& module);
/// Audits.
void bind_audit(nanobind::module_& module);
/// Tasks, candidates, records, prompts, errors, the detector: functions that take no time.
void bind_values(nanobind::module_& module);

}  // namespace kernelgen_python
