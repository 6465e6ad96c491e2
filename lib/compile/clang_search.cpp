#include "compile/clang_search.hpp"

#include <utility>
#include <vector>

#include "compile/toolchain.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr const char* k_usual_clang = "/opt/rocm/llvm/bin/clang++";
/// The versions in names such as clang++-19.
constexpr int k_newest_clang = 39;
constexpr int k_oldest_clang = 15;
constexpr std::chrono::seconds k_probe_timeout{20};

/// The features that HIP sources use most, and a header that shows whether clang++ finds the C++ library.
constexpr const char* k_probe_source =
    "#include <cstddef>\n"
    "typedef _Float16 kgen_half4 __attribute__((ext_vector_type(4)));\n"
    "kgen_half4 kgen_probe(kgen_half4 a, float b) { return a * a.wzyx + static_cast<_Float16>(b); }\n";

/// The compilers that exist, in the order in which they are tried.
std::vector<std::string> existing_clangs(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> found;
  if (const auto rocm = environment.find("ROCM_PATH"); rocm != environment.end() && !rocm->second.empty())
    if (auto path = rocm->second + "/llvm/bin/clang++"; is_program(path)) found.push_back(std::move(path));
  const auto add = [&](const std::string& name) {
    if (auto path = find_program(name, environment)) found.push_back(*std::move(path));
  };
  add("clang++");
  for (int version = k_newest_clang; version >= k_oldest_clang; --version) add("clang++-" + std::to_string(version));
  if (is_program(k_usual_clang)) found.emplace_back(k_usual_clang);
  return found;
}

}  // namespace

ClangSearch::ClangSearch(std::map<std::string, std::string> environment, ProcessRunner& runner)
    : environment_(std::move(environment)), runner_(runner) {}

Result<std::optional<std::string>> ClangSearch::find(const std::stop_token& stop) {
  for (auto& driver : existing_clangs(environment_)) {
    KERNELGEN_TRY(const bool is_suited, takes_vectors(driver, stop));
    if (is_suited) return std::optional<std::string>(std::move(driver));
  }
  return std::optional<std::string>();
}

Result<bool> ClangSearch::takes_vectors(const std::string& driver, const std::stop_token& stop) {
  const auto stamp = file_stamp({driver});
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = answers_.find(stamp); known != answers_.end()) return known->second;
  }
  const auto answer = runner_.run({.command = {driver, "-x", "c++", "-std=c++17", "-fsyntax-only", "-"},
                                   .environment = environment_,
                                   .standard_input = k_probe_source,
                                   .timeout = k_probe_timeout},
                                  stop);
  if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled while looking for a compiler", {}};
  // A program that does not start is no compiler either.
  const bool is_suited = answer && answer->success();
  const bool is_final = answer && !answer->timed_out && !stamp.empty();
  const std::lock_guard lock(mutex_);
  if (is_final) answers_[stamp] = is_suited;
  return is_suited;
}

}  // namespace v0
}  // namespace kernelgen
