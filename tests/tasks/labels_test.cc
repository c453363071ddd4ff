#include <medley/task/drivers/labels.h>

#include "tests/tasks/questions.h"
#include "tests/tasks/seen.h"
#include "tests/tasks/task_testing.h"

namespace medley::tasks {
namespace {

constexpr std::int64_t kSize = 640;  // the larger, the surer what a picture shows

TEST(BalancedLabel, IsBalancedInEveryAlignedRangeAndWithinEveryPass) {
  for (int passes = 1; passes <= 6; ++passes) {
    for (int labels = 2; labels <= 6; ++labels) {
      for (std::int64_t begin = 0; begin < 5 * passes * labels; begin += labels) {
        std::set<int> seen;
        for (std::int64_t row = begin; row < begin + labels; ++row)
          seen.insert(BalancedLabel(row, labels, passes));
        EXPECT_EQ(seen.size(), static_cast<std::size_t>(labels));
      }
      for (std::int64_t begin = 0; begin < 3 * passes * labels; begin += passes * labels) {
        for (int pass = 0; pass < passes; ++pass) {
          std::set<int> seen;
          for (int k = 0; k < labels; ++k)
            seen.insert(BalancedLabel(begin + pass + k * passes, labels, passes));
          EXPECT_EQ(seen.size(), static_cast<std::size_t>(labels))
              << passes << " passes, " << labels << " labels";
        }
      }
    }
  }
}

std::int64_t LabelOf(const Batch& batch, const std::string& pass, std::int64_t row) {
  return batch.Column(pass + ".label")[row].item<std::int64_t>();
}

bool IsAsked(const Batch& batch, const std::string& pass, std::int64_t row) {
  return batch.items().at(pass)[row].item<std::int64_t>() > 0;
}

TEST(Labels, OutsideOfTheirRangeNameTheirRow) {
  EXPECT_NO_THROW(CheckDrawn(7, "label", 2, 3));
  for (const std::int64_t label : {-100, -1, 3}) {
    try {
      CheckDrawn(7, "label of 'colour'", label, 3);
      FAIL() << label;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()),
                "row 7: Draw gave " + std::to_string(label) + " as the label of 'colour'; expected 0 to 2");
    }
  }
}

TEST(Labels, AreBalancedOverTheRowsThatAreAsked) {
  for (const AskedQuestion& question : AskedQuestions()) {
    if (question.task == "position_qa") continue;  // half each by draw
    const TaskUnderTest test(question.task);
    for (const std::int64_t begin : {0, 24, 120}) {
      const Batch batch = test.task->Sample({3, begin, 24});
      std::vector<int> count(question.replies.size(), 0);
      for (std::int64_t row = 0; row < 24; ++row) {
        if (IsAsked(batch, question.pass, row))
          ++count[static_cast<std::size_t>(LabelOf(batch, question.pass, row))];
      }
      for (const int n : count) EXPECT_EQ(n, count[0]) << question.task << " " << question.pass;
      EXPECT_GE(count[0], 8);
    }
  }
}

TEST(Labels, OfTheBlueLineAreWhatThePictureShows) {
  const Batch batch = TaskUnderTest("blue_line_qa", kSize).task->Sample({5, 0, 60});
  int sure = 0;
  for (std::int64_t row = 0; row < 60; ++row) {
    const Seen seen = See(batch.Column("image")[row]);
    const double away = std::abs(Signed(seen.line_angle() - seen.direction()));
    if (std::abs(away - 30 * kDegree) < 4 * kDegree) continue;
    EXPECT_EQ(LabelOf(batch, "facing_line", row), away < 30 * kDegree ? 0 : 1);
    ++sure;
  }
  EXPECT_GT(sure, 45);
}

TEST(Labels, OfTheGoldsDirectionAreWhatThePictureShows) {
  const Batch batch = TaskUnderTest("gold_direction_qa", kSize).task->Sample({5, 0, 60});
  int sure = 0, yes = 0;
  for (std::int64_t row = 0; row < 60; ++row) {
    const Seen seen = See(batch.Column("image")[row]);
    const double away = std::abs(Signed(seen.bearing() - seen.direction()));
    const double half = std::asin(world::kAgentRadius / seen.distance());
    if (std::abs(away - half) < 3 * kDegree) continue;
    EXPECT_EQ(LabelOf(batch, "facing_gold", row), away < half ? 0 : 1);
    ++sure, yes += away < half;
  }
  EXPECT_GT(sure, 40);
  EXPECT_GT(yes, 10);
}

