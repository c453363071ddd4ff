// The readers of tasks/texts: as a task opens a file, and writes what is in it.
#include <medley/data/jsonl_file.h>
#include <medley/text/chat_format.h>

#include "talk_lines.h"
#include "tests/fuzz/readers.h"
#include "tests/fuzz/written.h"
#include "tests/text/byte_tokenizer.h"

namespace medley::fuzz {
namespace {

const ChatFormat& FormatNamed(const char* name) {
  static const ByteTokenizer tokenizer({"<pad>", "<eos>", "<bos>", "<start_of_turn>", "<end_of_turn>"});
  static const ChatFormat plain(BuiltInChatFormat("plain"), tokenizer),
      gemma(BuiltInChatFormat("gemma"), tokenizer);
  return name == std::string("plain") ? plain : gemma;
}

void ReadChats(const std::string& bytes) {
  const JsonlFile file(Written("chats.jsonl", bytes));
  for (std::int64_t item = 0; item < file.size(); ++item) {
    const JsonItem line = file.Read(item);
    const medley_texts::Talk talk = medley_texts::TalkOf(line);
    for (const char* name : {"plain", "gemma"}) {
      const ChatFormat& format = FormatNamed(name);
      if (const auto problem = format.ProblemOf(talk.turns)) medley_texts::FailOf(line, talk, *problem);
      format.Encode(talk.turns);
    }
  }
}

void ReadPreferences(const std::string& bytes) {
  const JsonlFile file(Written("preferences.jsonl", bytes));
  for (std::int64_t item = 0; item < file.size(); ++item) medley_texts::PreferenceOf(file.Read(item));
}

}  // namespace

std::vector<Reader> TalkReaders() {
  return {{.name = "chats", .read = ReadChats, .file = "chats.jsonl"},
          {.name = "preferences", .read = ReadPreferences, .file = "preferences.jsonl"}};
}

}  // namespace medley::fuzz
