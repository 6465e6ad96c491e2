// Uses an installed kernelgen: links, calls, and finds the parts of the installation.
#include <cstdio>

#include <kernelgen/kernelgen.hpp>

int main() {
#ifdef KERNELGEN_STATIC
  // A static library cannot know where it was installed: its user says so.
  auto installation = kernelgen::installation_at(KERNELGEN_PREFIX);
#else
  auto installation = kernelgen::find_installation();
#endif
  if (!installation) {
    std::fprintf(stderr, "%s\n", installation.error().to_line().c_str());
    return 1;
  }
  std::printf("worker %s\n", installation->worker.c_str());
  return kernelgen::to_string(kernelgen::ErrorCode::NotFound) == "not_found" ? 0 : 1;
}
