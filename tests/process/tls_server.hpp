#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace kernelgen::testing {

/// A web server on this machine behind TLS, with a certificate of its own making that nobody vouches for. Answers every
/// request with the same completion.
class TlsServer {
 public:
  /// `name` is the host or address that the certificate is for: "IP:127.0.0.1", "DNS:elsewhere.example".
  TlsServer(const std::string& name, std::string body);
  ~TlsServer();
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  [[nodiscard]] std::string base_url() const;
  /// Puts the certificate where a client may be told to trust it.
  void write_certificate(const std::filesystem::path& file) const;
  /// How many requests came through the encryption.
  [[nodiscard]] int requests() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kernelgen::testing
