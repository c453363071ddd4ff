#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <medley/text/split_pattern.h>
#include <medley/text/tokenizer_json.h>

namespace medley {

// Finds added tokens in texts: the leftmost, of those that begin at one place the longest.
class AddedTokens {
 public:
  AddedTokens();

  // The first of several with one content stays.
  void Add(const AddedToken& token);

  struct Piece {
    std::string_view text;
    std::int64_t id = -1;  // -1: none of them, to be cut further
  };
  // In order; none is empty.
  std::vector<Piece> Cut(std::string_view text) const;

 private:
  struct Node {
    std::map<char, std::size_t> next;
    int token = -1;
  };

  // The longest that begins at the front of the text; -1 where none does.
  int Longest(std::string_view text) const;
  bool StandsAlone(std::string_view before, std::string_view behind) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_{1};
  std::array<bool, 256> begins_{};  // by a token's first byte
  SplitPattern word_;
};

// Cuts texts into the words that byte pairs are joined in. Safe to use from several threads.
class WordCutter {
 public:
  // `file`: for errors.
  WordCutter(const std::vector<SplitStep>& steps, const std::string& file);

  // Calls `take` with each word, in order; a word lives until `take` returns.
  template <typename Take>
  void Cut(std::string_view text, const Take& take, std::size_t step = 0) const {
    if (step == steps_.size()) return take(text);
    std::string spaced;
    if (steps_[step].prefix_space && !text.starts_with(' ')) text = spaced.assign(" ").append(text);
    for (const Span& span : steps_[step].Pieces(text))
      Cut(text.substr(span.begin, span.end - span.begin), take, step + 1);
  }

 private:
  struct Step {
    // None is empty.
    std::vector<Span> Pieces(std::string_view text) const;

    std::vector<SplitPattern> pattern;  // one, or none: only a space is put in front
    SplitBehavior behavior;
    bool invert, prefix_space;
  };

  std::vector<Step> steps_;
};

}  // namespace medley
