#include "bench/library_use.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// The least share of a candidate's own kernels, copies and fills left out.
constexpr double k_least_own = 0.95;
/// The label names a record by its own kernels from this share on.
constexpr double k_mostly_own = 0.9;
constexpr double k_least_own_assisted = 0.5;
/// The largest ratio of the examined time to the timed one, or the other way round. On the processor, repeated calls
/// find their inputs in the cache, and other processes may take the processor away.
constexpr double k_largest_ratio_on_device = 3;
constexpr double k_largest_ratio_on_processor = 10;
/// Differences up to this say nothing: a launch, and stops for samples.
constexpr double k_difference_ns = 20e3;
constexpr std::string_view k_on_device = "device activities";
constexpr std::string_view k_on_processor = "processor samples";
/// Fewer samples say nothing about shares.
constexpr std::size_t k_least_samples = 10;
constexpr std::size_t k_kept_activities = 8;
constexpr std::size_t k_most_lines = 1024;
constexpr std::size_t k_name_bytes = 160;

template <std::size_t N>
bool starts_with_any(std::string_view text, const std::array<std::string_view, N>& starts) {
  return std::any_of(starts.begin(), starts.end(), [&](std::string_view start) { return text.starts_with(start); });
}

template <std::size_t N>
bool contains_any(std::string_view text, const std::array<std::string_view, N>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return text.find(part) != text.npos; });
}

/// Libraries of languages and drivers.
constexpr std::array<std::string_view, 20> k_helpers = {
    "libc.so",   "libc-",    "libm.so",    "libm-",    "libmvec",     "libpthread", "libdl.so",
    "librt.so",  "libgcc_s", "libstdc++",  "libutil.", "ld-linux",    "libffi",     "libcuda.so",
    "libcudart", "libcupti", "libnvidia-", "libkgen_", "kgen-runner", "libc++"};
constexpr std::array<std::string_view, 7> k_overhead = {"libgomp",   "libiomp", "libomp", "libtbb",
                                                        "libpython", "python",  "_ctypes"};
constexpr std::array<std::string_view, 5> k_framework = {"libtorch", "libc10", "libshm.", "libcaffe2", "libaoti"};
constexpr std::array<std::string_view, 15> k_vendors = {
    "libmkl",   "libopenblas", "libblas",  "libcblas",  "liblapack",   "libdnnl",     "libblis", "libcublas",
    "libcudnn", "libcusparse", "libcufft", "libcurand", "libcusolver", "libcutensor", "libmagma"};
/// Packages that compile the candidate's own text, and launch it.
constexpr std::array<std::string_view, 10> k_compiling_packages = {
    "triton/", "numba/", "llvmlite/", "cupy/", "cupy_backends/", "cuda/", "pycuda/", "tilelang/", "tvm/", "tvm_ffi/"};
/// Folders of what was installed before the candidate came.
constexpr std::array<std::string_view, 7> k_system_folders = {"/usr/", "/lib/", "/lib64/", "/lib32/",
                                                              "/bin/", "/opt/", "/nix/"};
constexpr std::string_view k_packages = "-packages/";
/// Folders in which torch.compile builds.
constexpr std::array<std::string_view, 2> k_generated_folders = {"/inductor/", "/torchinductor_"};

/// Names under which torch.compile generates kernels.
constexpr std::array<std::string_view, 6> k_generated = {"triton_poi_", "triton_red_", "triton_per_",
                                                         "triton_tem_", "triton_for_", "triton_mm"};
/// Names that only a compiled library has: cutlass:: alone may stand in the candidate's own source.
constexpr std::array<std::string_view, 5> k_linked = {"_xmma_", "nvjet_", "cublasLt::", "cublas::", "cudnn::"};
constexpr std::array<std::string_view, 5> k_architectures = {"volta_", "turing_", "ampere_", "maxwell_", "hopper_"};

std::string_view file_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

