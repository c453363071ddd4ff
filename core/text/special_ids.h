#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <medley/text/special_tokens.h>
#include <medley/text/tokenizer_json.h>

namespace medley {

// The ids of medley's special tokens in a vocabulary.
struct SpecialIds {
  std::array<std::int64_t, kSpecialTokens.size()> ids{};  // in the order of kSpecialTokens
  // Those that the vocabulary lacks: their ids are the next after its own.
  std::vector<std::string> added;
};

// `names` says what a token is called in the vocabulary; without a name it is looked for under medley's own,
// and under those of Qwen and Llama 3. Throws InputError for names that are not medley's, and for two that
// name one token.
SpecialIds FindSpecialTokens(const TokenizerJson& tokenizer, const SpecialTokenNames& names,
                             const std::string& file);

// A SentencePiece model has medley's special tokens under medley's names.
void RequireOwnNames(const SpecialTokenNames& names, const std::string& file);

}  // namespace medley
