#include "bench/judge_queue.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

/// Tasks in the order in which they are judged, when all come at once and one judge is warm at a time.
std::string judged(std::string tasks) {
  std::string order;
  int in_a_row = 0;
  while (!tasks.empty()) {
    std::vector<JudgeState> waiting;
    for (const auto task : tasks)
      waiting.push_back(!order.empty() && task == order.back() ? JudgeState::Warm : JudgeState::Evicts);
    const auto next = next_in_queue(waiting, in_a_row);
    in_a_row = waiting[next] == JudgeState::Warm ? in_a_row + 1 : 0;
    order += tasks[next];
    tasks.erase(next, 1);
  }
  return order;
}

/// The number of judges that are started for that order.
std::ptrdiff_t starts(const std::string& order) {
  return std::count_if(order.begin(), order.end(),
                       [last = '\0'](char task) mutable { return task != std::exchange(last, task); });
}

}  // namespace

TEST_CASE("the first request whose judge is warm is next", "[bench][judge_queue]") {
  CHECK(judged("") == "");
  CHECK(judged("a") == "a");
  CHECK(judged("abab") == "aabb");
  CHECK(judged("abcabcabc") == "aaabbbccc");
}

TEST_CASE("no request waits for more than a turn of another task", "[bench][judge_queue]") {
  const auto turn = static_cast<std::size_t>(k_most_in_a_row) + 1;
  const auto order = judged("ab" + std::string(3 * turn, 'a'));
  CHECK(order.find('b') == turn);
  CHECK(starts(order) == 3);
  // A judge that is warm when the turn is over does not keep its task at the front.
  const auto other = judged(std::string(turn, 'a') + "ab" + std::string(turn, 'a'));
  CHECK(other.find('b') == turn + 1);
}

TEST_CASE("a long queue starts few judges", "[bench][judge_queue]") {
  std::string tasks;
  const int rounds = 2 * (k_most_in_a_row + 1);
  for (int i = 0; i < rounds; ++i) tasks += "abcdefg";
  CHECK(starts(judged(tasks)) == 2 * 7);
}

TEST_CASE("a free device takes over what it begins earlier", "[bench][judge_queue]") {
  const auto warm = JudgeState::Warm, cold = JudgeState::Cold, full = JudgeState::Evicts;
  const auto taken = [](std::vector<MovableRequest> waiting) { return request_to_take_over(waiting); };
  CHECK_FALSE(taken({}));
  // The one that its own device begins next stays.
  CHECK_FALSE(taken({{.ahead = 0, .there = warm, .here = warm}}));
  CHECK(taken({{.ahead = 1, .there = warm, .here = warm}}) == 0U);
  // Starting a judge takes as long as an evaluation.
  CHECK_FALSE(taken({{.ahead = 1, .there = warm, .here = cold}}));
  CHECK(taken({{.ahead = 1, .there = cold, .here = cold}}) == 0U);
  CHECK(taken({{.ahead = 1, .there = warm, .here = cold}, {.ahead = 2, .there = warm, .here = cold}}) == 1U);
  CHECK_FALSE(taken({{.ahead = 2, .there = warm, .here = full}}));
  // A judge that is there is better than one that has to be started, however long the request would wait.
  CHECK(taken({{.ahead = 2, .there = warm, .here = cold}, {.ahead = 3, .there = warm, .here = warm}}) == 1U);
  // Those that gain alike are taken in the order of arrival.
  CHECK(taken({{.ahead = 1, .there = warm, .here = warm}, {.ahead = 2, .there = warm, .here = warm}}) == 0U);
}
