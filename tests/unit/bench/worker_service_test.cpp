// Tests of a worker's side of the protocol, with a fake benchmarker: the effect of bad messages.

#include "bench/worker_service.hpp"

#include <sys/socket.h>

#include <array>
#include <boost/json.hpp>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "bench/protocol.hpp"
#include "core/json.hpp"
#include "support/catch.hpp"
#include "support/frames.hpp"
#include "support/unique_fd.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
namespace json = boost::json;

namespace {

/// A benchmarker that answers with empty records and descriptions.
class NoBenchmarker final : public LocalBenchmarker {
 public:
  std::string device() const override { return "cpu: none"; }
  Result<int> count_gpus(std::stop_token) override { return 0; }
  Result<void> check_readiness(std::stop_token) override { return {}; }
  Result<EvaluationRecord> evaluate(const EvaluationRequest& request, const ProgressCallback&,
                                    std::stop_token) override {
    if (request.task.name == "throws") throw std::bad_alloc();
    EvaluationRecord record;
    if (request.task.name == "large") record.outcome.message.assign(65u << 20, 'x');
    return record;
  }
  Result<EvaluationRecord> evaluate_prebuilt(const EvaluationRequest&, const Prebuilt& prebuilt,
                                             const ProgressCallback&, std::stop_token) override {
    EvaluationRecord record;
    record.outcome.message = prebuilt.bytes;
    return record;
  }
  Result<Profile> profile(const RemoteProfileRequest& request, std::stop_token) override {
    if (request.what.task.name == "none") return Error{ErrorCode::MissingTool, "no torch"};
    Profile profile;
    profile.source = request.counters == Counters::Read ? request.metric_set : "timeline";
    return profile;
  }
  Result<TaskDescription> describe(const TaskSource&, const EvaluationOptions&, std::stop_token) override {
    return TaskDescription{};
  }
};

/// A client of a worker in a thread of its own.
class Client {
 public:
  Client() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    ours_.reset(ends[0]);
    theirs_.reset(ends[1]);
    worker_ = std::jthread([this](const std::stop_token& stop) {
      served_ = serve_client(benchmarker_, theirs_.get(), theirs_.get(), stop);
      theirs_.reset();
    });
    REQUIRE(std::holds_alternative<HelloMessage>(receive()));
  }

