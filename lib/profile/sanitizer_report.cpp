#include "profile/sanitizer_report.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>

#include <algorithm>
#include <charconv>
#include <optional>

#include <kernelgen/core/profile.hpp>

#include "support/json_text.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_most_findings = 20;
constexpr std::size_t k_max_said = 300;

/// A place in a source file.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
};

std::string_view base_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

/// The number at the beginning of `text`, which is removed from it; 0 where there is none.
int take_number(std::string_view& text) {
  int number = 0;
  const auto* const end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return std::max(number, 0);
}

/// Reads "PATH:12" or "PATH:12:7".
std::optional<Place> parse_place(std::string_view text) {
  const auto slash = text.rfind('/');
  const auto colon = text.find(':', slash == text.npos ? 0 : slash);
  if (colon == text.npos || colon == 0) return std::nullopt;
  auto rest = text.substr(colon + 1);
  Place place{std::string(base_name(text.substr(0, colon))), take_number(rest), 0};
  if (place.line == 0) return std::nullopt;
  if (rest.starts_with(':')) {
    rest.remove_prefix(1);
    place.column = take_number(rest);
  }
  return place;
}

void add(std::vector<SanitizerFinding>& findings, std::string_view detail, const Place& place,
         std::string_view message) {
  const auto same = [&](const SanitizerFinding& one) {
    return one.detail == detail && one.diagnostic.file == place.file && one.diagnostic.line == place.line;
  };
  if (findings.size() == k_most_findings || std::any_of(findings.begin(), findings.end(), same)) return;
  Diagnostic diagnostic{.severity = "error", .file = sanitize_line(place.file, k_max_said)};
  diagnostic.line = place.line;
  diagnostic.column = place.column;
  diagnostic.message = sanitize_line(message, k_max_said);
  findings.push_back({std::string(detail), std::move(diagnostic)});
}

// -- ThreadSanitizer and AddressSanitizer -----------------------------------------------------------------------------

/// A report that begins with "WARNING: ThreadSanitizer: data race (pid=1)" or "==1==ERROR: AddressSanitizer: ...".
struct NativeReport {
  std::string detail;
  std::string message;
  std::optional<Place> place;
  /// What the threads did at that place: "Write of size 4 ..."
  std::string access;
  bool is_of_candidate = false;
};

/// The kind of error in a report's first line; nothing for another line.
std::optional<NativeReport> begin_report(std::string_view line) {
  for (const std::string_view tool : {"ThreadSanitizer: ", "AddressSanitizer: "}) {
    const auto at = line.find(tool);
    if (at == line.npos) continue;
    const auto before = line.substr(0, at);
    if (!before.ends_with("WARNING: ") && !before.ends_with("ERROR: ")) continue;
    auto kind = line.substr(at + tool.size());
    if (const auto end = std::min(kind.find(" (pid="), kind.find(" on ")); end != kind.npos) kind = kind.substr(0, end);
    const bool is_race = tool.starts_with("Thread");
    return NativeReport{
        .detail = is_race ? "race" : "memory", .message = std::string(trim(kind)), .place = {}, .access = {}};
  }
  return std::nullopt;
}

/// Reads a frame, "    #0 function /path/candidate.cpp:16 (artifact.so+0x11f3)".
void read_frame(std::string_view line, std::string_view source_name, std::string_view artifact_name,
                NativeReport& report) {
  if (contains(line, artifact_name)) report.is_of_candidate = true;
  for (const auto word : split(line, ' ')) {
    const auto place = parse_place(word);
    if (!place || place->file != source_name) continue;
    report.is_of_candidate = true;
    if (!report.place) report.place = place;
  }
}

void finish_report(std::optional<NativeReport>& report, std::vector<SanitizerFinding>& findings) {
  if (report && report->is_of_candidate) {
    const auto access = report->access.empty() ? std::string() : fmt::format(": {}", report->access);
    add(findings, report->detail, report->place.value_or(Place{}), report->message + access);
  }
  report.reset();
}

