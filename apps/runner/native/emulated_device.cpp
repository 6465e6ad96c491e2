#include "emulated_device.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include <sys/stat.h>

#include "allocation_watch.h"
#include "channel.hpp"

namespace kgen_runner {
namespace {

/// The first race of a report, in one line; empty without one. A report has the line "Race on LDS byte 512 [...]", then
/// the instructions between both accesses, of which these two have arrows and their wavefronts.
std::string first_race(const std::string& path) {
  constexpr const char* k_head = "Race on ";
  constexpr const char* k_access = "  ==>";
  std::ifstream file(path);
  std::string found;
  int accesses = 0;
  for (std::string line; accesses < 2 && std::getline(file, line);) {
    if (found.empty() && line.starts_with(k_head)) found = "data race on " + line.substr(std::strlen(k_head));
    if (found.empty() || !line.starts_with(k_access)) continue;
    const auto instruction = line.find_first_not_of(' ', line.find("0x"));
    found += (accesses++ == 0 ? ": " : " and ") + line.substr(line.find("  ", instruction) + 2);
  }
  return found;
}

}  // namespace

std::unique_ptr<EmulatedDevice> EmulatedDevice::open(const std::string& config, std::string& error) {
  const char* named = std::getenv("ROCJITSU_RUNTIME_DIR");
  const std::string directory = named != nullptr ? named : "";
  if (directory.empty() || (mkdir(directory.c_str(), S_IRWXU) != 0 && errno != EEXIST)) {
    error = "its directory '" + directory + "' cannot be made";
    return nullptr;
  }
  std::ofstream(directory + "/config_path") << config << '\n';
  for (const auto& [name, value] :
       {std::pair<const char*, const char*>{"RJ_RACE", "1"}, {"RJ_SINKS", "file"}, {"RJ_SINK_DIR", directory.c_str()}})
    setenv(name, value, 1);
  // The emulator hands out the device's memory there.
  kgen_call_preloaded_mmap();
  auto device = Device::open("", error);
  if (!device) return nullptr;
  return std::unique_ptr<EmulatedDevice>(new EmulatedDevice(std::move(device), directory + "/race.log"));
}

void EmulatedDevice::finish(kgen_reply& reply) {
  if (!device_->finish(reply)) return;
  if (const auto race = first_race(races_); !race.empty()) {
    reply.status = KGEN_STATUS_DEVICE_FAULT;
    set_text(reply, race);
  }
}

}  // namespace kgen_runner
