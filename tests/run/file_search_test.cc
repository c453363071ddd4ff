#include <medley/run/file_search.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include <medley/base/random.h>

#include "tests/words.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

bool IsAmong(const fs::path& place, const std::vector<fs::path>& places) {
  return std::find(places.begin(), places.end(), place) != places.end();
}

// Any tree that moves as a whole: what lay in it is at a place that is looked at first.
TEST(FileSearch, WhatMovedTogetherIsFoundFirst) {
  RowRandom random(7);
  const auto folders = [&](std::int64_t most) {
    fs::path path;
    for (std::int64_t i = random.Below(most + 1); i > 0; --i) path /= "d" + std::to_string(random.Below(3));
    return path;
  };
  for (int round = 0; round < 200; ++round) {
    const fs::path then = "/then" / folders(3), now = "/now and" / folders(4);
    const fs::path run = folders(3) / "run", file = folders(4) / "file.jsonl";
    FileSearch search;
    search.LookAround(now / run);
    search.Moved(then / run, now / run);
    const auto places = search.PlacesOf(then / file);
    ASSERT_FALSE(places.empty());
    EXPECT_EQ(places.front(), now / file) << then / run << " " << now / run;
    EXPECT_FALSE(IsAmong(then / file, places));
    EXPECT_EQ(std::set(places.begin(), places.end()).size(), places.size());
    EXPECT_LE(places.size(), 60U);
  }
}

TEST(FileSearch, LooksInTheFoldersAroundForEveryEndOfAPath) {
  FileSearch search;
  search.LookAround("/p/runs/r/");
  const auto places = search.PlacesOf("/old/data/a.csv");
  for (const char* place : {"/p/runs/r/old/data/a.csv", "/p/runs/data/a.csv", "/p/data/a.csv", "/p/a.csv"})
    EXPECT_TRUE(IsAmong(place, places)) << place;
  EXPECT_FALSE(IsAmong("/a.csv", places)) << "the root is no project's folder";
  EXPECT_EQ(places.front(), "/p/runs/r/old/data/a.csv") << "the longest end, nearest";
  const std::string words = search.Words("/old/data/a.csv");
  EXPECT_TRUE(test::Has(words, "looked for old/data/a.csv, data/a.csv, a.csv in /p/runs/r, /p/runs, /p"))
      << words;
}

}  // namespace
}  // namespace medley
