#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <medley/base/random.h>

namespace medley::fuzz {

// Makes inputs out of good ones: the same corpus, seed and number give the same bytes on every machine.
class Mutator {
 public:
  // `corpus` is not empty. `json` adds edits of JSON's tokens, and of its values: what comes of these is
  // JSON.
  Mutator(std::vector<std::string> corpus, bool json);

  std::string Make(std::uint64_t seed, std::uint64_t number) const;

 private:
  void Edit(std::string& bytes, RowRandom& random) const;
  void EditTokens(std::string& bytes, RowRandom& random) const;
  std::string MakeOfValues(std::vector<nlohmann::ordered_json> parts, std::size_t edits,
                           RowRandom& random) const;
  const std::string& Any(RowRandom& random) const;

  std::vector<std::string> corpus_;
  bool json_;
  // Of the files that are JSON, or lines of it.
  std::vector<std::vector<nlohmann::ordered_json>> parts_;
};

// Strings, words and single characters; what stands between them goes with the token before it.
std::vector<std::string_view> Tokens(std::string_view text);

}  // namespace medley::fuzz
