#pragma once

#include <cstddef>
#include <string>

#include <medley/data/json_item.h>
#include <medley/text/chat_format.h>

// Lines of a file of conversations, or of preferences. Whatever is not as it should be is an InputError with
// its FILE:LINE and key.
namespace medley_texts {

// {"messages": [{"role", "content"}]}, or {"prompt", "completion"}, each a text or messages. Of a prompt
// nothing is learned; elsewhere each assistant's turn without "learned": false.
medley::Conversation ConversationOf(const medley::JsonItem& line);
// {"prompt", "chosen", "rejected"}, each a text or messages; of the replies one assistant's.
medley::Preference PreferenceOf(const medley::JsonItem& line);

// What a format has against the conversation of such a line.
[[noreturn]] void FailOf(const medley::JsonItem& line, const medley::Conversation& conversation,
                         const medley::ChatProblem& problem);

}  // namespace medley_texts
