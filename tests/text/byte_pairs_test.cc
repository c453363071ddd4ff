#include <medley/text/byte_pairs.h>

#include <gtest/gtest.h>

#include <algorithm>

#include <medley/base/random.h>

namespace medley {
namespace {

// A vocabulary of the letters a to d and of merges of what is there, each of which makes a token of its own.
TokenizerJson RandomVocabulary(RowRandom& random) {
  TokenizerJson json;
  for (const char* letter : {"a", "b", "c", "d"}) json.tokens.emplace_back(letter);
  for (int i = 0; i < 60; ++i) {
    const auto left = static_cast<std::int32_t>(random.Below(std::ssize(json.tokens)));
    const auto right = static_cast<std::int32_t>(random.Below(std::ssize(json.tokens)));
    const std::string made =
        json.tokens[static_cast<std::size_t>(left)] + json.tokens[static_cast<std::size_t>(right)];
    if (std::find(json.tokens.begin(), json.tokens.end(), made) != json.tokens.end()) continue;
    json.merges.push_back({left, right, static_cast<std::int32_t>(json.tokens.size())});
    json.tokens.push_back(made);
  }
  json.in_model.assign(json.tokens.size(), true);
  return json;
}

// The first of the merges that is possible, at its leftmost place, until none is.
std::vector<std::int64_t> Slowly(const TokenizerJson& json, const std::string& word) {
  std::vector<std::int64_t> ids;
  for (const char c : word) ids.push_back(c - 'a');
  const auto join = [&] {
    for (const Merge& merge : json.merges) {
      for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
        if (ids[i] != merge.left || ids[i + 1] != merge.right) continue;
        ids[i] = merge.made;
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        return true;
      }
    }
    return false;
  };
  while (join()) {
  }
  return ids;
}

TEST(BytePairs, JoinWhatTheSlowWayJoins) {
  RowRandom random(3);
  for (int vocabulary = 0; vocabulary < 50; ++vocabulary) {
    const TokenizerJson json = RandomVocabulary(random);
    const BytePairs pairs(json);
    for (int i = 0; i < 40; ++i) {
      std::string word;
      for (std::int64_t length = random.Below(60); std::ssize(word) < length;)
        word.push_back(static_cast<char>('a' + random.Below(4)));
      std::vector<std::int64_t> ids;
      pairs.Encode(word, ids);
      ASSERT_EQ(ids, Slowly(json, word)) << word;
    }
  }
}

TEST(BytePairs, OfTwoMergesOfOnePairTheLaterOneCounts) {
  TokenizerJson json;
  json.tokens = {"a", "b", "c", "ab", "bc"};
  json.in_model.assign(5, true);
  json.merges = {{0, 1, 3}, {1, 2, 4}, {0, 1, 3}};
  std::vector<std::int64_t> ids;
  BytePairs(json).Encode("abc", ids);
  EXPECT_EQ(ids, (std::vector<std::int64_t>{0, 4}));
}

}  // namespace
}  // namespace medley
