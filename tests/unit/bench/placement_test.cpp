#include "bench/placement.hpp"

#include <algorithm>
#include <cstdlib>
#include <deque>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

constexpr auto k_warm = JudgeState::Warm;
constexpr auto k_cold = JudgeState::Cold;
constexpr auto k_full = JudgeState::Evicts;

std::size_t chosen(const std::vector<DeviceLoad>& devices) { return least_loaded_device(devices); }

/// A node on which evaluations end in the order of their arrival. Each device keeps some judges warm.
class Node {
 public:
  Node(std::size_t devices, std::size_t most_judges) : warm_(devices), most_judges_(most_judges) {}

  /// The device on which it is placed.
  std::size_t evaluate(char task) {
    std::vector<Placement::Choice> choices;
    for (std::size_t i = 0; i < warm_.size(); ++i) choices.push_back({std::to_string(i), state_of(i, task)});
    places_.push_back(placement_.reserve(std::string(1, task), choices));
    const auto device = places_.back()->index();
    auto& judges = warm_[device];
    if (std::erase(judges, task) == 0) ++starts;
    judges.push_back(task);
    if (judges.size() > most_judges_) judges.pop_front();
    return device;
  }

  void end_first() { places_.pop_front(); }
  [[nodiscard]] int active_count(std::size_t device) const { return placement_.active_count(std::to_string(device)); }

  /// Judges that were started.
  int starts = 0;

 private:
  [[nodiscard]] JudgeState state_of(std::size_t device, char task) const {
    const auto& judges = warm_[device];
    if (std::count(judges.begin(), judges.end(), task) > 0) return k_warm;
    return judges.size() < most_judges_ ? k_cold : k_full;
  }

  std::vector<std::deque<char>> warm_;
  std::size_t most_judges_;
  Placement placement_;
  std::deque<std::unique_ptr<Placement::Reservation>> places_;
};

/// The devices of evaluations that are made one at a time.
std::string one_by_one(Node& node, const std::string& tasks) {
  std::string devices;
  for (const char task : tasks) {
    devices += std::to_string(node.evaluate(task));
    node.end_first();
  }
  return devices;
}

}  // namespace

TEST_CASE("the device with least to do is chosen", "[bench][placement]") {
  CHECK(chosen({{}}) == 0);
  CHECK(chosen({{.work = 9, .judge = k_full}}) == 0);
  CHECK(chosen({{.work = 3}, {.work = 1}, {.work = 2}}) == 1);
}

TEST_CASE("among equal devices it is the one that was used least recently, then the first", "[bench][placement]") {
  CHECK(chosen({{}, {}, {}}) == 0);
  CHECK(chosen({{.last_placed = 5}, {.last_placed = 3}, {.last_placed = 4}}) == 1);
  CHECK(chosen({{.last_placed = 5}, {.last_placed = 0}}) == 1);
}

TEST_CASE("a warm judge is worth waiting for, for as long as starting another one takes", "[bench][placement]") {
  CHECK(chosen({{.work = 0, .judge = k_cold}, {.work = 0, .judge = k_warm, .last_placed = 9}}) == 1);
  // Both devices would finish at the same time; the idle one is chosen.
  CHECK(chosen({{.work = 1, .judge = k_warm}, {.work = 0, .judge = k_cold}}) == 1);
  CHECK(chosen({{.work = 5, .judge = k_warm}, {.work = 4, .judge = k_cold}}) == 1);
  CHECK(chosen({{.work = 5, .judge = k_warm}, {.work = 5, .judge = k_cold}}) == 0);
}

TEST_CASE("ending another task's judge counts against a device", "[bench][placement]") {
  CHECK(chosen({{.judge = k_full}, {.judge = k_cold, .last_placed = 9}}) == 1);
  CHECK(chosen({{.work = 1, .judge = k_warm}, {.work = 0, .judge = k_full}}) == 0);
  CHECK(chosen({{.work = 3, .judge = k_warm}, {.work = 0, .judge = k_full}}) == 1);
}

TEST_CASE("one evaluation at a time stays with its judge", "[bench][placement]") {
  Node node(8, 3);
  CHECK(one_by_one(node, "aaaa") == "0000");
  CHECK(node.starts == 1);
}

