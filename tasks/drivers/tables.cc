#include "tasks/drivers/tables.h"

#include <algorithm>

namespace medley::tasks {

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
