#include <medley/eval/row_items.h>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <medley/data/item_stream.h>
#include <medley/task/text_rows.h>

#include "tests/step/executor_fixture.h"

namespace medley::testing_fixture {
namespace {

// A task whose row is a number, and a picture of one colour.
LoadedTask NumberTask(const std::function<std::int64_t(const RowRange&, std::int64_t)>& number,
                      bool rows_repeat = false) {
  static TaskInfo info;
  info = QaInfo("qa", 1);
  info.rows_repeat = rows_repeat;
  Script script{
      .sample =
          [=](const RowRange& rows) {
            std::vector<std::int64_t> numbers;
            for (std::int64_t row = rows.begin; row < rows.begin + rows.count; ++row)
              numbers.push_back(number(rows, row));
            Batch batch(rows);
            batch.Add("number", IntColumn(numbers));
            batch.AddRagged("items", std::vector<std::vector<std::int64_t>>(numbers.size(), {1, 2}));
            return batch;
          },
      .run = QaPass};
  return LoadedTask(info, info.variants.front(), "fixture",
                    std::make_unique<ScriptedTask>(std::move(script)));
}

std::int64_t Drawn(const RowRange& rows, std::int64_t row, std::int64_t below) {
  return rows.Random(row).Below(below);
}

TEST(RowOverlap, OfRowsWithoutEndIsNone) {
  const LoadedTask task = NumberTask(
      [](const RowRange& rows, std::int64_t row) { return Drawn(rows, row, std::int64_t{1} << 60); });
  EXPECT_EQ(SeenInTraining(task, {1, 1}, 256), 0);
  EXPECT_EQ(OverlapWarning(task, {1, 1}, 256), "");
}

TEST(RowOverlap, OfAFewRowsIsAll) {
  const auto few = [](const RowRange& rows, std::int64_t row) { return Drawn(rows, row, 7); };
  EXPECT_EQ(SeenInTraining(NumberTask(few), {1, 1}, 256), 1);
  const std::string warning = OverlapWarning(NumberTask(few), {1, 1}, 256);
  EXPECT_NE(warning.find("100.0 % of the evaluated rows of qa"), std::string::npos) << warning;
  EXPECT_EQ(OverlapWarning(NumberTask(few, /*rows_repeat=*/true), {1, 1}, 256), "") << "it is meant";
}

// Training draws 4,096 of 8,192 numbers: 1 - exp(-1/2) of all are among them.
TEST(RowOverlap, IsTheShareOfRows) {
  const LoadedTask task =
      NumberTask([](const RowRange& rows, std::int64_t row) { return Drawn(rows, row, 8192); });
  EXPECT_NEAR(SeenInTraining(task, {1, 1}, 2000), 0.3935, 0.04);
}

TEST(RowOverlap, OfItemsThatAreHeldOutIsNone) {
  const ItemStream items(1000, 200, "numbers");
  EXPECT_EQ(SeenInTraining(
                NumberTask([&](const RowRange& rows, std::int64_t row) { return items.ItemOf(rows, row); }),
                {1, 1}, 256),
            0);
}

}  // namespace
}  // namespace medley::testing_fixture
