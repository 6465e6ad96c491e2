#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace v0 {

/// SHA-256 of text given piece by piece. One thread at a time.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  void update(std::string_view bytes);
  void update(const void* bytes, std::size_t size);
  /// Returns the digest of the text so far and starts over.
  [[nodiscard]] std::array<unsigned char, 32> finish();
  /// The digest as 64 lower-case hexadecimal digits.
  [[nodiscard]] std::string finish_hex();

 private:
  struct Free {
    void operator()(void* context) const noexcept;
  };
  std::unique_ptr<void, Free> context_;
};

/// SHA-256 of a text in hex.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

/// SHA-256 of a file in hex, read in pieces.
[[nodiscard]] Result<std::string> sha256_file(const std::filesystem::path& path);

}  // namespace v0
}  // namespace kernelgen
