#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <medley/data/conversation_json.h>
#include <medley/data/json_item.h>
#include <medley/text/chat_format.h>

// Lines of a file of conversations, or of preferences. Whatever is not as it should be is an InputError with
// its FILE:LINE and key.
namespace medley_texts {

// A conversation as a line has it: its turns, the files of the pictures that they show, in their order, and
// where each turn stands.
struct Talk {
  struct Place {
    std::string role, content;  // "messages[1].role"
  };
  medley::Conversation turns;
  std::vector<medley::NamedFile> pictures;
  std::vector<Place> places;  // of each turn
};

// {"messages": [{"role", "content"}]}, or {"prompt", "completion"}, each a text or messages; or in the
// spellings of medley::ConversationReader, as {"image", "conversations": [{"from", "value"}]}. Of a prompt
// nothing is learned; elsewhere each assistant's turn without "learned": false. A line end behind a literal
// <image> goes with it, as the chat format says what stands there.
Talk TalkOf(const medley::JsonItem& line);
// {"prompt", "chosen", "rejected"}, each a text or messages; of the replies one assistant's.
medley::Preference PreferenceOf(const medley::JsonItem& line);
// What such a line asks: its turns but for an answer at the end, or its prompt; the completion, or the two
// replies, may be missing.
Talk QuestionOf(const medley::JsonItem& line);

// What a format has against the conversation of such a line.
[[noreturn]] void FailOf(const medley::JsonItem& line, const Talk& talk, const medley::ChatProblem& problem);

}  // namespace medley_texts
