#include "bench/protocol.hpp"

#include <random>

#include "fuzz/protocol_fuzz.hpp"
#include "support/catch.hpp"
#include "support/effort.hpp"
#include "support/golden.hpp"
#include "support/sample_record.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;

namespace {

EvaluationRequest sample_request() {
  EvaluationRequest request;
  request.task = {"relu", "examples/tasks/relu.py", "import torch\n", "aa11", TaskLevel::SingleOperator};
  request.candidate = make_candidate(Target::Cpp, "// kernel\n");
  request.options.precision = PrecisionClass::Default;
  request.options.rtol = 1e-3;
  request.options.call_timeout = 1500ms;
  request.options.memory_limit = 6ULL << 30;
  request.options.shrink = {{"batch_size", 4}};
  request.options.measure.deadline = 3s;
  return request;
}

Profile sample_profile() {
  Profile profile;
  profile.source = "timeline";
  profile.device = "NVIDIA H200";
  profile.call_ns = 2000;
  profile.kernels = {{"mine(float*)", "mine", KernelOrigin::Own, 1, 1500, 1, {{"grid_blocks", 96, "block"}}}};
  profile.no_counters = ProfileUnavailable{"there is no ncu", "install it"};
  return profile;
}

/// One of each, in the order of the variant.
std::vector<Message> sample_messages() {
  return {
      HelloMessage{1, "0.1.0", "cpu: a CPU, 2 cores", 4711},
      EvaluateMessage{7, sample_request()},
      DescribeMessage{8, sample_request().task, sample_request().options},
      ProfileMessage{9, {sample_request(), Counters::None, "full"}},
      CancelMessage{7},
      PingMessage{1},
      PongMessage{1},
      ShutdownMessage{},
      ProgressMessage{7, {"timing", "120 samples"}},
      RecordMessage{7, kernelgen::testing::full_record()},
      DescriptionMessage{8, *kernelgen::testing::full_record().task},
      ProfiledMessage{9, sample_profile()},
      ErrorMessage{std::nullopt, {ErrorCode::MissingTool, "no Python", {"starting the judge"}}},
      UnknownMessage{"telemetry", 3, R"({"type":"telemetry","id":3,"load":0.5})"},
  };
}

std::string encoded(const Message& message) { return encode_message(message).value(); }

std::string parse_error(std::string_view json) {
  const auto message = parse_message(json);
  REQUIRE_FALSE(message);
  CHECK(message.error().code == ErrorCode::Protocol);
  return message.error().message;
}

}  // namespace

TEST_CASE("every message reads back as it was written", "[bench][protocol]") {
  const auto messages = sample_messages();
  REQUIRE(messages.size() == std::variant_size_v<Message>);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    INFO(type_of(messages[i]));
    REQUIRE(messages[i].index() == i);
    const auto again = parse_message(to_json(messages[i]));
    REQUIRE(again);
    CHECK(again->index() == i);
    CHECK(to_json(*again) == to_json(messages[i]));
  }
}

TEST_CASE("the spelling of the messages is a golden file", "[bench][protocol]") {
  std::string lines;
  for (const auto& message : sample_messages())
    if (!std::holds_alternative<RecordMessage>(message)) lines += to_json(message) + '\n';
  kernelgen::testing::check_golden("protocol.jsonl", lines);
}

TEST_CASE("baselines are sent where they were asked for, and nothing of them otherwise", "[bench][protocol]") {
  EvaluateMessage message{7, sample_request()};
  CHECK(to_json(message).find("baselines") == std::string::npos);
  message.request.options.baselines = {{BaselineKind::CompileMaxAutotune}, 20s};
  const auto text = to_json(message);
  CHECK_THAT(text, Catch::Contains(R"("baselines":{"kinds":["compile-max-autotune"],"timeout_ms":20000})"));
  const auto read = parse_message(text);
  REQUIRE(read);
  const auto& options = std::get<EvaluateMessage>(*read).request.options;
  CHECK(options.baselines.kinds == std::vector<BaselineKind>{BaselineKind::CompileMaxAutotune});
  CHECK(options.baselines.timeout == 20s);
  const auto unknown =
      parse_message(R"({"type":"evaluate","id":1,"request":{"options":{"baselines":{"kinds":["quickly"]}}}})");
  REQUIRE_FALSE(unknown);
  CHECK_THAT(unknown.error().to_line(), Catch::Contains(R"(unknown name "quickly")"));
}

TEST_CASE("options arrive as they were sent, private parts do not", "[bench][protocol]") {
  const auto message = parse_message(to_json(Message{EvaluateMessage{7, sample_request()}}));
  REQUIRE(message);
  const auto& request = std::get<EvaluateMessage>(*message).request;
  CHECK(request.options.precision == PrecisionClass::Default);
  CHECK(request.options.rtol == 1e-3);
  CHECK_FALSE(request.options.atol);
  CHECK(request.options.call_timeout == 1500ms);
  CHECK(request.options.memory_limit == 6ULL << 30);
  CHECK(request.options.shrink == sample_request().options.shrink);
  CHECK(request.options.measure.deadline == 3s);
  CHECK(request.candidate.id == sample_request().candidate.id);
  CHECK(request.task.path.empty());
}

