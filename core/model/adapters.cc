#include <medley/model/adapters.h>

#include <algorithm>

namespace medley {

bool IsAdapter(std::string_view parameter) {
  return parameter.ends_with(kLoraA) || parameter.ends_with(kLoraB) || parameter.ends_with(kRowChanges);
}

std::string AdapterOf(std::string_view weight, std::string_view end) {
  return std::string(weight.substr(0, weight.rfind('.'))).append(end);
}

Adapters AdaptersOf(const LoraConfig& lora, const Tokenizer* tokenizer, at::ScalarType base) {
  Adapters adapters{.lora = lora, .tokens = {}, .base = base};
  if (!adapters.any()) return adapters;
  std::vector<std::int64_t>& tokens = adapters.tokens;
  tokens = lora.tokens;
  if (lora.new_tokens && tokenizer != nullptr) {
    const std::vector<std::int64_t> added = tokenizer->AddedIds();
    tokens.insert(tokens.end(), added.begin(), added.end());
  }
  std::ranges::sort(tokens);
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return adapters;
}

}  // namespace medley
