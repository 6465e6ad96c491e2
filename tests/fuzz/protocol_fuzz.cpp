#include "fuzz/protocol_fuzz.hpp"

#include <algorithm>
#include <cstdlib>

#include "bench/protocol.hpp"

using namespace kernelgen;

namespace {

/// Whatever was understood can be written and understood again.
void check_round_trip(const Message& message) {
  const auto again = parse_message(to_json(message));
  if (!again || again->index() != message.index()) std::abort();
}

}  // namespace

void fuzz_protocol(const std::uint8_t* data, std::size_t size) {
  MessageDecoder decoder;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (!rest.empty()) {
    const auto step = std::min<std::size_t>(rest.size(), 1 + static_cast<unsigned char>(rest.front()) % 97U);
    decoder.feed(rest.substr(0, step));
    rest.remove_prefix(step);
    // A frame has at least a header, so this many turns empty what was fed.
    for (std::size_t turn = 0; turn <= step; ++turn) {
      const auto message = decoder.next();
      if (message && *message) check_round_trip(**message);
      if (message && !*message) break;
    }
  }
}

#ifdef KERNELGEN_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz_protocol(data, size);
  return 0;
}
#endif