TEST(Labels, OfTheNearGoldAreWhatThePictureShows) {
  const Batch batch = TaskUnderTest("near_gold_qa", kSize).task->Sample({5, 0, 60});
  int sure = 0;
  for (std::int64_t row = 0; row < 60; ++row) {
    const Seen seen = See(batch.Column("image")[row]);
    EXPECT_GE(seen.distance(), world::kAgentRadius + world::kGoldRadius - 0.004);
    if (std::abs(seen.distance() - world::kNearDistance) < 0.004) continue;
    EXPECT_EQ(LabelOf(batch, "near", row), seen.distance() < world::kNearDistance ? 0 : 1);
    ++sure;
  }
  EXPECT_GT(sure, 50);
}

TEST(Labels, OfTheWayToTheGoldAreWhatThePictureShows) {
  const Batch batch = TaskUnderTest("relposition_qa", kSize).task->Sample({5, 0, 96});
  int sure = 0;
  for (std::int64_t row = 0; row < 96; ++row) {
    const Seen seen = See(batch.Column("image")[row]);
    const double turn = Signed(seen.bearing() - seen.direction());  // > 0: anticlockwise
    const double half = std::asin(world::kAgentRadius / seen.distance());
    const bool turn_is_sure = std::abs(turn) > 3 * kDegree && std::abs(turn) < 177 * kDegree;
    if (!turn_is_sure) continue;
    EXPECT_EQ(LabelOf(batch, "which_turn", row), turn > 0 ? 1 : 0);
    if (std::abs(std::abs(turn) - half) < 3 * kDegree) continue;
    const bool hits = std::abs(turn) < half;
    EXPECT_EQ(LabelOf(batch, "will_hit", row), hits ? 0 : 1);
    EXPECT_EQ(LabelOf(batch, "next_move", row), hits ? 0 : turn < 0 ? 1 : 2);
    ++sure;
  }
  EXPECT_GT(sure, 60);
}

TEST(Labels, OfTheTurnsAreWhatThePictureShows) {
  const Batch batch = TaskUnderTest("please_turn_qa", kSize).task->Sample({5, 0, 60});
  int sure = 0;
  for (std::int64_t row = 0; row < 60; ++row) {
    const Seen seen = See(batch.Column("image")[row]);
    const auto check = [&](double to, const char* towards, const char* away) {
      const double turn = Signed(to - seen.direction());
      if (std::abs(turn) < 4 * kDegree || std::abs(turn) > 176 * kDegree) return;
      EXPECT_EQ(LabelOf(batch, towards, row), turn > 0 ? 1 : 0);
      EXPECT_EQ(LabelOf(batch, away, row), turn > 0 ? 0 : 1);
      ++sure;
    };
    check(seen.line_angle(), "to_line", "from_line");
    check(seen.bearing(), "to_gold", "from_gold");
  }
  EXPECT_GT(sure, 100);
}

// The state that a picture shows, but for the gap in a side wall.
world::State StateOf(const Seen& seen, RowRandom& random) {
  world::State state = world::BareState(random);
  state.agent = seen.agent;
  state.gold[0] = seen.gold;
  state.direction = world::WrapAngle(seen.direction());
  return state;
}

TEST(Labels, OfTheComparisonAreWhatThePicturesShow) {
  const Batch batch = TaskUnderTest("comparison", kSize).task->Sample({5, 0, 60});
  RowRandom random(1);
  int sure = 0;
  std::int64_t firsts = 0;
  for (std::int64_t row = 0; row < 60; ++row) {
    const std::int64_t label = batch.Column("question.label")[row].item<std::int64_t>();
    firsts += label == 0;
    const auto one = world::Solve(StateOf(See(batch.Column("image1")[row]), random));
    const auto other = world::Solve(StateOf(See(batch.Column("image2")[row]), random));
    if (!one || !other) continue;  // only just solvable
    const auto difference = static_cast<int>(one->size()) - static_cast<int>(other->size());
    if (std::abs(difference) <= 3) continue;
    EXPECT_EQ(label, difference < 0 ? 0 : 1);
    ++sure;
  }
  EXPECT_EQ(firsts, 30);
  EXPECT_GT(sure, 35);
}

// What a picture does not show (half a pixel, a gap) decides a few.
TEST(Labels, OfTheWayToTheGoldAreThoseOfStatesThatCanBeSolved) {
  const TaskUnderTest test("relposition_qa", kSize), free("position_qa", kSize);
  RowRandom random(1);
  const auto unsolved = [&](const TaskUnderTest& task) {
    int count = 0;
    for (std::int64_t begin = 0; begin < 600; begin += 50) {
      const Batch batch = task.task->Sample({6, begin, 50});
      for (std::int64_t row = 0; row < 50; ++row) {
        count += !world::Solve(StateOf(See(batch.Column("image")[row]), random)).has_value();
      }
    }
    return count;
  };
  EXPECT_GE(unsolved(free), 12) << "2.8 % of 600";
  EXPECT_LE(unsolved(test), 8);
}

}  // namespace
}  // namespace medley::tasks