/// Reads "/path/candidate.cpp:12:7: runtime error: shift exponent 32 is too large".
bool read_runtime_error(std::string_view line, std::string_view source_name, std::vector<SanitizerFinding>& findings) {
  constexpr std::string_view k_mark = ": runtime error: ";
  const auto at = line.find(k_mark);
  if (at == line.npos) return false;
  const auto place = parse_place(line.substr(0, at));
  if (place && place->file == source_name) add(findings, "undefined", *place, line.substr(at + k_mark.size()));
  return true;
}

// -- compute-sanitizer ------------------------------------------------------------------------------------------------

/// The outcome's detail for the first line of an error; nothing for lines that are none.
std::optional<std::string_view> detail_of(std::string_view line) {
  if (line.starts_with("Error: Race reported") || line.starts_with("Error: Potential")) return "race";
  if (line.starts_with("Uninitialized ")) return "uninitialized";
  if (line.starts_with("Barrier error") || line.starts_with("Invalid arrival") || line.starts_with("Invalid barrier") ||
      line.starts_with("Invalid thread") || line.starts_with("Invalid arguments"))
    return "barrier";
  if (line.starts_with("Invalid __") || line.starts_with("Misaligned __") || line.starts_with("Invalid address") ||
      line.starts_with("Stack overflow") || line.starts_with("Invalid local"))
    return "memory";
  return std::nullopt;
}

/// Where a kernel was, of "at relu(float const*, float*)+0x90 in /path/candidate.cu:12".
struct KernelPlace {
  std::string kernel;
  Place place;
};

std::optional<KernelPlace> parse_kernel_place(std::string_view line) {
  auto at = line.find("at ");
  while (at != line.npos && at > 0 && line[at - 1] != ' ') at = line.find("at ", at + 1);
  if (at == line.npos) return std::nullopt;
  auto rest = line.substr(at + 3);
  KernelPlace found;
  const auto offset = rest.find("+0x");
  if (offset == rest.npos && !rest.starts_with("0x")) return std::nullopt;
  if (offset != rest.npos) found.kernel = std::string(rest.substr(0, offset));
  const auto in = rest.find(" in ", offset == rest.npos ? 0 : offset);
  if (in == rest.npos) return found;
  auto where = rest.substr(in + 4);
  if (const auto blank = where.find(' '); blank != where.npos) where = where.substr(0, blank);
  if (auto place = parse_place(where)) found.place = *std::move(place);
  // Older versions put the kernel after the line: "at 0x90 in /path/candidate.cu:12:relu(float*)".
  if (found.kernel.empty()) {
    const auto whole = rest.substr(in + 4);
    const auto colon = whole.rfind(':');
    if (colon != whole.npos) found.kernel = std::string(whole.substr(colon + 1));
  }
  return found;
}

/// The error that is being read.
struct KernelError {
  std::string_view detail;
  std::string message;
  std::optional<KernelPlace> where;
};

void finish_error(std::optional<KernelError>& error, std::vector<SanitizerFinding>& findings) {
  if (error && error->where && origin_of_kernel(error->where->kernel) == KernelOrigin::Own) {
    const auto& [kernel, place] = *error->where;
    add(findings, error->detail, place,
        kernel.empty() ? error->message : fmt::format("{} in {}", error->message, function_of_kernel(kernel)));
  }
  error.reset();
}

/// Adds a line of the program's output to why it could not start: "... Error 304: OS call failed ...".
void read_driver_error(std::string_view line, std::string& reason) {
  // cuInit's CUDA_ERROR_OPERATING_SYSTEM. A kernel that runs cannot cause it.
  const auto at = line.find("Error 304: ");
  if (at == line.npos || contains(reason, "error 304")) return;
  const auto said = sanitize_line(trim(line.substr(at + std::string_view("Error ").size())), k_max_said);
  reason += fmt::format("{}CUDA error {}", reason.empty() ? "" : "; ", said);
}

}  // namespace

