#pragma once

/// \file
/// Names of the enums of reports, for the JSON codec.

#include <kernelgen/report/report.hpp>

#include "core/enum_names.hpp"

namespace kernelgen {
inline namespace v0 {

template <>
inline constexpr auto names_of<RunStatus> = make_names<RunStatus>({{RunStatus::Success, "success"},
                                                                   {RunStatus::Partial, "partial"},
                                                                   {RunStatus::Failed, "failed"},
                                                                   {RunStatus::Unfinished, "unfinished"},
                                                                   {RunStatus::Damaged, "damaged"}});

template <>
inline constexpr auto names_of<RequestStatus> = make_names<RequestStatus>({{RequestStatus::Answered, "answered"},
                                                                           {RequestStatus::Failed, "failed"},
                                                                           {RequestStatus::Deferred, "deferred"},
                                                                           {RequestStatus::Unknown, "unknown"}});

}  // namespace v0
}  // namespace kernelgen
