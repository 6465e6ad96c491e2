#include "process/tls_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <utility>

#include "support/unique_fd.hpp"

namespace kernelgen::testing {
namespace {

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Context = std::unique_ptr<SSL_CTX, Deleter<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, Deleter<SSL_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;
using File = std::unique_ptr<std::FILE, Deleter<std::fclose>>;

void require(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(what);
}

/// Makes a self-signed certificate, valid for an hour.
Certificate certify(EVP_PKEY* key, const std::string& name) {
  Certificate certificate(X509_new());
  require(certificate != nullptr, "no certificate");
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("kernelgen test"), -1,
                             -1, 0);
  X509_set_issuer_name(certificate.get(), subject);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, name.c_str()));
  require(extension != nullptr && X509_add_ext(certificate.get(), extension.get(), -1) == 1, "no name");
  require(X509_sign(certificate.get(), key, EVP_sha256()) > 0, "not signed");
  return certificate;
}

}  // namespace

struct TlsServer::State {
  std::string answer;
  Certificate certificate;
  Context context;
  UniqueFd listener;
  int port = 0;
  std::atomic<int> requests = 0;
  std::jthread thread;

  void listen() {
    listener.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    require(::bind(listener.get(), generic, length) == 0 && ::listen(listener.get(), 16) == 0 &&
                ::getsockname(listener.get(), generic, &length) == 0,
            "cannot listen");
    port = ntohs(address.sin_port);
  }

  void run(const std::stop_token& stop) {
    // OpenSSL writes with write(2), and clients that distrust the server have closed by then. Blocked in this thread
    // only.
    sigset_t pipe_signal;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);
    while (!stop.stop_requested()) {
      pollfd entry{listener.get(), POLLIN, 0};
      if (::poll(&entry, 1, 10) <= 0) continue;
      const UniqueFd client(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (client.valid()) serve(client.get());
    }
  }

  void serve(int client) {
    const timeval patience{5, 0};
    ::setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const Session session(SSL_new(context.get()));
    SSL_set_fd(session.get(), client);
    std::string text;
    if (SSL_accept(session.get()) == 1) {
      // The body is ignored; it ends with the brace of its JSON.
      char buffer[4096];
      int count = 0;
      while (text.find("\r\n\r\n") == std::string::npos || text.back() != '}') {
        count = SSL_read(session.get(), buffer, sizeof buffer);
        if (count <= 0) break;
        text.append(buffer, static_cast<std::size_t>(count));
      }
      if (count > 0) {
        ++requests;
        SSL_write(session.get(), answer.data(), static_cast<int>(answer.size()));
        SSL_shutdown(session.get());
      }
    }
    ERR_clear_error();
  }
};

TlsServer::TlsServer(const std::string& name, std::string body) : state_(std::make_unique<State>()) {
  state_->answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
                   "\r\n\r\n" + std::move(body);
  const Key key(EVP_EC_gen("P-256"));
  require(key != nullptr, "no key");
  state_->certificate = certify(key.get(), name);
  state_->context.reset(SSL_CTX_new(TLS_server_method()));
  require(SSL_CTX_use_certificate(state_->context.get(), state_->certificate.get()) == 1 &&
              SSL_CTX_use_PrivateKey(state_->context.get(), key.get()) == 1,
          "the certificate does not fit");
  state_->listen();
  state_->thread = std::jthread([state = state_.get()](const std::stop_token& stop) { state->run(stop); });
}

TlsServer::~TlsServer() = default;

std::string TlsServer::base_url() const { return "https://127.0.0.1:" + std::to_string(state_->port) + "/v1"; }

void TlsServer::write_certificate(const std::filesystem::path& file) const {
  const File out(std::fopen(file.c_str(), "we"));
  require(out != nullptr && PEM_write_X509(out.get(), state_->certificate.get()) == 1, "cannot write the certificate");
}

int TlsServer::requests() const { return state_->requests; }

}  // namespace kernelgen::testing
