#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <medley/text/tokenizer_json.h>

namespace medley {

// A byte-level vocabulary spells each byte as one visible character, in the way of GPT-2's: the visible ones
// of Latin-1 are themselves, the others are U+0100 and on, in order. A space is U+0120.

// The bytes that a token spells; none where one of its characters stands for no byte.
std::optional<std::string> BytesOfToken(std::string_view token);

// Byte-pair encoding of words. Takes time linear in a word, but for a logarithm.
class BytePairs {
 public:
  explicit BytePairs(const TokenizerJson& tokenizer);

  // Appends the ids of a word, of any bytes.
  void Encode(std::string_view word, std::vector<std::int64_t>& ids) const;

 private:
  struct Result {
    std::int32_t right = 0, made = 0, rank = 0;
  };
  struct Symbol {
    std::int32_t id = 0;
    int before = -1, behind = -1;  // -1: none
    bool gone = false;
  };

  const Result* Find(std::int32_t left, std::int32_t right) const;
  std::vector<Symbol> Symbols(std::string_view word) const;
  void Join(std::vector<Symbol>& symbols) const;

  std::array<std::int32_t, 256> bytes_{};  // -1: no token spells it
  std::unordered_map<std::string, std::int32_t>
      words_;  // tokens by their bytes, where merges are ignored for them
  // Merges by their left token, then by the right one: first_[left] to first_[left + 1].
  std::vector<Result> results_;
  std::vector<std::size_t> first_;
  std::optional<std::int32_t> unknown_;
  bool fuse_unknown_ = false;
};

}  // namespace medley
