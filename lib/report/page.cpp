#include "report/page.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "support/base64.hpp"
#include "support/files.hpp"
#include "support/sha256.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

/// In the order in which the page needs them.
constexpr std::array k_scripts{"before_libraries.js",
                               "third_party/chart.min.js",
                               "third_party/prism-core.min.js",
                               "third_party/prism-clike.min.js",
                               "third_party/prism-c.min.js",
                               "third_party/prism-cpp.min.js",
                               "third_party/prism-python.min.js",
                               "third_party/diff.js",
                               "elements.js",
                               "table.js",
                               "charts.js",
                               "code.js",
                               "overview.js",
                               "verdict.js",
                               "task.js",
                               "compare.js",
                               "main.js"};

Result<std::string> read_part(const fs::path& parts, const char* name) {
  return read_file(parts / name).context("the page's part " + std::string(name));
}

/// The source of a policy that permits one inline text.
std::string hash_source(std::string_view text) {
  Sha256 hash;
  hash.update(text);
  const auto digest = hash.finish();
  return "'sha256-" + to_base64({reinterpret_cast<const char*>(digest.data()), digest.size()}) + '\'';
}

/// Replaces the only occurrence of a mark. The inserted text may hold marks; they are not looked at.
Result<void> append_until(std::string_view mark, std::string_view& rest, std::string& page) {
  const auto place = rest.find(mark);
  if (place == rest.npos) return Error{ErrorCode::NotFound, "page.html lacks " + std::string(mark)};
  page += rest.substr(0, place);
  rest.remove_prefix(place + mark.size());
  return {};
}

}  // namespace

std::string json_for_script(const boost::json::value& data) {
  const auto text = to_utf8(boost::json::serialize(data));
  std::string safe;
  safe.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') {
      safe += "\\u003c";
    } else if (text.compare(i, 3, "\u2028") == 0 || text.compare(i, 3, "\u2029") == 0) {
      safe += text[i + 2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      safe += text[i];
    }
  }
  return safe;
}

Result<std::string> make_page(const boost::json::value& data, const std::vector<std::string>& details,
                              const fs::path& parts) {
  KERNELGEN_TRY(const auto frame, read_part(parts, "page.html"));
  KERNELGEN_TRY(const auto style, read_part(parts, "style.css"));
  std::string script;
  for (const char* name : k_scripts) {
    KERNELGEN_TRY(const auto text, read_part(parts, name));
    script += text + '\n';
  }
  std::string page;
  std::string_view rest = frame;
  KERNELGEN_CHECK(append_until("@policy@", rest, page));
  page += "default-src 'none'; script-src " + hash_source(script) + "; style-src " + hash_source(style) +
          "; img-src data:; base-uri 'none'; form-action 'none'";
  KERNELGEN_CHECK(append_until("@style@", rest, page));
  page += style;
  KERNELGEN_CHECK(append_until("@data@", rest, page));
  page += "<script type=\"application/json\" id=\"data\">" + json_for_script(data) + "</script>\n";
  for (std::size_t i = 0; i < details.size(); ++i)
    if (!details[i].empty())
      page += "<script type=\"text/plain\" id=\"details-" + std::to_string(i) + "\">" + details[i] + "</script>\n";
  KERNELGEN_CHECK(append_until("@script@", rest, page));
  page += script;
  page += rest;
  return page;
}

Result<std::string> report_page(const std::vector<RunReport>& runs, const std::vector<std::string>& details,
                                const fs::path& results_directory, const fs::path& parts) {
  std::error_code ignored;
  // "results/." and "results/" have no file name.
  const auto absolute = fs::weakly_canonical(results_directory, ignored);
  return make_page(report_page_data(runs, absolute.filename().string()), details, parts);
}

}  // namespace v0
}  // namespace kernelgen
