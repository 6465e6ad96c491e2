// Measures a whole campaign: `kgen batch` in this process, with real journals, files and reports, a model that answers
// after some seconds, and devices that are occupied for a while by each evaluation. Prints tables; asserts nothing.
//
//   campaign SOURCE_DIR [name=value ...]
//
// The numbers, with their defaults: tasks=250 attempts=10 reply_ms=2000 devices=4 evaluation_ms=200 parallel_tasks=16,
// and copies=1: so often each journal is repeated after the campaign, so that it becomes long. Runs that begin anew
// have such journals.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>

#include <kernelgen/report/report.hpp>
#include <kernelgen/task/task_source.hpp>

#include "commands.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

template <class T>
T need(Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "%s\n", result.error().to_line().c_str());
  std::exit(1);
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// The largest memory of this process so far, in MB.
double peak_megabytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// A count of devices, and how long they are idle while candidates wait for one. A candidate waits from its reply on,
/// so that the time in which the reply is journaled and read counts.
class Devices {
 public:
  explicit Devices(int count) : count_(count) {}

  void note_candidate() {
    const std::scoped_lock lock(mutex_);
    advance();
    ++waiting_;
  }

  void occupy(std::chrono::milliseconds time) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return busy_ < count_; });
      advance();
      --waiting_;
      ++busy_;
    }
    std::this_thread::sleep_for(time);
    const std::scoped_lock lock(mutex_);
    advance();
    --busy_;
    changed_.notify_one();
  }

  /// Fraction of the time of all devices in which one was idle although a candidate waited.
  [[nodiscard]] double idle_fraction() {
    const std::scoped_lock lock(mutex_);
    advance();
    return idle_seconds_ / (seconds_since(start_) * count_);
  }

 private:
  void advance() {
    const auto now = Clock::now();
    idle_seconds_ += std::chrono::duration<double>(now - last_).count() * std::min(waiting_, count_ - busy_);
    last_ = now;
  }

  const int count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  int busy_ = 0;
  double idle_seconds_ = 0;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

/// Answers with a kernel of its own for each request.
class SlowModel final : public LLMClient {
 public:
  SlowModel(Devices& devices, std::string kernel, std::chrono::milliseconds time)
      : devices_(devices), kernel_(std::move(kernel)), time_(time) {}
  Result<Reply> complete(const LLMRequest& request, std::stop_token) override {
    std::this_thread::sleep_for(time_);
    Reply reply;
    reply.text = "```cpp\n// " + request.id + '\n' + kernel_ + "\n```\n";
    reply.usage.input_tokens = 2000;
    reply.usage.output_tokens = 500;
    devices_.note_candidate();
    return reply;
  }
  [[nodiscard]] std::string identity() const override { return "scripted"; }

 private:
  Devices& devices_;
  const std::string kernel_;
  const std::chrono::milliseconds time_;
};

/// Gives every candidate the same verdict after some time on a device.
class SlowDevices final : public Benchmarker {
 public:
  SlowDevices(Devices& devices, const EvaluationRecord& record, std::chrono::milliseconds time)
      : devices_(devices), record_(record), time_(time) {}
  Result<EvaluationRecord> evaluate(const EvaluationRequest& request, const ProgressCallback&,
                                    std::stop_token) override {
    devices_.occupy(time_);
    auto record = record_;
    record.task_name = request.task.name;
    record.candidate_id = request.candidate.id;
    return record;
  }
  Result<TaskDescription> describe(const TaskSource& task, const EvaluationOptions& options, std::stop_token) override {
    TaskDescription description;
    description.name = task.name;
    description.content_id = task.content_id;
    description.precision = options.precision;
    return description;
  }

 private:
  Devices& devices_;
  const EvaluationRecord& record_;
  const std::chrono::milliseconds time_;
};

class NoPrograms final : public ProcessRunner {
 public:
  Result<ProcessOutcome> run(const ProcessRequest& request, std::stop_token) override {
    return Error{ErrorCode::MissingTool, request.command.front() + " is not installed"};
  }
};

using Numbers = std::map<std::string, int>;

struct World {
  fs::path source;
  fs::path root;
  Numbers numbers;
  EvaluationRecord record;
  std::string kernel;

  [[nodiscard]] fs::path results() const { return root / "results"; }
  [[nodiscard]] std::chrono::milliseconds ms(const char* name) const {
    return std::chrono::milliseconds(numbers.at(name));
  }
};

