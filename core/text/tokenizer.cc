#include <medley/text/tokenizer.h>

#include <medley/base/files.h>
#include <medley/text/byte_pair_tokenizer.h>
#include <medley/text/load_tokenizer.h>
#include <medley/text/sentencepiece_tokenizer.h>
#include <medley/text/special_ids.h>
#include <medley/text/tokenizer_json.h>

namespace medley {

Tokenizer::~Tokenizer() = default;

std::unique_ptr<Tokenizer> LoadTokenizer(const std::filesystem::path& file,
                                         const SpecialTokenNames& special_tokens) {
  const std::string bytes = ReadFile(file);
  if (IsTokenizerJson(bytes)) return MakeBytePairTokenizer(bytes, DisplayPath(file), special_tokens);
  RequireOwnNames(special_tokens, DisplayPath(file));
  return MakeSentencePieceTokenizer(bytes, file.string());
}

}  // namespace medley
