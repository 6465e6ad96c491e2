#include "support/sha256.hpp"

#include <string>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;

TEST_CASE("SHA-256 of the published examples", "[support][sha256]") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 hash;
  hash.update("a");
  hash.update("bc");
  CHECK(hash.finish_hex() == sha256_hex("abc"));
  CHECK(hash.finish_hex() == sha256_hex(""));
}

TEST_CASE("SHA-256 of a file equals that of its content", "[support][sha256]") {
  auto directory = TemporaryDirectory::create(std::filesystem::temp_directory_path(), "kernelgen-test-").value();
  const std::string content(300'000, 'x');
  const auto path = directory.path() / "file";
  REQUIRE(write_file_atomic(path, content));
  CHECK(sha256_file(path).value() == sha256_hex(content));
  CHECK(sha256_file(directory.path() / "none").error().code == ErrorCode::NotFound);
}
