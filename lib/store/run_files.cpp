#include "store/run_files.hpp"

#include <utility>

#include <kernelgen/store/framework_result.hpp>

#include "store/event_json.hpp"
#include "support/files.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

std::string extension_of(const ActionResult& result) {
  return std::string(file_extension(result.candidate->target, result.candidate->language));
}

/// The file of an action without a record: its status, and the analysis if it was one.
std::string status_json(const ActionResult& result) {
  boost::json::object object{{"action", result.action.id}, {"status", to_string(result.status)}};
  if (!result.message.empty()) object["message"] = result.message;
  if (result.analysis) object["analysis"] = to_value(*result.analysis);
  if (result.critique) object["critique"] = *result.critique;
  if (!result.analysis && !result.critique) {
    // What the HIP framework's scripts look for.
    object["compile_success"] = false;
    object["accuracy_pass"] = false;
    object["error"] = result.message;
  }
  return to_pretty_json(object);
}

}  // namespace

Result<void> RunFiles::apply(const Event& event) { return keep(event, Mode::Write); }

Result<void> RunFiles::restore(const Event& event) { return keep(event, Mode::WriteMissing); }

Result<void> RunFiles::restore_best() { return best_.empty() ? Result<void>{} : write_best(best_); }

Result<void> RunFiles::keep(const Event& event, Mode mode) {
  if (const auto* started = std::get_if<RunStarted>(&event.body)) problem_ = started->task.path;
  if (const auto* described = std::get_if<TaskDescribed>(&event.body)) gpu_ = described->gpu;
  if (const auto* issued = std::get_if<ActionIssued>(&event.body)) {
    prompts_[issued->number] = issued->prompt.text;
    return write("prompt_" + std::to_string(issued->number) + ".txt", issued->prompt.text, mode);
  }
  if (const auto* arrived = std::get_if<ReplyArrived>(&event.body))
    return write("response_" + std::to_string(arrived->number) + ".txt", arrived->reply.text, mode);
  if (const auto* finished = std::get_if<ActionFinished>(&event.body)) {
    results_[finished->result.action.id] = finished->result;
    return write_result(finished->result, mode);
  }
  if (const auto* taken = std::get_if<ProfileTaken>(&event.body)) {
    const auto found = results_.find(taken->action_id);
    if (found == results_.end()) return {};
    found->second.profile = taken->profile;
    KERNELGEN_CHECK(write("profile_" + std::to_string(found->second.number) + ".json", to_json(taken->profile), mode));
    KERNELGEN_CHECK(write_result(found->second, mode));
    return mode == Mode::Write && best_ == taken->action_id ? write_best(best_) : Result<void>{};
  }
  if (const auto* changed = std::get_if<BestChanged>(&event.body)) {
    best_ = changed->action_id;
    if (mode == Mode::Write) return write_best(best_);
  }
  return {};
}

Result<void> RunFiles::write(const std::string& name, std::string_view content, Mode mode) const {
  std::error_code ignored;
  if (mode == Mode::WriteMissing && fs::exists(directory_ / name, ignored)) return {};
  return write_file_atomic(directory_ / name, content);
}

Result<void> RunFiles::write_result(const ActionResult& result, Mode mode) const {
  const std::string number = std::to_string(result.number);
  if (result.candidate) KERNELGEN_CHECK(write("code_" + number + extension_of(result), result.candidate->source, mode));
  return write("result_" + number + ".json", result.record ? result_json(result) : status_json(result), mode);
}

std::string RunFiles::result_json(const ActionResult& result) const {
  const auto code =
      result.candidate ? directory_ / ("code_" + std::to_string(result.number) + extension_of(result)) : fs::path();
  return to_framework_json(*result.record,
                           {.problem = problem_, .code_path = code.string(), .profile = result.profile, .gpu = gpu_});
}

Result<void> RunFiles::remove_best() const {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory_, error))
    if (const auto name = entry.path().filename().string();
        name.starts_with("best_code.") || name == "best_result.json" || name == "best_prompt.txt")
      files.push_back(entry.path());
  for (const auto& file : files) fs::remove(file, error);
  return {};
}

Result<void> RunFiles::write_best(const std::string& action_id) const {
  // A winner that failed its last check may leave no other.
  if (action_id.empty()) return remove_best();
  const auto found = results_.find(action_id);
  if (found == results_.end() || !found->second.candidate || !found->second.record)
    return Error{ErrorCode::Internal, "the best action " + action_id + " has no candidate or no record"};
  const auto& result = found->second;
  // The code is written last, so that its record and its prompt are beside it when it appears.
  const auto prompt = prompts_.find(result.number);
  KERNELGEN_CHECK(write("best_prompt.txt", prompt == prompts_.end() ? "" : prompt->second, Mode::Write));
  KERNELGEN_CHECK(write("best_result.json", result_json(result), Mode::Write));
  return write("best_code" + extension_of(result), result.candidate->source, Mode::Write);
}

}  // namespace v0
}  // namespace kernelgen