TEST_CASE("tasks that take turns have a device each, and no judge is ended for another", "[bench][placement]") {
  Node node(2, 1);
  CHECK(one_by_one(node, "abababab") == "01010101");
  CHECK(node.starts == 2);
}

TEST_CASE("tasks of which two are at hand at a time keep their judges too", "[bench][placement]") {
  Node node(2, 1);
  node.evaluate('a');
  for (const char task : std::string("babababab")) {
    node.evaluate(task);
    node.end_first();
  }
  CHECK(node.starts == 2);
}

TEST_CASE("many evaluations of one task use all devices alike", "[bench][placement]") {
  Node node(8, 3);
  for (int i = 0; i < 40; ++i) node.evaluate('a');
  for (std::size_t device = 0; device < 8; ++device) CHECK(node.active_count(device) == 5);
  CHECK(node.starts == 8);
}

TEST_CASE("two evaluations at a time use two devices, also when only one has the judge", "[bench][placement]") {
  Node node(2, 3);
  one_by_one(node, "aaa");
  CHECK(node.evaluate('a') == 0);
  CHECK(node.evaluate('a') == 1);
}

TEST_CASE("many tasks at once share the devices, each with few judges", "[bench][placement]") {
  Node node(2, 20);
  for (int i = 0; i < 40; ++i) node.evaluate(static_cast<char>('a' + i * 7 % 10));
  CHECK(std::abs(node.active_count(0) - node.active_count(1)) <= 4);
  // Twenty would be one of every task on both.
  CHECK(node.starts < 16);
}

TEST_CASE("a reservation is given back when it ends", "[bench][placement]") {
  Placement placement;
  const std::vector<Placement::Choice> both{{"x", k_cold}, {"y", k_cold}};
  auto first = placement.reserve("a", both);
  CHECK(first->index() == 0);
  CHECK(placement.active_count("x") == 1);
  first.reset();
  CHECK(placement.active_count("x") == 0);
  // Both are idle again: y was never used, so it is next, and x after it.
  CHECK(placement.reserve("b", both)->index() == 1);
  CHECK(placement.reserve("c", both)->index() == 0);
}

TEST_CASE("an evaluation that moves is counted where it goes", "[bench][placement]") {
  Placement placement;
  const std::vector<Placement::Choice> both{{"x", k_cold}, {"y", k_cold}};
  const auto first = placement.reserve("a", both);
  auto second = placement.reserve("b", {{"x", k_full}});
  second->move_to("y");
  CHECK(placement.active_count("x") == 1);
  CHECK(placement.active_count("y") == 1);
  CHECK(placement.used_gpus() == 2);
  // It has its judge there: one unit of work, where the other two have a judge to start as well.
  CHECK(placement.reserve("b", both)->index() == 1);
  second.reset();
  CHECK(placement.active_count("y") == 0);
}

TEST_CASE("other workers count where they are", "[bench][placement]") {
  Placement placement;
  // A judge is worth waiting for one of them, if one would have to be ended elsewhere.
  CHECK(placement.reserve("a", {{"x", k_warm, 1}, {"y", k_full}})->index() == 0);
  CHECK(placement.reserve("a", {{"x", k_warm, 1}, {"y", k_cold}})->index() == 1);
  CHECK(placement.reserve("b", {{"x", k_cold}, {"y", k_cold, 1}})->index() == 0);
}

TEST_CASE("an evaluation that names a device is counted there", "[bench][placement]") {
  Placement placement;
  const auto named = placement.reserve("a", {{"x", k_warm}});
  CHECK(placement.reserve("b", {{"x", k_cold}, {"y", k_cold}})->index() == 1);
}

TEST_CASE("a device that is quarantined or was tried comes last, whatever waits elsewhere", "[bench][placement]") {
  CHECK(chosen({{.judge = k_warm, .quarantined = true}, {.work = 40, .judge = k_full}}) == 1);
  CHECK(chosen({{.judge = k_warm, .tried = true}, {.work = 40, .judge = k_full}}) == 1);
  // A disturbed device is better than one that cannot be used.
  CHECK(chosen({{.quarantined = true}, {.work = 9, .tried = true}}) == 1);
  // If all are quarantined, they are equal again.
  CHECK(chosen({{.work = 2, .quarantined = true}, {.work = 1, .quarantined = true}}) == 1);
  CHECK(chosen({{.work = 2, .tried = true}, {.work = 1, .tried = true}}) == 1);
}

