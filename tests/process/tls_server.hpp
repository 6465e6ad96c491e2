#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace kernelgen::testing {

/// A local web server behind TLS, with a self-signed certificate. Answers every request with the same completion.
class TlsServer {
 public:
  /// `name` is the host or address of the certificate: "IP:127.0.0.1", "DNS:elsewhere.example".
  TlsServer(const std::string& name, std::string body);
  ~TlsServer();
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  [[nodiscard]] std::string base_url() const;
  /// Writes the certificate to a file, so that a client can trust it.
  void write_certificate(const std::filesystem::path& file) const;
  /// Number of requests that were received through TLS.
  [[nodiscard]] int requests() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kernelgen::testing
