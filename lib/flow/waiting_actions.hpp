#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace v0 {

/// The open actions of a session that do not run, by number. An action is ready (its request can be sent), unanswered
/// (an outage; it becomes ready once the endpoint answers another request), or waits for a reply or a verdict that is
/// made outside this process and may take longer than the session.
class WaitingActions {
 public:
  void add_ready(int number) { ready_.insert(number); }
  [[nodiscard]] const std::set<int>& ready() const { return ready_; }
  /// Removes and returns the ready action with the lowest number. Requires: there is one.
  [[nodiscard]] int take_ready();

  /// Defers an action until a reply or a verdict arrives that is made outside this process.
  void defer(int number, const Error& error) { external_.insert_or_assign(number, error); }
  /// Defers an action because the endpoint did not answer.
  void defer_unanswered(int number, const Error& error);
  /// Makes unanswered actions ready, because the endpoint has answered another request.
  void note_reply();
  /// Makes unanswered actions ready although the endpoint has not answered since.
  void retry_unanswered();
  void remove(int number);

  /// True if the endpoint left so many requests in a row unanswered that no more are sent.
  [[nodiscard]] bool is_paused() const;
  /// True if there is a request that this session can still send.
  [[nodiscard]] bool has_requests() const { return !ready_.empty() || !unanswered_.empty(); }
  [[nodiscard]] bool empty() const { return !has_requests() && external_.empty(); }

  /// The reason why the run cannot go on, as an Error with the code Pending that names `model` and `endpoint`.
  [[nodiscard]] Error reason_to_stop(const std::string& model, const std::string& endpoint) const;

 private:
  std::set<int> ready_;
  std::set<int> unanswered_;
  std::map<int, Error> external_;
  int unanswered_in_a_row_ = 0;
  std::optional<Error> last_outage_;
};

}  // namespace v0
}  // namespace kernelgen
