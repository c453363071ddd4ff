#include <medley/task/drivers/regress_task.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/stack.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <medley/data/item_stream.h>

#include "tests/tasks/task_testing.h"
#include "tests/words.h"

namespace medley {
namespace {

using tasks::GameContext;

// Two numbers of row r: r and -2, with r + 1 shown.
class TwoNumbers final : public RegressTask {
 public:
  static constexpr TaskSpec kSpec = RegressSpec("two_numbers", "", {.inputs = {"number"}, .output = "said"});
  explicit TwoNumbers(const TaskContext& context, std::vector<double> odd = {-2})
      : RegressTask(context, kSpec), odd_(std::move(odd)) {}

 private:
  Regressed Draw(Row& row) const override {
    const auto number = static_cast<double>(row.number);
    std::vector<double> targets{number};
    const std::vector<double> even{-2};
    for (const double more : row.number % 2 == 1 ? odd_ : even) targets.push_back(more);
    return {{at::full({}, number + 1, at::kFloat)}, targets};
  }
  std::string NameOf(std::int64_t target) const override { return target == 0 ? "first" : "second"; }

  std::vector<double> odd_;
};

// A model that says what it is shown, and `second`.
class SaysWhatItSees final : public EvalPass {
 public:
  explicit SaysWhatItSees(Batch batch, double second = -2) : batch_(std::move(batch)), second_(second) {}
  const Batch& batch() const override { return batch_; }
  at::Tensor Constant(std::string_view) override { return {}; }
  at::Tensor Pixels(std::string_view) override { return {}; }
  ModelInput Image(std::string_view) override { return {}; }
  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted) override {
    const at::Tensor seen = InputNamed(inputs, "number");
    return {{std::string(wanted.at(0)), at::stack({seen, at::full_like(seen, second_)}, 1)}};
  }
  void Carry(std::string_view, at::Tensor) override {}
  at::Tensor Carried(std::string_view) override { return {}; }
  Generated Generate(const ModelInputs&, const GenerateOptions&) override { return {}; }

 private:
  Batch batch_;
  double second_;
};

class PiecesOfThree final : public EvalContext {
 public:
  PiecesOfThree(const Task& task, double second) : task_(task), second_(second) {}
  void ForEachPiece(const RowRange& rows, const std::function<void(EvalPass&)>& fn) override {
    for (std::int64_t from = 0; from < rows.count; from += 3) {
      SaysWhatItSees piece(task_.Sample(rows.Part(from, std::min<std::int64_t>(3, rows.count - from))),
                           second_);
      fn(piece);
    }
  }

