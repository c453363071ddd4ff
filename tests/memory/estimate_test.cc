#include <gtest/gtest.h>

#include <ATen/core/Tensor.h>
#include <medley/base/error.h>
#include <medley/memory/estimate.h>
#include <medley/model/model_factory.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/model/letter_tokenizer.h"

namespace medley {
namespace {

const std::string kModels = std::string(MEDLEY_SOURCE_DIR) + "/configs/models/";

// Shapes and no values.
std::unique_ptr<Model> Meta(const std::string& name) {
  return MakeModel(kModels + name + ".json", test::LetterTokenizer(), 1, at::kMeta);
}

PassShape Pass(std::string name, std::vector<std::string> images = {"image"}, bool decodes = false) {
  return {.name = std::move(name),
          .images = std::move(images),
          .carries = {},
          .pictures = {},
          .text_width = 24,
          .longest = 24,
          .items = 12,
          .decodes_image = decodes};
}

TaskShape Questions(int passes) {
  TaskShape task{.passes = {}, .row_bytes = 50'000, .picture_bytes = 200'000, .constants = 0};
  for (int i = 0; i < passes; ++i) task.passes.push_back(Pass(std::string("q").append(std::to_string(i))));
  return task;
}

// Every pass with pictures of its own.
TaskShape Apart(int passes) {
  TaskShape task = Questions(passes);
  for (int i = 0; i < passes; ++i)
    task.passes[static_cast<std::size_t>(i)].images = {std::string("image").append(std::to_string(i))};
  return task;
}

std::int64_t Peak(const Model& model, const TaskShape& task, StepSetting setting) {
  return TrainingBytes(model, task, setting, {}).total();
}

TEST(Footprints, NameEveryParameterOnce) {
  for (const char* name : {"agent-tiny", "agent-qwen3-0.6b"}) {
    const auto model = Meta(name);
    std::map<std::string, std::int64_t> groups;
    for (const ForwardPart& part :
         model->Footprint({.rows = 2, .images = 2, .text_width = 10, .supervised = 4, .decodes_image = true}))
      groups[part.parameters] = part.gradients;
    std::int64_t trained = 0, named = 0;
    for (const Parameter& parameter : model->parameters())
      trained += static_cast<std::int64_t>(parameter.tensor.nbytes());
    for (const auto& [group, bytes] : groups) named += bytes;
    EXPECT_EQ(named, trained) << name;
  }
}

TEST(Footprints, FrozenParametersHaveNoGradients) {
  const auto model = Meta("agent-tiny");
  for (const Parameter& parameter : model->parameters())
    at::Tensor(parameter.tensor).set_requires_grad(false);
  for (const ForwardPart& part :
       model->Footprint({.rows = 2, .images = 1, .text_width = 10, .supervised = 4}))
    EXPECT_EQ(part.gradients, 0) << part.parameters;
}

TEST(Estimates, KnowTheWeightsOfAModelThatIsNotThere) {
  const auto model = Meta("agent-qwen3-0.6b");
  const std::int64_t weights = 4 * 685'461'507LL;
  EXPECT_GT(WeightBytes(*model), weights);
  EXPECT_LT(WeightBytes(*model), weights + (8 << 20));  // and tables
}

// s: what a pass keeps; t: what exists once. Joint is P s + t, sequential s + t and the gradients.
TEST(Estimates, JointAddsPassesUpAndSequentialDoesNot) {
  const auto model = Meta("agent-tiny");
  const StepSetting joint{.mode = Mode::kJoint, .rows = 64}, apart{.mode = Mode::kSequential, .rows = 64};
  const std::int64_t one = Peak(*model, Apart(1), joint), two = Peak(*model, Apart(2), joint);
  const std::int64_t s = two - one;
  for (const int passes : {3, 4, 5})
    EXPECT_NEAR(Peak(*model, Apart(passes), joint), one + (passes - 1) * s, 0.01 * s);
  const StepBytes step = TrainingBytes(*model, Apart(5), apart, {});
  EXPECT_LE(step.total(), one + step.gradients);
  EXPECT_GT(step.gradients, 0);
}

TEST(Estimates, PassesThatLookAtOnePictureShareItsEncoding) {
  const auto model = Meta("agent-tiny");
  const StepSetting joint{.mode = Mode::kJoint, .rows = 16},
      sequential{.mode = Mode::kSequential, .rows = 16};
  EXPECT_LT(Peak(*model, Questions(4), joint), Peak(*model, Apart(4), joint));
  // A leaf and its gradient live while the passes run.
  EXPECT_GT(Peak(*model, Questions(4), sequential), Peak(*model, Questions(1), sequential));
  EXPECT_LT(Peak(*model, Questions(4), sequential),
            1.2 * static_cast<double>(Peak(*model, Apart(4), sequential)));
}

TEST(Estimates, MicroBatchesAndRecomputationTakeLess) {
  const auto model = Meta("agent-tiny");
  const StepSetting all{.mode = Mode::kJoint, .rows = 64};
  StepSetting pieces = all, layers = all;
  pieces.micro_rows = 16;
  layers.recompute_every = 1;
  EXPECT_LT(Peak(*model, Questions(3), pieces), Peak(*model, Questions(3), all) / 2);
  EXPECT_LT(Peak(*model, Questions(3), layers), 0.8 * static_cast<double>(Peak(*model, Questions(3), all)));
  StepSetting some = all;
  some.recompute_every = 2;
  EXPECT_GT(Peak(*model, Questions(3), some), Peak(*model, Questions(3), layers));
  EXPECT_LT(Peak(*model, Questions(3), some), Peak(*model, Questions(3), all));
}

TEST(Estimates, EvaluationTakesAFractionOfTraining) {
  const auto model = Meta("agent-qwen3-0.6b");
  const StepSetting setting{.mode = Mode::kSequential, .rows = 16};
  EXPECT_LT(EvaluationBytes(*model, Questions(1), setting, {}).total(),
            Peak(*model, Questions(1), setting) / 4);
}

class RecommendationTest : public testing::Test {
 protected:
  RecommendationTest() : model_(Meta("agent-tiny")) {}
  Estimate Of(std::int64_t rows, Mode mode = Mode::kSequential) const {
    return Estimate(*model_, {.weights = WeightBytes(*model_), .optimizer = 3'000'000},
                    {{.name = "questions",
                      .variant = "default",
                      .shape = Questions(3),
                      .setting = {.mode = mode, .rows = rows}}});
  }
  std::unique_ptr<Model> model_;
};

TEST_F(RecommendationTest, KeepsTheRowsOfAStepAndFits) {
  const Estimate estimate = Of(48);
  const EstimatedTask& task = estimate.tasks()[0];
  const std::int64_t whole = estimate.Peak(task, 48, 48), single = estimate.Peak(task, 48, 1);
  EXPECT_EQ(estimate.Recommend(task, whole), (Accumulation{48, 1}));
  std::int64_t before = 0;
  for (std::int64_t budget = single; budget < whole; budget += (whole - single) / 37) {
    const Accumulation best = estimate.Recommend(task, budget);
    EXPECT_EQ(best.rows * best.steps, 48);
    EXPECT_LE(estimate.Peak(task, 48, best.rows), budget);
    EXPECT_GE(best.rows, before);
    before = best.rows;
  }
  EXPECT_GT(before, 8);
  EXPECT_EQ(estimate.Recommend(task, single - 1), (Accumulation{0, 0}));
}

TEST_F(RecommendationTest, RowsThatAreLeftOpenFillTheBudget) {
  const Estimate estimate = Of(0);
  const EstimatedTask& task = estimate.tasks()[0];
  const std::int64_t budget = 200'000'000;
  const Accumulation best = estimate.Recommend(task, budget);
  EXPECT_EQ(best.steps, 1);
  EXPECT_LE(estimate.Peak(task, best.rows, best.rows), budget);
  EXPECT_GT(estimate.Peak(task, best.rows + 1, best.rows + 1), budget);
}

TEST_F(RecommendationTest, AShortfallSaysWhatIsMissing) {
  const Estimate estimate = Of(48);
  const EstimatedTask& task = estimate.tasks()[0];
  const std::int64_t single = estimate.Peak(task, 48, 1);
  EXPECT_TRUE(estimate.Shortfalls(single).empty());
  const auto shortfalls = estimate.Shortfalls(single - 1000);
  ASSERT_EQ(shortfalls.size(), 1U);
  EXPECT_EQ(shortfalls[0].task, "questions");
  EXPECT_EQ(shortfalls[0].missing, 1000);
  const auto weights = estimate.Shortfalls(1'000'000);
  ASSERT_EQ(weights.size(), 1U);
  EXPECT_EQ(weights[0].task, "");
  EXPECT_EQ(weights[0].missing, estimate.floor().total() - 1'000'000);
}

TEST_F(RecommendationTest, MeasuredBytesGoBeforeTheEstimate) {
  Estimate estimate = Of(48);
  EstimatedTask task = estimate.tasks()[0];
  task.measured =
      PeakLines({{.rows = 1, .bytes = 1'000}, {.rows = 8, .bytes = 8'000}, {.rows = 16, .bytes = 16'000}});
  task.measured_pieces = PeakLines({{.rows = 1, .bytes = 2'000}, {.rows = 16, .bytes = 17'000}});
  const std::int64_t floor = estimate.floor().total() + task.shape.constants + 48 * task.shape.row_bytes;
  EXPECT_EQ(estimate.Peak(task, 48, 48), floor + 48'000);
  EXPECT_EQ(estimate.Peak(task, 48, 16), floor + 17'000);
}

}  // namespace
}  // namespace medley