  void send_body(const std::string& body) { send_bytes(encode_frame(body)); }
  void send_bytes(const std::string& bytes) {
    REQUIRE(::send(ours_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
  }

  Message receive() {
    while (true) {
      auto message = decoder_.next();
      REQUIRE(message);
      if (*message) return **std::move(message);
      std::array<char, 65536> buffer;
      const auto count = ::recv(ours_.get(), buffer.data(), buffer.size(), 0);
      REQUIRE(count > 0);
      decoder_.feed({buffer.data(), static_cast<std::size_t>(count)});
    }
  }

  /// Checks that the worker still answers.
  void check_alive() {
    send_body(R"({"type":"ping","id":4242})");
    const auto pong = receive();
    REQUIRE(std::holds_alternative<PongMessage>(pong));
    CHECK(std::get<PongMessage>(pong).id == 4242);
  }

  /// Waits for the worker and returns its result.
  Result<void> join() {
    worker_.join();
    return served_;
  }

 private:
  NoBenchmarker benchmarker_;
  UniqueFd ours_, theirs_;
  MessageDecoder decoder_;
  Result<void> served_;
  std::jthread worker_;
};

json::value full_evaluate() {
  EvaluateMessage message{7, {}};
  message.request.task = {"relu", "", "import torch\n", "aa11", TaskLevel::SingleOperator};
  message.request.candidate = make_candidate(Target::Cpp, "// kernel\n");
  message.request.options.rtol = 1e-3;
  message.request.options.atol = 1e-3;
  message.request.options.shrink = {{"rows", 4}};
  message.request.options.baselines.kinds = {BaselineKind::Compile};
  return parse_json(to_json(Message(message))).value();
}

json::value full_prebuilt() {
  EvaluateMessage message{7, {}, Prebuilt{.key = "aa11", .bytes = "bytes of an artifact"}};
  message.request.candidate = make_candidate(Target::Cpp, "// kernel\n");
  return parse_json(to_json(Message(message))).value();
}

/// JSON pointers of every member of an object, at every depth.
void list_members(const json::value& value, const std::string& at, std::vector<std::string>& found) {
  if (const auto* object = value.if_object()) {
    for (const auto& [name, member] : *object) {
      const auto pointer = at + '/' + std::string(name);
      found.push_back(pointer);
      list_members(member, pointer, found);
    }
  }
}

std::vector<std::string> members_of(const json::value& value) {
  std::vector<std::string> found;
  list_members(value, "", found);
  return found;
}

}  // namespace

TEST_CASE("each member of an evaluate message may be missing, and costs that message at most", "[bench][worker]") {
  const auto members = members_of(full_evaluate());
  CHECK(members.size() > 30);
  Client client;
  for (const auto& pointer : members) {
    INFO("without " << pointer);
    auto message = full_evaluate();
    const auto slash = pointer.rfind('/');
    message.at_pointer(pointer.substr(0, slash)).as_object().erase(pointer.substr(slash + 1));
    client.send_body(json::serialize(message));
    const auto answer = client.receive();
    if (pointer == "/type" || pointer == "/request") {
      REQUIRE(std::holds_alternative<ErrorMessage>(answer));
      CHECK(std::get<ErrorMessage>(answer).id == 7U);
      CHECK(std::get<ErrorMessage>(answer).error.code == ErrorCode::Protocol);
    } else if (pointer == "/id") {
      REQUIRE(std::holds_alternative<ErrorMessage>(answer));
      CHECK_FALSE(std::get<ErrorMessage>(answer).id);
    } else {
      REQUIRE(std::holds_alternative<RecordMessage>(answer));
      CHECK(std::get<RecordMessage>(answer).id == 7U);
    }
    client.check_alive();
  }
}

TEST_CASE("each member of an evaluate message may have a value of a wrong type, which is answered by an error",
          "[bench][worker]") {
  Client client;
  for (const auto& pointer : members_of(full_evaluate())) {
    const std::vector<json::value> wrong_values{json::object{{"not", "this"}}, "neither this", -1.5, json::array{1},
                                                true};
    for (const auto& wrong : wrong_values) {
      auto message = full_evaluate();
      auto& place = message.at_pointer(pointer);
      if (place.kind() == wrong.kind() || (place.is_number() && wrong.is_number())) continue;
      // A nullable number takes any number; texts are free.
      if (place.is_null()) continue;
      INFO(pointer << " is " << json::serialize(wrong));
      place = wrong;
      client.send_body(json::serialize(message));
      const auto answer = client.receive();
      // An object with unknown members only has defaults.
      if (std::holds_alternative<RecordMessage>(answer)) {
        CHECK(wrong.is_object());
      } else {
        REQUIRE(std::holds_alternative<ErrorMessage>(answer));
        if (pointer != "/id") CHECK(std::get<ErrorMessage>(answer).id == 7U);
      }
      client.check_alive();
    }
  }
}

TEST_CASE("the artifact that a client built arrives byte for byte", "[bench][worker]") {
  Client client;
  client.send_body(json::serialize(full_prebuilt()));
  const auto answer = client.receive();
  REQUIRE(std::holds_alternative<RecordMessage>(answer));
  CHECK(std::get<RecordMessage>(answer).record.outcome.message == "bytes of an artifact");
}

TEST_CASE("members of evaluate_prebuilt that are missing or of a wrong type cost that message at most",
          "[bench][worker]") {
  Client client;
  const auto refusal_of = [&](const json::value& message) {
    client.send_body(json::serialize(message));
    const auto answer = client.receive();
    REQUIRE(std::holds_alternative<ErrorMessage>(answer));
    CHECK(std::get<ErrorMessage>(answer).id == 7U);
    CHECK(std::get<ErrorMessage>(answer).error.code == ErrorCode::Protocol);
    client.check_alive();
    return std::get<ErrorMessage>(answer).error.message;
  };
  for (const char* name : {"artifact", "device"}) {
    auto message = full_prebuilt();
    message.at_pointer("/prebuilt").as_object().erase(name);
    CHECK_THAT(refusal_of(message), Catch::Contains(std::string("has no member ") + name));
  }
  auto without = full_prebuilt();
  without.as_object().erase("prebuilt");
  CHECK_THAT(refusal_of(without), Catch::Contains("has no member prebuilt"));
  for (const char* pointer : {"/prebuilt", "/prebuilt/artifact", "/prebuilt/device", "/prebuilt/key",
                              "/prebuilt/report", "/prebuilt/refusal", "/prebuilt/bytes"}) {
    for (const json::value& wrong : {json::value(7), json::value(json::array{1}), json::value("no base64!")}) {
      if (std::string_view(pointer) == "/prebuilt/key" && wrong.is_string()) continue;
      INFO(pointer << " is " << json::serialize(wrong));
      auto message = full_prebuilt();
      message.at_pointer(pointer) = wrong;
      refusal_of(message);
    }
  }
}

TEST_CASE("a malformed target loses its message and no other", "[bench][worker]") {
  Client client;
  client.send_body(R"({"type":"evaluate","id":3,"request":{"candidate":{"target":"Vulkan!","source":""}}})");
  const auto answer = client.receive();
  REQUIRE(std::holds_alternative<ErrorMessage>(answer));
  CHECK(std::get<ErrorMessage>(answer).id == 3U);
  CHECK_THAT(std::get<ErrorMessage>(answer).error.message, Catch::Contains(R"(unknown name "Vulkan!")"));
  client.check_alive();
  for (const char* body : {"[]", "not JSON", "{\"type\":7,\"id\":9}", "{\"type\":\"telemetry\",\"id\":9}"}) {
    client.send_body(body);
    CHECK(std::holds_alternative<ErrorMessage>(client.receive()));
    client.check_alive();
  }
}

TEST_CASE("a describe message needs no options", "[bench][worker]") {
  Client client;
  client.send_body(R"({"type":"describe","id":5,"task":{"name":"relu"}})");
  CHECK(std::holds_alternative<DescriptionMessage>(client.receive()));
}

TEST_CASE("a request that throws, and an answer that is too large, are answered by errors", "[bench][worker]") {
  Client client;
  for (const char* name : {"throws", "large"}) {
    auto message = full_evaluate();
    message.at_pointer("/request/task/name") = name;
    client.send_body(json::serialize(message));
    const auto answer = client.receive();
    REQUIRE(std::holds_alternative<ErrorMessage>(answer));
    CHECK(std::get<ErrorMessage>(answer).id == 7U);
    client.check_alive();
  }
}

TEST_CASE("a stream that is lost ends the connection", "[bench][worker]") {
  Client client;
  client.send_bytes("Welcome to the cluster\n");
  const auto answer = client.receive();
  REQUIRE(std::holds_alternative<ErrorMessage>(answer));
  CHECK_FALSE(std::get<ErrorMessage>(answer).id);
  const auto served = client.join();
  REQUIRE_FALSE(served);
  CHECK(served.error().code == ErrorCode::Protocol);
}

TEST_CASE("a worker answers a request for a profile, or says why there is none", "[bench][worker]") {
  Client client;
  ProfileMessage message{.id = 7, .request = {.what = {}, .counters = Counters::Read, .metric_set = "full"}};
  client.send_body(to_json(Message(message)));
  const auto answer = client.receive();
  REQUIRE(std::holds_alternative<ProfiledMessage>(answer));
  CHECK(std::get<ProfiledMessage>(answer).id == 7);
  CHECK(std::get<ProfiledMessage>(answer).profile.source == "full");
  message.request.what.task.name = "none";
  client.send_body(to_json(Message(message)));
  const auto refused = client.receive();
  REQUIRE(std::holds_alternative<ErrorMessage>(refused));
  CHECK(std::get<ErrorMessage>(refused).id == 7);
  CHECK(std::get<ErrorMessage>(refused).error.message == "no torch");
  client.check_alive();
}
