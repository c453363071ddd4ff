#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <medley/text/special_tokens.h>
#include <medley/text/tokenizer.h>

namespace medley {

// A vocabulary of byte-level byte-pair encoding, from the text of a tokenizer.json. Ids are those of the
// tokenizers package without special tokens added; a byte that belongs to no UTF-8 character is a text of its
// own. `file`: for errors. Throws InputError for what medley does not read.
std::unique_ptr<Tokenizer> MakeBytePairTokenizer(std::string_view json, const std::string& file,
                                                 const SpecialTokenNames& special_tokens);

}  // namespace medley
