#include <medley/train/work_division.h>

#include <gtest/gtest.h>
#include <medley/base/random.h>

#include <algorithm>
#include <map>
#include <string>

namespace medley {
namespace {

std::string Words(const std::vector<Draw>& draws) {
  std::string words;
  for (const Draw& draw : draws)
    words += draw.task + " " + std::to_string(draw.begin) + "+" + std::to_string(draw.rows) + "; ";
  return words;
}

std::vector<std::string> Parts(const std::vector<CostedDraw>& draws, std::int64_t ranks) {
  std::vector<std::string> words;
  for (const auto& part : AssignRows(draws, ranks)) words.push_back(Words(part));
  return words;
}

using Expected = std::vector<std::string>;

TEST(AssignRows, OneDrawIsDividedEvenly) {
  EXPECT_EQ(Parts({{{"a", 10, 8}, 3}}, 2), (Expected{"a 10+4; ", "a 14+4; "}));
  EXPECT_EQ(Parts({{{"a", 0, 8}, 5}}, 3), (Expected{"a 0+3; ", "a 3+2; ", "a 5+3; "}));
}

TEST(AssignRows, EqualDrawsStayWholeWhereThereAreEnough) {
  EXPECT_EQ(Parts({{{"a", 0, 4}, 2}, {{"b", 0, 8}, 1}, {{"c", 0, 2}, 4}, {{"d", 0, 1}, 8}}, 2),
            (Expected{"a 0+4; b 0+8; ", "c 0+2; d 0+1; "}));
}

TEST(AssignRows, WhoGetsNoRowHasAnEmptyPart) {
  const Expected parts = Parts({{{"a", 5, 2}, 7}}, 4);
  EXPECT_EQ(std::count(parts.begin(), parts.end(), ""), 2);
  EXPECT_EQ(Parts({}, 2), (Expected{"", ""}));
}

TEST(AssignRows, WithOneEveryDrawIsItsOwn) {
  EXPECT_EQ(Parts({{{"a", 0, 4}, 1}, {{"b", 3, 9}, 2}}, 1), (Expected{"b 3+9; a 0+4; "}));
}

// Floating-point operations are many.
TEST(AssignRows, AFineUnitDividesAsACoarseOne) {
  const std::int64_t unit = std::int64_t{1} << 52;
  const auto draws = [](std::int64_t of) -> std::vector<CostedDraw> {
    return {{{"a", 0, 1 << 19}, 3 * of}, {{"b", 0, 1 << 20}, of}, {{"c", 0, 40}, 200 * of}};
  };
  for (const std::int64_t ranks : {1, 2, 7})
    EXPECT_EQ(Parts(draws(unit), ranks), Parts(draws(1 << 20), ranks));
  EXPECT_EQ(Parts({{{"a", 0, 8}, unit}, {{"b", 0, 8}, 1}}, 2), (Expected{"a 0+4; ", "a 4+4; b 0+8; "}));
}

// Any draws: each row once, one piece of a draw at most, and nobody above the even part by more than a row.
TEST(AssignRows, WhateverTheDrawsEveryRowIsSomebodysAndNobodyHasMuchMore) {
  RowRandom random(17);
  for (int round = 0; round < 2000; ++round) {
    const std::int64_t ranks = 1 + random.Below(9);
    std::vector<CostedDraw> draws;
    std::int64_t total = 0, dearest = 0;
    for (std::int64_t i = 0, count = 1 + random.Below(6); i < count; ++i) {
      const CostedDraw draw{{"t" + std::to_string(i), random.Below(1000), 1 + random.Below(40)},
                            1 + random.Below(300)};
      total += draw.draw.rows * draw.cost_per_row;
      dearest = std::max(dearest, draw.cost_per_row);
      draws.push_back(draw);
    }
    const auto parts = AssignRows(draws, ranks);
    ASSERT_EQ(std::ssize(parts), ranks);
    std::map<std::string, std::vector<Draw>> pieces;
    for (const auto& part : parts) {
      std::int64_t cost = 0;
      std::map<std::string, int> of_task;
      for (const Draw& piece : part) {
        const auto of = std::find_if(draws.begin(), draws.end(),
                                     [&](const CostedDraw& draw) { return draw.draw.task == piece.task; });
        cost += piece.rows * of->cost_per_row;
        EXPECT_EQ(++of_task[piece.task], 1);
        EXPECT_GT(piece.rows, 0);
        pieces[piece.task].push_back(piece);
      }
      EXPECT_LE(cost * ranks, total + dearest * ranks) << "round " << round;
    }
    for (const CostedDraw& draw : draws) {
      std::int64_t next = draw.draw.begin;
      for (const Draw& piece : pieces[draw.draw.task]) {
        EXPECT_EQ(piece.begin, next);
        next += piece.rows;
      }
      EXPECT_EQ(next, draw.draw.begin + draw.draw.rows);
    }
  }
}

using Owners = std::vector<std::int64_t>;

TEST(AssignWhole, TheDearestGoesFirstToWhoHasTheLeast) {
  EXPECT_EQ(AssignWhole({3, 8, 4, 2}, 2), (Owners{1, 0, 1, 1}));
  EXPECT_EQ(AssignWhole({1, 1, 1}, 3), (Owners{0, 1, 2}));
  EXPECT_EQ(AssignWhole({5}, 4), (Owners{0}));
  EXPECT_EQ(AssignWhole({5, 2}, 1), (Owners{0, 0}));
  EXPECT_EQ(AssignWhole({}, 2), Owners{});
}

TEST(AssignWhole, AFineUnitDividesAsACoarseOne) {
  const std::int64_t unit = std::int64_t{1} << 58;
  EXPECT_EQ(AssignWhole({3 * unit, 8 * unit, 4 * unit, 2 * unit, 8 * unit}, 2),
            AssignWhole({3, 8, 4, 2, 8}, 2));
}

}  // namespace
}  // namespace medley
