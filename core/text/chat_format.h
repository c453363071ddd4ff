#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <medley/text/chat_strings.h>
#include <medley/text/tokenizer.h>

namespace medley {

// What one of a conversation said. Roles are "system", "user" and "assistant".
struct Turn {
  std::string role, text;
  bool learned = false;  // of an assistant: its words and the token that ends them
  // Of a user: where in `text` a picture stands, ascending; two may stand at one place.
  std::vector<std::size_t> pictures = {};
};
using Conversation = std::vector<Turn>;

// What was said, a user last, and two replies of which the first is the better one.
struct Preference {
  Conversation prompt;
  std::string chosen, rejected;
};

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
  // InputError where the vocabulary lacks a special token of the format, or takes it for one of texts too;
  // those of pictures need not be there where `image` of the strings is empty.
  ChatFormat(ChatStrings strings, const Tokenizer& tokenizer);

  const ChatStrings& strings() const { return strings_; }
  std::int64_t end() const { return end_; }  // the token that ends an answer

  // What is wrong with it, if anything: a role that there is not, out of its place, an answer to be learned
  // without a word, or a picture where none may be.
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
  // The turn's words as they stand there, cut where its pictures are, and these.
  std::vector<Part> Said(const Turn& turn, bool is_last) const;
  bool SaysNothing(const Turn& turn, bool is_last) const;
  std::string Around(const Conversation& conversation, std::size_t turn) const;
  std::size_t LearnedOf(const Part& part, const std::vector<std::int64_t>& ids) const;
  ChatTokens TokensOf(const std::vector<Part>& parts) const;

  ChatStrings strings_;
  const Tokenizer& tokenizer_;
  std::int64_t end_ = 0;
  std::vector<std::int64_t> special_ids_;  // of its strings
};

}  // namespace medley