std::vector<SanitizerFinding> read_native_findings(std::string_view text, std::string_view source_name,
                                                   std::string_view artifact_name) {
  std::vector<SanitizerFinding> findings;
  std::optional<NativeReport> report;
  for (const auto line : split_lines(text)) {
    if (auto begun = begin_report(line)) {
      finish_report(report, findings);
      report = std::move(begun);
      continue;
    }
    if (read_runtime_error(line, source_name, findings) || !report) continue;
    const auto content = trim(line);
    if (content.starts_with('#')) {
      read_frame(content, source_name, artifact_name, *report);
    } else if (report->access.empty() && !report->place && contains(content, " of size ")) {
      // "Write of size 4 at 0x7b04 by thread T2:"; the address differs from run to run.
      report->access = std::string(content.substr(0, content.find(" at 0x")));
    }
    if (content.starts_with("SUMMARY: ")) finish_report(report, findings);
  }
  finish_report(report, findings);
  return findings;
}

ComputeSanitizerReport read_compute_sanitizer(std::string_view text) {
  constexpr std::string_view k_mark = "========= ";
  constexpr std::string_view k_never_began = "Target application terminated before first instrumented API call";
  ComputeSanitizerReport report;
  std::optional<KernelError> error;
  for (const auto whole : split_lines(text)) {
    if (!whole.starts_with(k_mark)) {
      read_driver_error(whole, report.not_started);
      continue;
    }
    const auto line = whole.substr(k_mark.size());
    if (contains(line, k_never_began) && report.not_started.empty()) report.not_started = k_never_began;
    const bool is_detail = line.starts_with(' ');
    if (contains(line, "ERROR SUMMARY:") || contains(line, "RACECHECK SUMMARY:")) report.is_complete = true;
    if (!is_detail) {
      finish_error(error, report.findings);
      if (const auto detail = detail_of(line)) {
        auto message = line.substr(0, line.find(" at "));
        if (constexpr std::string_view k_error = "Error: "; message.starts_with(k_error))
          message.remove_prefix(k_error.size());
        error = KernelError{*detail, std::string(trim(message)), {}};
      }
    }
    if (error && !error->where) error->where = parse_kernel_place(line);
  }
  finish_error(error, report.findings);
  return report;
}

std::string read_failure(std::string_view text) {
  const auto parsed = parse_json(text);
  const auto* object = parsed ? parsed->if_object() : nullptr;
  if (object == nullptr) return "its result cannot be read";
  const auto* failure = object->if_contains("failure");
  if (failure == nullptr) return {};
  const auto* message = failure->is_object() ? failure->get_object().if_contains("message") : nullptr;
  if (message == nullptr || !message->is_string()) return "its result cannot be read";
  return sanitize_line(std::string_view(message->get_string()), k_max_said);
}

Result<ShakenReport> read_shaken(std::string_view text) {
  const auto wrong = [](std::string_view why) {
    return Error{ErrorCode::Protocol, "cannot read what the shaken process wrote: " + std::string(why), {}};
  };
  const auto parsed = parse_json(text);
  const auto* object = parsed ? parsed->if_object() : nullptr;
  if (object == nullptr) return wrong("it is no JSON object");
  const auto text_of = [](const boost::json::object& from, std::string_view name) {
    const auto* value = from.if_contains(name);
    return value != nullptr && value->is_string() ? sanitize_line(std::string_view(value->get_string()), k_max_said)
                                                  : std::string();
  };
  const auto number_of = [&](std::string_view name) {
    const auto* value = object->if_contains(name);
    return value != nullptr && value->is_number() ? value->to_number<double>() : -1;
  };
  if (const auto* failure = object->if_contains("failure"); failure != nullptr && failure->is_object())
    return Error{ErrorCode::Unavailable, text_of(failure->get_object(), "message"), {}};
  ShakenReport report;
  report.skipped = text_of(*object, "skipped");
  if (!report.skipped.empty()) return report;
  const double calls = number_of("calls"), count = number_of("wrong"), worst = number_of("worst");
  if (!(calls >= 1 && count >= 0 && count <= calls && calls < 1e15)) return wrong("its numbers are impossible");
  if (count == 0) return report;
  add(report.findings, "unstable", Place{},
      fmt::format("{:.0f} of {:.0f} calls with equal inputs gave another {} than the first, by up to {:.3g} times what "
                  "calls may differ by: at other addresses, on other processors, beside other work",
                  count, calls, text_of(*object, "output"), worst));
  return report;
}

}  // namespace v0
}  // namespace kernelgen
