#include <array>
#include <optional>

#include <kernelgen/prompt/reply_reader.hpp>

#include "prompt/reply_json.hpp"
#include "prompt/reply_text.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

constexpr std::size_t k_max_advice_bytes = 256u << 10;
constexpr std::size_t k_max_critique_bytes = 8000;

constexpr auto k_analysis_members = std::to_array<std::string_view>(
    {"worth_optimizing", "reason", "bottleneck", "method", "plan", "expected_speedup", "output_requirement"});
constexpr auto k_critique_members = std::to_array<std::string_view>({"problem", "evidence", "change"});

bool to_bool(const json::value& value) {
  if (value.is_bool()) return value.get_bool();
  if (value.is_number()) return value.to_number<double>() != 0;
  auto word = normalized_name(json_text(value));
  word = word.substr(0, word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789"));
  return word != "no" && word != "false" && word != "0" && word != "n" && word != "not";
}

std::string to_requirement(const std::string& text) {
  const auto name = normalized_name(text);
  if (name.empty()) return "";
  if (name.find("full") != name.npos) return "full_sequence";
  if (name.find("final") != name.npos) return "final_state_only";
  return "other";
}

void set_member(Analysis& analysis, const std::string& name, const json::value& value) {
  if (value.is_null()) return;
  if (name == "worth_optimizing") analysis.worth_optimizing = to_bool(value);
  if (name == "reason") analysis.reason = json_text(value);
  if (name == "bottleneck") analysis.bottleneck = json_text(value);
  if (name == "method") analysis.method = json_text(value);
  if (name == "plan") analysis.plan = json_text(value);
  if (name == "expected_speedup") analysis.expected_speedup = json_text(value);
  if (name == "output_requirement") analysis.output_requirement = to_requirement(json_text(value));
}

}  // namespace

Result<Analysis> read_analysis(std::string_view reply) {
  if (reply.size() > k_max_advice_bytes)
    return Error{ErrorCode::InvalidArgument, "the analysis is longer than 256 KiB"};
  const auto stripped = without_thoughts(normalize_lines(reply));
  const auto object = last_object_with(stripped.text, k_analysis_members);
  if (!object) {
    const auto text = trim(stripped.text);
    return Error{ErrorCode::InvalidArgument, text.empty()
                                                 ? "the analysis is empty"
                                                 : "the analysis holds no JSON object with its members; it begins: " +
                                                       sanitize_line(text.substr(0, 400), 120)};
  }
  Analysis analysis;
  for (const auto& member : *object)
    set_member(analysis, normalized_name({member.key().data(), member.key().size()}), member.value());
  return analysis;
}

Result<Critique> read_critique(std::string_view reply) {
  if (reply.size() > k_max_advice_bytes)
    return Error{ErrorCode::InvalidArgument, "the critique is longer than 256 KiB"};
  const auto stripped = without_thoughts(normalize_lines(reply));
  if (trim(stripped.text).empty()) return Error{ErrorCode::InvalidArgument, "the critique is empty"};
  Critique critique;
  const auto object = last_object_with(stripped.text, k_critique_members);
  if (!object) {
    critique.change = trim(sanitize_text(stripped.text, k_max_critique_bytes));
    return critique;
  }
  for (const auto& member : *object) {
    const auto name = normalized_name({member.key().data(), member.key().size()});
    if (name == "problem") critique.problem = json_text(member.value());
    if (name == "evidence") critique.evidence = json_text(member.value());
    if (name == "change") critique.change = json_text(member.value());
  }
  return critique;
}

}  // namespace v0
}  // namespace kernelgen
