#pragma once

/// \file
/// The files of lib/report/monitor_page, as texts.

#include <string_view>

namespace kernelgen {
inline namespace v0 {

extern const std::string_view k_monitor_html;
extern const std::string_view k_monitor_css;
extern const std::string_view k_monitor_js;

}  // namespace v0
}  // namespace kernelgen
