#pragma once

/// \file
/// What the page shows of one run when it is opened: the task, and every attempt with its code, messages and verdict.

#include <boost/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/report/report.hpp>
#include <kernelgen/store/event.hpp>

namespace kernelgen {
inline namespace v0 {

/// Lengths in bytes beyond which texts are cut in the page. The files of the run have them whole.
inline constexpr std::size_t k_max_code = 64 * 1024;
inline constexpr std::size_t k_max_log = 8 * 1024;
inline constexpr std::size_t k_max_message = 4 * 1024;
inline constexpr std::size_t k_max_name = 300;

/// Cuts a text between characters, and says how long it is and where the whole text lies: "... cut: 10485760 bytes in
/// code_3.cpp". Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string cut_text(std::string_view text, std::size_t max_bytes, std::string_view whole);

/// Members that have a value. An absent member takes no space in 5,000 attempts.
class Members {
 public:
  void add(std::string_view name, const std::string& text) {
    if (!text.empty()) object_[name] = text;
  }
  void add(std::string_view name, const char* text) { object_[name] = text; }
  void add(std::string_view name, boost::json::value value) {
    const auto* array = value.if_array();
    const auto* object = value.if_object();
    if (value.is_null() || (array != nullptr && array->empty()) || (object != nullptr && object->empty())) return;
    object_[name] = std::move(value);
  }
  [[nodiscard]] boost::json::object take() { return std::move(object_); }

 private:
  boost::json::object object_;
};

/// The attempt as the page shows it. `history` has the actions it was made from.
[[nodiscard]] boost::json::object attempt_details(const ActionResult& result, const History& history);

/// The details of a run, as JSON text.
[[nodiscard]] std::string run_details(const RunReport& run, const std::vector<Event>& events);

}  // namespace v0
}  // namespace kernelgen