/// Runs `kgen batch` until its end.
void run_batch(const World& world, Devices& devices) {
  NoPrograms programs;
  std::ostringstream out, err;
  cli::Context context{
      .environment = {},
      .out = out,
      .err = err,
      .out_terminal = {},
      .err_terminal = {},
      .make_benchmarker = [&](WorkerBenchmarkerOptions) -> Result<std::unique_ptr<Benchmarker>> {
        return std::unique_ptr<Benchmarker>(
            std::make_unique<SlowDevices>(devices, world.record, world.ms("evaluation_ms")));
      },
      .find_installation = find_installation,
      .make_llm = [&](std::string_view, Waiting, ReplayMode) -> Result<std::unique_ptr<LLMClient>> {
        return std::unique_ptr<LLMClient>(std::make_unique<SlowModel>(devices, world.kernel, world.ms("reply_ms")));
      },
      .processes = programs,
      .stop = {}};
  context.environment.cache_dir = (world.root / "cache").string();
  const auto text = [&](const char* name) { return std::to_string(world.numbers.at(name)); };
  const int code = cli::run_kgen(
      {"batch", (world.root / "tasks").string(), "--target", "cpp", "--llm", "scripted:", "--results",
       world.results().string(), "--policy", "one-shot", "--samples", text("attempts"), "--parallel-tasks",
       text("parallel_tasks"), "--parallel-evaluations", text("devices"), "--max-requests", "1000000000"},
      context);
  if (code == 2) return;  // no kernel is correct
  std::fprintf(stderr, "kgen batch ended with %d: %s\n", code, err.str().c_str());
  std::exit(1);
}

void print(const char* what, double value, const char* goal = "") {
  std::printf("%-58s %10.2f   %s\n", what, value, goal);
}

void measure_campaign(const World& world) {
  const int attempts = world.numbers.at("tasks") * world.numbers.at("attempts");
  const double before = processor_seconds();
  const auto start = Clock::now();
  Devices devices(world.numbers.at("devices"));
  run_batch(world, devices);
  print("attempts", attempts);
  print("wall time, s", seconds_since(start));
  print("processor time per 100 attempts, s", (processor_seconds() - before) / attempts * 100, "1");
  print("devices idle while candidates wait, % of their time", devices.idle_fraction() * 100, "5");
  print("peak memory, MB", peak_megabytes(), "300");
}

/// Repeats the journals, and prints how long they are.
void lengthen_journals(const World& world) {
  double bytes = 0, events = 0;
  for (const auto& entry : fs::recursive_directory_iterator(world.results())) {
    if (entry.path().filename() != "events.jsonl") continue;
    const auto text = read(entry.path());
    std::ofstream file(entry.path(), std::ios::app | std::ios::binary);
    for (int copy = 1; copy < world.numbers.at("copies"); ++copy) file << text;
    bytes += static_cast<double>(text.size()) * world.numbers.at("copies");
    events += static_cast<double>(std::count(text.begin(), text.end(), '\n')) * world.numbers.at("copies");
  }
  print("events", events);
  print("journals, MB", bytes / 1e6);
}

template <class Work>
void measure(const char* what, const char* goal, const Work& work) {
  const double before = processor_seconds();
  work();
  print(what, processor_seconds() - before, goal);
}

void measure_reading(const World& world) {
  const auto report = [&] {
    if (const auto written = write_reports(world.results()); written) return;
    std::fprintf(stderr, "no reports\n");
    std::exit(1);
  };
  measure("reports from the journals, processor time, s", "", report);
  measure("reports again, processor time, s", "2", report);
  measure("the campaign again, which is over, processor time, s", "", [&] {
    Devices devices(1);
    run_batch(world, devices);
  });
  print("peak memory, MB", peak_megabytes(), "300");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 64;
  World world{.source = argv[1],
              .root = fs::temp_directory_path() / "kernelgen-bench-campaign",
              .numbers = {{"tasks", 250},
                          {"attempts", 10},
                          {"reply_ms", 2000},
                          {"devices", 4},
                          {"evaluation_ms", 200},
                          {"parallel_tasks", 16},
                          {"copies", 1}},
              .record = {},
              .kernel = {}};
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    const auto equal = word.find('=');
    const auto found = world.numbers.find(word.substr(0, equal));
    if (equal == word.npos || found == world.numbers.end()) return 64;
    found->second = std::atoi(word.c_str() + equal + 1);
  }
  world.record = need(parse_record(read(world.source / "examples/records/relu.json")));
  world.record.outcome = {OutcomeKind::Accuracy, "mismatch", "output: 2302 of 2304 elements are wrong"};
  world.kernel = read(world.source / "examples/kernels/relu.cpp");
  fs::remove_all(world.root);
  fs::create_directories(world.root / "tasks");
  for (int i = 1; i <= world.numbers["tasks"]; ++i)
    fs::copy_file(world.source / "examples/tasks/relu.py", world.root / "tasks" / (std::to_string(i) + "_task.py"));
  std::printf("%-58s %10s   %s\n", "what", "measured", "goal at most");
  measure_campaign(world);
  lengthen_journals(world);
  measure_reading(world);
  fs::remove_all(world.root);
  return 0;
}
