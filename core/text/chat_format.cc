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

std::size_t BlanksInFront(std::string_view text, ChatBlanks blanks) {
  if (blanks == ChatBlanks::kNone) return 0;
  if (blanks == ChatBlanks::kLines) return std::min(text.find_first_not_of('\n'), text.size());
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = std::max<std::size_t>(Utf8Length(text.substr(at)), 1);
    if (!IsBlank(text.substr(at, length))) break;
    at += length;
  }
  return at;
}

// What is left of the text in front of those at its end.
std::size_t WithoutBlanksBehind(std::string_view text, ChatBlanks blanks) {
  if (blanks == ChatBlanks::kNone) return text.size();
  if (blanks == ChatBlanks::kLines) return text.find_last_not_of('\n') + 1;  // npos + 1 is 0
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = std::max<std::size_t>(Utf8Length(text.substr(at)), 1);
    if (!IsBlank(text.substr(at, length))) end = at + length;
    at += length;
  }
  return end;
}

std::string Trimmed(std::string_view text, ChatTrim trim) {
  text.remove_prefix(BlanksInFront(text, trim.front));
  return std::string(text.substr(0, WithoutBlanksBehind(text, trim.back)));
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

ChatFormat::ChatFormat(ChatStrings strings, const Tokenizer& tokenizer)
    : strings_(std::move(strings)), tokenizer_(tokenizer) {
  const std::vector<std::string> known = tokenizer.SpecialNames();
  // With these it ends and begins turns, so no words may be them. Others, of thoughts, are tokens alone.
  std::vector<std::string> specials = strings_.specials;
  if (specials.empty())
    specials = NamesIn({&strings_.head, &strings_.system, &strings_.to_assistant, &strings_.to_user,
                        &strings_.tail, &strings_.end, &strings_.image});
  std::vector<std::string> names = specials;
  if (strings_.specials.empty())
    names =
        NamesIn({&strings_.head, &strings_.system, &strings_.to_assistant, &strings_.to_user, &strings_.tail,
                 &strings_.end, &strings_.to_last, &strings_.generation, &strings_.image});
  names.push_back(strings_.end);
  for (const std::string& name : names) {
    const bool must_be_special = std::ranges::find(specials, name) != specials.end();
    const bool is_special = std::ranges::find(known, name) != known.end();
    if (tokenizer.Encode(name).size() == 1 && (is_special || !must_be_special)) continue;
    throw InputError(
        "the chat format '" + strings_.name + "' needs '" + name +
        "', which the vocabulary lacks; choose another format with the key chat, such as plain, or "
        "a vocabulary that has it among its special tokens");
  }
  end_ = tokenizer.Encode(strings_.end).front();
  for (const std::string& name : specials) special_ids_.push_back(tokenizer.Encode(name).front());
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
    if (turn.role == "assistant") {
      for (const std::string& cut : strings_.answers_without) {
        if (turn.text.find(cut) == std::string::npos) continue;
        return ChatProblem{i,
                           "expected an answer without '" + cut + "', at which the chat format '" +
                               strings_.name + "' cuts it",
                           /*is_role=*/false};
      }
    }
    if (turn.role != "user" && !turn.pictures.empty())
      return ChatProblem{i, "expected no picture, as only a user shows some", /*is_role=*/false};
    if (turn.learned && turn.role != "assistant") return expected("assistant, whose turns alone are learned");
    if (turn.learned && SaysNothing(turn, i + 1 == conversation.size()))
      return ChatProblem{i, "expected words to learn, found none", /*is_role=*/false};
    before = turn.role;
  }
  if (before == "system")
    return ChatProblem{conversation.size() - 1, "expected a user behind the system, found the end"};
  return std::nullopt;
}

