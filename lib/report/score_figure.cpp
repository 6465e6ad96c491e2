#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <kernelgen/report/report.hpp>

#include "report/layout.hpp"
#include "report/markup.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr double k_width = 800, k_height = 420;
constexpr double k_left = 64, k_right = 776, k_top = 64, k_bottom = 322;
/// Height of the marks of failures, below the axis of the scores.
constexpr double k_failed_row = 342;
constexpr double k_number_row = 370;
constexpr std::size_t k_max_heading = 60;
constexpr std::size_t k_max_hint = 200;

/// Escapes all markup, because a title may contain text of a model.
std::string escaped(std::string_view text, std::size_t max_bytes) {
  return escape_markup(sanitize_line(text, max_bytes));
}

/// 1, 2 or 5 times a power of ten, so that about `steps` of them make `range`.
double tick_step(double range, double steps) {
  const double power = std::pow(10, std::floor(std::log10(range / steps)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power * steps >= range * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

/// Maps numbers of actions and scores to coordinates.
struct Scale {
  int first = 1;
  int last = 1;
  double top = 1;
  double step = 1;

  [[nodiscard]] double x(double number) const {
    // Half an action of room on either side; a single action is in the middle.
    return k_left + (number - first + 0.5) / (last - first + 1) * (k_right - k_left);
  }
  [[nodiscard]] double y(double score) const { return k_bottom - score / top * (k_bottom - k_top); }
};

Scale scale_of(const RunReport& run) {
  Scale scale;
  double highest = 1;
  if (!run.attempts.empty()) {
    scale.first = run.attempts.front().number;
    scale.last = run.attempts.back().number;
  }
  for (const auto& attempt : run.attempts) highest = std::max(highest, attempt.score.value_or(0));
  constexpr double k_headroom = 1.1, k_ticks = 5;
  scale.step = tick_step(highest * k_headroom, k_ticks);
  scale.top = std::ceil(highest * k_headroom / scale.step) * scale.step;
  return scale;
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view content) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, content);
}

std::string line_at(double x1, double y1, double x2, double y2, std::string_view style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1, x2, y2,
                     style);
}

std::string axes(const Scale& scale) {
  std::string text;
  const int ticks = static_cast<int>(std::lround(scale.top / scale.step));
  for (int i = 0; i <= ticks; ++i) {
    const double score = i * scale.step, y = scale.y(score);
    text += line_at(k_left, y, k_right, y, i == 0 ? "axis" : "grid");
    text += text_at(k_left - 8, y + 4, "end", fmt::format("{:.6g}", score));
  }
  const double range = std::max(scale.last - scale.first, 1);
  const int step = std::max(1, static_cast<int>(std::lround(tick_step(range, 15))));
  for (int number = scale.first; number <= scale.last; ++number)
    if (number % step == 0 || scale.first == scale.last)
      text += text_at(scale.x(number), k_number_row, "middle", std::to_string(number));
  text += text_at((k_left + k_right) / 2, k_number_row + 22, "middle", "action number");
  text += text_at(k_left - 8, k_failed_row + 4, "end", "failed");
  text += fmt::format("<text transform=\"translate(18 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                      (k_top + k_bottom) / 2, "score (times the reference)");
  return text + line_at(k_left, scale.y(1), k_right, scale.y(1), "one");
}

/// Drawn last and with an outline, because lines may cross it.
std::string reference_note(const Scale& scale) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\" class=\"note\">1x: the reference</text>\n",
                     k_right, scale.y(1) - 5);
}

std::string best_line(const RunReport& run, const Scale& scale) {
  std::string path;
  double best = 0;
  for (const auto& attempt : run.attempts) {
    if (!attempt.score || *attempt.score <= best) continue;
    const double x = scale.x(attempt.number);
    path += path.empty() ? fmt::format("M{:.1f} {:.1f}", x, scale.y(*attempt.score))
                         : fmt::format(" H{:.1f} V{:.1f}", x, scale.y(*attempt.score));
    best = *attempt.score;
  }
  if (path.empty()) return "";
  return fmt::format("<path d=\"{} H{:.1f}\" class=\"best\"/>\n", path, scale.x(scale.last + 0.5));
}

std::string circle(double x, double y, std::string_view style, const std::string& hint) {
  return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" class=\"{}\">{}</circle>\n", x, y, style, hint);
}

std::string cross(double x, double y, const std::string& hint) {
  return fmt::format("<path d=\"M{:.1f} {:.1f} l8 8 m-8 0 l8 -8\" class=\"failed\">{}</path>\n", x - 4, y - 4, hint);
}

std::string marks(const RunReport& run, const Scale& scale) {
  std::string text;
  for (const auto& attempt : run.attempts) {
    const std::string hint = "<title>" +
                             escaped(fmt::format("{} {}: {} {}", attempt.number, attempt.id, attempt.result_class,
                                                 score_text(attempt.score)),
                                     k_max_hint) +
                             "</title>";
    const double x = scale.x(attempt.number);
    if (attempt.score)
      text += circle(x, scale.y(*attempt.score), "scored", hint);
    else if (attempt.failed())
      text += cross(x, k_failed_row, hint);
    else if (attempt.status && *attempt.status != ActionStatus::Analyzed)
      text += circle(x, scale.y(0), "unscored", hint);
  }
  return text;
}

std::string legend() {
  constexpr double k_row = 46;
  return circle(k_left + 6, k_row - 4, "scored", "") + text_at(k_left + 16, k_row, "start", "correct") +
         line_at(k_left + 84, k_row - 4, k_left + 108, k_row - 4, "best") +
         text_at(k_left + 114, k_row, "start", "best so far") + cross(k_left + 206, k_row - 4, "") +
         text_at(k_left + 216, k_row, "start", "failed") + circle(k_left + 280, k_row - 4, "unscored", "") +
         text_at(k_left + 290, k_row, "start", "correct, no time that counts");
}

std::string title_of(const RunReport& run) {
  std::string title = sanitize_line(run.name.empty() ? run.task : run.task + '/' + run.name, k_max_heading);
  if (run.best) title += ": " + score_text(run.best->score ? std::optional(run.best->score->value) : std::nullopt);
  return title + " (" + std::string(to_string(run.status)) + ')';
}

constexpr std::string_view k_style = R"(<style>
text { font: 13px sans-serif; fill: #222 }
.title { font-size: 16px; font-weight: bold }
.axis { stroke: #222 }
.note { paint-order: stroke; stroke: #fff; stroke-width: 4px }
.grid { stroke: #ddd }
.one { stroke: #777; stroke-dasharray: 5 4 }
.best { stroke: #1b6ca8; stroke-width: 2; fill: none }
.scored { fill: #1b6ca8; stroke: #fff }
.unscored { fill: #fff; stroke: #1b6ca8; stroke-width: 1.5 }
.failed { stroke: #b3261e; stroke-width: 2; fill: none }
</style>
)";

}  // namespace

std::string score_figure(const RunReport& run) {
  const auto scale = scale_of(run);
  std::string text =
      fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n",
                  k_width, k_height);
  text += std::string(k_style) + "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  text +=
      fmt::format("<text x=\"{}\" y=\"24\" class=\"title\">{}</text>\n", k_left, escaped(title_of(run), k_max_hint));
  text += legend() + axes(scale) + best_line(run, scale) + marks(run, scale) + reference_note(scale);
  if (run.attempts.empty())
    text += text_at((k_left + k_right) / 2, (k_top + k_bottom) / 2, "middle", "nothing has been tried yet");
  return text + "</svg>\n";
}

}  // namespace v0
}  // namespace kernelgen
