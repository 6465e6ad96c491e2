#include "support/xdg.hpp"

namespace kernelgen {
inline namespace v0 {

std::string xdg_directory(const std::map<std::string, std::string>& environment, const std::string& variable,
                          const std::string& below_home) {
  const auto named = environment.find(variable);
  if (named != environment.end() && !named->second.empty() && named->second.front() == '/') return named->second;
  const auto home = environment.find("HOME");
  return home == environment.end() || home->second.empty() ? std::string() : home->second + below_home;
}

}  // namespace v0
}  // namespace kernelgen
