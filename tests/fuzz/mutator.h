#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <medley/base/random.h>

namespace medley::fuzz {

// Makes inputs out of good ones: the same corpus, seed and number give the same bytes on every machine.
class Mutator {
 public:
  // `corpus` is not empty. `json` adds edits of JSON's tokens.
  Mutator(std::vector<std::string> corpus, bool json);

  std::string Make(std::uint64_t seed, std::uint64_t number) const;

 private:
  void Edit(std::string& bytes, RowRandom& random) const;
  void EditTokens(std::string& bytes, RowRandom& random) const;
  const std::string& Any(RowRandom& random) const;

  std::vector<std::string> corpus_;
  bool json_;
};

// Strings, words and single characters; what stands between them goes with the token before it.
std::vector<std::string_view> Tokens(std::string_view text);

}  // namespace medley::fuzz
