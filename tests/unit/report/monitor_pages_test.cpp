#include "report/monitor_pages.hpp"

#include <algorithm>
#include <string>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

PageAnswer ask(const MonitorPages& pages, std::string_view target, std::string_view host = "localhost:8765") {
  return pages.answer({.is_read = true, .host = host, .target = target});
}

std::string header(const PageAnswer& answer, const std::string& name) {
  const auto found =
      std::find_if(answer.headers.begin(), answer.headers.end(), [&](const auto& one) { return one.first == name; });
  return found == answer.headers.end() ? "" : found->second;
}

CampaignSnapshot hostile_snapshot() {
  CampaignSnapshot snapshot{.directory = "results"};
  snapshot.runs.push_back({.name = "<script>alert(1)</script>", .target = "cpp", .model = "a & \"b\""});
  snapshot.runs.back().attempts.push_back({.number = 1, .id = "seed1", .result_class = "</td>", .message = "\xff"});
  return snapshot;
}

}  // namespace

TEST_CASE("the monitor's server answers this machine's own pages only", "[report][monitor]") {
  for (const char* host : {"localhost", "localhost:1", "LOCALHOST:8765", "127.0.0.1:80", "[::1]:80", "[::1]"})
    CHECK(is_loopback_host(host));
  for (const char* host : {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "localhost:",
                           "localhost:8o", "localhost:80:80", "localhost evil", "127.0.0.2", "[::1", "[::2]:80", ":80"})
    CHECK_FALSE(is_loopback_host(host));
  MonitorPages pages;
  CHECK(ask(pages, "/", "evil.example").status == 403);
  CHECK(ask(pages, "/", "").status == 403);
}

TEST_CASE("the monitor's server knows its few pages and no file besides", "[report][monitor]") {
  MonitorPages pages;
  CHECK(ask(pages, "/campaign.json").status == 404);
  pages.show({.directory = "results"});
  for (const char* path : {"/", "/monitor.html", "/monitor.css", "/monitor.js", "/campaign.json", "/campaign.json?x=1"})
    CHECK(ask(pages, path).status == 200);
  for (const char* path : {"", "//", "/../monitor.html", "/%2e%2e/etc/passwd", "/etc/passwd", "monitor.html",
                           "/monitor.html/..", "/run.json", "/run.json?name=gone", "/run.json?name=%zz", "*"})
    CHECK(ask(pages, path).status == 404);
  const auto refused = pages.answer({.is_read = false, .host = "localhost", .target = "/"});
  CHECK(refused.status == 405);
  CHECK(header(refused, "Allow") == "GET, HEAD");
  CHECK(header(ask(pages, "/"), "Content-Security-Policy").find("default-src 'none'; script-src 'self'") == 0);
  CHECK(header(ask(pages, "/monitor.js"), "X-Content-Type-Options") == "nosniff");
}

TEST_CASE("the page names no other site, and has no code in its markup", "[report][monitor]") {
  MonitorPages pages;
  for (const char* path : {"/", "/monitor.css", "/monitor.js"}) {
    const auto text = ask(pages, path).body;
    CHECK(text.find("://") == std::string::npos);
    for (const char* sink :
         {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", " style=", " onclick="})
      CHECK(text.find(sink) == std::string::npos);
  }
}

TEST_CASE("hostile names reach the page as JSON text", "[report][monitor]") {
  MonitorPages pages;
  pages.show(hostile_snapshot());
  CHECK(header(ask(pages, "/campaign.json"), "Content-Type") == "application/json");
  CHECK(ask(pages, "/campaign.json").body.find(R"("name":"<script>alert(1)</script>")") != std::string::npos);
  const auto run = ask(pages, "/run.json?name=%3Cscript%3Ealert(1)%3C%2Fscript%3E");
  CHECK(run.status == 200);
  CHECK(run.body.find("\"class\":\"</td>\"") != std::string::npos);
  CHECK(run.body.find("\xEF\xBF\xBD") != std::string::npos);
}
