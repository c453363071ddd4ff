#include <gtest/gtest.h>

#include <random>

#include "tests/step/executor_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;

TEST(StepExecutor, SequentialGradientsEqualJointBitForBit) {
  for (const bool share : {false, true}) {
    FixtureModel model(share);
    for (int passes = 1; passes <= 5; ++passes) {
      Fixture task = Qa("qa", passes);
      const Batch batch = task.Rows(40, 13);
      const Gradient joint = DrawGradient(model, task, batch, Mode::kJoint);
      const Gradient sequential = DrawGradient(model, task, batch, Mode::kSequential);
      for (std::size_t i = 0; i < joint.size(); ++i) {
        EXPECT_TRUE(at::equal(joint[i], sequential[i]))
            << passes << " passes, shared " << share << ", " << model.parameters()[i].name;
      }
    }
  }
}

TEST(StepExecutor, AnyMicroBatchesGiveTheSameGradient) {
  std::mt19937 random(3);
  for (const auto& [dtype, tolerance] : {std::pair{at::kDouble, 1e-12}, std::pair{at::kFloat, 5e-6}}) {
    FixtureModel model;
    model.To(at::kCPU, dtype);
    for (int trial = 0; trial < 25; ++trial) {
      Fixture task = Qa("qa", 1 + trial % 4);
      const std::int64_t rows = 1 + static_cast<std::int64_t>(random() % 17);
      const std::int64_t micro_rows = 1 + static_cast<std::int64_t>(random() % 19);
      const Batch batch = task.Rows(static_cast<std::int64_t>(random() % 1000), rows);
      StepLosses expected, found;
      const Gradient joint = DrawGradient(model, task, batch, Mode::kJoint, 0, &expected);
      for (const Mode mode : {Mode::kJoint, Mode::kSequential}) {
        EXPECT_LE(Distance(DrawGradient(model, task, batch, mode, micro_rows, &found), joint), tolerance)
            << rows << " rows in " << micro_rows;
        EXPECT_NEAR(WeightedLoss(found), WeightedLoss(expected), 1e-5 * WeightedLoss(expected));
        EXPECT_EQ(found.at("qa").at("answer").count, expected.at("qa").at("answer").count);
      }
    }
  }
}

// The control for the test above: a mean for each micro-batch is another gradient.
TEST(StepExecutor, AMeanOfMeansWouldDiffer) {
  FixtureModel model;
  Fixture task = Qa("qa", 2);
  const Batch batch = task.Rows(0, 12);
  const Gradient whole = DrawGradient(model, task, batch, Mode::kJoint);
  Gradient means;
  for (int begin = 0; begin < 12; begin += 3) {
    Gradient piece = DrawGradient(model, task, batch.Slice(begin, 3), Mode::kJoint);
    means = means.empty() ? piece : Sum(means, piece);
  }
  for (at::Tensor& gradient : means) gradient.div_(4);
  EXPECT_GT(Distance(means, whole), 1e-3);
}

TEST(StepExecutor, AStepOfTwoTasksIsTheSumOfTheirGradients) {
  FixtureModel model;
  Fixture qa = Qa("qa", 3), canvas = Canvas();
  const Batch qa_rows = qa.Rows(3, 7), canvas_rows = canvas.Rows(0, 5);
  const Gradient expected = Sum(DrawGradient(model, qa, qa_rows, Mode::kJoint),
                                DrawGradient(model, canvas, canvas_rows, Mode::kJoint));

  const Execution sequential{.way = {Mode::kSequential}, .micro_rows = 2, .term_weights = {}};
  const Execution joint{.way = {Mode::kJoint}, .micro_rows = 3, .term_weights = {}};
  StepExecutor executor(model, at::kCPU);
  const StepLosses losses =
      executor.Run({{qa.task.get(), &qa_rows, &sequential}, {canvas.task.get(), &canvas_rows, &joint}});
  EXPECT_LE(Distance(TakeGradient(model), expected), 1e-12);
  EXPECT_EQ(losses.at("canvas").at("error").count, 15);
  EXPECT_EQ(losses.at("canvas").at("error").weight, 2.0);
}

TEST(StepExecutor, TwoDrawsOfOneTaskAreOneLargerDraw) {
  FixtureModel model;
  Fixture task = Qa("qa", 2);
  const Gradient expected = DrawGradient(model, task, task.Rows(0, 9), Mode::kJoint);
  const Batch first = task.Rows(0, 2), second = task.Rows(2, 7);
  const Execution plan{.way = {Mode::kSequential}, .micro_rows = 3, .term_weights = {}};
  StepExecutor executor(model, at::kCPU);
  executor.Run({{task.task.get(), &first, &plan}, {task.task.get(), &second, &plan}});
  EXPECT_LE(Distance(TakeGradient(model), expected), 1e-12);
}

void AddCounts(StepLosses& to, const StepLosses& from) {
  for (const auto& [task, terms] : from) {
    for (const auto& [term, loss] : terms) {
      TermLoss& total = to[task][term];
      total.count += loss.count;
      total.weight = loss.weight;
    }
  }
}

