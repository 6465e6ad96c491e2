#include "render_spool.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "layout.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"

namespace kernelgen::cli {
namespace {

/// Longer lists are counted: a spool may hold thousands of requests.
constexpr std::size_t k_shown_rows = 20;
constexpr std::size_t k_shown_name = 200;

std::string count_of(std::size_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string describe_worker(const SpoolWorkerStatus& worker) {
  return fmt::format("{} (process {}), kernelgen {}, {} at a time", worker.host, worker.pid, worker.kernelgen_version,
                     count_of(static_cast<std::size_t>(std::max(worker.jobs, 0)), "request", "requests"));
}

/// A list of rows of one kind.
class Rows {
 public:
  Rows(std::string& text, std::size_t width) : text_(text), width_(width) {}

  void add(std::string_view kind, std::string_view what) {
    constexpr std::size_t k_indent = 11;
    const auto clean = sanitize_line(what, 2 * k_shown_name);
    for (const auto& line : wrap(clean, width_ > 3 * k_indent ? width_ - k_indent : 0)) {
      text_ += fmt::format("{:<{}}{}\n", kind, k_indent, line);
      kind = "";
    }
  }

  template <class Item, class Describe>
  void add_all(std::string_view kind, const std::vector<Item>& items, Describe describe) {
    for (std::size_t i = 0; i < std::min(items.size(), k_shown_rows); ++i) add(kind, describe(items[i]));
    if (items.size() > k_shown_rows) add(kind, fmt::format("and {} more", items.size() - k_shown_rows));
  }

 private:
  std::string& text_;
  std::size_t width_;
};

boost::json::array to_json_array(const std::vector<SpoolWorkerStatus>& workers) {
  boost::json::array list;
  for (const auto& worker : workers)
    list.push_back({{"host", worker.host},
                    {"pid", worker.pid},
                    {"kernelgen_version", worker.kernelgen_version},
                    {"jobs", worker.jobs},
                    {"serving_ms", worker.serving.count()},
                    {"silent_ms", worker.silent.count()}});
  return list;
}

boost::json::array to_json_array(const std::vector<SpoolRequestStatus>& requests) {
  boost::json::array list;
  for (const auto& request : requests)
    list.push_back({{"id", request.id}, {"holder", request.holder}, {"age_ms", request.age.count()}});
  return list;
}

}  // namespace

std::string render_spool_status(const std::string& directory, const SpoolStatus& status, const RenderOptions& options) {
  const auto headline = fmt::format(
      "{}, {}, {} being judged, {} answered",
      status.workers.empty() ? "no worker" : count_of(status.workers.size(), "worker", "workers"),
      count_of(status.waiting.size(), "request waits", "requests wait"), status.judged.size(), status.answered);
  std::string text = colored(headline, status.workers.empty() ? k_yellow : k_green, options.color) + '\n';
  Rows rows(text, options.width);
  rows.add_all("worker", status.workers, [](const auto& worker) {
    return describe_worker(worker) + ", serves for " + format_duration(worker.serving);
  });
  rows.add_all("dead", status.dead_workers, [](const auto& worker) {
    return describe_worker(worker) + ", no heartbeat for " + format_duration(worker.silent);
  });
  rows.add_all("judged", status.judged, [](const auto& request) {
    return fmt::format("{} by {} for {}", request.id, request.holder, format_duration(request.age));
  });
  rows.add_all("abandoned", status.abandoned, [](const auto& request) {
    return fmt::format("{} by {}, no heartbeat for {}; the next worker takes it", request.id, request.holder,
                       format_duration(request.age));
  });
  rows.add_all("waits", status.waiting,
               [](const auto& request) { return request.id + " for " + format_duration(request.age); });
  rows.add_all("leftover", status.leftovers, [](const auto& name) { return name + "; a worker removes it"; });
  if (status.workers.empty()) rows.add("start one", "kgen worker --spool " + directory);
  return text;
}

std::string spool_status_to_json(const std::string& directory, const SpoolStatus& status) {
  return to_pretty_json(boost::json::object{{"directory", directory},
                                            {"workers", to_json_array(status.workers)},
                                            {"dead_workers", to_json_array(status.dead_workers)},
                                            {"waiting", to_json_array(status.waiting)},
                                            {"judged", to_json_array(status.judged)},
                                            {"abandoned", to_json_array(status.abandoned)},
                                            {"answered", status.answered},
                                            {"leftovers", boost::json::value_from(status.leftovers)}});
}

}  // namespace kernelgen::cli
