#include "talk_lines.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <variant>

namespace medley_texts {
namespace {

using medley::JsonItem;
using medley::NamedFile;
using medley::Turn;

// One that nobody reads may be meant to change what is learned.
void RequireKnownKeys(const JsonItem& message) {
  static constexpr std::string_view kKnown[] = {"role", "content", "learned", "name", "from", "value"};
  for (const auto& [key, value] : message.json().items()) {
    if (std::ranges::find(kKnown, key) == std::end(kKnown))
      message.Fail(key, "expected role, content, learned or name in a message, and no other key");
  }
}

bool IsList(const JsonItem& line, std::string_view key) {
  return line.Has(key) && line.json().find(key)->is_array();
}

// Reads the turns of one line.
class TalkReader {
 public:
  TalkReader(const JsonItem& line, std::string turns_key)
      : line_(line), turns_key_(std::move(turns_key)), reader_(line, {turns_key_}) {}

  // At least one.
  void AddTurns(const std::string& key) {
    for (const JsonItem& message : line_.Objects(key)) RequireKnownKeys(message);
    const std::vector<medley::SpokenTurn> turns = reader_.Turns(key);
    for (std::size_t i = 0; i < turns.size(); ++i) {
      const medley::SpokenTurn& turn = turns[i];
      const std::string place = key + "[" + std::to_string(i) + "].";
      const std::string role = medley::ConversationReader::KeyOf(turn.item, {"role", "from"});
      Add(turn.role, turn.items, {place + role, place + turn.content});
      Turn& added = talk_.turns.back();
      const bool is_answer = turn.role == "assistant";
      added.learned = is_answer && (!turn.item.Has("learned") || turn.item.Switch("learned"));
      if (!is_answer && turn.item.Has("learned") && turn.item.Switch("learned"))
        turn.item.Fail("learned", "expected false, as the turns of assistants alone are learned");
      if (turn.role != "user" && !added.pictures.empty())
        turn.item.Fail(turn.content, "shows a picture, which only a user's words can");
    }
  }
  // What is asked, a user's words last; nothing of it is learned.
  void AddPrompt() {
    if (IsList(line_, "prompt")) {
      AddTurns("prompt");
      if (talk_.turns.back().role != "user")
        line_.Fail("prompt[" + std::to_string(talk_.turns.size() - 1) + "].role",
                   "expected user, who is answered, found '" + talk_.turns.back().role + "'");
    } else {
      Add("user", reader_.Words(line_, "prompt"), {"prompt", "prompt"});
      if (talk_.turns.back().text.empty() && talk_.turns.back().pictures.empty())
        line_.Fail("prompt", "expected words, found none");
    }
    for (Turn& turn : talk_.turns) turn.learned = false;
  }
  // One reply; nothing of the talk.
  std::string ReplyOf(const std::string& key) {
    if (!IsList(line_, key)) return line_.Text(key);
    TalkReader reply(line_, key);
    reply.AddTurns(key);
    const medley::Conversation& turns = reply.talk_.turns;
    if (turns.size() != 1 || turns[0].role != "assistant")
      line_.Fail(key, "expected one turn, an assistant's, found " +
                          (turns.size() != 1 ? std::to_string(turns.size()) + " turns"
                                             : "a turn of the " + turns[0].role));
    return turns[0].text;
  }
  void AddAnswer(std::string text, const std::string& key) {
    talk_.turns.push_back({.role = "assistant", .text = std::move(text), .learned = true});
    talk_.places.push_back({key, key});
  }
  // Pictures that no text names stand in front of the first user's words.
  Talk Take() {
    std::vector<NamedFile> rest = reader_.Rest(turns_key_);
    if (rest.empty()) return std::move(talk_);
    const auto user = std::ranges::find(talk_.turns, "user", &Turn::role);
    if (user == talk_.turns.end()) line_.Fail(turns_key_, "no user's turn that shows its pictures");
    user->pictures.assign(rest.size(), 0);
    talk_.pictures = std::move(rest);
    return std::move(talk_);
  }

 private:
  void Add(const std::string& role, const std::vector<medley::SpokenItem>& items, Talk::Place place) {
    Turn turn{.role = role, .text = {}};
    bool is_behind_mark = false;
    for (const medley::SpokenItem& item : items) {
      if (const auto* file = std::get_if<NamedFile>(&item)) {
        turn.pictures.push_back(turn.text.size());
        talk_.pictures.push_back(*file);
        is_behind_mark = file->is_mark;
        continue;
      }
      std::string_view words = std::get<std::string>(item);
      if (is_behind_mark && words.starts_with('\n')) words.remove_prefix(1);
      turn.text += words;
      is_behind_mark = false;
    }
    talk_.turns.push_back(std::move(turn));
    talk_.places.push_back(std::move(place));
  }

  const JsonItem& line_;
  std::string turns_key_;
  medley::ConversationReader reader_;
  Talk talk_;
};

bool HasPrompt(const JsonItem& line) { return line.Has("prompt") || line.Has("completion"); }

// Where the turns stand; "": the line has none.
std::string TurnsKeyOf(const JsonItem& line) {
  for (const std::string key : {"messages", "conversations", "turns"}) {
    if (!line.Has(key)) continue;
    if (HasPrompt(line))
      line.Fail("expected either \"" + key + "\" or \"prompt\" and \"completion\", found both");
    return key;
  }
  return "";
}

}  // namespace

Talk TalkOf(const JsonItem& line) {
  const std::string key = TurnsKeyOf(line);
  if (key.empty() && !HasPrompt(line))
    line.Fail("expected \"messages\", or \"prompt\" and \"completion\"; found neither");
  TalkReader reader(line, key.empty() ? "prompt" : key);
  if (!key.empty()) {
    reader.AddTurns(key);
    return reader.Take();
  }
  reader.AddPrompt();
  reader.AddAnswer(reader.ReplyOf("completion"), "completion");
  return reader.Take();
}

medley::Preference PreferenceOf(const JsonItem& line) {
  TalkReader reader(line, "prompt");
  reader.AddPrompt();
  std::string chosen = reader.ReplyOf("chosen"), rejected = reader.ReplyOf("rejected");
  Talk talk = reader.Take();
  if (!talk.pictures.empty())
    line.Fail("prompt", "shows a picture; preferences are about words alone, the task chat takes pictures");
  return {.prompt = std::move(talk.turns), .chosen = std::move(chosen), .rejected = std::move(rejected)};
}

Talk QuestionOf(const JsonItem& line) {
  const std::string key = TurnsKeyOf(line);
  TalkReader reader(line, key.empty() ? "prompt" : key);
  if (key.empty()) {
    reader.AddPrompt();
    return reader.Take();
  }
  reader.AddTurns(key);
  Talk talk = reader.Take();
  if (talk.turns.back().role == "assistant") {
    talk.turns.pop_back();
    talk.places.pop_back();
  }
  if (talk.turns.empty() || talk.turns.back().role != "user")
    line.Fail(key, "expected a user's turn at the end, or an answer to one");
  for (Turn& turn : talk.turns) turn.learned = false;
  return talk;
}

void FailOf(const JsonItem& line, const Talk& talk, const medley::ChatProblem& problem) {
  const Talk::Place& place = talk.places.at(problem.turn);
  line.Fail(problem.is_role ? place.role : place.content, problem.what);
}

}  // namespace medley_texts
