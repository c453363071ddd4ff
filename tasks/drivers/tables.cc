#include "tasks/drivers/tables.h"

namespace medley::tasks {

std::vector<std::string> TextsOf(std::span<const Table> tables) {
  std::vector<std::string> texts;
  for (const Table& table : tables) texts.insert(texts.end(), table.texts.begin(), table.texts.end());
  return texts;
}

}  // namespace medley::tasks