/// Adds activities of equal names, sorts them, and fills in the shares.
WorkReport add_up(std::string_view source, std::vector<WorkActivity> activities, const WorkTimes& times) {
  WorkReport report;
  report.source = source;
  report.examined_ns = times.examined_ns;
  report.timed_ns = times.timed_ns;
  double all = 0;
  std::map<std::pair<KernelOrigin, std::string>, double> by_name;
  for (auto& one : activities) {
    if (!(one.microseconds > 0)) continue;
    all += one.microseconds;
    by_name[{one.origin, std::move(one.name)}] += one.microseconds;
  }
  if (!(all > 0)) return report;
  for (auto& [key, microseconds] : by_name) {
    const auto origin = key.first;
    auto& share = origin == KernelOrigin::Own         ? report.own
                  : origin == KernelOrigin::Library   ? report.library
                  : origin == KernelOrigin::Framework ? report.framework
                                                      : report.copies;
    share += microseconds / all;
    report.activities.push_back({key.second, origin, microseconds});
  }
  std::stable_sort(report.activities.begin(), report.activities.end(),
                   [](const auto& a, const auto& b) { return a.microseconds > b.microseconds; });
  if (report.activities.size() > k_kept_activities) report.activities.resize(k_kept_activities);
  return report;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<WorkActivity> parse_activity(std::string_view line) {
  const auto first = line.find('\t');
  const auto second = first == line.npos ? first : line.find('\t', first + 1);
  if (second == line.npos) return std::nullopt;
  const auto time = number_in(line.substr(0, std::min(line.find(' '), first)));
  if (!time) return std::nullopt;
  const auto name = line.substr(first + 1, second - first - 1);
  constexpr std::string_view k_others = "(others) ";
  const auto kernel = name.starts_with(k_others) ? name.substr(k_others.size()) : name;
  return WorkActivity{.name = std::string(name.substr(0, k_name_bytes)),
                      .origin = origin_of_launch(kernel, line.substr(second + 1)),
                      .microseconds = static_cast<double>(*time) / 1e3};
}

/// The largest share that is not the candidate's own.
std::string largest_foreign(const WorkReport& report) {
  return report.library >= report.framework ? "library" : "framework";
}

std::string shares_of(const WorkReport& report) {
  std::string text = fmt::format("own {}, vendor {}, torch {}", percent(report.own), percent(report.library),
                                 percent(report.framework));
  if (report.copies >= 0.005) text += fmt::format(", copies {}", percent(report.copies));
  return text;
}

/// True if the examined call was another work than the timed ones.
bool is_another_work(const WorkReport& report) {
  if (report.timed_ns <= 0 || std::abs(report.examined_ns - report.timed_ns) < k_difference_ns) return false;
  const double largest = report.source == k_on_device ? k_largest_ratio_on_device : k_largest_ratio_on_processor;
  return report.examined_ns * largest < report.timed_ns || report.examined_ns > report.timed_ns * largest;
}

std::string times_of(const WorkReport& report) {
  return fmt::format("it took {:.0f} us when examined and {:.0f} us when timed", report.examined_ns / 1e3,
                     report.timed_ns / 1e3);
}

}  // namespace

ObjectKind kind_of_object(std::string_view path) {
  const auto file = file_of(path);
  // Names such as [vdso].
  if (file.starts_with('[')) return ObjectKind::Helper;
  if (starts_with_any(file, k_overhead) || path.find("/lib-dynload/") != path.npos) return ObjectKind::Overhead;
  if (starts_with_any(file, k_helpers)) return ObjectKind::Helper;
  if (starts_with_any(file, k_framework) || contains_any(path, k_generated_folders)) return ObjectKind::Framework;
  if (starts_with_any(file, k_vendors)) return ObjectKind::Library;
  const auto packages = path.find(k_packages);
  if (packages == path.npos) return starts_with_any(path, k_system_folders) ? ObjectKind::Library : ObjectKind::Own;
  const auto package = path.substr(packages + k_packages.size());
  if (starts_with_any(package, k_compiling_packages)) return ObjectKind::Helper;
  return package.starts_with("torch/") ? ObjectKind::Framework : ObjectKind::Library;
}

