#include <kernelgen/store/results_directory.hpp>

#include <algorithm>
#include <cctype>

#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

Result<void> check_name(const std::string& what, const std::string& name) {
  const auto allowed = [](unsigned char byte) {
    return std::isalnum(byte) != 0 || byte == '.' || byte == '_' || byte == '-';
  };
  if (!name.empty() && name.front() != '.' && std::all_of(name.begin(), name.end(), allowed)) return {};
  return Error{ErrorCode::InvalidArgument,
               "the " + what + " \"" + name + "\" cannot name a directory: use letters, digits, '.', '_' and '-'"};
}

}  // namespace

Result<std::filesystem::path> run_directory(const std::filesystem::path& results, const std::string& task,
                                            const std::string& name) {
  KERNELGEN_CHECK(check_name("task name", task));
  if (name.empty()) return results / task;
  KERNELGEN_CHECK(check_name("run name", name));
  return results / task / name;
}

}  // namespace v0
}  // namespace kernelgen
