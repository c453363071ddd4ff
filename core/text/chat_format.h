#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <medley/text/tokenizer.h>

namespace medley {

// What one of a conversation said. Roles are "system", "user" and "assistant".
struct Turn {
  std::string role, text;
  bool learned = false;  // of an assistant: its words and the token that ends them
};
using Conversation = std::vector<Turn>;

// What was said, a user last, and two replies of which the first is the better one.
struct Preference {
  Conversation prompt;
  std::string chosen, rejected;
};

// What a chat format puts around the words of a conversation. Written with names of special tokens, which are
// these tokens here, and text in what is said.
struct ChatStrings {
  std::string name = {};
  std::string head = {};          // before the first words, a user's
  std::string system = {};        // before a system's, with which a conversation may begin; "": none may
  std::string after_system = {};  // from these to the first user's
  std::string to_assistant = {};  // from a user's words to an answer
  std::string to_last = {};       // the same before an answer with which the conversation ends
  std::string to_user = {};       // from an answer to the next words of a user
  std::string tail = {};          // behind the last words of all
  std::string generation = {};    // from a user's words to the answer that is to come
  std::string end = {};           // the token that ends an answer: with it `to_user` and `tail` begin
  std::vector<std::string> trims = {};  // roles whose words lose the blanks at their ends
  std::string last_drops = {};          // characters that the last answer of all loses at its front
  std::string no_answer_has = {};       // what templates cut answers at, so that none may have it
  bool alternates = false;              // users and assistants must take turns
};

// plain, chatml, qwen3, llama3, gemma.
const std::vector<ChatStrings>& BuiltInChatFormats();
// InputError, with a suggestion, where there is none of that name.
const ChatStrings& BuiltInChatFormat(std::string_view name);

// A conversation as tokens. `learned`: the places that are learned, ascending, none of them 0.
struct ChatTokens {
  std::vector<std::int64_t> ids, learned;
};

// The turn of a conversation that a format does not take, and why: "expected ..., found ...".
struct ChatProblem {
  std::size_t turn = 0;
  std::string what;
  bool is_role = true;  // it is the turn's role, else its text
};

// Conversations as a model is trained on them and asked. No words end a turn, whatever they are, and no token
// spans what was said and what stands around it, as each is encoded by itself. Of any thread.
class ChatFormat {
 public:
  // InputError where the vocabulary lacks a special token of the format, or takes it for one of texts too.
  ChatFormat(ChatStrings strings, const Tokenizer& tokenizer);

  const ChatStrings& strings() const { return strings_; }
  std::int64_t end() const { return end_; }  // the token that ends an answer

  // What is wrong with it, if anything: a role that there is not, out of its place, or an answer to be
  // learned without a word.
  std::optional<ChatProblem> ProblemOf(const Conversation& conversation) const;
  // The conversation, and what of it is learned: answers that say so with the token that ends them; never
  // what stands around them, and of what follows that token nothing. It must be without a problem.
  ChatTokens Encode(const Conversation& conversation) const;
  // What a model is asked with that is to answer the last words, a user's.
  std::vector<std::int64_t> Prompt(const Conversation& conversation) const;
  // The same as text: names of special tokens are spelled out, also those that are text.
  std::string Text(const Conversation& conversation) const;
  std::string PromptText(const Conversation& conversation) const;

 private:
  struct Part {
    std::string text;
    bool is_said = false, is_learned = false;
  };
  std::vector<Part> PartsOf(const Conversation& conversation, bool is_prompt) const;
  std::string Said(const Turn& turn, bool is_last) const;
  ChatTokens TokensOf(const std::vector<Part>& parts) const;

  ChatStrings strings_;
  const Tokenizer& tokenizer_;
  std::int64_t end_ = 0;
};

}  // namespace medley
