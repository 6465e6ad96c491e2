#include "support/command_text.hpp"

#include <filesystem>

#include <kernelgen/llm/clients.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

/// Keeps the command that it was asked to run.
class ListeningRunner final : public ProcessRunner {
 public:
  Result<ProcessOutcome> run(const ProcessRequest& request, std::stop_token) override {
    last = request;
    ProcessOutcome outcome;
    outcome.exit_code = 0;
    outcome.standard_output = "reply";
    return outcome;
  }
  ProcessRequest last;
};

struct World {
  ListeningRunner runner;
  std::map<std::string, std::string> environment{{"PATH", "/usr/bin:/bin"}};
  Result<std::unique_ptr<LLMClient>> make(std::string_view spec) {
    return make_llm_client(spec, {.environment = environment, .runner = runner});
  }
  /// "IDENTITY | ENDPOINT".
  std::string described(std::string_view spec) {
    const auto client = make(spec).value();
    return client->identity() + " | " + client->endpoint();
  }
};

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("a command is split at blanks, quotes keep them", "[llm][llm_spec]") {
  CHECK(split_command("a  b\tc\n").value() == Words{"a", "b", "c"});
  CHECK(split_command(R"(p 'one two' "three four" fi\ ve)").value() == Words{"p", "one two", "three four", "fi ve"});
  CHECK(split_command(R"(p '' a"b"c 'x\y' "x\"y")").value() == Words{"p", "", "abc", "x\\y", "x\"y"});
  CHECK(split_command("p $HOME; rm *").value() == Words{"p", "$HOME;", "rm", "*"});
  CHECK(split_command("").value().empty());
  CHECK(split_command("p 'open").error().code == ErrorCode::InvalidArgument);
  CHECK(split_command("p \"open").error().code == ErrorCode::InvalidArgument);
}

TEST_CASE("openai:MODEL takes key and address from the environment", "[llm][llm_spec]") {
  World world;
  world.environment["OPENAI_API_KEY"] = "topsecret";
  CHECK(world.described("openai:gpt-5") == "openai gpt-5 | api.openai.com");
  world.environment["OPENAI_BASE_URL"] = "http://node7:8000/v1";
  CHECK(world.described("openai:gpt-5") == "openai gpt-5 | node7:8000");
  CHECK(world.described("openai:m@https://host/v1") == "openai m | host");
  CHECK(world.described("openai:@cf/meta/llama@https://host/v1") == "openai @cf/meta/llama | host");
  CHECK(world.described("openai:org/model@rev") == "openai org/model@rev | node7:8000");
}

TEST_CASE("openai without a key is refused where one is needed", "[llm][llm_spec]") {
  World world;
  const auto missing = world.make("openai:gpt-5");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::MissingTool);
  CHECK(missing.error().message.find("OPENAI_API_KEY is not set") == 0);
  world.environment["OPENAI_API_KEY"] = "";
  CHECK_FALSE(world.make("openai:gpt-5"));
  CHECK(world.described("openai:local@http://localhost:8000/v1") == "openai local | localhost:8000");
}

TEST_CASE("gateway takes key, address and model from the environment", "[llm][llm_spec]") {
  World world;
  world.environment["LLM_GATEWAY_KEY"] = "topsecret";
  world.environment["LLM_GATEWAY_URL"] = "http://gate:8000/v1";
  world.environment["LLM_GATEWAY_MODEL"] = "big";
  CHECK(world.described("gateway") == "gateway big | gate:8000");
  CHECK(world.described("gateway:small") == "gateway small | gate:8000");
  CHECK(world.described("gateway:small@https://other/v1") == "gateway small | other");
  CHECK(world.make("gateway:small@other:1").error().message.find("gateway:MODEL@http://other:1") != std::string::npos);
}

