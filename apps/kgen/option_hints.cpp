#include "option_hints.hpp"

namespace kernelgen::cli {

const std::vector<OptionHint>& option_hints() {
  static const std::vector<OptionHint> k_hints{
      {"another GPU", "--device"},
      {"another device", "--device"},
      {"the cpu executes hip kernels on request", "--device cpu"},
      {"choose by index, UUID or name", "--device"},
      {"smaller inputs", "--shrink NAME=VALUE"},
      {"raise the time limit of a call", "--timeout S"},
      {"record the replies anew", "--record FILE"},
      {"a cache directory that you may write", "--cache-dir DIR"},
      {"have it judged where one is", "--launch-prefix \"ssh NODE\" or --spool DIR, with --gpu NAME for the prompts"},
      {"the catalog of GPUs", "kgen devices --all"},
      {"say where its checkout is", "KERNELBENCH_DIR"},
      {"a journal of its own", "--name"},
      {"continue this one", "--continue"},
      {"name another model", "--llm"},
      {"mend that", "kgen doctor says how"},
      {"install a torch that fits the driver", "kgen doctor says which one"},
      {"they can be written again later", "kgen report"},
      {"evaluate the candidate", "kgen eval"},
      {"another directory for the records", "--records DIR"},
      {"import into another directory or under another name", "--results DIR, --name NAME"},
      {"choose a level", "--level N"},
  };
  return k_hints;
}

std::string add_option_hints(std::string message, const Command* command) {
  for (const auto& [advice, option] : option_hints()) {
    const bool is_option = option.starts_with("--");
    if (is_option && command != nullptr && command->find(option.substr(0, option.find(' '))) == nullptr) continue;
    const auto found = message.find(advice);
    if (found != message.npos) message.insert(found + advice.size(), " (" + std::string(option) + ')');
  }
  return message;
}

}  // namespace kernelgen::cli
