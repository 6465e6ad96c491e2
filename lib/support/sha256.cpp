#include "support/sha256.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <vector>

#include "support/errno_error.hpp"
#include "support/text.hpp"
#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

EVP_MD_CTX* raw(void* context) { return static_cast<EVP_MD_CTX*>(context); }

// These OpenSSL calls fail only without memory, or when SHA-256 is configured away.
void require(bool ok) {
  if (!ok) throw std::bad_alloc();
}

}  // namespace

void Sha256::Free::operator()(void* context) const noexcept { EVP_MD_CTX_free(raw(context)); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  require(context_ != nullptr && EVP_DigestInit_ex(raw(context_.get()), EVP_sha256(), nullptr) == 1);
}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::update(const void* bytes, std::size_t size) {
  require(EVP_DigestUpdate(raw(context_.get()), bytes, size) == 1);
}

void Sha256::update(std::string_view bytes) { update(bytes.data(), bytes.size()); }

std::array<unsigned char, 32> Sha256::finish() {
  std::array<unsigned char, 32> digest{};
  require(EVP_DigestFinal_ex(raw(context_.get()), digest.data(), nullptr) == 1);
  require(EVP_DigestInit_ex(raw(context_.get()), EVP_sha256(), nullptr) == 1);
  return digest;
}

std::string Sha256::finish_hex() {
  const auto digest = finish();
  return hex_encode({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish_hex();
}

Result<std::string> sha256_file(const std::filesystem::path& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return errno_error(errno, "cannot read " + path.string());
  Sha256 hash;
  std::vector<char> buffer(1u << 17);
  while (true) {
    const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      return errno_error(errno, "cannot read " + path.string());
    }
    if (count == 0) return hash.finish_hex();
    hash.update(buffer.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace v0
}  // namespace kernelgen
