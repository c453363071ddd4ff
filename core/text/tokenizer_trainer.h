#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace medley {

// Learns a vocabulary of exactly `size` tokens by byte-pair encoding: the special tokens, one token for each
// byte (so that every text can be written), and pieces of the texts. The same texts in the same order give
// the same bytes. Returns the contents of the file for LoadTokenizer. Throws InputError where the texts are
// empty or the size is smaller or larger than they allow; the message has the limit.
std::string TrainTokenizer(const std::vector<std::string>& texts, std::int64_t size);

}  // namespace medley
