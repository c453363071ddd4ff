#include <medley/text/tokenizer.h>

#include <algorithm>

#include <medley/base/files.h>
#include <medley/text/byte_pair_tokenizer.h>
#include <medley/text/load_tokenizer.h>
#include <medley/text/sentencepiece_tokenizer.h>
#include <medley/text/special_ids.h>
#include <medley/text/special_tokens.h>
#include <medley/text/tokenizer_json.h>

namespace medley {

Tokenizer::~Tokenizer() = default;

// A name that is cut behind its first letter is no name. None begins within another one.
std::vector<std::int64_t> Tokenizer::EncodeText(std::string_view text) const {
  std::vector<std::int64_t> ids;
  while (!text.empty()) {
    std::size_t first = std::string_view::npos;
    for (const std::string_view name : kSpecialTokens) first = std::min(first, text.find(name));
    const std::string_view part = text.substr(0, first == std::string_view::npos ? first : first + 1);
    const std::vector<std::int64_t> of_part = Encode(part);
    ids.insert(ids.end(), of_part.begin(), of_part.end());
    text.remove_prefix(part.size());
  }
  return ids;
}

std::vector<std::string> Tokenizer::SpecialNames() const {
  return {kSpecialTokens.begin(), kSpecialTokens.end()};
}

std::unique_ptr<Tokenizer> LoadTokenizer(const std::filesystem::path& file,
                                         const SpecialTokenNames& special_tokens) {
  const std::string bytes = ReadFile(file);
  if (IsTokenizerJson(bytes)) return MakeBytePairTokenizer(bytes, DisplayPath(file), special_tokens);
  RequireOwnNames(special_tokens, DisplayPath(file));
  return MakeSentencePieceTokenizer(bytes, DisplayPath(file));
}

}  // namespace medley
