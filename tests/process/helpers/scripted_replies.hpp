#pragma once

#include <string>

#include "unit/flow/fake_world.hpp"

namespace kernelgen::testing {

/// The reply to a request of the task "task": one for every branch of the flow, the same in every process.
inline std::string scripted_reply(const std::string& id) {
  if (id == "task.seed1") return code_reply("broken");
  if (id == "task.seed1-repair1") return "no code at all";
  if (id == "task.seed2") return code_reply("score 1.3");
  if (id == "task.seed2-analysis") return analysis_reply(true);
  if (id == "task.seed1-analysis") return analysis_reply(false);
  if (id == "task.seed2-optimize") return code_reply("wrong");
  if (id == "task.stage2") return code_reply("score 2.5");
  return code_reply("score 1.1 for " + id);
}

}  // namespace kernelgen::testing
