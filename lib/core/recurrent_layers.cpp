#include "core/recurrent_layers.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace kernelgen {
inline namespace v0 {
namespace {

/// The place of a matrix: "gru.weight_hh_l2_reverse" is of layer 2, backward.
struct WeightPlace {
  bool is_state = false;
  int layer = 0;
  bool is_backward = false;
};

/// Nothing for other parameters. A cell's "weight_hh" is of layer 0.
std::optional<WeightPlace> place_of(std::string_view name) {
  constexpr std::string_view k_state = "weight_hh", k_input = "weight_ih", k_layer = "_l", k_backward = "_reverse";
  auto at = name.rfind(k_state);
  WeightPlace place{.is_state = at != name.npos};
  if (!place.is_state) at = name.rfind(k_input);
  if (at == name.npos) return std::nullopt;
  auto rest = name.substr(at + k_state.size());
  if (rest.ends_with(k_backward)) {
    place.is_backward = true;
    rest.remove_suffix(k_backward.size());
  }
  if (rest.empty()) return place;
  if (!rest.starts_with(k_layer)) return std::nullopt;
  rest.remove_prefix(k_layer.size());
  constexpr int k_most_layers = 10'000;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), place.layer);
  if (error != std::errc() || end != rest.data() + rest.size() || place.layer < 0 || place.layer > k_most_layers)
    return std::nullopt;
  return place;
}

std::int64_t elements_of(const TensorSpec& tensor) {
  std::int64_t count = 1;
  for (const auto size : tensor.shape) count *= size;
  return count;
}

/// The rows of an input of (steps, batch, size) in any order of the first two.
std::optional<std::int64_t> batch_of(const TaskDescription& task, std::int64_t steps, std::int64_t size) {
  for (const auto& input : task.inputs) {
    const auto& shape = input.shape;
    if (shape.size() < 2 || shape.back() != size || steps <= 0 || size <= 0) continue;
    if (std::find(shape.begin(), shape.end() - 1, steps) == shape.end() - 1) continue;
    return elements_of(input) / (steps * size);
  }
  return std::nullopt;
}

}  // namespace

std::optional<RecurrentLayers> recurrent_layers_of(const TaskDescription& task) {
  if (!task.is_recurrent()) return std::nullopt;
  RecurrentLayers layers{.steps = task.facts->recurrence->steps, .batch = {}};
  std::int64_t input_size = 0;
  for (const auto& tensor : task.parameters)
    if (const auto place = place_of(tensor.name)) {
      layers.depth = std::max(layers.depth, place->layer + 1);
      if (place->is_backward) layers.directions = 2;
      if (!place->is_state && place->layer == 0 && !tensor.shape.empty()) input_size = tensor.shape.back();
    }
  for (const auto& tensor : task.parameters) {
    const auto place = place_of(tensor.name);
    if (!place) continue;
    const auto elements = elements_of(tensor);
    if (place->is_state && elements > layers.step_elements) {
      layers.step_elements = elements;
      layers.step_bytes = elements * static_cast<std::int64_t>(size_of(tensor.dtype));
    }
    if (place->is_backward && place->layer + 1 == layers.depth) continue;
    (place->is_state ? layers.state_elements : layers.input_elements) += elements;
  }
  if (layers.step_elements <= 0 || layers.steps <= 0) return std::nullopt;
  layers.batch = batch_of(task, layers.steps, input_size);
  return layers;
}

}  // namespace v0
}  // namespace kernelgen
