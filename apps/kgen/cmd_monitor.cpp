#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <ostream>
#include <utility>

#include <kernelgen/bench/spool.hpp>
#include <kernelgen/report/monitor.hpp>
#include <kernelgen/report/monitor_server.hpp>

#include "commands.hpp"
#include "monitor_frame.hpp"
#include "monitor_view.hpp"
#include "support/try.hpp"
#include "terminal_screen.hpp"

namespace kernelgen::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct MonitorOptions {
  std::string directory = "results";
  std::string spool;
  std::optional<int> port;
  double interval = 1;
  bool json = false;
};

/// Reads everything that is there now. A large campaign takes several calls.
CampaignSnapshot read_whole(CampaignReader& reader, const std::stop_token& stop) {
  auto snapshot = reader.poll();
  while (snapshot.unread_bytes > 0 && !stop.stop_requested()) snapshot = reader.poll();
  return snapshot;
}

Result<ExitCode> print_once(const MonitorOptions& options, CampaignReader& reader, Context& context) {
  const auto snapshot = read_whole(reader, context.stop);
  if (!snapshot.problem.empty() && snapshot.runs.empty()) return Error{ErrorCode::InvalidArgument, snapshot.problem};
  const auto& terminal = context.out_terminal;
  context.out << (options.json ? monitor_json(snapshot) + '\n'
                               : render_snapshot(snapshot, terminal.interactive ? terminal.width : 0));
  return ExitCode::Success;
}

/// The monitor on a terminal, until a key or a signal ends it.
class Session {
 public:
  Session(const MonitorOptions& options, CampaignReader& reader, TerminalScreen& screen, Context& context)
      : interval_(static_cast<milliseconds::rep>(options.interval * 1000)),
        reader_(reader),
        screen_(screen),
        context_(context) {}

  Result<ExitCode> run() {
    // A resized terminal is redrawn within this time.
    constexpr milliseconds k_longest_wait{250};
    while (true) {
      if (steady_clock::now() >= next_poll_) poll();
      KERNELGEN_CHECK(screen_.show(render_frame(snapshot_, view_, screen_.size())));
      const auto left = std::chrono::duration_cast<milliseconds>(next_poll_ - steady_clock::now());
      const auto bytes =
          screen_.read(std::clamp(left + milliseconds{1}, milliseconds{0}, k_longest_wait), context_.stop);
      if (!bytes && bytes.error().code == ErrorCode::Cancelled) return ExitCode::Interrupted;
      KERNELGEN_CHECK(bytes);
      for (const auto& key : parse_keys(*bytes)) {
        KERNELGEN_TRY(const auto end, press(key));
        if (end) return *end;
      }
    }
  }

 private:
  void poll() {
    snapshot_ = reader_.poll();
    // The rest of the journals is read without a pause, but keys are looked at in between.
    next_poll_ = steady_clock::now() + (snapshot_.unread_bytes > 0 ? milliseconds{0} : interval_);
  }

  Result<std::optional<ExitCode>> press(const Key& key) {
    switch (apply_key(view_, key, snapshot_, page_lines_of(snapshot_, screen_.size()))) {
      case MonitorRequest::None:
        break;
      case MonitorRequest::Quit:
        return std::optional(ExitCode::Success);
      case MonitorRequest::Interrupt:
        return std::optional(ExitCode::Interrupted);
      case MonitorRequest::Suspend:
        KERNELGEN_CHECK(screen_.suspend());
        break;
      case MonitorRequest::Redraw:
        screen_.forget();
        break;
    }
    return std::optional<ExitCode>();
  }

  const milliseconds interval_;
  CampaignReader& reader_;
  TerminalScreen& screen_;
  Context& context_;
  CampaignSnapshot snapshot_;
  MonitorView view_;
  steady_clock::time_point next_poll_ = steady_clock::now();
};

Result<ExitCode> serve(const MonitorOptions& options, CampaignReader& reader, Context& context) {
  KERNELGEN_CHECK(
      serve_monitor(reader,
                    {.port = static_cast<std::uint16_t>(*options.port),
                     .interval = milliseconds(static_cast<milliseconds::rep>(options.interval * 1000)),
                     .ready =
                         [&](std::uint16_t port) {
                           (context.out << fmt::format("http://localhost:{}/  (Ctrl-C ends it)\n", port)).flush();
                         }},
                    context.stop));
  return ExitCode::Interrupted;
}

Result<ExitCode> run(const MonitorOptions& options, Context& context) {
  if (options.port && options.json)
    return Error{ErrorCode::InvalidArgument,
                 "--serve and --json exclude each other: the page's data is /campaign.json"};
  if (!options.spool.empty()) {
    KERNELGEN_TRY([[maybe_unused]] const auto spool, inspect_spool(options.spool).context("--spool"));
  }
  const auto reader = make_campaign_reader({.directory = options.directory, .spool = options.spool});
  if (options.port) return serve(options, *reader, context);
  const bool is_live = context.out_terminal.interactive && ::isatty(STDIN_FILENO) == 1 && !options.json;
  if (!is_live) return print_once(options, *reader, context);
  KERNELGEN_TRY(const auto screen, TerminalScreen::open(STDIN_FILENO, STDOUT_FILENO,
                                                        context.out_terminal.color ? TerminalScreen::Colors::Yes
                                                                                   : TerminalScreen::Colors::No));
  return Session(options, *reader, *screen, context).run();
}

}  // namespace

Command make_monitor_command(Context& context) {
  const auto options = std::make_shared<MonitorOptions>();
  constexpr double k_least_interval = 0.1;
  return {.name = "monitor",
          .summary = "Watch a campaign, in the terminal or as a web page",
          .options = {{.name = "directory",
                       .value_name = "DIR",
                       .help = "The results directory, or that of a run; it may appear later",
                       .value = values::directory(options->directory)},
                      {.name = "--serve",
                       .value_name = "[PORT]",
                       .implied_value = "8765",
                       .help = "Serve a web page on this machine, at port 8765 or this one; 0: one that is free",
                       .value = values::whole_number(options->port, {0, 65535})},
                      {.name = "--spool",
                       .value_name = "DIR",
                       .help = "Show the workers of this spool directory, too",
                       .value = values::directory(options->spool)},
                      {.name = "--interval",
                       .value_name = "SECONDS",
                       .help = "Time between two looks at the journals",
                       .value = values::seconds(options->interval, k_least_interval)},
                      {.name = "--json",
                       .help = "Print what is known now as JSON, and end",
                       .value = values::flag(options->json)}},
          .run = [options, &context] { return run(*options, context); }};
}

}  // namespace kernelgen::cli
