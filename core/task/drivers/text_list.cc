#include <medley/task/drivers/text_list.h>

namespace medley {

TextTable TableOf(const Tokenizer& tokenizer, const TextList& list) {
  return {tokenizer, list.name, list.texts, list.Width(), list.reply ? TextEnd::kEos : TextEnd::kOpen};
}

std::vector<std::string> TextsOf(std::span<const TextList> lists) {
  std::vector<std::string> texts;
  for (const TextList& list : lists) {
    for (const std::string_view text : list.texts) {
      if (std::ranges::find(texts, text) == texts.end()) texts.emplace_back(text);
    }
  }
  return texts;
}

}  // namespace medley
