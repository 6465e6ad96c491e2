#include <kernelgen/store/event.hpp>
#include <kernelgen/store/journal.hpp>

#include "support/catch.hpp"
#include "support/sample_record.hpp"

using namespace kernelgen;

namespace {

ActionResult full_result() {
  ActionResult result;
  result.action = {"seed1/repair2", PromptKind::Repair, "seed1", "seed1/analysis", "rethink", 0.4};
  result.number = 7;
  result.status = ActionStatus::Evaluated;
  result.message = "a \"quoted\"\nmessage";
  result.candidate = make_candidate(Target::Cpp, "int main() {}\n");
  result.record = testing::full_record();
  result.analysis = Analysis{true, "slow", "memory", "fuse", "1. fuse", "2x", "final_state_only"};
  result.recurrence = Recurrence::PerStep;
  return result;
}

Reply full_reply() {
  return {
      "```cpp\nint x;\n```", FinishReason::Length, {10, 20, std::nullopt, 5}, "a-model", std::chrono::nanoseconds{123}};
}

ProfileTaken profile_taken() {
  ProfileTaken taken{"seed1", {}, Headroom{"memory", 100, 110, 1.1, "it takes 110 ns"}};
  taken.profile.source = "ncu";
  taken.profile.kernels = {{"step()", "step", KernelOrigin::Own, 3, 90, 3, {{"sm_throughput_pct", 40, "%"}}}};
  return taken;
}

std::vector<EventBody> one_of_each() {
  RunStarted started{"0.1.0", {}, Target::Triton, "hybrid", {{"goal", "1"}, {"seeds", "2"}}, "scripted"};
  started.task.name = "relu";
  started.task.text = "class Model: ...";
  TaskDescribed described;
  described.description.name = "relu";
  described.device = {{"model", "a processor"}};
  described.gpu.emplace().name = "a GPU";
  return {started,
          RunResumed{"0.1.0"},
          described,
          ActionIssued{7, full_result().action, {PromptKind::Repair, "repair this", 3, {"examples"}, "f00"}},
          RequestSent{7},
          RequestPending{7},
          RequestUnknown{7},
          ReplyArrived{7, full_reply(), 0.25, "localhost:8000", Prices{1, 2, 0.5, 1.25}},
          RequestFailed{7, ErrorCode::Timeout, "no answer", "localhost:8000"},
          ActionFinished{full_result()},
          BestChanged{"seed1"},
          BudgetExhausted{"tokens", "the budget of 5 tokens is used up"},
          RunFinished{"all stages are done", true},
          profile_taken(),
          RequestDeferred{7, ErrorCode::Unavailable, "HTTP 429: quota", "localhost:8000"},
          ActionReopened{"seed1"},
          RunContinued{"0.1.0", "hybrid", {{"goal", "2"}}, "scripted"}};
}

}  // namespace

TEST_CASE("every event survives being written and read", "[store][event]") {
  const auto bodies = one_of_each();
  CHECK(bodies.size() == std::variant_size_v<EventBody>);
  for (const auto& body : bodies) {
    const Event event{"2025-01-31T12:00:00.123Z", body};
    const std::string line = to_json(event);
    INFO(type_of(body));
    CHECK(line.find('\n') == line.npos);
    const auto read = parse_event(line);
    REQUIRE(read);
    CHECK(read->time == event.time);
    CHECK(type_of(read->body) == type_of(body));
    CHECK(to_json(*read) == line);
  }
}

TEST_CASE("what an event holds is there after reading", "[store][event]") {
  const auto read = parse_event(to_json({"", ActionFinished{full_result()}}));
  REQUIRE(read);
  const auto& result = std::get<ActionFinished>(read->body).result;
  CHECK(result.action == full_result().action);
  CHECK(result.candidate->source == "int main() {}\n");
  CHECK(result.analysis == full_result().analysis);
  CHECK(result.recurrence == Recurrence::PerStep);
  const auto reply = parse_event(to_json({"", ReplyArrived{7, full_reply()}}));
  CHECK(std::get<ReplyArrived>(reply->body).reply.usage == full_reply().usage);
  CHECK(std::get<ReplyArrived>(reply->body).reply.finish == FinishReason::Length);
}

