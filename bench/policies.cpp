// Compares policies at equal numbers of requests, by a scripted model that finds its kernels in a deterministic
// landscape: no model and no device. Prints a table; asserts nothing. It tells how policies search, not how good models
// are.
//
//   policies [WORLDS]      build/bin/policies 200
//
// A kernel is a choice of one of 4 ways for each of 8 parts of the work. Its score is the mean of what its parts are
// worth, where the worth of a part depends on its own way and on those of the K parts after it: with K = 0 every part
// can be made better alone, with larger K parts must fit together. 1 is the best of the 65,536 kernels of a world. What
// the model does with a prompt is a hash of the world and the action:
//
//   seed        half of the parts are at the plain way 0
//   reflect     another way for 1 or 2 parts
//   stage       the same, among the parts of its focus
//   optimize    another way for 3 parts
//   crossover   each part as in one of both kernels; in every second, another way for 1 part besides
//   repair      what the failed kernel was to be
//
// A quarter of new kernels is wrong, and 2 of 5 repairs.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <kernelgen/flow/policy.hpp>

using namespace kernelgen;

namespace {

constexpr int k_parts = 8, k_ways = 4;
using Kernel = std::array<int, k_parts>;

/// A number from a text, the same everywhere (FNV-1a with a final mix).
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const unsigned char byte : text) hash = (hash ^ byte) * 1099511628211u;
  hash ^= hash >> 33;
  hash *= 0xff51afd7ed558ccdu;
  return hash ^ (hash >> 33);
}

/// Numbers that follow from a text.
class Draws {
 public:
  explicit Draws(std::string text) : text_(std::move(text)) {}
  int below(int limit) {
    return static_cast<int>(hash_of(text_ + '#' + std::to_string(count_++)) % static_cast<std::uint64_t>(limit));
  }

 private:
  std::string text_;
  int count_ = 0;
};

class Landscape {
 public:
  Landscape(int world, int coupled) : name_("world " + std::to_string(world)), coupled_(coupled) {
    int kernels = 1;
    for (int part = 0; part <= coupled_; ++part) kernels *= k_ways;
    for (int part = 0; part < k_parts; ++part) {
      for (int key = 0; key < kernels; ++key) {
        Draws draws(name_ + " worth " + std::to_string(part) + ' ' + std::to_string(key));
        constexpr int k_steps = 1'000'000;
        worth_[static_cast<std::size_t>(part)].push_back(static_cast<double>(draws.below(k_steps)) / k_steps);
      }
    }
    Kernel kernel{};
    for (int number = 0; number < 1 << (2 * k_parts); ++number) {
      for (int part = 0; part < k_parts; ++part) kernel[static_cast<std::size_t>(part)] = number >> (2 * part) & 3;
      best_ = std::max(best_, raw(kernel));
    }
  }