std::vector<ChatFormat::Part> ChatFormat::Said(const Turn& turn, bool is_last) const {
  const bool is_last_answer = is_last && turn.role == "assistant" && strings_.trims.contains("last");
  const auto found = strings_.trims.find(is_last_answer ? "last" : turn.role);
  const ChatTrim trim = found == strings_.trims.end() ? ChatTrim() : found->second;
  const std::size_t pictures = strings_.image.empty() ? 0 : turn.pictures.size();
  std::vector<Part> parts;
  const auto add = [&](const std::string& text, bool is_said) { parts.push_back({text, is_said, false}); };
  if (strings_.images_first) {
    for (std::size_t i = 0; i < pictures; ++i) add(strings_.image, false);
    add(Trimmed(turn.text, trim), true);
    return parts;
  }
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= pictures; ++i) {
    const std::size_t end = i < pictures ? turn.pictures[i] : turn.text.size();
    ChatTrim at_ends = trim;  // the ends of the whole
    if (!strings_.trims_pieces && i > 0) at_ends.front = ChatBlanks::kNone;
    if (!strings_.trims_pieces && i < pictures) at_ends.back = ChatBlanks::kNone;
    const std::string piece = Trimmed(std::string_view(turn.text).substr(begin, end - begin), at_ends);
    if (!piece.empty() || pictures == 0) add(piece, true);
    if (i < pictures) add(strings_.image, false);
    begin = end;
  }
  return parts;
}

bool ChatFormat::SaysNothing(const Turn& turn, bool is_last) const {
  return std::ranges::all_of(Said(turn, is_last), [](const Part& part) { return part.text.empty(); });
}

// What stands before a turn's words.
std::string ChatFormat::Around(const Conversation& conversation, std::size_t turn) const {
  const bool is_last = turn + 1 == conversation.size(), is_answer = conversation[turn].role == "assistant";
  const std::string* around = conversation[turn].role == "system"       ? &strings_.system
                              : turn == 0                               ? &strings_.head
                              : conversation[turn - 1].role == "system" ? &strings_.after_system
                              : !is_answer                              ? &strings_.to_user
                              : is_last                                 ? &strings_.to_last
                                                                        : &strings_.to_assistant;
  const std::vector<std::size_t>& pictures = conversation[turn].pictures;
  const bool begins_with_picture =
      !strings_.image.empty() && !pictures.empty() && (strings_.images_first || pictures.front() == 0);
  std::string text = *around;
  if (begins_with_picture && text.ends_with(strings_.image_drops))
    text.resize(text.size() - strings_.image_drops.size());
  return text;
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
    parts.push_back({Around(conversation, i), false, is_learned});
    is_learned = turn.learned;
    for (Part& part : Said(turn, i + 1 == conversation.size())) {
      part.is_learned = is_learned;
      parts.push_back(std::move(part));
    }
  }
  const bool is_users = conversation.back().role == "user";
  const std::string& tail = is_users && strings_.user_tail ? *strings_.user_tail : strings_.tail;
  parts.push_back({is_prompt ? strings_.generation : tail, false, is_learned});
  return parts;
}

// Of what stands behind a learned answer up to the token that ends it, or where that is another one there, to
// the first special token.
std::size_t ChatFormat::LearnedOf(const Part& part, const std::vector<std::int64_t>& ids) const {
  if (!part.is_learned) return 0;
  if (part.is_said) return ids.size();
  auto last = std::ranges::find(ids, end_);
  if (last == ids.end()) last = std::ranges::find_first_of(ids, special_ids_);
  return last == ids.end() ? 0 : static_cast<std::size_t>(last - ids.begin()) + 1;
}

ChatTokens ChatFormat::TokensOf(const std::vector<Part>& parts) const {
  ChatTokens tokens;
  for (const Part& part : parts) {
    const std::vector<std::int64_t> ids =
        part.is_said ? tokenizer_.EncodeText(part.text) : tokenizer_.Encode(part.text);
    const std::int64_t begin = std::ssize(tokens.ids);
    const auto learned = static_cast<std::int64_t>(LearnedOf(part, ids));
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
