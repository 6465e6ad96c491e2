#include "prompt/reply_json.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

constexpr std::size_t k_max_member_bytes = 8000;
/// Braces in prose that are tried before giving up.
constexpr int k_max_objects = 64;

/// An object as strict JSON, and how many characters of the original it stands for.
struct StrictObject {
  std::string json;
  std::size_t length;
};

/// Copies an object and corrects models' deviations from JSON.
class ObjectCopy {
 public:
  /// Copies the object that begins at text[0]; nothing when it does not end.
  static std::optional<StrictObject> make(std::string_view text) {
    ObjectCopy copy;
    for (std::size_t i = 0; i < text.size(); ++i) {
      i += copy.take(text.substr(i));
      if (copy.depth_ == 0) return StrictObject{std::move(copy.result_), i + 1};
    }
    return std::nullopt;
  }

 private:
  /// Takes the first character; returns how many more it took.
  std::size_t take(std::string_view text) {
    const char c = text.front();
    if (in_string_) return take_in_string(text);
    if (c == '"') in_string_ = true;
    if (c == '{') ++depth_;
    if (c == '}') --depth_;
    // Python's literals.
    for (const auto& [python, word] :
         {std::pair<std::string_view, std::string_view>{"True", "true"}, {"False", "false"}, {"None", "null"}}) {
      if (text.substr(0, python.size()) != python) continue;
      result_ += word;
      return python.size() - 1;
    }
    result_.push_back(c);
    return 0;
  }

  /// Line ends and tabs inside strings are forbidden in JSON and common in plans.
  std::size_t take_in_string(std::string_view text) {
    const char c = text.front();
    if (c == '\\' && text.size() > 1) {
      result_.append(text.substr(0, 2));
      return 1;
    }
    if (c == '"') in_string_ = false;
    if (c == '\n') {
      result_ += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result_.push_back(' ');
    } else {
      result_.push_back(c);
    }
    return 0;
  }

  std::string result_;
  int depth_ = 0;
  bool in_string_ = false;
};

std::optional<json::object> parse_object(std::string_view text) {
  json::parse_options options;
  options.allow_comments = true;
  options.allow_trailing_commas = true;
  options.allow_invalid_utf8 = true;
  boost::system::error_code failed;
  auto value = json::parse(json::string_view(text.data(), text.size()), failed, {}, options);
  if (failed || !value.is_object()) return std::nullopt;
  return std::move(value.as_object());
}

using Members = std::span<const std::string_view>;

bool has_member(const json::object& object, Members members) {
  return std::any_of(object.begin(), object.end(), [&](const auto& member) {
    return std::find(members.begin(), members.end(), normalized_name({member.key().data(), member.key().size()})) !=
           members.end();
  });
}

/// The object itself, or the one it wraps: {"analysis": {...}}.
std::optional<json::object> unwrap(json::object object, Members members) {
  if (has_member(object, members)) return object;
  for (auto& member : object) {
    if (member.value().is_object() && has_member(member.value().get_object(), members))
      return member.value().get_object();
  }
  return std::nullopt;
}

}  // namespace

std::string normalized_name(std::string_view name) {
  std::string result;
  for (const char c : trim(name)) {
    const bool joint = c == '-' || c == ' ';
    result.push_back(joint ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  }
  return result;
}

std::optional<json::object> last_object_with(std::string_view text, std::span<const std::string_view> members) {
  std::optional<json::object> last;
  int tries = 0;
  for (auto at = text.find('{'); at != text.npos && tries < k_max_objects; at = text.find('{', at + 1), ++tries) {
    const auto copy = ObjectCopy::make(text.substr(at));
    auto object = copy ? parse_object(copy->json) : std::nullopt;
    auto found = object ? unwrap(*std::move(object), members) : std::nullopt;
    if (!found) continue;
    last = std::move(found);
    // Objects inside it are part of it.
    at += copy->length - 1;
  }
  return last;
}

std::string json_text(const json::value& value) {
  std::string text;
  if (value.is_string()) {
    text.assign(value.get_string().data(), value.get_string().size());
  } else if (value.is_array()) {
    for (const auto& item : value.get_array()) text += (text.empty() ? "" : "\n") + json_text(item);
  } else if (!value.is_null()) {
    text = json::serialize(value);
  }
  return std::string(trim(sanitize_text(text, k_max_member_bytes)));
}

}  // namespace v0
}  // namespace kernelgen