TEST_CASE("each provider has its own key, protocol and address", "[llm][llm_spec]") {
  World world;
  CHECK(world.make("anthropic:claude-opus-5-5").error().message.find("ANTHROPIC_API_KEY is not set") == 0);
  world.environment["ANTHROPIC_API_KEY"] = "topsecret";
  CHECK(world.described("anthropic:claude-opus-5-5") == "anthropic claude-opus-5-5 | api.anthropic.com");
  CHECK(world.described("anthropic:x@http://localhost:4000/v1") == "anthropic x | localhost:4000");
  // A server of one's own needs no key.
  CHECK(world.described("vllm:qwen") == "vllm qwen | localhost:8000");
  CHECK(world.described("deepseek:x@http://localhost:1/v1") == "deepseek x | localhost:1");
  CHECK(world.make("azure:deployment").error().message.find("AZURE_OPENAI_API_KEY is empty or not set") == 0);
  world.environment["AZURE_OPENAI_API_KEY"] = "topsecret";
  CHECK(world.make("azure:deployment").error().message.find("AZURE_OPENAI_BASE_URL is not set") == 0);
  world.environment["AZURE_OPENAI_BASE_URL"] = "https://lab.openai.azure.com/openai/v1";
  CHECK(world.described("azure:deployment") == "azure deployment | lab.openai.azure.com");
}

TEST_CASE("a provider without a model is refused, and one that is nearly known is named", "[llm][llm_spec]") {
  World world;
  world.environment["OPENAI_API_KEY"] = "topsecret";
  const auto none = world.make("openai:@http://host/v1").error();
  CHECK(none.code == ErrorCode::InvalidArgument);
  CHECK(none.message == "no model is named: write openai:MODEL or openai:MODEL@URL");
  CHECK(world.make("opena:gpt").error().message.find("did you mean openai") != std::string::npos);
}

TEST_CASE("a gateway without key, address or model is refused by the name of the variable", "[llm][llm_spec]") {
  World world;
  // In the order in which they are set here; the key is asked for first, as it always was.
  for (const std::string variable : {"LLM_GATEWAY_KEY", "LLM_GATEWAY_URL", "LLM_GATEWAY_MODEL"}) {
    INFO(variable);
    for (const bool is_empty : {false, true}) {
      if (is_empty) world.environment[variable] = "";
      const auto refused = world.make("gateway");
      REQUIRE_FALSE(refused);
      CHECK(refused.error().code == ErrorCode::MissingTool);
      CHECK(refused.error().message.find(variable + " is ") == 0);
      CHECK(refused.error().message.find("topsecret") == std::string::npos);
    }
    world.environment[variable] = variable == "LLM_GATEWAY_URL" ? "http://gate/v1" : "topsecret";
  }
  CHECK(world.make("gateway"));
}

TEST_CASE("an address without its scheme is refused by name, and is no missing key", "[llm][llm_spec]") {
  World world;
  for (const std::string address :
       {"localhost:9", "localhost", "node7:8000/v1", "10.0.0.1/v1", "host.example/v1", "foo.example.com"}) {
    INFO(address);
    const auto refused = world.make("openai:x@" + address);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::InvalidArgument);
    CHECK(refused.error().message.find("the address " + address + " lacks its scheme") == 0);
    CHECK(refused.error().message.find("http://" + address) != std::string::npos);
    CHECK(refused.error().message.find("OPENAI_API_KEY") == std::string::npos);
  }
  // Revisions of models are not addresses.
  world.environment["OPENAI_API_KEY"] = "topsecret";
  for (const char* model : {"org/model@rev", "@cf/meta/llama", "claude@20240229", "m@1.2"})
    CHECK(world.described("openai:" + std::string(model)) == "openai " + std::string(model) + " | api.openai.com");
}

TEST_CASE("a key that could smuggle a header is refused and not shown", "[llm][llm_spec]") {
  World world;
  for (const char* key : {"topsecret\n", "topsecret\r\nX: y", "top secret", "topsecret\t", "t\xC3\xB6psecret"}) {
    world.environment["OPENAI_API_KEY"] = key;
    const auto refused = world.make("openai:gpt-5");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::InvalidArgument);
    CHECK(refused.error().to_line().find("secret") == std::string::npos);
  }
}

