// Measures the cost of an evaluation beyond the compiler, the kernel and the reference. Prints a table; asserts
// nothing, because times depend on the machine and its other work.
//
//   overhead [REPETITIONS]     run it from anywhere; KGEN_PYTHON names the Python with torch
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/exec/process.hpp>
#include <kernelgen/task/task_source.hpp>
#include "bench/statistics.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;
using Samples = std::vector<double>;

constexpr double k_beat_ms = 250;  // of crash_on_the_beat.cpp
constexpr int k_threads = 1;       // the machine's other cores stay free for the judge

double since(Clock::time_point start) { return Milliseconds(Clock::now() - start).count(); }

std::string read(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

kernelgen::EvaluationRequest request(const std::string& task, const std::string& kernel) {
  kernelgen::EvaluationRequest result;
  result.task = kernelgen::load_task_source(KERNELGEN_BENCH_DIR "/tasks/" + task + ".py", {}).value();
  result.candidate =
      kernelgen::make_candidate(kernelgen::Target::Cpp, read(KERNELGEN_BENCH_DIR "/kernels/" + kernel + ".cpp"));
  result.options.threads = k_threads;
  return result;
}

double phase(const kernelgen::EvaluationRecord& record, const std::string& name) {
  double total = 0;
  for (const auto& each : record.phases)
    if (each.name == name) total += each.milliseconds;
  return total;
}

/// Time inside the candidate and the reference, as far as there are samples.
double work(const kernelgen::EvaluationRecord& record) {
  double total = 0;
  if (!record.timing) return total;
  const auto& timing = *record.timing;
  for (const auto* samples : {&timing.reference_alone_before_ns, &timing.reference_ns, &timing.candidate_ns,
                              &timing.reference_alone_after_ns})
    total += std::accumulate(samples->begin(), samples->end(), 0.0) / 1e6;
  return total;
}

/// Milliseconds from the beginning of an evaluation until its candidate could be called.
double until_loaded(const kernelgen::EvaluationRecord& record) {
  double total = 0;
  for (const auto& phase : record.phases) {
    total += phase.milliseconds;
    if (phase.name == "load") break;
  }
  return total;
}

void print(const char* what, Samples samples, const char* unit, const char* goal) {
  if (samples.empty()) return;
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    return samples[std::min(samples.size() - 1, static_cast<std::size_t>(share * static_cast<double>(samples.size())))];
  };
  std::printf("%-58s %9.2f %9.2f %-3s %5zu  %s\n", what, at(0.5), at(0.95), unit, samples.size(), goal);
  std::fflush(stdout);
}

class Bench {
 public:
  Bench(kernelgen::Benchmarker& benchmarker, int repetitions) : benchmarker_(benchmarker), repetitions_(repetitions) {}

  void overhead() {
    const auto small = request("small_relu", "small_relu");
    (void)evaluate(small);  // compiles, admits, starts the warm processes
    Samples beyond, machinery, wall, pairs, per_pair;
    std::map<std::string, Samples> phases;
    for (int i = 0; i < repetitions_; ++i) {
      const auto start = Clock::now();
      const auto record = evaluate(small);
      const double elapsed = since(start);
      const double own = elapsed - phase(record, "compile") - work(record);
      wall.push_back(elapsed);
      for (const auto& each : record.phases) phases[each.name].push_back(each.milliseconds);
      beyond.push_back(own);
      machinery.push_back(own - phase(record, "timing") + timing_work(record));
      if (!record.timing || record.timing->candidate_ns.empty()) continue;
      pairs.push_back(static_cast<double>(record.timing->candidate_ns.size()));
      per_pair.push_back((phase(record, "timing") - timing_work(record)) / pairs.back());
    }
    print("evaluation of a small kernel, everything warm", wall, "ms", "");
    print("  beyond compiler, kernel and reference", beyond, "ms", "goal: 100 median, 250 p95");
    print("  of that, outside the timing phase", machinery, "ms", "");
    print("  each timed pair: fresh inputs, checks, switching", per_pair, "ms", "");
    print("  timed pairs until the criterion stopped", pairs, "", "");
    for (auto& [name, samples] : phases) print(("  phase: " + name).c_str(), std::move(samples), "ms", "");
  }

