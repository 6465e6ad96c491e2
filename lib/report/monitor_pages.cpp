#include "report/monitor_pages.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "report/monitor_page.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::string_view k_text_type = "text/plain; charset=utf-8";
constexpr std::string_view k_json_type = "application/json";

struct PageFile {
  std::string_view path;
  std::string_view type;
  const std::string_view& text;
};
constexpr std::array<PageFile, 4> k_files{{{"/", "text/html; charset=utf-8", k_monitor_html},
                                           {"/monitor.html", "text/html; charset=utf-8", k_monitor_html},
                                           {"/monitor.css", "text/css; charset=utf-8", k_monitor_css},
                                           {"/monitor.js", "text/javascript; charset=utf-8", k_monitor_js}}};

PageAnswer make_answer(unsigned status, std::string_view type, std::string body) {
  return {.status = status,
          .headers = {{"Content-Type", std::string(type)},
                      {"Content-Security-Policy",
                       "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
                       "base-uri 'none'; "
                       "form-action 'none'; frame-ancestors 'none'"},
                      {"Cross-Origin-Resource-Policy", "same-origin"},
                      {"X-Content-Type-Options", "nosniff"},
                      {"X-Frame-Options", "DENY"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cache-Control", "no-store"}},
          .body = std::move(body)};
}

PageAnswer refuse(unsigned status, const std::string& message) {
  return make_answer(status, k_text_type, message + "\n");
}

/// The value of `name=` in the query of a target, decoded; nothing where it is missing or malformed.
std::optional<std::string> query_value(std::string_view query, std::string_view name) {
  for (const auto part : split(query, '&')) {
    const auto equals = part.find('=');
    if (equals != part.npos && part.substr(0, equals) == name) return percent_decode(part.substr(equals + 1));
  }
  return std::nullopt;
}

}  // namespace

bool is_loopback_host(std::string_view host) {
  std::string name(host.substr(0, host.starts_with('[') ? host.find(']') + 1 : host.find(':')));
  const auto port = host.substr(name.size());
  const bool is_port = port.empty() || (port.size() > 1 && port.front() == ':' &&
                                        std::all_of(port.begin() + 1, port.end(),
                                                    [](unsigned char byte) { return std::isdigit(byte) != 0; }));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char byte) { return std::tolower(byte); });
  return is_port && (name == "localhost" || name == "127.0.0.1" || name == "[::1]");
}

void MonitorPages::show(CampaignSnapshot snapshot) {
  auto json = monitor_json(snapshot);
  auto shown = std::make_shared<const Shown>(Shown{std::move(snapshot), std::move(json)});
  const std::scoped_lock lock(mutex_);
  shown_ = std::move(shown);
}

std::shared_ptr<const MonitorPages::Shown> MonitorPages::shown() const {
  const std::scoped_lock lock(mutex_);
  return shown_;
}

PageAnswer MonitorPages::answer(const PageRequest& request) const {
  if (request.host.empty() || !is_loopback_host(request.host))
    return refuse(403, "This page is for this machine: ask for localhost.");
  if (!request.is_read) {
    auto refusal = refuse(405, "This page can only be read.");
    refusal.headers.emplace_back("Allow", "GET, HEAD");
    return refusal;
  }
  const auto question = request.target.find('?');
  const auto path = request.target.substr(0, question);
  const auto query = question == request.target.npos ? std::string_view() : request.target.substr(question + 1);
  for (const auto& [name, type, text] : k_files)
    if (path == name) return make_answer(200, type, std::string(text));
  const auto now = shown();
  if (now != nullptr && path == "/campaign.json") return make_answer(200, k_json_type, now->json);
  if (now != nullptr && path == "/run.json") {
    const auto name = query_value(query, "name");
    const auto& runs = now->snapshot.runs;
    const auto run = std::find_if(runs.begin(), runs.end(), [&](const auto& one) { return name == one.name; });
    if (run != runs.end()) return make_answer(200, k_json_type, monitor_run_json(*run));
    return refuse(404, "No run has this name.");
  }
  return refuse(404, "There is nothing here.");
}

}  // namespace v0
}  // namespace kernelgen
