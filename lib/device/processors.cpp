#include "device/processors.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <kernelgen/device/cpu.hpp>

namespace kernelgen {
inline namespace v0 {

int processors_for(int threads) {
  static const auto facts = read_cpu_facts();
  // With a quota, the scheduler bounds a process, and the first processors may be those of other containers, too.
  return facts && threads < facts->usable_cores ? threads : 0;
}

void bind_to_processors(pid_t process, int count) {
  cpu_set_t mine;
  cpu_set_t chosen;
  CPU_ZERO(&chosen);
  if (::sched_getaffinity(0, sizeof mine, &mine) != 0) return;  // more processors than fit into a set
  for (int processor = 0; processor < CPU_SETSIZE && CPU_COUNT(&chosen) < count; ++processor)
    if (CPU_ISSET(processor, &mine)) CPU_SET(processor, &chosen);
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), error))
    ::sched_setaffinity(std::atoi(thread.path().filename().c_str()), sizeof chosen, &chosen);
}

void spread_over_processors(pid_t process, int count) {
  cpu_set_t mine;
  if (::sched_getaffinity(0, sizeof mine, &mine) != 0) return;
  std::vector<pid_t> threads;
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), error))
    threads.push_back(std::atoi(thread.path().filename().c_str()));
  const int usable = count > 0 ? std::min(count, CPU_COUNT(&mine)) : CPU_COUNT(&mine);
  if (static_cast<int>(threads.size()) > usable) return;
  std::sort(threads.begin(), threads.end());
  int processor = -1;
  for (const auto thread : threads) {
    do ++processor;
    while (!CPU_ISSET(processor, &mine));
    cpu_set_t chosen;
    CPU_ZERO(&chosen);
    CPU_SET(processor, &chosen);
    ::sched_setaffinity(thread, sizeof chosen, &chosen);
  }
}

}  // namespace v0
}  // namespace kernelgen