TEST_CASE("a message that is not one says what is wrong", "[bench][protocol]") {
  CHECK(parse_error("[1]") == "bad message: it has no type");
  CHECK(parse_error(R"({"type":7})") == "bad message: it has no type");
  CHECK(parse_error("{").find("bad message: not JSON") == 0);
  CHECK(parse_error(R"({"type":"hello"})") == "bad message: hello has no protocol number");
  CHECK(parse_error(R"({"type":"hello","protocol":"1"})") ==
        "bad message: hello.protocol: expected an integer in range, found string");
  CHECK(parse_error(R"({"type":"cancel"})") == "bad message: cancel has no id");
  CHECK(parse_error(R"({"type":"ping","id":-1})") ==
        "bad message: ping.id: expected a whole number that is not negative");
  CHECK(parse_error(R"({"type":"evaluate","id":1})") == "bad message: evaluate has no member request");
  CHECK(parse_error(R"({"type":"evaluate","id":1,"request":{"candidate":{"target":"Vulkan!"}}})") ==
        R"(bad message: evaluate.request: candidate.target: unknown name "Vulkan!")");
}

TEST_CASE("an older peer's message is completed with defaults", "[bench][protocol]") {
  const auto message = parse_message(R"({"type":"evaluate","id":1,"request":{"new":[]}})");
  REQUIRE(message);
  CHECK(std::get<EvaluateMessage>(*message).request.options.measure.full_comparisons == 44);
}

TEST_CASE("options of an older client are read under their former names", "[bench][protocol]") {
  const auto message = parse_message(R"({"type":"describe","id":1,"task":{},"options":{"compile_timeout_ms":1500}})");
  REQUIRE(message);
  CHECK(std::get<DescribeMessage>(*message).options.build_timeout == 1500ms);
  const auto wrong = parse_message(R"({"type":"describe","id":1,"task":{},"options":{"compile_timeout_ms":"x"}})");
  REQUIRE_FALSE(wrong);
  CHECK_THAT(wrong.error().message, Catch::Contains("compile_timeout_ms: expected an integer"));
}

TEST_CASE("the language of a candidate that an older client sends is its target's", "[bench][protocol]") {
  const auto language = [](const char* candidate) {
    const auto message =
        parse_message(R"({"type":"evaluate","id":1,"request":{"candidate":)" + std::string(candidate) + "}}");
    REQUIRE(message);
    return std::get<EvaluateMessage>(*message).request.candidate.language;
  };
  CHECK(language(R"({"target":"triton","source":""})") == Language::Python);
  CHECK(language(R"({"target":"cpp","source":""})") == Language::Cpp);
  CHECK(language(R"({"target":"cpp","language":"c","source":""})") == Language::C);
}

TEST_CASE("a bad body loses one message, a bad frame the stream", "[bench][protocol]") {
  MessageDecoder decoder;
  decoder.feed(std::string("KGF1\x02\0\0\0[]", 10) + encoded(PingMessage{5}));
  CHECK_FALSE(decoder.next());
  CHECK_FALSE(decoder.is_lost());
  CHECK_FALSE(decoder.failed_id());
  const auto ping = decoder.next();
  REQUIRE(ping);
  CHECK(std::get<PingMessage>(**ping).id == 5);
  decoder.feed("Welcome to the cluster\n" + encoded(PingMessage{6}));
  CHECK(decoder.next().error().code == ErrorCode::Protocol);
  CHECK(decoder.is_lost());
  CHECK_FALSE(decoder.next());
}

TEST_CASE("messages come out whole wherever the bytes were split", "[bench][protocol]") {
  std::string bytes;
  for (const auto& message : sample_messages()) bytes += encoded(message);
  for (std::size_t split = 0; split <= bytes.size(); split += 1 + split / 50) {
    MessageDecoder decoder;
    std::size_t count = 0;
    for (const auto& piece : {bytes.substr(0, split), bytes.substr(split)}) {
      decoder.feed(piece);
      for (auto message = decoder.next(); message.value(); message = decoder.next())
        CHECK((*message)->index() == count++);
    }
    CHECK(count == std::variant_size_v<Message>);
    CHECK_FALSE(decoder.has_partial_message());
  }
}

TEST_CASE("a message over the frame limit is not sent", "[bench][protocol]") {
  EvaluateMessage message;
  message.request.candidate.source.assign(65u << 20, ' ');
  const auto bytes = encode_message(message);
  REQUIRE_FALSE(bytes);
  CHECK(bytes.error().code == ErrorCode::InvalidArgument);
}

TEST_CASE("neither random bytes nor mutated frames crash the decoder", "[bench][protocol][fuzz]") {
  std::mt19937 random(11);
  std::string valid;
  for (const auto& message : sample_messages()) valid += encoded(message);
  for (int round = 0; round < 1500 / testing::k_less; ++round) {
    std::string bytes = valid;
    if (round % 3 == 0) bytes.resize(random() % 200);
    for (auto edits = 1 + random() % 6; edits > 0 && !bytes.empty(); --edits)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (round % 2 == 0) bytes.erase(random() % (bytes.size() + 1), random() % 20);
    fuzz_protocol(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
}

TEST_CASE("the bytes of docs/protocol.md are the bytes we send", "[bench][protocol]") {
  CHECK(encoded(PingMessage{1}) == std::string("KGF1\x16\0\0\0{\"type\":\"ping\",\"id\":1}", 30));
}