void AddSums(StepExecutor::Totals& to, const StepExecutor::Totals& from) {
  StepLosses losses = from.losses;
  from.sums.Read(losses, {});
  for (const auto& [task, terms] : losses) {
    for (const auto& [term, loss] : terms) to.sums.Add(task, term, at::scalar_tensor(loss.sum, at::kDouble));
  }
}

// Two processes with a model each: counts are added up before the first backward, gradients and sums after
// the last one.
TEST(StepExecutor, AStepThatTwoExecutorsShareIsTheStepOfOne) {
  Fixture qa = Qa("qa", 2), canvas = Canvas();
  const Execution sequential{.way = {Mode::kSequential}, .micro_rows = 2}, joint{.way = {Mode::kJoint}},
      two_stage{.way = {Mode::kTwoStage, 1}};
  const Batch canvas_rows = canvas.Rows(3, 4);
  for (const std::int64_t cut : {1, 4, 8}) {
    const Batch all = qa.Rows(0, 9), left = qa.Rows(0, cut), right = qa.Rows(cut, 9 - cut);
    FixtureModel model, left_model, right_model;
    StepExecutor one(model, at::kCPU), left_one(left_model, at::kCPU), right_one(right_model, at::kCPU);
    const StepLosses expected =
        one.Run({{qa.task.get(), &all, &sequential}, {canvas.task.get(), &canvas_rows, &joint}});

    const std::vector<StepExecutor::Piece> left_step{{qa.task.get(), &left, &sequential}},
        right_step{{canvas.task.get(), &canvas_rows, &two_stage}, {qa.task.get(), &right, &joint}};
    StepExecutor::Totals left_totals = left_one.Begin(left_step), right_totals = right_one.Begin(right_step);
    const StepLosses left_counts = left_totals.losses;
    AddCounts(left_totals.losses, right_totals.losses);
    AddCounts(right_totals.losses, left_counts);
    StepObserver nobody;
    left_one.Accumulate(left_step, left_totals, nobody);
    right_one.Accumulate(right_step, right_totals, nobody);
    EXPECT_LE(Distance(Sum(TakeGradient(left_model), TakeGradient(right_model)), TakeGradient(model)), 1e-12)
        << cut;
    AddSums(left_totals, right_totals);
    const StepLosses found = left_one.Finish(std::move(left_totals));
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [task, terms] : expected) {
      for (const auto& [term, loss] : terms) {
        const TermLoss& shared = found.at(task).at(term);
        EXPECT_EQ(shared.count, loss.count) << task << " " << term;
        EXPECT_EQ(shared.weight, loss.weight) << task << " " << term;
        EXPECT_NEAR(shared.sum, loss.sum, 1e-12 * loss.sum) << task << " " << term;
      }
    }
  }
}

// The control for the test above: with its own counts alone each half would weigh as much as the whole step.
TEST(StepExecutor, HalvesThatKeepTheirOwnCountsWouldDiffer) {
  FixtureModel model;
  Fixture qa = Qa("qa", 2);
  const Gradient whole = DrawGradient(model, qa, qa.Rows(0, 9), Mode::kJoint);
  EXPECT_GT(Distance(Sum(DrawGradient(model, qa, qa.Rows(0, 4), Mode::kJoint),
                         DrawGradient(model, qa, qa.Rows(4, 5), Mode::kJoint)),
                     whole),
            0.1);
}

TEST(StepExecutor, GradientsAreThoseOfTheWeightedMeans) {
  FixtureModel model;
  Fixture qa = Qa("qa", 2), canvas = Canvas();
  for (Fixture* task : {&qa, &canvas}) {
    const Batch batch = task->Rows(0, 4);
    StepLosses losses;
    const Gradient gradient = DrawGradient(model, *task, batch, Mode::kJoint, 3, &losses);
    for (std::size_t i = 0; i < model.parameters().size(); ++i) {
      at::Tensor value = model.parameters()[i].tensor.detach().flatten();
      double* number = value.mutable_data_ptr<double>() + value.numel() / 2;
      const double before = *number, h = 1e-5;
      const auto loss_at = [&](double at) {
        *number = at;
        StepLosses found;
        DrawGradient(model, *task, batch, Mode::kJoint, 0, &found);
        return WeightedLoss(found);
      };
      const double slope = (loss_at(before + h) - loss_at(before - h)) / (2 * h);
      *number = before;
      EXPECT_NEAR(gradient[i].flatten()[value.numel() / 2].item<double>(), slope, 1e-8)
          << model.parameters()[i].name;
    }
  }
}

