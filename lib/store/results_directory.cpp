#include <kernelgen/store/results_directory.hpp>

#include <algorithm>
#include <cctype>
#include <utility>

#include "store/file_lock.hpp"
#include "support/files.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

Result<void> check_name(const std::string& what, const std::string& name) {
  const auto allowed = [](unsigned char byte) {
    return std::isalnum(byte) != 0 || byte == '.' || byte == '_' || byte == '-';
  };
  if (!name.empty() && name.front() != '.' && std::all_of(name.begin(), name.end(), allowed)) return {};
  return Error{ErrorCode::InvalidArgument,
               "the " + what + " \"" + name + "\" cannot name a directory: use letters, digits, '.', '_' and '-'"};
}

class LockedResultsDirectory final : public ResultsDirectory {
 public:
  LockedResultsDirectory(fs::path path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  [[nodiscard]] const fs::path& path() const override { return path_; }
  [[nodiscard]] Result<fs::path> run_directory(const std::string& task, const std::string& name) const override {
    KERNELGEN_CHECK(check_name("task name", task));
    if (name.empty()) return path_ / task;
    KERNELGEN_CHECK(check_name("run name", name));
    return path_ / task / name;
  }

 private:
  fs::path path_;
  UniqueFd lock_;
};

}  // namespace

Result<std::unique_ptr<ResultsDirectory>> open_results_directory(const fs::path& path) {
  KERNELGEN_CHECK(make_directories(path));
  KERNELGEN_TRY(auto lock, open_locked(path / ".lock", path));
  return std::unique_ptr<ResultsDirectory>(std::make_unique<LockedResultsDirectory>(path, std::move(lock)));
}

}  // namespace v0
}  // namespace kernelgen
