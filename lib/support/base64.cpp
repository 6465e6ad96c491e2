#include "support/base64.hpp"

#include <openssl/evp.h>

#include <algorithm>

namespace kernelgen {
inline namespace v0 {
namespace {

/// Bytes for each call of OpenSSL, where lengths are of type int; a multiple of 3.
constexpr std::size_t k_chunk_bytes = 3u << 20;
constexpr std::size_t k_chunk_text = k_chunk_bytes / 3 * 4;

const unsigned char* bytes_at(std::string_view text, std::size_t at) {
  return reinterpret_cast<const unsigned char*>(text.data()) + at;
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  // OpenSSL writes a NUL after each chunk, which the next chunk overwrites.
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  for (std::size_t at = 0; at < bytes.size(); at += k_chunk_bytes) {
    const auto count = std::min(k_chunk_bytes, bytes.size() - at);
    EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()) + at / 3 * 4, bytes_at(bytes, at),
                    static_cast<int>(count));
  }
  text.pop_back();
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  // OpenSSL skips blanks and takes padding anywhere, which base64 does not have.
  const auto content = text.substr(0, text.size() - padding);
  if (content.find_first_of("= \t\r\n\v\f-") != content.npos) return std::nullopt;
  std::string bytes(text.size() / 4 * 3, '\0');
  for (std::size_t at = 0; at < text.size(); at += k_chunk_text) {
    const auto count = std::min(k_chunk_text, text.size() - at);
    if (EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()) + at / 4 * 3, bytes_at(text, at),
                        static_cast<int>(count)) != static_cast<int>(count / 4 * 3))
      return std::nullopt;
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

}  // namespace v0
}  // namespace kernelgen
