#include "tasks/drivers/tables.h"

#include <algorithm>

#include <medley/base/error.h>

namespace medley::tasks {

void CheckQuestionWidth(std::string_view question, std::int64_t width) {
  if (width <= kQuestionWidth) return;
  throw InputError("question '" + std::string(question) + "': its longest prompt and reply have " +
                   std::to_string(width) + " tokens together, a row has " + std::to_string(kQuestionWidth) +
                   ". Train the vocabulary on the task's texts (medley tokenizer train)");
}

std::vector<std::string> TextsOf(std::span<const Table> tables) {
  std::vector<std::string> texts;
  for (const Table& table : tables) {
    for (const std::string_view text : table.texts) {
      if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.emplace_back(text);
    }
  }
  return texts;
}

}  // namespace medley::tasks
