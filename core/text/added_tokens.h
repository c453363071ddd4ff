#pragma once

#include <array>
#include <cstdint>
#include <map>
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
  // The pieces of a text, in order; none is empty.
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

}  // namespace medley
