#include <filesystem>

#include <kernelgen/llm/clients.hpp>

#include "process/tls_server.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
using kernelgen::testing::TlsServer;
namespace fs = std::filesystem;

namespace {

const std::string k_tls_reply = R"({"choices": [{"finish_reason": "stop", "message": {"content": "void kernel();"}}]})";

Result<Reply> ask(const TlsServer& server, const fs::path& ca_file = {}) {
  ServerClientOptions options;
  options.base_url = server.base_url();
  options.model = "m";
  options.api_key = "topsecret-0123456789";
  options.retry = {.max_attempts = 3, .base = 1ms, .longest = 20ms};
  options.ca_file = ca_file;
  LLMRequest request;
  request.prompt = "write a kernel";
  request.timeout = 300s;
  return make_server_client(options).value()->complete(request, {});
}

/// The client refuses the certificate, once, before it sends the key.
void check_refused(const TlsServer& server, const fs::path& ca_file = {}) {
  const auto result = ask(server, ca_file);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::Unavailable);
  CHECK(result.error().message.find("certificate") != std::string::npos);
  CHECK(result.error().message.find("attempts") == std::string::npos);
  CHECK(server.requests() == 0);
}

TemporaryDirectory scratch() {
  return TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-test-").value();
}

}  // namespace

TEST_CASE("a certificate that no authority has signed is refused before the key is sent", "[llm][server_client]") {
  check_refused(TlsServer("IP:127.0.0.1", k_tls_reply));
}

TEST_CASE("a certificate of an authority that was named is accepted", "[llm][server_client]") {
  const TlsServer server("IP:127.0.0.1", k_tls_reply);
  const auto directory = scratch();
  server.write_certificate(directory.path() / "ca.pem");
  CHECK(ask(server, directory.path() / "ca.pem").value().text == "void kernel();");
  CHECK(server.requests() == 1);
}

TEST_CASE("a certificate for another host is refused before the key is sent", "[llm][server_client]") {
  const TlsServer server("DNS:elsewhere.example", k_tls_reply);
  const auto directory = scratch();
  server.write_certificate(directory.path() / "ca.pem");
  check_refused(server, directory.path() / "ca.pem");
}
