#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include <kernelgen/prompt/prompt_builder.hpp>
#include <kernelgen/prompt/prompt_set.hpp>

#include "prompt/family_data.hpp"
#include "prompt/prompt_data.hpp"
#include "prompt/recurrence_plan.hpp"
#include "prompt/templates.hpp"
#include "prompt/verdict_data.hpp"
#include "support/sha256.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr auto k_kinds =
    std::to_array<PromptKind>({PromptKind::Seed, PromptKind::Repair, PromptKind::Analysis, PromptKind::Optimize,
                               PromptKind::Stage, PromptKind::Reflect, PromptKind::Critic, PromptKind::Crossover});
constexpr auto k_parts = std::to_array<PromptPart>({PromptPart::Examples, PromptPart::EarlierAttempts,
                                                    PromptPart::Knowledge, PromptPart::Profile, PromptPart::Device});

/// Shows the text of a target that has no template of its own.
constexpr std::string_view k_target_text = "partials/target_text";

std::string template_name(PromptKind kind) { return std::string(to_string(kind)); }

/// Names a kind of prompt in messages: "a seed prompt".
std::string describe(PromptKind kind) {
  const auto name = to_string(kind);
  return fmt::format("{} {} prompt", std::string_view("aeio").find(name.front()) == name.npos ? "a" : "an", name);
}

std::int64_t estimate_tokens(std::string_view text) { return static_cast<std::int64_t>((text.size() + 3) / 4); }

/// "2_fused_blocking" is the second strategy, named fused_blocking.
std::string without_order(const std::string& file) {
  const auto digits = file.find_first_not_of("0123456789");
  return digits > 0 && digits != file.npos && file[digits] == '_' ? file.substr(digits + 1) : file;
}

Error invalid(std::string message) { return {ErrorCode::InvalidArgument, std::move(message)}; }

class MustachePromptBuilder final : public PromptBuilder {
 public:
  explicit MustachePromptBuilder(TemplateSet templates) : templates_(std::move(templates)) {}

  std::vector<std::string> variants(PromptKind kind, Target target) const override {
    if (kind == PromptKind::Critic) return {std::string(k_correctness), std::string(k_optimization)};
    const auto directory = variant_directory(kind, target);
    if (!directory) return {};
    auto names = templates_.names_under(*directory);
    std::transform(names.begin(), names.end(), names.begin(), without_order);
    return names;
  }

  Result<Prompt> build(const PromptRequest& request) const override {
    const auto& without = request.without;
    const bool tells = std::find(without.begin(), without.end(), PromptPart::Feedback) == without.end();
    return tells ? build_prompt(request) : build_prompt(without_feedback(request));
  }

 private:
  [[nodiscard]] Result<Prompt> build_prompt(const PromptRequest& request) const {
    KERNELGEN_CHECK(check(request));
    KERNELGEN_TRY(const auto variant, find_variant(request));
    Prompt prompt{.kind = request.kind};
    DataOptions options{.dropped = request.without};
    KERNELGEN_TRY(auto rendered, render(request, variant, options));
    for (auto part = k_parts.begin(); part != k_parts.end() && too_long(request, rendered.text); ++part) {
      options.dropped.push_back(*part);
      KERNELGEN_TRY(auto shorter, render(request, variant, options));
      if (shorter.text != rendered.text) prompt.dropped.emplace_back(to_string(*part));
      rendered = std::move(shorter);
    }
    prompt.text = std::move(rendered.text);
    prompt.shared_bytes = rendered.shared_bytes;
    prompt.estimated_tokens = estimate_tokens(prompt.text);
    if (too_long(request, prompt.text))
      return invalid(fmt::format("{} for {} needs {} tokens without its optional parts; max_tokens is {}",
                                 describe(request.kind), request.task.name, prompt.estimated_tokens,
                                 *request.max_tokens));
    for (const auto& [variable, text] : {std::pair("reference", as_shown(without_line_ends(request.task.text))),
                                         std::pair("instructions", as_shown(trim(request.instructions)))}) {
      if (prompt.text.find(text) == prompt.text.npos)
        return invalid(
            fmt::format("template {}.mustache does not show {{{{{}}}}}", template_name(request.kind), variable));
    }
    // Includes every optional part, because the parts that are dropped depend on the length of measured texts.
    KERNELGEN_TRY(const auto blank,
                  render(request, variant, {.measured = Measured::Blank, .dropped = request.without}));
    prompt.fingerprint = sha256_hex(fmt::format("prompt 1\n{}\n{}", to_string(request.kind), blank.text));
    return prompt;
  }

  static bool too_long(const PromptRequest& request, std::string_view text) {
    return request.max_tokens && estimate_tokens(text) > *request.max_tokens;
  }

  static std::string_view without_line_ends(std::string_view text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
    return text;
  }

  /// A text in the form in which prompts hold it.
  static std::string as_shown(std::string_view text) {
    VerbatimTexts verbatim;
    return verbatim.substitute(verbatim.placeholder(text));
  }

  /// The template with the rules of a target: its own, else one that shows the text of its traits. Empty when there is
  /// neither.
  [[nodiscard]] std::string rules_template(Target target) const {
    auto own = "targets/" + std::string(to_string(target));
    if (templates_.contains(own)) return own;
    return trim(traits_of(target).prompt_text).empty() ? "" : std::string(k_target_text);
  }