 private:
  const Task& task_;
  double second_;
};

TaskContext ContextOf(const std::string& loss) {
  static const std::vector<std::string> kLines{"a line"};
  static const WordTokenizer kWords(kLines);
  return GameContext(kWords, kLines, {{"loss", loss}});
}

TEST(RegressTask, ARowIsTheMeanOfItsNumbersErrorsAsTheOptionSays) {
  const auto loss = [](const std::string& kind, double second) {
    const TwoNumbers task(ContextOf(kind));
    SaysWhatItSees pass(task.Sample({1, 0, 4}), second);
    EXPECT_EQ(pass.batch().ItemCount("error"), 4);
    return task.Run("look", pass).at("error").item<double>();
  };
  EXPECT_NEAR(loss("squared", 1), 4 * (1.0 + 9) / 2, 1e-6);
  EXPECT_NEAR(loss("absolute", 1), 4 * (1.0 + 3) / 2, 1e-6);
  EXPECT_NEAR(loss("huber", 1), 4 * (0.5 + 2.5) / 2, 1e-6);
  EXPECT_NEAR(loss("huber", -1.5), 4 * (0.5 + 0.125) / 2, 1e-6);
}

// The first number is off by 1 in each row, of a variance of 35 / 12; the second one never varies.
TEST(RegressTask, ScoresTheShareOfTheVarianceOfNumbersThatVary) {
  const TwoNumbers task(ContextOf("squared"));
  PiecesOfThree context(task, -1.5);
  const Outcomes outcomes = task.Evaluate(context, {1, 0, 6});
  ASSERT_EQ(outcomes.score.size(), 6U);
  EXPECT_NEAR(tasks::Mean(outcomes.score), 1 - 12.0 / 35, 1e-9);
  EXPECT_NEAR(tasks::Mean(outcomes.trivial.at("mean of the targets")), 0, 1e-9);
  EXPECT_EQ(outcomes.figures.at("absolute error of first").rows, std::vector<double>(6, 1));
  EXPECT_EQ(outcomes.figures.at("absolute error of second").rows, std::vector<double>(6, 0.5));
  ASSERT_EQ(outcomes.answers.size(), 6U);
  EXPECT_EQ(outcomes.answers[2][0].reply, "first 3, second -1.5");
  EXPECT_EQ(outcomes.answers[2][0].right, "first 2, second -2");
  EXPECT_TRUE(outcomes.answers[2][0].is_measured);
}

// Of its items 0 and 1 are trained on, and 2 to 5 held out.
class ListedNumbers final : public RegressTask {
 public:
  explicit ListedNumbers(const TaskContext& context) : RegressTask(context, TwoNumbers::kSpec) {}
  const ItemStream* Items() const override { return &items_; }

 private:
  Regressed Draw(Row& row) const override {
    const auto number = static_cast<double>(items_.ItemOf(row.range, row.number));
    return {{at::full({}, number, at::kFloat)}, {number, -2}};
  }
  ItemStream items_{SplitSizes{2, 4}};
};

TEST(RegressTask, TheMeanOfTheTargetsIsTrainingsWhereRowsAreItems) {
  const ListedNumbers task(ContextOf("squared"));
  PiecesOfThree context(task, -2);
  const Outcomes outcomes = task.Evaluate(context, {.count = 4, .split = Split::kHeldOut});
  EXPECT_NEAR(tasks::Mean(outcomes.trivial.at("mean of the targets")), 1 - (1.25 + 9) / 1.25, 1e-9);
}

TEST(RegressTask, OfNoRowsAndOfOneThereIsNoScore) {
  const TwoNumbers task(ContextOf("squared"));
  PiecesOfThree context(task, 0);
  EXPECT_TRUE(task.Evaluate(context, {1, 0, 0}).score.empty());
  EXPECT_TRUE(std::isnan(task.Evaluate(context, {1, 3, 1}).score.at(0)));
}

TEST(RegressTask, WrongTargetsAreToldWithTheirRow) {
  const auto words = [](std::vector<double> odd) {
    const TwoNumbers task(ContextOf("squared"), std::move(odd));
    return test::MessageOf([&] { task.Sample({1, 6, 3}); });
  };
  EXPECT_EQ(words({}), "row 7 has 1 targets, the row before it 2; expected as many in every row");
  EXPECT_EQ(words({1, 2}), "row 7 has 3 targets, the row before it 2; expected as many in every row");
  EXPECT_EQ(words({std::numeric_limits<double>::infinity()}), "row 7: its target 'second' is not finite");
}

TEST(NumberErrors, RefuseWhatBroadcastingWouldMakeOfOtherShapes) {
  const at::Tensor four = at::arange(4, at::kFloat);
  EXPECT_EQ(test::MessageOf([&] { NumberErrors(four, four.unsqueeze(1)); }),
            "the output has the shape [4], its targets [4, 1]; expected the same, rows first");
  EXPECT_EQ(NumberErrors(four, four.add(2)).sizes(), at::IntArrayRef({4}));
  EXPECT_EQ(NumberErrors(four.to(at::kBFloat16), four).scalar_type(), at::kFloat);
  EXPECT_EQ(NumberErrors(four.to(at::kDouble), four).scalar_type(), at::kDouble);
}

}  // namespace
}  // namespace medley
