#include "talk_lines.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

namespace medley_texts {
namespace {

using medley::Conversation;
using medley::JsonItem;
using medley::Turn;

// One that nobody reads may be meant to change what is learned.
void RequireKnownKeys(const JsonItem& message) {
  for (const auto& [key, value] : message.json().items()) {
    if (key != "role" && key != "content" && key != "learned" && key != "name")
      message.Fail(key, "expected role, content, learned or name in a message, and no other key");
  }
}

Turn TurnOf(const JsonItem& message) {
  RequireKnownKeys(message);
  Turn turn{.role = message.Word("role", {"system", "user", "assistant"}), .text = message.Text("content")};
  const bool is_answer = turn.role == "assistant";
  turn.learned = is_answer && (!message.Has("learned") || message.Switch("learned"));
  if (!is_answer && message.Has("learned") && message.Switch("learned"))
    message.Fail("learned", "expected false, as the turns of assistants alone are learned");
  return turn;
}

bool IsList(const JsonItem& line, std::string_view key) {
  return line.Has(key) && line.json().find(key)->is_array();
}

// At least one.
Conversation TurnsOf(const JsonItem& line, std::string_view key) {
  Conversation turns;
  for (const JsonItem& message : line.Objects(key)) turns.push_back(TurnOf(message));
  if (turns.empty()) line.Fail(key, "expected a message at least, found none");
  return turns;
}

// What is asked, a user's words last; nothing of it is learned.
Conversation PromptOf(const JsonItem& line) {
  if (!IsList(line, "prompt")) {
    Turn turn{.role = "user", .text = line.Text("prompt")};
    if (turn.text.empty()) line.Fail("prompt", "expected words, found none");
    return {std::move(turn)};
  }
  Conversation turns = TurnsOf(line, "prompt");
  if (turns.back().role != "user")
    line.Fail("prompt[" + std::to_string(turns.size() - 1) + "].role",
              "expected user, who is answered, found '" + turns.back().role + "'");
  for (Turn& turn : turns) turn.learned = false;
  return turns;
}

std::string ReplyOf(const JsonItem& line, std::string_view key) {
  if (!IsList(line, key)) return line.Text(key);
  const Conversation turns = TurnsOf(line, key);
  if (turns.size() != 1 || turns[0].role != "assistant")
    line.Fail(key, "expected one turn, an assistant's, found " +
                       (turns.size() != 1 ? std::to_string(turns.size()) + " turns"
                                          : "a turn of the " + turns[0].role));
  return turns[0].text;
}

}  // namespace

Conversation ConversationOf(const JsonItem& line) {
  const bool has_prompt = line.Has("prompt") || line.Has("completion");
  if (line.Has("messages")) {
    if (has_prompt) line.Fail("expected either \"messages\" or \"prompt\" and \"completion\", found both");
    return TurnsOf(line, "messages");
  }
  if (!has_prompt) line.Fail("expected \"messages\", or \"prompt\" and \"completion\"; found neither");
  Conversation turns = PromptOf(line);
  turns.push_back({"assistant", ReplyOf(line, "completion"), /*learned=*/true});
  return turns;
}

medley::Preference PreferenceOf(const JsonItem& line) {
  return {.prompt = PromptOf(line), .chosen = ReplyOf(line, "chosen"), .rejected = ReplyOf(line, "rejected")};
}

void FailOf(const JsonItem& line, const Conversation& conversation, const medley::ChatProblem& problem) {
  const std::string place =
      "[" + std::to_string(problem.turn) + "]." + (problem.is_role ? "role" : "content");
  const bool is_last = problem.turn + 1 == conversation.size();
  if (line.Has("messages")) line.Fail("messages" + place, problem.what);
  line.Fail(is_last ? "completion" : IsList(line, "prompt") ? "prompt" + place : "prompt", problem.what);
}

}  // namespace medley_texts
