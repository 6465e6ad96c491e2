#pragma once

/// \file
/// Plays policies with kernels of one line of text.

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <kernelgen/flow/policy.hpp>

#include "support/catch.hpp"
#include "unit/flow/fake_world.hpp"

namespace kernelgen::testing {

/// The result of an action: the line of its kernel, "no code", "no", or "yes" for an analysis. The words of a critic
/// are "words", or "no words" for none.
using PolicyWorld = std::function<std::string(const Action&)>;

/// "score 1.5 floor 1.2": 1.2 times its floor.
inline std::optional<Headroom> headroom_in(const std::string& line) {
  const auto at = line.find("floor ");
  if (at == line.npos) return std::nullopt;
  Headroom headroom;
  headroom.ratio = std::stod(line.substr(at + 6));
  headroom.sentence = "near its floor";
  return headroom;
}

inline ActionResult result_of(const Action& action, int number, const std::string& line) {
  ActionResult result;
  result.action = action;
  result.number = number;
  if (action.kind == PromptKind::Analysis) {
    result.status = ActionStatus::Analyzed;
    result.analysis = Analysis{.worth_optimizing = line == "yes"};
  } else if (action.kind == PromptKind::Critic) {
    if (line == "no words") return result;
    result.status = ActionStatus::Analyzed;
    result.critique = line;
  } else if (line != "no code") {
    result.status = ActionStatus::Evaluated;
    result.candidate = make_candidate(Target::Cpp, line);
    result.record = judge_source(line);
    result.recurrence = FakeDetector().inspect(line, Target::Cpp).verdict;
    result.headroom = headroom_in(line);
  }
  return result;
}

struct Played {
  History history;
  Decision last;
  /// Ids of results that were profiled.
  std::set<std::string> profiled;
  int actions = 0;
};

/// A kernel's counters.
using Profiles = std::function<Profile(const ActionResult&)>;

/// Plays a policy to its end; actions finish in an order that the seed determines. Checks the rules for every policy.
inline Played play(const Policy& policy, const PolicyWorld& world, unsigned seed = 0, const Profiles& profiles = {}) {
  std::mt19937 random(seed);
  Played played;
  std::vector<Action> running;
  constexpr int k_most = 1000;
  for (int number = 1; number < k_most;) {
    played.last = policy.next(played.history);
    if (played.last.finished) break;
    for (const auto& id : played.last.profiles) {
      auto& result = played.history.at(id);
      CHECK_FALSE(result.profile);
      CHECK(played.profiled.insert(id).second);
      result.profile = profiles ? profiles(result) : Profile{};
    }
    for (const auto& action : played.last.actions) {
      CHECK_FALSE(played.history.contains(action.id));
      const bool known = std::any_of(running.begin(), running.end(), [&](const auto& a) { return a.id == action.id; });
      if (!known) running.push_back(action);
    }
    if (running.empty()) {
      REQUIRE_FALSE(played.last.profiles.empty());
      continue;
    }
    const auto chosen = running.begin() + static_cast<std::ptrdiff_t>(random() % running.size());
    played.history[chosen->id] = result_of(*chosen, number++, world(*chosen));
    running.erase(chosen);
    ++played.actions;
  }
  CHECK(played.last.finished);
  return played;
}

inline std::set<std::string> ids_of(const History& history) {
  std::set<std::string> ids;
  for (const auto& [id, result] : history) ids.insert(id);
  return ids;
}

}  // namespace kernelgen::testing
