#include <medley/text/chat_format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/base/utf8.h>

namespace medley {
namespace {

// Strings of the templates that these models are published with, for texts without tools and thoughts.
std::vector<ChatStrings> MakeFormats() {
  std::vector<ChatStrings> formats;
  formats.push_back({.name = "plain",
                     .head = "user:",
                     .system = "system:",
                     .after_system = "<eos>user:",
                     .to_assistant = "<eos>assistant:",
                     .to_last = "<eos>assistant:",
                     .to_user = "<eos>user:",
                     .tail = "<eos>",
                     .generation = "<eos>assistant:",
                     .end = "<eos>"});
  ChatStrings chatml{.name = "chatml",
                     .head = "<|im_start|>user\n",
                     .system = "<|im_start|>system\n",
                     .after_system = "<|im_end|>\n<|im_start|>user\n",
                     .to_assistant = "<|im_end|>\n<|im_start|>assistant\n",
                     .to_last = "<|im_end|>\n<|im_start|>assistant\n",
                     .to_user = "<|im_end|>\n<|im_start|>user\n",
                     .tail = "<|im_end|>\n",
                     .generation = "<|im_end|>\n<|im_start|>assistant\n",
                     .end = "<|im_end|>"};
  formats.push_back(chatml);
  chatml.name = "qwen3";
  chatml.to_last += "<think>\n\n</think>\n\n";
  chatml.generation = chatml.to_last;
  chatml.last_drops = "\n";
  chatml.no_answer_has = "</think>";
  formats.push_back(std::move(chatml));
  const std::string user = "<|start_header_id|>user<|end_header_id|>\n\n",
                    assistant = "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n";
  formats.push_back({.name = "llama3",
                     .head = "<|begin_of_text|>" + user,
                     .system = "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n",
                     .after_system = "<|eot_id|>" + user,
                     .to_assistant = assistant,
                     .to_last = assistant,
                     .to_user = "<|eot_id|>" + user,
                     .tail = "<|eot_id|>",
                     .generation = assistant,
                     .end = "<|eot_id|>",
                     .trims = {"system", "user", "assistant"}});
  // A system's words stand before the first user's, as the third of these models has it.
  formats.push_back({.name = "gemma",
                     .head = "<bos><start_of_turn>user\n",
                     .system = "<bos><start_of_turn>user\n",
                     .after_system = "\n\n",
                     .to_assistant = "<end_of_turn>\n<start_of_turn>model\n",
                     .to_last = "<end_of_turn>\n<start_of_turn>model\n",
                     .to_user = "<end_of_turn>\n<start_of_turn>user\n",
                     .tail = "<end_of_turn>\n",
                     .generation = "<end_of_turn>\n<start_of_turn>model\n",
                     .end = "<end_of_turn>",
                     .trims = {"user", "assistant"},
                     .alternates = true});
  return formats;
}

// The characters that Python's str.strip() takes for blanks, as the templates trim.
bool IsBlank(std::string_view character) {
  if (character.size() == 1) {
    const char c = character[0];
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f');
  }
  static constexpr std::string_view kWide[] = {"\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80",
                                               "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf",
                                               "\xe2\x81\x9f", "\xe3\x80\x80"};
  if (std::ranges::find(kWide, character) != std::end(kWide)) return true;
  return character.size() == 3 && character.starts_with("\xe2\x80") &&
         static_cast<unsigned char>(character[2]) <= 0x8a;
}

std::string_view Trimmed(std::string_view text) {
  std::size_t begin = std::string_view::npos, end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = std::max<std::size_t>(Utf8Length(text.substr(at)), 1);
    if (!IsBlank(text.substr(at, length))) {
      begin = std::min(begin, at);
      end = at + length;
    }
    at += length;
  }
  return end == 0 ? std::string_view() : text.substr(begin, end - begin);
}

// The names in angles in these strings.
std::vector<std::string> NamesIn(std::initializer_list<const std::string*> strings) {
  std::vector<std::string> names;
  for (const std::string* text : strings) {
    for (std::size_t begin = text->find('<'); begin != std::string::npos;
         begin = text->find('<', begin + 1)) {
      const std::string name = text->substr(begin, text->find('>', begin) - begin + 1);
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

}  // namespace

const std::vector<ChatStrings>& BuiltInChatFormats() {
  static const std::vector<ChatStrings> formats = MakeFormats();
  return formats;
}

const ChatStrings& BuiltInChatFormat(std::string_view name) {
  std::vector<std::string> names;
  for (const ChatStrings& strings : BuiltInChatFormats()) {
    if (strings.name == name) return strings;
    names.push_back(strings.name);
  }
  throw InputError("chat: " + NoSuchName("chat format", Printable(std::string(name)), names));
}

ChatFormat::ChatFormat(ChatStrings strings, const Tokenizer& tokenizer)
    : strings_(std::move(strings)), tokenizer_(tokenizer) {
  const std::vector<std::string> known = tokenizer.SpecialNames();
  // With these it ends and begins turns, so no words may be them. Others, of thoughts, are tokens alone.
  const std::vector<std::string> of_turns = NamesIn({&strings_.head, &strings_.system, &strings_.to_assistant,
                                                     &strings_.to_user, &strings_.tail, &strings_.end});
  for (const std::string& name :
       NamesIn({&strings_.head, &strings_.system, &strings_.to_assistant, &strings_.to_user, &strings_.tail,
                &strings_.end, &strings_.to_last, &strings_.generation})) {
    const bool must_be_special = std::ranges::find(of_turns, name) != of_turns.end();
    const bool is_special = std::ranges::find(known, name) != known.end();
    if (tokenizer.Encode(name).size() == 1 && (is_special || !must_be_special)) continue;
    throw InputError(
        "the chat format '" + strings_.name + "' needs '" + name +
        "', which the vocabulary lacks; choose another format with the key chat, such as plain, or "
        "a vocabulary that has it among its special tokens");
  }
  end_ = tokenizer.Encode(strings_.end).front();
}

std::optional<ChatProblem> ChatFormat::ProblemOf(const Conversation& conversation) const {
  if (conversation.empty()) return ChatProblem{0, "expected a turn at least, found none"};
  std::string before;
  for (std::size_t i = 0; i < conversation.size(); ++i) {
    const Turn& turn = conversation[i];
    const auto expected = [&](const std::string& words) {
      return ChatProblem{i, "expected " + words + ", found '" + Printable(turn.role) + "'"};
    };
    if (turn.role != "system" && turn.role != "user" && turn.role != "assistant")
      return expected("system, user or assistant");
    if (turn.role == "system" && i > 0) return expected("user or assistant, as a system speaks first of all");
    if (turn.role == "system" && strings_.system.empty())
      return expected("user, as the chat format '" + strings_.name + "' knows no system");
    if (turn.role == "assistant" && (before.empty() || before == "system"))
      return expected("user, whom an assistant answers");
    if (strings_.alternates && turn.role == before)
      return expected(std::string(before == "user" ? "assistant" : "user") +
                      ", as turns alternate in the chat "
                      "format '" +
                      strings_.name + "'");
    if (turn.role == "assistant" && !strings_.no_answer_has.empty() &&
        turn.text.find(strings_.no_answer_has) != std::string::npos)
      return ChatProblem{i,
                         "expected an answer without '" + strings_.no_answer_has +
                             "', at which the chat format '" + strings_.name + "' cuts it",
                         /*is_role=*/false};
    if (turn.learned && turn.role != "assistant") return expected("assistant, whose turns alone are learned");
    if (turn.learned && Said(turn, i + 1 == conversation.size()).empty())
      return ChatProblem{i, "expected words to learn, found none", /*is_role=*/false};
    before = turn.role;
  }
  if (before == "system")
    return ChatProblem{conversation.size() - 1, "expected a user behind the system, found the end"};
  return std::nullopt;
}

std::string ChatFormat::Said(const Turn& turn, bool is_last) const {
  std::string_view text = turn.text;
  if (std::ranges::find(strings_.trims, turn.role) != strings_.trims.end()) text = Trimmed(text);
  if (is_last && turn.role == "assistant")
    text.remove_prefix(std::min(text.find_first_not_of(strings_.last_drops), text.size()));
  return std::string(text);
}

std::vector<ChatFormat::Part> ChatFormat::PartsOf(const Conversation& conversation, bool is_prompt) const {
  if (const auto problem = ProblemOf(conversation))
    throw InputError("turn " + std::to_string(problem->turn + 1) + ": " + problem->what);
  if (is_prompt && conversation.back().role != "user")
    throw InputError("turn " + std::to_string(conversation.size()) +
                     ": expected user, who is answered, found '" + Printable(conversation.back().role) + "'");
  std::vector<Part> parts;
  bool is_learned = false;  // the answer in front
  for (std::size_t i = 0; i < conversation.size(); ++i) {
    const Turn& turn = conversation[i];
    const bool is_last = i + 1 == conversation.size(), is_answer = turn.role == "assistant";
    const std::string& around = turn.role == "system"                  ? strings_.system
                                : i == 0                               ? strings_.head
                                : conversation[i - 1].role == "system" ? strings_.after_system
                                : !is_answer                           ? strings_.to_user
                                : is_last                              ? strings_.to_last
                                                                       : strings_.to_assistant;
    parts.push_back({around, false, is_learned});
    is_learned = turn.learned;
    parts.push_back({Said(turn, is_last), true, is_learned});
  }
  parts.push_back({is_prompt ? strings_.generation : strings_.tail, false, is_learned});
  return parts;
}

ChatTokens ChatFormat::TokensOf(const std::vector<Part>& parts) const {
  ChatTokens tokens;
  for (const Part& part : parts) {
    const std::vector<std::int64_t> ids =
        part.is_said ? tokenizer_.EncodeText(part.text) : tokenizer_.Encode(part.text);
    const std::int64_t begin = std::ssize(tokens.ids);
    // Of what stands around them the token that ends an answer alone.
    const std::int64_t learned = !part.is_learned ? 0 : part.is_said ? std::ssize(ids) : 1;
    for (std::int64_t place = begin; place < begin + learned; ++place) tokens.learned.push_back(place);
    tokens.ids.insert(tokens.ids.end(), ids.begin(), ids.end());
  }
  return tokens;
}

ChatTokens ChatFormat::Encode(const Conversation& conversation) const {
  return TokensOf(PartsOf(conversation, /*is_prompt=*/false));
}

std::vector<std::int64_t> ChatFormat::Prompt(const Conversation& conversation) const {
  return TokensOf(PartsOf(conversation, /*is_prompt=*/true)).ids;
}

std::string ChatFormat::Text(const Conversation& conversation) const {
  std::string text;
  for (const Part& part : PartsOf(conversation, /*is_prompt=*/false)) text += part.text;
  return text;
}

std::string ChatFormat::PromptText(const Conversation& conversation) const {
  std::string text;
  for (const Part& part : PartsOf(conversation, /*is_prompt=*/true)) text += part.text;
  return text;
}

}  // namespace medley