TEST(StepExecutor, TermWeightsOfTheRunReplaceTheSpecs) {
  FixtureModel model;
  Fixture task = Qa("qa", 2);
  const Batch batch = task.Rows(0, 4);
  StepExecutor executor(model, at::kCPU);
  const auto gradient = [&](double answer, double size) {
    const Execution plan{
        .way = {Mode::kSequential}, .micro_rows = 0, .term_weights = {{"answer", answer}, {"size", size}}};
    executor.Run({{task.task.get(), &batch, &plan}});
    return TakeGradient(model);
  };
  EXPECT_LE(Distance(gradient(1.0, 0.3), DrawGradient(model, task, batch, Mode::kJoint)), 1e-12);
  EXPECT_LE(Distance(Sum(gradient(2.0, 0.0), gradient(0.0, 0.7)), gradient(2.0, 0.7)), 1e-12);

  const Execution wrong{.way = {Mode::kSequential}, .micro_rows = 0, .term_weights = {{"anwser", 1.0}}};
  const std::string message = MessageOf<InputError>([&] {
    executor.Run({{task.task.get(), &batch, &wrong}});
  });
  EXPECT_TRUE(Says(message, {"tasks.qa.terms.anwser"}));
  EXPECT_TRUE(Says(message, {"answer, size"}));
}

TEST(StepExecutor, APictureOfSeveralPassesIsEncodedOncePerMicroBatch) {
  FixtureModel shared(true), apart(false);
  Fixture task = Qa("qa", 5);
  const Batch batch = task.Rows(0, 6);
  const Gradient expected = DrawGradient(apart, task, batch, Mode::kJoint);
  EXPECT_EQ(apart.encodings_made, 5);
  for (const Mode mode : {Mode::kJoint, Mode::kSequential}) {
    for (const std::int64_t micro_rows : {6, 2}) {
      StepExecutor executor(shared, at::kCPU);
      shared.encodings_made = 0;
      const Execution plan{.way = {mode}, .micro_rows = micro_rows};
      executor.Run({{task.task.get(), &batch, &plan}});
      EXPECT_LE(Distance(TakeGradient(shared), expected), 1e-12);
      EXPECT_EQ(shared.encodings_made, 6 / micro_rows);
    }
  }
}

TEST(StepExecutor, SeedsBelongToTaskAndPassWhateverRowsAndMode) {
  FixtureModel model;
  const auto seeds = [&](const std::string& name, std::int64_t begin, Mode mode, std::int64_t micro_rows) {
    Fixture task = Qa(name, 3);
    model.seeds.clear();
    DrawGradient(model, task, task.Rows(begin, 4), mode, micro_rows);
    return std::set<std::uint64_t>(model.seeds.begin(), model.seeds.end());
  };
  const auto joint = seeds("qa", 0, Mode::kJoint, 0);
  EXPECT_EQ(joint.size(), 3U);
  EXPECT_EQ(joint, seeds("qa", 0, Mode::kSequential, 0));
  EXPECT_EQ(joint, seeds("qa", 7, Mode::kSequential, 3));
  for (const std::uint64_t seed : seeds("other", 0, Mode::kJoint, 0)) EXPECT_EQ(joint.count(seed), 0U);
}

TEST(StepExecutor, WhatIsRandomInARowIsTheSameInEveryModeAndMicroBatch) {
  FixtureModel model;
  Fixture task = Qa("qa", 3);
  const Batch batch = task.Rows(5, 6);
  const Gradient without = DrawGradient(model, task, batch, Mode::kJoint);
  model.drops = true;
  const Gradient expected = DrawGradient(model, task, batch, Mode::kJoint);
  EXPECT_GT(Distance(expected, without), 0.1);
  for (const Mode mode : {Mode::kJoint, Mode::kSequential}) {
    for (const std::int64_t micro_rows : {1, 2, 6}) {
      EXPECT_LE(Distance(DrawGradient(model, task, batch, mode, micro_rows), expected), 1e-12) << micro_rows;
    }
  }
}

TEST(StepExecutor, ACarryingTaskIsRefusedInSequentialModeWithTheReason) {
  FixtureModel model;
  Fixture task = Canvas();
  const Batch batch = task.Rows(0, 2);
  const std::string message =
      MessageOf<InputError>([&] { DrawGradient(model, task, batch, Mode::kSequential); });
  for (const char* part : {"tasks.canvas.mode: ", "'default'", "\"sequential\"", "'first'", "'c1'",
                           "\"joint\" or \"two_stage\""}) {
    EXPECT_TRUE(Says(message, {part}));
  }
  EXPECT_EQ(DefaultMode(task.task->variant()), Mode::kJoint);
  EXPECT_EQ(DefaultMode(Qa("qa", 2).task->variant()), Mode::kSequential);
  EXPECT_EQ(model.encodings_made, 0);
}

TEST(StepExecutor, ATermThatIsNotFiniteIsAnErrorThatNamesIt) {
  FixtureModel model;
  Fixture task(QaInfo("qa", 2), {.sample = [](const RowRange& rows) { return QaRows(rows, 2); },
                                 .run =
                                     [](const std::string& pass, PassContext& context) {
                                       Sums sums = QaPass(pass, context);
                                       if (pass == "q1") sums["size"] = sums["size"] / 0;
                                       return sums;
                                     }});
  const std::string message =
      MessageOf([&] { DrawGradient(model, task, task.Rows(0, 2), Mode::kSequential); });
  EXPECT_TRUE(Says(message, {"'qa'"}));
  EXPECT_TRUE(Says(message, {"'size'"}));
}

}  // namespace
}  // namespace medley