  void crash() {
    const auto crashing = request("small_relu", "crash_on_the_beat");
    const auto next = request("small_relu", "small_relu");
    (void)evaluate(crashing);
    Samples seen, running;
    for (int i = 0; i < repetitions_; ++i) {
      const auto record = evaluate(crashing);
      const double late = std::fmod(Milliseconds(Clock::now().time_since_epoch()).count(), k_beat_ms);
      if (record.outcome.kind != kernelgen::OutcomeKind::Crash) {
        std::printf("crash_on_the_beat: %s\n", record.outcome.to_class().c_str());
        return;
      }
      const auto after = evaluate(next);
      seen.push_back(late);
      running.push_back(late + until_loaded(after));
    }
    print("crash of a candidate until its record is here", seen, "ms", "goal: 50");
    print("  until the next candidate is loaded", running, "ms", "goal: 300");
  }

  void a_against_a() {
    const auto steady = request("one_millisecond", "one_millisecond");
    (void)evaluate(steady);
    Samples ratios, medians;
    double last = 0;
    for (int i = 0; i < repetitions_; ++i) {
      const auto record = evaluate(steady);
      if (!record.timing || record.timing->speedup_call.value <= 0) {
        std::printf("one_millisecond: %s %s\n", record.outcome.to_class().c_str(), record.outcome.message.c_str());
        return;
      }
      const double score = record.timing->speedup_call.value;
      medians.push_back(record.timing->candidate_median_ns / 1e6);
      if (last > 0) ratios.push_back(100 * std::abs(score / last - 1));
      last = score;
    }
    print("kernel of one millisecond", medians, "ms", "");
    print("  A/A: scores of two fresh processes differ by", ratios, "%", "goal: 2 p95");
  }

  void cold(const kernelgen::Installation& installation) {
    const auto processes = kernelgen::make_process_runner();
    const auto run = [&](std::vector<std::string> command) {
      const auto outcome = processes
                               ->run({.command = std::move(command),
                                      .environment = kernelgen::current_environment(),
                                      .timeout = std::chrono::minutes(5)},
                                     {})
                               .value();
      return Milliseconds(outcome.duration).count();
    };
    const char* python = std::getenv("KGEN_PYTHON");
    Samples eval, import;
    for (int i = 0; i < std::max(3, repetitions_ / 6); ++i) {
      import.push_back(run({python != nullptr ? python : "python3", "-c", "import torch"}));
      eval.push_back(run({installation.worker.string(), "eval", "--code", KERNELGEN_BENCH_DIR "/kernels/small_relu.cpp",
                          "--problem", KERNELGEN_BENCH_DIR "/tasks/small_relu.py"}));
    }
    print("import torch, fresh process", import, "ms", "");
    print("cold `kgen eval` of the small kernel", eval, "ms", "goal: 1000 beyond import and admission");
  }

 private:
  /// Samples of the timing phase itself; `machinery` must not subtract them twice.
  static double timing_work(const kernelgen::EvaluationRecord& record) {
    if (!record.timing) return 0;
    const auto sum = [](const auto& samples) { return std::accumulate(samples.begin(), samples.end(), 0.0) / 1e6; };
    return sum(record.timing->reference_ns) + sum(record.timing->candidate_ns);
  }

  kernelgen::EvaluationRecord evaluate(const kernelgen::EvaluationRequest& what) {
    return std::move(benchmarker_.evaluate(what, {}, {})).value();
  }

  kernelgen::Benchmarker& benchmarker_;
  int repetitions_;
};

}  // namespace

int main(int argc, char** argv) try {
  const int repetitions = argc > 1 ? std::max(2, std::atoi(argv[1])) : 20;
  const auto installation = kernelgen::find_installation().value();
  kernelgen::WorkerBenchmarkerOptions options{.installation = installation};
  if (const char* python = std::getenv("KGEN_PYTHON")) options.python = python;
  options.cache_dir = KERNELGEN_BENCH_CACHE;
  const auto benchmarker = kernelgen::make_worker_benchmarker(options).value();
  std::printf("%-58s %9s %9s %-3s %5s\n", "", "median", "p95", "", "n");
  Bench bench(*benchmarker, repetitions);
  bench.overhead();
  bench.crash();
  bench.a_against_a();
  bench.cold(installation);
  return 0;
} catch (const std::exception& failure) {
  std::fprintf(stderr, "overhead: %s\n", failure.what());
  return 1;
}
