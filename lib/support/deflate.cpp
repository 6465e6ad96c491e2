#include "support/deflate.hpp"

#include <zlib.h>

namespace kernelgen {
inline namespace v0 {

Result<std::string> deflate_bytes(std::string_view bytes) {
  // Levels above 4 take twice the time for a tenth of the size.
  constexpr int k_level = 4;
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string compressed(size, '\0');
  const int status = compress2(reinterpret_cast<Bytef*>(compressed.data()), &size,
                               reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uLong>(bytes.size()), k_level);
  if (status != Z_OK) return Error{ErrorCode::Internal, "cannot compress " + std::to_string(bytes.size()) + " bytes"};
  compressed.resize(size);
  return compressed;
}

}  // namespace v0
}  // namespace kernelgen
