#include "platform/cards.hpp"

#include <algorithm>
#include <string>

#include "support/files.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {

std::vector<const Platform*> cards_on_bus(const std::filesystem::path& root) {
  std::error_code error;
  std::vector<const Platform*> found;
  const auto read = [](const std::filesystem::path& file) {
    const auto text = read_file(file, 4096);
    return text ? std::string(trim(*text)) : std::string();
  };
  for (std::filesystem::directory_iterator at(root / "sys/bus/pci/devices", error), end; !error && at != end;
       at.increment(error)) {
    // Display controllers and processing accelerators.
    const auto what = read(at->path() / "class");
    if (!what.starts_with("0x03") && !what.starts_with("0x12")) continue;
    const auto vendor = read(at->path() / "vendor");
    for (const auto* platform : platforms())
      if (!vendor.empty() && platform->pci_vendor == vendor &&
          std::find(found.begin(), found.end(), platform) == found.end())
        found.push_back(platform);
  }
  return found;
}

}  // namespace v0
}  // namespace kernelgen
