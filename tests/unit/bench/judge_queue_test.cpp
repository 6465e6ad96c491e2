#include "bench/judge_queue.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

/// Tasks in the order in which they are judged, when all come at once and one judge is warm at a time; `warm` at first.
std::string judged(std::string tasks, char warm = ' ') {
  std::string order;
  std::vector<int> overtaken(tasks.size());
  while (!tasks.empty()) {
    std::vector<QueuedRequest> waiting;
    for (std::size_t i = 0; i < tasks.size(); ++i)
      waiting.push_back({.warm = tasks[i] == warm, .overtaken = overtaken[i]});
    const auto next = next_in_queue(waiting);
    if (next > 0) ++overtaken.front();
    order += warm = tasks[next];
    tasks.erase(next, 1);
    overtaken.erase(overtaken.begin() + static_cast<std::ptrdiff_t>(next));
  }
  return order;
}

/// The number of judges that are started for that order.
std::ptrdiff_t starts(const std::string& order) {
  return std::count_if(order.begin(), order.end(),
                       [last = ' '](char task) mutable { return task != std::exchange(last, task); });
}

}  // namespace

TEST_CASE("the first request whose judge is warm is next", "[bench][judge_queue]") {
  CHECK(judged("") == "");
  CHECK(judged("a") == "a");
  CHECK(judged("abab") == "aabb");
  CHECK(judged("abcabcabc") == "aaabbbccc");
  CHECK(judged("baaa", 'a') == "aaab");
}

TEST_CASE("the first request is not overtaken forever", "[bench][judge_queue]") {
  const auto most = static_cast<std::size_t>(k_most_overtakes);
  const auto order = judged("ab" + std::string(3 * most, 'a'));
  CHECK(order.find('b') == most + 1);
  CHECK(starts(order) == 3);
  // The requests before it are no overtakes.
  CHECK(judged(std::string(2 * most, 'a') + "b" + std::string(2 * most, 'a')).find('b') == 3 * most);
}

TEST_CASE("a long queue starts few judges", "[bench][judge_queue]") {
  std::string tasks;
  const int rounds = 2 * (k_most_overtakes + 1);
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

TEST_CASE("a device admits as many tasks at a time as its memory has room for", "[bench][judge_queue]") {
  const auto gib = [](std::uint64_t count) { return count << 30; };
  CHECK(admissions_at_a_time(0, 0) == 1);
  CHECK(admissions_at_a_time(gib(24), gib(10)) == 1);
  CHECK(admissions_at_a_time(gib(8), gib(10)) == 1);
  CHECK(admissions_at_a_time(gib(48), gib(13)) == 2);
  CHECK(admissions_at_a_time(gib(80), gib(17)) == 3);
  CHECK(admissions_at_a_time(gib(140), gib(25)) == k_most_admissions);
  CHECK(admissions_at_a_time(gib(1000), 0) == k_most_admissions);
}

TEST_CASE("tasks are admitted beside each other, and beside no judge in use", "[bench][judge_queue]") {
  CHECK(may_admit({.has_judge = false, .admissions = 0}, 4));
  CHECK(may_admit({.has_judge = false, .admissions = 3}, 4));
  CHECK_FALSE(may_admit({.has_judge = false, .admissions = 4}, 4));
  CHECK_FALSE(may_admit({.has_judge = true, .admissions = 0}, 4));
  CHECK(may_use_judge({.has_judge = false, .admissions = 0}));
  CHECK_FALSE(may_use_judge({.has_judge = false, .admissions = 1}));
  CHECK_FALSE(may_use_judge({.has_judge = true, .admissions = 0}));
}

TEST_CASE("a task joins those that are being admitted, unless the first request was overtaken too often",
          "[bench][judge_queue]") {
  CHECK(may_join({.has_judge = false, .admissions = 1}, {.warm = true, .overtaken = 0}));
  CHECK_FALSE(may_join({.has_judge = false, .admissions = 0}, {.warm = true, .overtaken = 0}));
  CHECK(may_join({.has_judge = false, .admissions = 1}, {.warm = false, .overtaken = k_most_overtakes - 1}));
  CHECK_FALSE(may_join({.has_judge = false, .admissions = 1}, {.warm = false, .overtaken = k_most_overtakes}));
}
