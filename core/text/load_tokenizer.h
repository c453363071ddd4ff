#pragma once

#include <filesystem>
#include <memory>

#include <medley/text/special_tokens.h>
#include <medley/text/tokenizer.h>

namespace medley {

// A vocabulary: a SentencePiece model, or a tokenizer.json of byte-level byte-pair encoding (Qwen, Llama 3).
// `special_tokens` says what medley's special tokens are called in a tokenizer.json; those that it lacks get
// the next free ids. Throws InputError for a file that is missing or is neither.
std::unique_ptr<Tokenizer> LoadTokenizer(const std::filesystem::path& file,
                                         const SpecialTokenNames& special_tokens = {});

}  // namespace medley
