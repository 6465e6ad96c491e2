#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace v0 {

/// The open actions of a session that neither run nor have finished, by number. An action is ready (its reply can be
/// asked for), without an answer (an outage: it becomes ready once the endpoint answers others), or waits for a reply
/// or a verdict that is made elsewhere, for longer than this session.
class WaitingActions {
 public:
  void add_ready(int number) { ready_.insert(number); }
  [[nodiscard]] const std::set<int>& ready() const { return ready_; }
  /// The ready action with the lowest number, which waits no more. Requires: there is one.
  [[nodiscard]] int take_ready();

  /// A reply or a verdict is made elsewhere.
  void defer(int number, const Error& error) { elsewhere_.insert_or_assign(number, error); }
  /// The endpoint did not answer.
  void defer_unanswered(int number, const Error& error);
  /// The endpoint answered another request: what had no answer is ready.
  void note_reply();
  /// What had no answer is asked again although the endpoint has not answered since.
  void retry_unanswered();
  void remove(int number);

  /// Whether the endpoint left so many requests in a row unanswered that nothing more is sent to it.
  [[nodiscard]] bool is_paused() const;
  /// Whether there is an action that this session can still ask for.
  [[nodiscard]] bool has_requests() const { return !ready_.empty() || !unanswered_.empty(); }
  [[nodiscard]] bool empty() const { return !has_requests() && elsewhere_.empty(); }

  /// Why the run cannot go on: Pending. `model` and `endpoint` are named in the message.
  [[nodiscard]] Error reason_to_stop(const std::string& model, const std::string& endpoint) const;

 private:
  std::set<int> ready_;
  std::set<int> unanswered_;
  std::map<int, Error> elsewhere_;
  int unanswered_in_a_row_ = 0;
  std::optional<Error> last_outage_;
};

}  // namespace v0
}  // namespace kernelgen
