#pragma once

#include <memory>
#include <string>

#include <medley/text/tokenizer.h>

namespace medley {

// A vocabulary of SentencePiece, from the bytes of its file. Decode(Encode(text)) == text for UTF-8 text,
// whatever its spaces, as long as the vocabulary was made by TrainTokenizer. `file`: for errors. Throws
// InputError for what is no such model.
std::unique_ptr<Tokenizer> MakeSentencePieceTokenizer(const std::string& bytes, const std::string& file);

}  // namespace medley