namespace {

/// Two devices, and a clock that is set.
struct Troubled {
  Placement::Clock::time_point now{std::chrono::hours(1)};
  Placement placement{[this] { return now; }};

  /// The place of an evaluation that would prefer the first device.
  std::size_t placed(JudgeState second = k_cold, bool tried = false) {
    return placement.reserve("a", {{"x", k_warm, 0, tried}, {"y", second}})->index();
  }
};

}  // namespace

TEST_CASE("a device that cannot be used is quarantined for a minute, then twice as long", "[bench][placement]") {
  Troubled node;
  CHECK(node.placed(k_full) == 0);
  for (const int minutes : {1, 2, 4, 8, 16, 16}) {
    node.placement.quarantine("x");
    // Other evaluations that were there fail as well.
    node.placement.quarantine("x");
    CHECK(node.placed(k_full) == 1);
    node.now += std::chrono::minutes(minutes) - std::chrono::seconds(1);
    node.placement.quarantine("x");
    CHECK(node.placed(k_full) == 1);
    node.now += std::chrono::seconds(1);
    CHECK(node.placed(k_full) == 0);
  }
  // It worked for longer than it was quarantined.
  node.now += std::chrono::minutes(17);
  node.placement.quarantine("x");
  node.now += std::chrono::minutes(1);
  CHECK(node.placed(k_full) == 0);
}

TEST_CASE("devices that are all quarantined are equal", "[bench][placement]") {
  Troubled node;
  node.placement.quarantine("y");
  node.placement.quarantine("x");
  CHECK(node.placed() == 0);
  CHECK(node.placement.reserve("a", {{"x", k_cold}})->index() == 0);
}

TEST_CASE("a device that others use counts as busier for five minutes", "[bench][placement]") {
  Troubled node;
  node.placement.mark_shared("x");
  CHECK(node.placed() == 1);
  CHECK(node.placed(k_full) == 1);
  node.placement.mark_shared("y");
  CHECK(node.placed(k_full) == 0);
  node.now += std::chrono::minutes(4);
  node.placement.mark_shared("x");
  node.now += std::chrono::minutes(1);
  CHECK(node.placed(k_full) == 1);
  node.now += std::chrono::minutes(4);
  CHECK(node.placed(k_full) == 0);
}

TEST_CASE("a device that others use is still used where the queue elsewhere is long", "[bench][placement]") {
  Troubled node;
  node.placement.mark_shared("x");
  std::vector<std::unique_ptr<Placement::Reservation>> places;
  for (int i = 0; i < 20; ++i) places.push_back(node.placement.reserve("a", {{"x", k_warm}, {"y", k_warm}}));
  CHECK(node.placement.active_count("x") == 8);
  CHECK(node.placement.active_count("y") == 12);
}

TEST_CASE("another try is elsewhere", "[bench][placement]") {
  Troubled node;
  CHECK(node.placed(k_full, true) == 1);
  CHECK(node.placement.reserve("a", {{"x", k_warm, 0, true}})->index() == 0);
}

TEST_CASE("GPUs with an evaluation are counted", "[bench][placement]") {
  Placement placement;
  CHECK(placement.used_gpus() == 0);
  const auto on_processor = placement.reserve("a", {{""}});
  auto one = placement.reserve("a", {{"x"}});
  const auto same = placement.reserve("b", {{"x"}});
  CHECK(placement.used_gpus() == 1);
  const auto other = placement.reserve("b", {{"y"}});
  CHECK(placement.used_gpus() == 2);
  one.reset();
  CHECK(placement.used_gpus() == 2);
}

TEST_CASE("compilers leave processors to the GPUs that are used, but have a quarter", "[bench][placement]") {
  CHECK(max_parallel_compilers(1, 16) == 13);
  CHECK(max_parallel_compilers(2, 16) == 11);
  CHECK(max_parallel_compilers(8, 16) == 4);
  CHECK(max_parallel_compilers(8, 128) == 111);
  CHECK(max_parallel_compilers(1, 2) == 2);
}