  Result<void> check(const PromptRequest& request) const {
    if (request.task.text.empty()) return invalid("a prompt needs the source of its task");
    if (!templates_.contains(rules_template(request.target)))
      return invalid(fmt::format(
          "there are no prompts for target {0}: no template targets/{0}.mustache, and no text in its traits",
          to_string(request.target)));
    if (request.threads < 1)
      return invalid(fmt::format(
          "a prompt needs the number of CPU threads that a candidate may use, at least 1; it is {}", request.threads));
    const auto language = language_of(request);
    const bool is_c_for_cpp = request.target == Target::Cpp && language == Language::C;
    if (language != default_language(request.target) && !is_c_for_cpp)
      return invalid(fmt::format("candidates for target {} are not written in {}", to_string(request.target),
                                 to_string(language)));
    if (request.kind == PromptKind::Seed) return {};
    if (!request.base) return invalid(fmt::format("{} needs a candidate", describe(request.kind)));
    if (request.kind == PromptKind::Optimize && !request.analysis && !request.critique)
      return invalid("an optimize prompt needs an analysis or a critique");
    if (request.kind == PromptKind::Crossover && (!request.second || request.second->source.empty()))
      return invalid("a crossover prompt needs the code of a second candidate");
    const bool needs_code = request.kind != PromptKind::Repair && request.kind != PromptKind::Reflect;
    if (needs_code && request.base->source.empty())
      return invalid(fmt::format("{} needs the candidate's code", describe(request.kind)));
    return {};
  }

  /// The template with the advice of the variant; empty when there is none.
  Result<std::string> find_variant(const PromptRequest& request) const {
    if (request.variant.empty()) {
      if (request.kind == PromptKind::Stage) return invalid("a stage prompt needs a variant: the name of the stage");
      return std::string();
    }
    const auto known = variants(request.kind, request.target);
    const auto found = std::find(known.begin(), known.end(), request.variant);
    if (found != known.end()) {
      const auto directory = variant_directory(request.kind, request.target);
      // A critic's variant has no advice of its own.
      if (!directory) return std::string();
      return *directory + templates_.names_under(*directory)[std::size_t(found - known.begin())];
    }
    if (known.empty()) return invalid(fmt::format("{} has no variants", describe(request.kind)));
    return invalid(fmt::format("unknown variant {} of {} for {}; there are {}", request.variant, describe(request.kind),
                               to_string(request.target), fmt::join(known, ", ")));
  }

  static std::optional<std::string> variant_directory(PromptKind kind, Target target) {
    if (kind == PromptKind::Seed) return fmt::format("strategies/{}/", to_string(target));
    if (kind == PromptKind::Stage) return fmt::format("stages/{}/", to_string(target));
    if (kind == PromptKind::Repair) return "repairs/";
    return std::nullopt;
  }

  /// The example for the families of the task, else the form of the target.
  static std::string example_name(const PromptRequest& request, const TemplateData& data) {
    const auto* example = data.get(k_family_example);
    if (example != nullptr && !example->string_value().empty()) return example->string_value();
    return language_of(request) == Language::C ? "c" : std::string(to_string(request.target));
  }

  Result<RenderedPrompt> render(const PromptRequest& request, const std::string& variant,
                                const DataOptions& options) const {
    VerbatimTexts verbatim;
    auto data = make_prompt_data(request, options, verbatim);
    templates_.set_alias(data, "target_rules", rules_template(request.target));
    templates_.set_alias(data, "target_example", "examples/" + example_name(request, data));
    templates_.set_alias(data, "variant_advice", variant);
    set_splits(data, request, options.measured);
    const auto* hint = data.get(k_error_hint);
    templates_.set_alias(data, "error_hint", hint == nullptr ? "" : "hints/" + hint->string_value());
    return templates_.render(template_name(request.kind), data, verbatim);
  }

  /// The texts that seeds of a recurrence show in the order that its sizes suggest. Blank data knows no GPU.
  void set_splits(TemplateData& data, const PromptRequest& request, Measured measured) const {
    const bool shown = measured == Measured::Shown;
    const auto order =
        order_splits(recurrence_sizes(request.description), chip_sizes(shown ? request.gpu : std::optional<GpuFacts>()),
                     request.target, shown && request.on_gpu);
    const std::string folder =
        request.target == Target::Triton ? "strategies/recurrence/triton_" : "strategies/recurrence/";
    constexpr auto k_places = std::to_array<const char*>({"first_split", "second_split", "third_split"});
    for (std::size_t i = 0; i < k_places.size(); ++i)
      templates_.set_alias(data, k_places[i], i < order.size() ? folder + std::string(to_string(order[i])) : "");
    data.set("has_third_split", order.size() >= k_places.size());
  }

  TemplateSet templates_;
};

}  // namespace

Result<std::unique_ptr<PromptBuilder>> make_prompt_builder(const PromptBuilderOptions& options) {
  KERNELGEN_TRY(auto templates, TemplateSet::load(options));
  for (const auto kind : k_kinds) {
    if (!templates.contains(template_name(kind)))
      return Error{ErrorCode::NotFound, fmt::format("there is no template {}.mustache in {}", template_name(kind),
                                                    options.directory.string())};
  }
  std::unique_ptr<PromptBuilder> builder = std::make_unique<MustachePromptBuilder>(std::move(templates));
  const auto& set_directory = is_prompt_set(options.overrides) ? options.overrides : options.prompt_set;
  if (set_directory.empty()) return builder;
  KERNELGEN_TRY(auto set, read_prompt_set(set_directory));
  return make_prompt_set_builder(std::move(builder), std::move(set));
}

}  // namespace v0
}  // namespace kernelgen