TEST_CASE("a candidate that an earlier version wrote with its prompt and reply is read", "[store][event]") {
  const auto line = to_json({"", ActionFinished{full_result()}});
  CHECK(line.find("\"prompt\"") == line.npos);
  auto old = line;
  const std::string id = "\"id\":\"" + full_result().candidate->id + '"';
  REQUIRE(old.find(id) != old.npos);
  old.replace(old.find(id), id.size(), id + R"(,"prompt":"write it","reply":null)");
  const auto read = parse_event(old);
  REQUIRE(read);
  CHECK(to_json(*read) == line);
}

TEST_CASE("a profile and a headroom are there after reading", "[store][event]") {
  const auto read = parse_event(to_json({"", profile_taken()}));
  REQUIRE(read);
  const auto& taken = std::get<ProfileTaken>(read->body);
  CHECK(taken.headroom == profile_taken().headroom);
  CHECK(taken.profile.metric("sm_throughput_pct") == 40);
  CHECK(taken.profile.launches() == 3);
}

TEST_CASE("the history has the profiles that were taken of it", "[store][event]") {
  ActionResult result = full_result();
  result.action.id = "seed1";
  const auto history = history_of({{"", ActionFinished{result}}, {"", profile_taken()}});
  CHECK(history.at("seed1").profile->source == "ncu");
  CHECK(history.at("seed1").headroom->ratio == 1.1);
}

TEST_CASE("events of earlier versions lack what was added since", "[store][event]") {
  const auto failed = parse_event(R"({"schema":1,"type":"request_failed","number":3,"code":"timeout","message":"m"})");
  REQUIRE(failed);
  CHECK(std::get<RequestFailed>(failed->body).endpoint.empty());
  const auto described = parse_event(R"({"schema":1,"type":"task_described","device":[]})");
  REQUIRE(described);
  CHECK(std::get<TaskDescribed>(described->body).threads == 0);
  auto result = full_result();
  result.change = "wider loads";
  auto line = to_json({"", ActionFinished{result}});
  CHECK(std::get<ActionFinished>(parse_event(line)->body).result.change == "wider loads");
  const std::string member = R"(,"change":"wider loads")";
  REQUIRE(line.find(member) != line.npos);
  line.erase(line.find(member), member.size());
  const auto finished = parse_event(line);
  REQUIRE(finished);
  CHECK(std::get<ActionFinished>(finished->body).result.change.empty());
}

TEST_CASE("an action that was reopened is no part of the history", "[store][event]") {
  const auto finished = ActionFinished{full_result()};
  CHECK(history_of({{"", finished}, {"", ActionReopened{full_result().action.id}}}).empty());
}

TEST_CASE("what is no event is refused", "[store][event]") {
  CHECK(parse_event("").error().code == ErrorCode::InvalidArgument);
  CHECK(parse_event("{\"schema\":1").error().code == ErrorCode::InvalidArgument);
  CHECK(parse_event("[1]").error().code == ErrorCode::InvalidArgument);
  CHECK(parse_event(R"({"type":"request_sent","number":1})").error().code == ErrorCode::InvalidArgument);
  CHECK(parse_event(R"({"schema":1,"type":"no_such_event"})").error().code == ErrorCode::InvalidArgument);
  CHECK(parse_event(R"({"schema":99,"type":"request_sent"})").error().code == ErrorCode::Unsupported);
  const auto wrong = parse_event(R"({"schema":1,"type":"request_sent","number":"seven"})");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message.find("number") != std::string::npos);
}

TEST_CASE("members that a later version adds are ignored", "[store][event]") {
  const auto read = parse_event(R"({"schema":1,"type":"request_sent","time":"t","number":3,"later":{"a":1}})");
  REQUIRE(read);
  CHECK(std::get<RequestSent>(read->body).number == 3);
}

TEST_CASE("the journal of a target that this program does not know is read", "[store][event]") {
  Event event;
  event.body = RunStarted{"0.1.0", {}, register_target({.name = "journal-a"}).value(), "hybrid", {}, "scripted"};
  auto line = to_json(event);
  line.replace(line.find("journal-a"), 9, "journal-b");
  const auto read = parse_event(line).value();
  const auto target = std::get<RunStarted>(read.body).target;
  CHECK(to_string(target) == "journal-b");
  CHECK_FALSE(is_registered(target));
  CHECK(to_json(read) == line);
}
