#include "flow/waiting_actions.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// One request without an answer may be bad luck. With more than two in a row, a server that hangs would cost one
/// request timeout after the other.
constexpr int k_max_unanswered = 2;

std::string describe_outage(const Error& outage, const std::string& model, const std::string& endpoint) {
  auto text = outage.to_line();
  // The clients of the library name the endpoint in their errors; others may not.
  if (text.find(endpoint) != text.npos) return text;
  return model + " at " + endpoint + ": " + text;
}

}  // namespace

int WaitingActions::take_ready() { return ready_.extract(ready_.begin()).value(); }

void WaitingActions::defer_unanswered(int number, const Error& error) {
  unanswered_.insert(number);
  ++unanswered_in_a_row_;
  last_outage_ = error;
}

void WaitingActions::note_reply() {
  unanswered_in_a_row_ = 0;
  retry_unanswered();
}

void WaitingActions::retry_unanswered() { ready_.merge(unanswered_); }

void WaitingActions::remove(int number) {
  ready_.erase(number);
  unanswered_.erase(number);
  external_.erase(number);
}

bool WaitingActions::is_paused() const { return unanswered_in_a_row_ >= k_max_unanswered; }

Error WaitingActions::reason_to_stop(const std::string& model, const std::string& endpoint) const {
  if (is_paused()) {
    const auto waiting = std::to_string(ready_.size() + unanswered_.size());
    return {ErrorCode::Pending, "the model does not answer: " + describe_outage(*last_outage_, model, endpoint) +
                                    "; requests that wait: " + waiting};
  }
  if (external_.empty()) return {ErrorCode::Internal, "the run stopped although nothing is waited for"};
  auto first = external_.begin()->second;
  if (const auto others = external_.size() - 1; others > 0)
    first.message += "; " + std::to_string(others) + (others == 1 ? " more step waits" : " more steps wait");
  return first;
}

}  // namespace v0
}  // namespace kernelgen