TEST_CASE("options of an openai client that cannot work are refused", "[llm][server_client]") {
  const auto refused = [](auto change) {
    ServerClientOptions options;
    options.base_url = "http://localhost/v1";
    options.model = "m";
    REQUIRE(make_server_client(options));
    change(options);
    const auto client = make_server_client(options);
    return !client && client.error().code == ErrorCode::InvalidArgument;
  };
  using namespace std::chrono_literals;
  CHECK(refused([](auto& options) { options.base_url = ""; }));
  CHECK(refused([](auto& options) { options.base_url = "https://user:password@host"; }));
  CHECK(refused([](auto& options) { options.model = " "; }));
  CHECK(refused([](auto& options) { options.retry.max_attempts = 0; }));
  CHECK(refused([](auto& options) { options.retry.base = -1ms; }));
  CHECK(refused([](auto& options) { options.retry.longest = -1ms; }));
  CHECK(refused([](auto& options) { options.idle_timeout = 0ms; }));
}

TEST_CASE("command:PROGRAM gets an environment without keys", "[llm][llm_spec]") {
  World world;
  world.environment["OPENAI_API_KEY"] = "topsecret";
  world.environment["LANG"] = "C";
  auto client = world.make("command:/bin/sh -c 'cat prompt'").value();
  CHECK(client->identity() == "command sh");
  CHECK(client->endpoint() == "/bin/sh");
  LLMRequest request;
  request.id = "seed1";
  CHECK(client->complete(request, {}).value().text == "reply");
  CHECK(world.runner.last.command == Words{"/bin/sh", "-c", "cat prompt"});
  CHECK(world.runner.last.environment.count("OPENAI_API_KEY") == 0);
  CHECK(world.runner.last.environment.at("LANG") == "C");
}

TEST_CASE("replay:FILE and mailbox:DIR lead to their clients", "[llm][llm_spec]") {
  World world;
  auto scratch = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-test-").value();
  const auto file = (scratch.path() / "replies.jsonl").string();
  CHECK(world.make("replay:" + file).error().code == ErrorCode::NotFound);
  REQUIRE(write_file_atomic(file, ""));
  CHECK(world.described("replay:" + file) == "replay | " + file);
  const auto mail = (scratch.path() / "mail").string();
  CHECK(world.described("mailbox:" + mail) == "mailbox | " + mail);
}

TEST_CASE("the way of waiting and of replaying comes from the context", "[llm][llm_spec]") {
  World world;
  auto scratch = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-test-").value();
  const auto file = (scratch.path() / "replies.jsonl").string();
  REQUIRE(write_file_atomic(file, R"({"schema":1,"id":"seed1","fingerprint":"a","reply":{"text":"x"}})"));
  LLMRequest request;
  request.id = "seed1";
  request.fingerprint = "b";
  const auto answer = [&](const std::string& spec, ReplayMode mode) {
    const LLMSpecContext context{.environment = {}, .runner = world.runner, .waiting = Waiting::Return, .replay = mode};
    return make_llm_client(spec, context).value()->complete(request, {});
  };
  CHECK(answer("replay:" + file, ReplayMode::Lenient));
  CHECK(answer("replay:" + file, ReplayMode::Strict).error().code == ErrorCode::InvalidArgument);
  const auto mail = (scratch.path() / "mail").string();
  CHECK(answer("mailbox:" + mail, ReplayMode::Strict).error().code == ErrorCode::Pending);
}

TEST_CASE("a text that names no model is refused with the known forms and not repeated", "[llm][llm_spec]") {
  World world;
  for (const char* spec : {"", ":", "openai", "openai:", "openai: ", "command:", "mailbox:", "replay:", "gpt-5",
                           "gateway:", "topsecret", "azurite:topsecret", "OPENAI:topsecret"}) {
    INFO(spec);
    const auto refused = world.make(spec);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::InvalidArgument);
    for (const char* form : {"PROVIDER:MODEL", "PROVIDER:MODEL@URL", "command:PROGRAM", "mailbox:DIR", "replay:FILE"})
      CHECK(refused.error().message.find(form) != std::string::npos);
    CHECK(refused.error().message.find("topsecret") == std::string::npos);
  }
}
