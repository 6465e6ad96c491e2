#pragma once

/// \file
/// The forms in which servers are asked: how requests look as text, and what answers mean. Nothing here opens a
/// connection.

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/prompt.hpp>
#include <kernelgen/llm/clients.hpp>
#include <kernelgen/llm/llm_client.hpp>

namespace kernelgen {
inline namespace v0 {

/// What of a request is sent, and under which names. Servers differ, and some models refuse what others take.
struct RequestForm {
  std::string model;
  /// Whether the reply is to be streamed.
  bool streams = true;
  /// Whether a streamed reply is to end with its usage (stream_options of chat completions).
  bool asks_for_usage = true;
  bool sends_temperature = true;
  /// Chat completions: the limit is called max_completion_tokens, not max_tokens.
  bool has_new_limit_name = false;
  /// The limit of a reply where the request has none and the protocol demands one.
  std::int64_t default_limit = k_default_output_tokens;
  /// Replies that are wanted, one where the protocol has no choices.
  int choices = 1;
};

/// An error within an answer.
struct ReportedError {
  /// The provider's words.
  std::string words;
  /// The same with its names for the error, and the words of a server behind a gateway.
  std::string all{};
  /// The HTTP status that an answer with this error would have had, as far as its code or its type tells; else 500.
  long status = 500;
};

/// What an answer has said so far.
struct Draft {
  std::string text;
  /// Bytes of reasoning that were shown; it is no part of the reply.
  std::size_t reasoning_bytes = 0;
  /// Set when the model has stopped.
  std::optional<FinishReason> finish;
  TokenUsage usage;
  std::string model;
  std::optional<ReportedError> error;
  /// The choices after the first, as many as were asked for; only with text and finish.
  std::vector<Draft> further;

  /// The choice of that number; nullptr for one that was not asked for.
  [[nodiscard]] Draft* choice(std::int64_t index);
};

/// One form.
struct Protocol {
  /// Name in lists of providers: "chat-completions".
  std::string_view name;
  /// What an answer is called in messages.
  std::string_view answer_name;
  /// The header that carries a key, up to the key.
  std::string_view key_header;
  /// A header that each request has; empty: none.
  std::string_view own_header;
  /// Whether one request can ask for several replies.
  bool has_choices = false;
  /// The path behind the base URL.
  std::string (*path)(const RequestForm& form);
  /// With a text in `so_far`, the model is asked to go on with this reply.
  std::string (*body)(const LLMRequest& request, const RequestForm& form, std::string_view so_far);
  /// Reads an answer in one piece. False when it is none.
  bool (*read_document)(const boost::json::value& document, Draft& draft);
  /// Reads an event of a stream. What it does not know is left out.
  void (*read_event)(const boost::json::value& event, Draft& draft);
};

[[nodiscard]] const Protocol& protocol_of(LLMProtocol protocol);

extern const Protocol k_chat_completions;
extern const Protocol k_responses;
extern const Protocol k_messages;
extern const Protocol k_generate_content;

/// The form in which a request is sent again after a refusal in these words; nothing when the words are about nothing
/// that could be left out.
[[nodiscard]] std::optional<RequestForm> form_without_refused(const RequestForm& form, std::string_view words);
/// What a form leaves out of `request`, for the record: "temperature"; empty when nothing.
[[nodiscard]] std::string left_out_of(const RequestForm& form);

/// The member at the end of a path of objects; nullptr when there is none.
[[nodiscard]] const boost::json::value* find_member(const boost::json::value& value,
                                                    std::initializer_list<std::string_view> path);
/// The same as a text; empty when it is none.
[[nodiscard]] std::string find_text(const boost::json::value& value, std::initializer_list<std::string_view> path);
/// The same as a count. Tolerant: a malformed count is no reason to lose a reply.
[[nodiscard]] std::optional<std::int64_t> find_count(const boost::json::value& value,
                                                     std::initializer_list<std::string_view> path);
/// Sets `place` to the count at the end of the path, if there is one.
void read_count(std::optional<std::int64_t>& place, const boost::json::value& value,
                std::initializer_list<std::string_view> path);
/// The elements of the list at the end of the path; none when it is no list.
[[nodiscard]] const boost::json::array& find_list(const boost::json::value& value,
                                                  std::initializer_list<std::string_view> path);
/// The provider's words for an error, in any of the usual forms; empty when the document holds none.
[[nodiscard]] std::string find_error_words(const boost::json::value& answer);
/// The error that a document reports, which may be in any of the usual forms; `otherwise` stands for missing words.
[[nodiscard]] ReportedError find_reported_error(const boost::json::value& answer, std::string_view otherwise);
/// The only element of a list, into which Google puts the error of a stream; any other document itself.
[[nodiscard]] const boost::json::value& without_list(const boost::json::value& document);
/// One turn of a conversation.
struct Turn {
  enum class By { User, Model };
  By by = By::User;
  std::string text;
};
/// The prompt; with a text in `so_far` also that reply, and the wish that the model goes on with it. Texts are UTF-8.
[[nodiscard]] std::vector<Turn> turns_of(const LLMRequest& request, std::string_view so_far);
/// Adds a number with the shortest digits (0.7, not 6.9999999999999996E-1) at the end of an object's text.
void append_number(std::string& object, std::string_view name, double number);

}  // namespace v0
}  // namespace kernelgen
