#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace medley {

// What a tokenizer.json of the tokenizers package says, where it is of byte-level byte-pair encoding.

// A token that is found in texts before they are cut into words.
struct AddedToken {
  std::string content;
  std::int64_t id = 0;
  bool single_word = false;  // only where no letter or digit stands beside it
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // and behind it
  bool special = true;       // else a text that is one token, as any other word may be
  bool normalized = false;   // is looked for after the normalization, and is normalized itself
};

// What becomes of the places that a pattern finds.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

// A step in which texts are cut.
struct SplitStep {
  std::string pattern;
  bool has_pattern = true;
  bool literal = false;  // or a regular expression
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;        // the places are those between what the pattern finds
  bool prefix_space = false;  // first, each piece gets a space in front where it has none
};

// Two tokens, by their ids, that become one.
struct Merge {
  std::int32_t left = 0, right = 0, made = 0;
};

// What the file says, checked.
struct TokenizerJson {
  std::vector<std::string> tokens;  // by id, as the file spells them
  std::vector<bool> in_model;       // by id; false: an added token only
  std::vector<Merge> merges;        // the first one goes first
  std::vector<AddedToken> added;
  std::vector<SplitStep> steps;
  std::optional<std::int32_t> unknown;  // for bytes that no token spells
  bool fuse_unknown = false;            // one for several such bytes
  bool ignore_merges = false;           // a word that is a token is that token
  bool nfc = false;
  // Where the tokenizers package gives an added token another id than the file states: about the first.
  std::string other_id;
};

// Ids are 0, 1, 2, ... without a hole, and every merge has its tokens. Throws InputError "FILE:LINE:COLUMN:
// KEY: ..." for what is no such file, and for what medley does not read, by name.
TokenizerJson ReadTokenizerJson(std::string_view text, const std::string& file);

// Whether a vocabulary's bytes are meant as JSON; else they are a SentencePiece model.
bool IsTokenizerJson(std::string_view bytes);

}  // namespace medley
