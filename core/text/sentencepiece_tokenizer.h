#pragma once

#include <filesystem>
#include <memory>

#include <medley/text/tokenizer.h>

namespace medley {

// A vocabulary of SentencePiece. Decode(Encode(text)) == text for UTF-8 text, whatever its spaces, as long as
// the vocabulary was made by TrainTokenizer. Throws InputError for a file that is missing or is no such
// model.
std::unique_ptr<Tokenizer> LoadTokenizer(const std::filesystem::path& file);

}  // namespace medley
