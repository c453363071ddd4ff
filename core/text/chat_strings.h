#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace medley {

// What words lose at one of their ends: nothing, line ends, or all that Python's str.strip() takes for blank.
enum class ChatBlanks { kNone, kLines, kBlanks };
struct ChatTrim {
  ChatBlanks front = ChatBlanks::kNone, back = ChatBlanks::kNone;

  friend bool operator==(const ChatTrim&, const ChatTrim&) = default;
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
  std::optional<std::string> user_tail = {};  // the same where they are a user's; nothing: the tail
  std::string generation = {};                // from a user's words to the answer that is to come
  std::string end = {};  // the token that ends an answer: with it `to_user` or `tail` begin, or have it
  // Tokens of the strings that words must not be, so that the vocabulary has them among its special ones.
  // Empty: names in angles in what begins and ends turns.
  std::vector<std::string> specials = {};
  // By "system", "user", "assistant", and "last", an answer with which the conversation ends.
  std::map<std::string, ChatTrim> trims = {};
  std::vector<std::string> answers_without = {};  // what templates cut answers at, so that none may have it
  bool alternates = false;                        // users and assistants must take turns

  // What stands for a picture among a user's words. "": nothing does, and pictures stand where the model has
  // them that are handed to it beside a text.
  std::string image = {};
  bool images_first = false;  // all pictures of a turn before its words
  bool trims_pieces = false;  // words between pictures are trimmed as whole turns are
  std::string image_drops =
      {};  // what `head` and others lose at their end before a turn that a picture begins
};

// plain, chatml, qwen3, llama3, gemma.
const std::vector<ChatStrings>& BuiltInChatFormats();
// InputError, with a suggestion, where there is none of that name.
const ChatStrings& BuiltInChatFormat(std::string_view name);

}  // namespace medley
