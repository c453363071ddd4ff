#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include <medley/base/random.h>

namespace medley::test {

// The cases of a sweep that a process runs: one of each `of` neighbours, so let cases that are alike stand
// together. Which one hangs on the number MEDLEY_SWEEP; without it, and where cases are listed or asked for
// by name, all are there.
template <typename Case>
std::vector<Case> Slice(std::string_view sweep, std::vector<Case> all, std::size_t of) {
  const char* seed = std::getenv("MEDLEY_SWEEP");
  if (seed == nullptr || *seed == 0 || GTEST_FLAG_GET(list_tests) || GTEST_FLAG_GET(filter) != "*")
    return all;
  RowRandom random(CombineSeeds(std::strtoull(seed, nullptr, 10), HashName(sweep)));
  std::vector<Case> slice;
  for (std::size_t begin = 0; begin < all.size(); begin += of) {
    const auto neighbours = static_cast<std::int64_t>(std::min(of, all.size() - begin));
    slice.push_back(std::move(all[begin + static_cast<std::size_t>(random.Below(neighbours))]));
  }
  std::printf("%.*s: %zu of %zu cases, by MEDLEY_SWEEP=%s\n", static_cast<int>(sweep.size()), sweep.data(),
              slice.size(), all.size(), seed);
  return slice;
}

// A sweep over the numbers from `first` on, below `end`: the steps after which a run is resumed.
inline std::vector<std::int64_t> SliceOfSteps(std::string_view sweep, std::int64_t first, std::int64_t end,
                                              std::size_t of) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(std::max<std::int64_t>(end - first, 0)));
  std::iota(all.begin(), all.end(), first);
  return Slice(sweep, std::move(all), of);
}

}  // namespace medley::test
