#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <medley/text/special_tokens.h>

namespace medley {

// The tokens of a vocabulary's file by id, as it spells them, and behind them those that medley adds.
struct Vocabulary {
  std::vector<std::string> tokens{};
  std::int64_t added = 0;  // how many those are
  std::string other_id{};  // see TokenizerJson
};
// Reads a vocabulary as far as it can be known without the tokenizer's own code. A SentencePiece vocabulary
// is a protobuf message of length-delimited fields, of which the pieces are number 1. Looks at their frame
// alone: a file of another kind or a cut one is found, a wrong vocabulary is not. A tokenizer.json is read
// whole, but for the regular expressions in it. Throws InputError for a file that is no vocabulary.
Vocabulary ReadVocabulary(const std::filesystem::path& file, const SpecialTokenNames& special_tokens = {});

// The pieces of a SentencePiece vocabulary, special tokens among them; none of a file that is no vocabulary.
// Of a tokenizer.json the special tokens alone: it has them all, as those that it lacks are added.
std::set<std::string> VocabularyPieces(const std::filesystem::path& file);
// What is wrong with a file that a run config names; "" where nothing is.

// UTF-8 without a byte order mark, and an item: a line that is not blank.
std::string ControlTextProblem(const std::filesystem::path& file);
// Its items.
std::vector<std::string> ReadControlText(const std::filesystem::path& file);
// A run's directory with a checkpoint, or a checkpoint's; whole or not.
std::string RunDirectoryProblem(const std::filesystem::path& directory);

}  // namespace medley
