#include <kernelgen/profile/headroom.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <kernelgen/task/reference.hpp>

namespace kernelgen {
inline namespace v0 {
namespace {

/// An empty kernel takes about 2 us on the device.
constexpr double k_launch_ns = 2000;
constexpr double k_ns_per_s = 1e9;
/// Fraction of the stated bandwidth that a copy within the device reaches, for devices without a measurement.
constexpr double k_reachable_share = 0.9;

double elements_of(const TensorSpec& tensor) {
  double count = 1;
  for (const auto size : tensor.shape) count *= static_cast<double>(size);
  return count;
}

double bytes_of(const TensorSpec& tensor) { return elements_of(tensor) * static_cast<double>(size_of(tensor.dtype)); }

/// Bytes of the tensors that forward() names: "x", and "fc.weight" for self.fc.
double used_bytes(const std::vector<TensorSpec>& tensors, const Workload& work) {
  double sum = 0;
  for (const auto& tensor : tensors)
    if (work.names.count(tensor.name.substr(0, tensor.name.find('.'))) > 0) sum += bytes_of(tensor);
  return sum;
}

std::optional<double> median_of(std::vector<std::int64_t> samples) {
  if (samples.empty()) return std::nullopt;
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return static_cast<double>(*middle);
}

/// The time in the score: that of the replayed graph where there is one.
std::optional<double> time_of(const EvaluationRecord& record) {
  if (!record.timing || !score_of(record)) return std::nullopt;
  const auto graph = median_of(record.timing->candidate_graph_ns);
  const double time = graph && record.timing->speedup_device ? *graph : record.timing->candidate_median_ns;
  return time > 0 ? std::optional(time) : std::nullopt;
}

/// One reason why the task takes time with any kernel.
struct Bound {
  std::string name;
  double ns = 0;
  std::string words;
};

std::string amount(double number, const char* unit) {
  if (number >= 1e12) return fmt::format("{:.3g} T{}", number / 1e12, unit);
  if (number >= 1e9) return fmt::format("{:.3g} G{}", number / 1e9, unit);
  return fmt::format("{:.3g} M{}", number / 1e6, unit);
}

std::string duration(double ns) {
  return ns >= 1e6 ? fmt::format("{:.3g} ms", ns / 1e6) : fmt::format("{:.3g} us", ns / 1e3);
}

bool is_recurrent_weight(const TensorSpec& tensor) {
  return tensor.name.find("weight_ih_l") != tensor.name.npos || tensor.name.find("weight_hh_l") != tensor.name.npos;
}

/// Bytes that every kernel has to read from memory, and write there. A cache may keep the last writes.
double traffic(const HeadroomRequest& request, const Workload& work) {
  const auto& task = request.description;
  double written = 0;
  for (const auto& output : task.outputs) written += bytes_of(output);
  const auto cache = static_cast<double>(request.gpu.l2_bytes + request.gpu.memory_cache_bytes);
  double bytes = std::max(written - cache, 0.0);
  if (work.workload_class == WorkloadClass::Recurrent) {
    // Other layers may compute something that is not returned.
    std::vector<TensorSpec> weights;
    std::copy_if(task.parameters.begin(), task.parameters.end(), std::back_inserter(weights), is_recurrent_weight);
    return bytes + used_bytes(task.inputs, work) + used_bytes(weights, work);
  }
  // The strides of a convolution may leave inputs out.
  if (work.workload_class != WorkloadClass::Convolution) bytes += used_bytes(task.inputs, work);
  return bytes + used_bytes(task.parameters, work);
}

/// The floor that was measured; nothing in records of earlier versions, and where it could not be measured.
const MemoryFloor* measured_floor(const HeadroomRequest& request) {
  const auto& floor = request.record.timing->memory_floor;
  return floor && floor->read_bytes && floor->bytes_per_second > 0 ? &*floor : nullptr;
}

Bound memory_bound(double bytes, double bandwidth) {
  return {"memory", bytes / bandwidth * k_ns_per_s,
          fmt::format("moving {} at {}", amount(bytes, "B"), amount(bandwidth, "B/s"))};
}

/// The measured floor, else the one estimated from the source.
std::optional<Bound> memory_bound(const HeadroomRequest& request, const Workload& work) {
  if (const auto* floor = measured_floor(request)) return memory_bound(floor->bytes(), floor->bytes_per_second);
  const auto& inputs = request.description.inputs;
  // A Boolean input may say which parts of the others are used.
  const bool is_masked =
      std::any_of(inputs.begin(), inputs.end(), [](const TensorSpec& input) { return input.dtype == DType::Bool; });
  if (work.workload_class == WorkloadClass::Unknown || is_masked) return std::nullopt;
  const auto& gpu = request.gpu;
  const auto bandwidth =
      gpu.measured_bytes_per_second
          ? gpu.measured_bytes_per_second
          : (gpu.memory_bytes_per_second ? std::optional(*gpu.memory_bytes_per_second * k_reachable_share)
                                         : std::nullopt);
  if (!bandwidth || !(*bandwidth > 0)) return std::nullopt;
  return memory_bound(traffic(request, work), *bandwidth);
}

/// Upper limit of the operations per second of a product in this precision. Matrix units make products of fp32 accuracy
/// from three of fp16 or bf16, so the peak of plain fp32 is no limit.
std::optional<double> peak_of(const GpuFacts& gpu, PrecisionClass precision) {
  constexpr double k_splits = 3;
  const double half = gpu.fp16_per_second.value_or(0);
  const double tf32 = gpu.tf32_per_second.value_or(0);
  double peak = std::max(gpu.fp32_per_second.value_or(0), half / k_splits);
  if (precision == PrecisionClass::Default || precision == PrecisionClass::Tf32) peak = std::max(peak, tf32);
  if (precision == PrecisionClass::Fp16 || precision == PrecisionClass::Bf16) peak = std::max(peak, half);
  if (!gpu.fp32_per_second || !(peak > 0)) return std::nullopt;
  return peak;
}

/// Number of products: the leading sizes that both operands have.
double shared_batch(const TensorSpec& a, const TensorSpec& b) {
  double batch = 1;
  if (a.shape.size() == b.shape.size())
    for (std::size_t i = 0; i + 2 < a.shape.size(); ++i) batch *= static_cast<double>(a.shape[i]);
  return batch;
}

bool has_size(const TensorSpec& tensor, double size) {
  return std::any_of(tensor.shape.begin(), tensor.shape.end(),
                     [&](std::int64_t one) { return static_cast<double>(one) == size; });
}

/// Operations of the one product, two for each multiplication and addition. Its inner size follows from the sizes of
/// the others: |A| |B| = K^2 |C| for each product of a batch.
std::optional<double> product_operations(const TaskDescription& task) {
  if (task.outputs.size() != 1 || task.inputs.empty()) return std::nullopt;
  const TensorSpec* second = task.inputs.size() == 2 ? &task.inputs[1] : nullptr;
  if (task.inputs.size() == 1)
    for (const auto& parameter : task.parameters)
      if (parameter.shape.size() == 2) {
        if (second != nullptr) return std::nullopt;
        second = &parameter;
      }
  if (second == nullptr || task.inputs.size() > 2) return std::nullopt;
  const auto& first = task.inputs[0];
  const double made = elements_of(task.outputs[0]);
  if (!(made > 0)) return std::nullopt;
  const double inner = std::sqrt(elements_of(first) * elements_of(*second) / made / shared_batch(first, *second));
  if (inner != std::floor(inner) || !has_size(first, inner) || !has_size(*second, inner)) return std::nullopt;
  return 2 * made * inner;
}

/// Operations of all layers at all steps, except the backward direction of the last layer: a kernel that returns the
/// last step only needs one step of it.
std::optional<double> recurrent_operations(const HeadroomRequest& request, const std::string& operand) {
  const auto& task = request.description;
  const auto input = std::find_if(task.inputs.begin(), task.inputs.end(),
                                  [&](const TensorSpec& tensor) { return tensor.name == operand; });
  if (input == task.inputs.end() || input->shape.size() < 2 || input->shape.back() < 1) return std::nullopt;
  const double rows = elements_of(*input) / static_cast<double>(input->shape.back());
  int last = -1;
  const auto layer_of = [](const std::string& name) { return std::atoi(name.c_str() + name.find("_l") + 2); };
  for (const auto& weight : task.parameters)
    if (is_recurrent_weight(weight)) last = std::max(last, layer_of(weight.name.substr(weight.name.find("weight_"))));
  double sum = 0;
  for (const auto& weight : task.parameters) {
    if (!is_recurrent_weight(weight)) continue;
    const bool reverse = weight.name.ends_with("_reverse");
    if (reverse && layer_of(weight.name.substr(weight.name.find("weight_"))) == last) continue;
    sum += elements_of(weight);
  }
  if (!(sum > 0)) return std::nullopt;
  return 2 * rows * sum;
}

std::optional<Bound> operation_bound(const HeadroomRequest& request, const Workload& work) {
  const auto peak = peak_of(request.gpu, request.description.precision);
  std::optional<double> operations;
  if (work.workload_class == WorkloadClass::MatrixProduct && work.single_product)
    operations = product_operations(request.description);
  if (work.workload_class == WorkloadClass::Recurrent) operations = recurrent_operations(request, work.recurrent_input);
  if (!peak || !operations) return std::nullopt;
  return Bound{"operations", *operations / *peak * k_ns_per_s,
               fmt::format("{} at {}", amount(*operations, "FLOP"), amount(*peak, "FLOP/s"))};
}

std::string sentence_of(const Headroom& headroom, const Bound& bound, const Profile* profile) {
  auto text = fmt::format("it takes {}, {:.2f} times the least possible of {} ({})", duration(headroom.time_ns),
                          headroom.ratio, duration(headroom.floor_ns), bound.words);
  if (profile != nullptr && profile->launches() > 0) {
    text += fmt::format(", in {} launch{}", profile->launches(), profile->launches() == 1 ? "" : "es");
    if (profile->launches() > 1)
      text += fmt::format(", which take about {} in themselves",
                          duration(static_cast<double>(profile->launches()) * k_launch_ns));
  }
  return text;
}

}  // namespace

std::optional<Headroom> find_headroom(const HeadroomRequest& request) {
  const auto time = time_of(request.record);
  const auto work = classify_workload(request.reference);
  if (!time) return std::nullopt;
  const auto memory = memory_bound(request, work);
  if (!memory) return std::nullopt;
  Bound highest{"launch", k_launch_ns, "a kernel that does nothing"};
  for (const auto& bound : {memory, operation_bound(request, work)})
    if (bound && bound->ns > highest.ns) highest = *bound;
  Headroom headroom{
      .bound = highest.name, .floor_ns = highest.ns, .time_ns = *time, .ratio = *time / highest.ns, .sentence = {}};
  headroom.sentence = sentence_of(headroom, highest, request.profile);
  return headroom;
}

}  // namespace v0
}  // namespace kernelgen
