#include "options.hpp"

#include <charconv>
#include <string_view>

namespace kgen_runner {
namespace {

template <typename Number>
bool read_number(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

bool take(Options& options, std::string_view name, std::string_view value) {
  if (name == "--control") return read_number(value, options.control) && options.control >= 0;
  if (name == "--status") return read_number(value, options.status) && options.status >= 0;
  if (name == "--log") return read_number(value, options.log.emplace()) && *options.log >= 0;
  if (name == "--threads") return read_number(value, options.threads) && options.threads >= 1;
  if (name == "--memory-bytes") return read_number(value, options.memory_bytes);
  if (name == "--scratch-bytes") return read_number(value, options.scratch_bytes);
  if (name == "--gpu") return !options.gpu.emplace(value).empty();
  if (name == "--gpu-variable") return !options.gpu_variable.emplace(value).empty();
  if (name == "--gpu-node") return options.gpu_nodes.emplace_back(value).starts_with("/dev/");
  if (name == "--emulator") return options.emulator.emplace(value).starts_with('/');
  if (name == "--cupti") return options.cupti.emplace(value).starts_with('/');
  if (name == "--hide") return options.hidden.emplace_back(value).starts_with('/');
  if (name == "--show") return options.visible.emplace_back(value).starts_with('/');
  return false;
}

}  // namespace

OptionsResult parse_options(int argc, const char* const* argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (i + 1 == argc || !take(options, name, argv[i + 1])) return {std::nullopt, "bad option " + std::string(name)};
  }
  if (options.control < 0) return {std::nullopt, "--control is missing"};
  return {std::move(options), {}};
}

}  // namespace kgen_runner