  [[nodiscard]] double score(const Kernel& kernel) const { return raw(kernel) / best_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  [[nodiscard]] double raw(const Kernel& kernel) const {
    double sum = 0;
    for (int part = 0; part < k_parts; ++part) {
      int key = 0;
      for (int i = 0; i <= coupled_; ++i) key = key * k_ways + kernel[static_cast<std::size_t>((part + i) % k_parts)];
      sum += worth_[static_cast<std::size_t>(part)][static_cast<std::size_t>(key)];
    }
    return sum;
  }

  std::string name_;
  int coupled_;
  std::array<std::vector<double>, k_parts> worth_;
  double best_ = 0;
};

/// A kernel as code: each part is a statement, so that kernels with parts in common have code in common.
std::string code_of(const Kernel& kernel) {
  std::string code;
  for (std::size_t part = 0; part < k_parts; ++part) {
    const auto name = "part" + std::to_string(part) + "_way" + std::to_string(kernel[part]);
    code += "auto " + name + " = make_" + name + "(input, weights); " + name + ".run(output);\n";
  }
  return code;
}

Kernel kernel_in(const std::string& code) {
  Kernel kernel{};
  for (std::size_t part = 0; part < k_parts; ++part) {
    const auto name = "part" + std::to_string(part) + "_way";
    kernel[part] = code[code.find(name) + name.size()] - '0';
  }
  return kernel;
}

/// Takes another way for one of the parts from `first` on, of which there are `count`.
void change(Kernel& kernel, Draws& draws, int first = 0, int count = k_parts) {
  auto& way = kernel[static_cast<std::size_t>(first + draws.below(count))];
  way = (way + 1 + draws.below(k_ways - 1)) % k_ways;
}

/// What the model makes of a prompt.
Kernel answer(const Action& action, const History& history, Draws& draws) {
  Kernel kernel{};
  if (action.kind == PromptKind::Seed) {
    for (auto& way : kernel) way = draws.below(2) == 0 ? 0 : draws.below(k_ways);
    return kernel;
  }
  kernel = kernel_in(history.at(action.base).candidate->source);
  if (action.kind == PromptKind::Reflect)
    for (int count = 1 + draws.below(2); count > 0; --count) change(kernel, draws);
  if (action.kind == PromptKind::Optimize)
    for (int count = 0; count < 3; ++count) change(kernel, draws);
  if (action.kind == PromptKind::Stage) {
    // Three stages, with three parts each; two of them overlap by one.
    constexpr std::array<int, 3> k_first{0, 3, 5};
    const auto number = std::stoul(action.variant.substr(action.variant.find('_') + 1));
    const int first = k_first[number % k_first.size()];
    for (int count = 1 + draws.below(2); count > 0; --count) change(kernel, draws, first, 3);
  }
  if (action.kind == PromptKind::Crossover) {
    const auto other = kernel_in(history.at(action.second_base).candidate->source);
    for (std::size_t part = 0; part < k_parts; ++part)
      if (draws.below(2) == 0) kernel[part] = other[part];
    if (draws.below(2) == 0) change(kernel, draws);
  }
  return kernel;
}

ActionResult result_of(const Action& action, const History& history, const Landscape& landscape) {
  Draws draws(landscape.name() + ' ' + action.id + ' ' + action.base + ' ' + action.second_base);
  ActionResult result;
  result.action = action;
  result.number = static_cast<int>(history.size()) + 1;
  if (action.kind == PromptKind::Analysis) {
    result.status = ActionStatus::Analyzed;
    result.analysis = Analysis{.worth_optimizing = true};
    return result;
  }
  const auto kernel = answer(action, history, draws);
  const bool fails = action.kind == PromptKind::Repair ? draws.below(5) < 2 : draws.below(4) == 0;
  result.status = ActionStatus::Evaluated;
  result.candidate = make_candidate(Target::Cpp, code_of(kernel));
  result.record.emplace().candidate_id = result.candidate->id;
  if (fails) {
    result.record->outcome = {OutcomeKind::Accuracy, "mismatch", "wrong " + action.id};
  } else {
    const double score = landscape.score(kernel);
    result.record->outcome.kind = OutcomeKind::Correct;
    result.record->timing.emplace().speedup_call = {score, score, score};
  }
  return result;
}

/// The best score after so many requests.
double search(const Policy& policy, const Landscape& landscape, int requests) {
  History history;
  while (static_cast<int>(history.size()) < requests) {
    const auto decision = policy.next(history);
    if (decision.finished) break;
    for (const auto& action : decision.actions)
      if (static_cast<int>(history.size()) < requests) history[action.id] = result_of(action, history, landscape);
  }
  const auto* best = best_of(history);
  return best == nullptr ? 0 : best->score().value_or(0);
}

struct Contestant {
  std::string name;
  std::function<std::unique_ptr<Policy>(int requests)> make;
};

/// The three stages again and again, so that no budget is left over. A list of stages has no name twice.
std::vector<std::string> stages_for(int requests) {
  std::vector<std::string> stages;
  for (int number = 0; number < requests; ++number) stages.push_back("stage_" + std::to_string(number));
  return stages;
}

std::vector<Contestant> contestants() {
  const auto hybrid = [](int seeds, int requests) {
    return make_hybrid_policy({.seeds = seeds, .stages = stages_for(requests), .floor_ratio = 0});
  };
  const auto evolve = [](int islands, int archive, int requests) {
    return make_evolve_policy({.islands = islands, .archive = archive, .generations = requests, .floor_ratio = 0});
  };
  return {{"one-shot", [](int requests) { return make_one_shot_policy({.samples = requests}); }},
          {"hybrid, 2 seeds", [=](int requests) { return hybrid(2, requests); }},
          {"hybrid, a seed for each 12 requests", [=](int requests) { return hybrid(requests / 12, requests); }},
          {"evolve, 3 islands of 4", [=](int requests) { return evolve(3, 4, requests); }},
          {"evolve, 3 islands of 1", [=](int requests) { return evolve(3, 1, requests); }},
          {"evolve, 1 island of 4", [=](int requests) { return evolve(1, 4, requests); }},
          {"evolve, 2 islands of 4", [=](int requests) { return evolve(2, 4, requests); }}};
}

}  // namespace

int main(int argc, char** argv) {
  const int worlds = argc > 1 ? std::atoi(argv[1]) : 200;
  constexpr std::array<int, 4> k_budgets{12, 24, 48, 96};
  std::printf("Mean best score in %d worlds; 1 is the best kernel that there is.\n", worlds);
  for (const int coupled : {0, 2, 4}) {
    std::printf("\nK = %d %36s", coupled, "");
    for (const int requests : k_budgets) std::printf(" %4d requests", requests);
    std::printf("\n");
    std::vector<Landscape> landscapes;
    for (int world = 0; world < worlds; ++world) landscapes.emplace_back(world, coupled);
    for (const auto& contestant : contestants()) {
      std::printf("%-42s", contestant.name.c_str());
      for (const int requests : k_budgets) {
        const auto policy = contestant.make(requests);
        double sum = 0;
        for (const auto& landscape : landscapes) sum += search(*policy, landscape, requests);
        std::printf(" %13.3f", sum / worlds);
      }
      std::printf("\n");
    }
  }
  return 0;
}
