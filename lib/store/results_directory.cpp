#include <kernelgen/store/results_directory.hpp>

#include <algorithm>
#include <cctype>

#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

bool fits_directory_name(unsigned char byte) {
  return std::isalnum(byte) != 0 || byte == '.' || byte == '_' || byte == '-';
}

Result<void> check_name(const std::string& what, const std::string& name) {
  if (!name.empty() && name.front() != '.' && std::all_of(name.begin(), name.end(), fits_directory_name)) return {};
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

std::string run_name_of_model(const std::string& identity) {
  const auto blank = identity.find(' ');
  auto name = blank == identity.npos ? identity : identity.substr(blank + 1);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char byte) { return !fits_directory_name(byte); }, '-');
  if (name.empty() || name.front() == '.') name.insert(name.begin(), '_');
  return name;
}

}  // namespace v0
}  // namespace kernelgen