KernelOrigin origin_of_launch(std::string_view kernel, std::string_view object) {
  const auto by_name = origin_of_kernel(kernel);
  if (object.empty() || by_name == KernelOrigin::Copy) return by_name;
  const auto kind = kind_of_object(object);
  if (kind == ObjectKind::Library) return KernelOrigin::Library;
  if (kind == ObjectKind::Framework) return KernelOrigin::Framework;
  const auto function = function_of_kernel(kernel);
  if (starts_with_any(function, k_generated) || function.starts_with("at::")) return KernelOrigin::Framework;
  if (contains_any(function, k_linked) || starts_with_any(function, k_architectures)) return KernelOrigin::Library;
  return KernelOrigin::Own;
}

std::vector<WorkActivity> parse_activities(std::string_view text) {
  std::vector<WorkActivity> activities;
  for (const auto line : split_lines(text)) {
    if (line.empty()) continue;
    auto activity = parse_activity(line);
    if (!activity || activities.size() == k_most_lines) return {};
    activities.push_back(*std::move(activity));
  }
  return activities;
}

WorkReport report_device_work(std::vector<WorkActivity> activities, const WorkTimes& times) {
  auto report = add_up(k_on_device, std::move(activities), times);
  if (report.activities.empty()) report.unavailable = "no kernel, copy or fill was seen on the device";
  return report;
}

WorkReport report_processor_work(std::vector<WorkActivity> samples, const WorkTimes& times) {
  const auto count = samples.size();
  auto report = add_up(k_on_processor, std::move(samples), times);
  if (count < k_least_samples) report.unavailable = fmt::format("only {} samples of the processor show work", count);
  return report;
}

WorkReport report_no_work(std::string reason) {
  WorkReport report;
  report.unavailable = std::move(reason);
  return report;
}

std::string label_of_work(const WorkReport& report) {
  if (!report.unavailable.empty()) return "work unknown: " + report.unavailable;
  const bool is_own = report.own >= k_mostly_own * (report.own + report.library + report.framework);
  auto label = fmt::format("{}: {}", is_own ? "own kernels" : "library work", shares_of(report));
  if (is_another_work(report)) label += " (" + times_of(report) + ")";
  return label;
}

std::optional<Outcome> check_library_use(const WorkReport& report, LibraryUse wanted) {
  if (wanted == LibraryUse::Anything) return std::nullopt;
  const auto refused = [&](std::string detail, std::string message) {
    return Outcome{OutcomeKind::LibraryUse, std::move(detail), std::move(message)};
  };
  if (!report.unavailable.empty())
    return refused("unknown", "it is right, but what does its work could not be seen: " + report.unavailable);
  if (is_another_work(report))
    return refused("unknown", "it is right, but the examined call is no timed one: " + times_of(report));
  const double work = report.own + report.library + report.framework;
  const double own = work > 0 ? report.own / work : 1;
  const double least = wanted == LibraryUse::OwnKernels ? k_least_own : k_least_own_assisted;
  if (own >= least) return std::nullopt;
  std::string names;
  for (const auto& one : report.activities)
    if (one.origin == KernelOrigin::Library || one.origin == KernelOrigin::Framework)
      if (names.size() < k_name_bytes) names += (names.empty() ? "" : ", ") + function_of_kernel(one.name);
  return refused(largest_foreign(report),
                 fmt::format("it is right, but {} of the time is its own kernels', where \"{}\" asks for {} ({}): {}",
                             percent(own), to_string(wanted), percent(least), shares_of(report), names));
}

Result<void> require_work(const EvaluationRecord& record, LibraryUse wanted) {
  if (wanted == LibraryUse::Anything || !record.outcome.correct() || record.work) return {};
  return Error{ErrorCode::Unsupported,
               fmt::format("the worker did not look at what does the kernel's work, as library use \"{}\" asks: its "
                           "version {} is too old; update it, or allow anything",
                           to_string(wanted), record.environment.kernelgen_version)};
}

}  // namespace v0
}  // namespace kernelgen
