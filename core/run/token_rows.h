#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <medley/run/input_files.h>

namespace medley {

// The rows of a published token table, beside the tokens of the vocabulary that a run reads it with.
struct TokenRows {
  std::filesystem::path folder{};
  std::int64_t rows = 0;             // of its table
  std::vector<std::string> added{};  // tokens that medley adds and the folder does not know
  std::vector<std::int64_t> ids{};   // theirs
  std::int64_t grown = 0;            // other tokens, for which the table has no row
  std::int64_t other = 0;     // others, for whose row the folder's own tokenizer has another token, or none
  std::string first_other{};  // words about one of those
  // Why no token was compared with the folder's: "it has no tokenizer.json". Then tokens are told apart by
  // their number alone. "": all were compared.
  std::string unknown{};

  // What the folder cannot know, beyond the tokens that medley adds.
  std::int64_t strange() const { return grown + other; }
  // How many rows are new, and whether that is known.
  std::string Words() const;
  // "" where no more than `allowed` are strange.
  std::string Problem(std::int64_t allowed) const;
  // "" where they were compared.
  std::string UnknownProblem() const;
};

// The tokenizer.json of a published folder, or the tokenizer.model of one that has none; "": it has neither.
std::filesystem::path OwnTokenizer(const std::filesystem::path& folder);

// `file`: of the vocabulary, which may be the folder's own. Where the folder has another one, token by token.
TokenRows CompareTokens(const Vocabulary& vocabulary, const std::filesystem::path& file,
                        const std::filesystem::path& folder, std::int64_t rows);

}  // namespace medley
