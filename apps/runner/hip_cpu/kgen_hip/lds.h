/// \file
/// Local memory of blocks. Static LDS are the thread-local variables of the candidate: the linker puts them side by
/// side, templates' too, so they can be filled and exchanged as one range of bytes.
#pragma once

#include <link.h>
#include <sys/mman.h>

#include <cstring>
#include <stdexcept>
#include <vector>

#include "grid.h"

namespace kgen_hip {

/// Makes this thread have the candidate's thread-local variables.
inline thread_local unsigned char lds_anchor[16];

/// The bytes of all static LDS variables of the candidate.
struct StaticLds {
  unsigned char* begin = nullptr;
  std::size_t size = 0;
};

inline int find_static_lds(dl_phdr_info* info, std::size_t, void* found) {
  const auto own = reinterpret_cast<std::uintptr_t>(&find_static_lds);
  bool is_own = false;
  std::size_t size = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD) is_own = is_own || (own >= begin && own < begin + segment.p_memsz);
    if (segment.p_type == PT_TLS) size = segment.p_memsz;
  }
  if (!is_own) return 0;
  *static_cast<StaticLds*>(found) = {static_cast<unsigned char*>(info->dlpi_tls_data), size};
  return 1;
}

inline StaticLds static_lds() {
  static_cast<volatile unsigned char*>(lds_anchor)[0] = 0;
  StaticLds found;
  dl_iterate_phdr(&find_static_lds, &found);
  if (found.begin == nullptr) throw std::runtime_error("the static LDS of the candidate cannot be found");
  return found;
}

/// What LDS holds before a block begins, and what lanes read that do not take part: no number.
constexpr int k_poison = 0xFF;

/// The buffers of dynamic LDS, one for each block that runs or waits.
class DynamicLds {
 public:
  /// Returns `bytes` of memory, at a multiple of 16; a page behind them cannot be touched.
  char* take(std::size_t bytes) {
    if (idle_.empty()) idle_.push_back(map());
    char* end = idle_.back();
    idle_.pop_back();
    return end - (bytes + 15) / 16 * 16;
  }
  void give_back(char* buffer, std::size_t bytes) { idle_.push_back(buffer + (bytes + 15) / 16 * 16); }

 private:
  static char* map() {
    void* memory = mmap(nullptr, k_lds_bytes + k_guard_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no memory for the LDS of a block");
    mprotect(static_cast<char*>(memory) + k_lds_bytes, k_guard_bytes, PROT_NONE);
    return static_cast<char*>(memory) + k_lds_bytes;
  }

  /// The ends of buffers that are not in use.
  std::vector<char*> idle_;
};

}  // namespace kgen_hip
