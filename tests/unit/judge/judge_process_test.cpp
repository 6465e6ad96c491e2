#include "judge/judge_process.hpp"

#include <sys/socket.h>

#include <boost/json.hpp>
#include <functional>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/frame_channel.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
namespace json = boost::json;

namespace {

using Answer = std::function<json::object(const std::string& op, const json::object& request)>;

/// The judge's end of the socket: answers in the order of the requests, as a judge does.
class ScriptedJudge {
 public:
  explicit ScriptedJudge(Answer answer) {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    judge_ = make_judge_process({.socket = UniqueFd(ends[0])});
    thread_ = std::jthread([this, channel = FrameChannel(UniqueFd(ends[1])), answer = std::move(answer)]() mutable {
      while (auto frame = channel.receive(10s, {})) {
        const auto request = json::parse(*frame).as_object();
        const std::string op(request.at("op").as_string());
        ops.push_back(op);
        auto reply = answer(op, request);
        reply["id"] = request.at("id");
        reply.emplace("ok", true);
        if (!channel.send(json::serialize(reply))) return;
      }
    });
  }
  ScriptedJudge(const ScriptedJudge&) = delete;
  ScriptedJudge& operator=(const ScriptedJudge&) = delete;
  ~ScriptedJudge() { finish(); }

  Judge& operator*() { return *judge_; }
  /// Closes the connection; `ops` may be read now.
  void finish() {
    judge_.reset();
    if (thread_.joinable()) thread_.join();
  }

  std::vector<std::string> ops;

 private:
  std::unique_ptr<Judge> judge_;
  std::jthread thread_;
};

json::object right_answer(const std::string& op, const json::object& request) {
  if (op == "check")
    return {{"outcome", {{"kind", "correct"}, {"detail", ""}, {"message", ""}}}, {"outputs", json::array()}};
  if (op == "weights") return {{"seed", "7"}, {"transform", 1}};
  const bool after = request.contains("reference") && request.at("reference") == "after";
  return {{"seed", "1"},   {"forward_seed", "2"}, {"reference_ns", after ? 0 : 1000},
          {"fresh", true}, {"throttled", false},  {"clock_mhz", 1755},
          {"slot", 0},     {"calls", 1}};
}

const CallRequest k_before{.distribution = "own", .freshness = Freshness::Canary};
const CallRequest k_after{.distribution = "own", .freshness = Freshness::Canary, .order = ReferenceOrder::After};

}  // namespace

TEST_CASE("a call that was announced is prepared once", "[judge]") {
  ScriptedJudge judge(right_answer);
  REQUIRE((*judge).prepare_call(k_before));
  REQUIRE((*judge).check(CheckMode::Full, k_after));
  const auto prepared = (*judge).prepare_call(k_after);
  REQUIRE(prepared);
  CHECK(prepared->reference_ns == 0);
  CHECK(prepared->clock_mhz == 1755);
  REQUIRE((*judge).check(CheckMode::Full, std::nullopt));
  judge.finish();
  CHECK(judge.ops == std::vector<std::string>{"prepare_call", "check", "prepare_call", "check"});
}

TEST_CASE("a call that was announced and did not come changes nothing else", "[judge]") {
  ScriptedJudge judge(right_answer);
  REQUIRE((*judge).check(CheckMode::Full, k_after));
  const auto other = (*judge).prepare_call(k_before);
  REQUIRE(other);
  CHECK(other->reference_ns == 1000);
  REQUIRE((*judge).check(CheckMode::Full, k_after));
  CHECK((*judge).use_weights(2).value().transform == 1);
  REQUIRE((*judge).check(CheckMode::Full, k_after));
  REQUIRE((*judge).check(CheckMode::Full, std::nullopt));
  judge.finish();
  CHECK(judge.ops == std::vector<std::string>{"check", "prepare_call", "prepare_call", "check", "prepare_call",
                                              "weights", "check", "prepare_call", "check"});
}

TEST_CASE("a task that fails while it is prepared ahead fails when that call comes", "[judge]") {
  ScriptedJudge judge([](const std::string& op, const json::object& request) {
    if (op != "prepare_call") return right_answer(op, request);
    return json::object{{"ok", false}, {"error", {{"code", "invalid_task"}, {"message", "no more inputs"}}}};
  });
  REQUIRE((*judge).check(CheckMode::Full, k_after));
  const auto prepared = (*judge).prepare_call(k_after);
  REQUIRE_FALSE(prepared);
  CHECK(prepared.error().code == ErrorCode::InvalidTask);
  CHECK(prepared.error().message == "no more inputs");
  // This request was not the prefetched one.
  REQUIRE((*judge).check(CheckMode::Full, k_after));
  CHECK((*judge).use_weights(1));
}

TEST_CASE("a seed that is no number is an error of the protocol", "[judge]") {
  ScriptedJudge judge([](const std::string&, const json::object&) { return json::object{{"seed", "none"}}; });
  const auto seed = (*judge).use_weights(1);
  REQUIRE_FALSE(seed);
  CHECK(seed.error().code == ErrorCode::Protocol);
}
