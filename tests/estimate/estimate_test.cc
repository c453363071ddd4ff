#include <gtest/gtest.h>

#include <ATen/core/Tensor.h>
#include <medley/base/error.h>
#include <medley/estimate/estimate.h>
#include <medley/estimate/estimated_evaluation.h>
#include <medley/estimate/gpu_fit.h>
#include <medley/estimate/gpu_verdict.h>
#include <medley/model/agent/agent.h>
#include <medley/model/agent/agent_spec.h>
#include <medley/model/model_info.h>
#include <medley/model/parameter_bytes.h>
#include <medley/report/table.h>

#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "tests/model/agent_file.h"
#include "tests/model/agent_forward.h"
#include "tests/model/letter_tokenizer.h"
#include "tests/step/executor_fixture.h"

namespace medley {
namespace {

const std::string kModels = std::string(MEDLEY_SOURCE_DIR) + "/configs/models/";

// Shapes and no values.
std::unique_ptr<Model> Meta(const std::string& name) {
  return std::make_unique<Agent>(test::ReadAgentConfig(kModels + name + ".json"), test::LetterTokenizer(), 1,
                                 at::kMeta);
}

PassShape Pass(std::string name, std::vector<std::string> images = {"image"}, bool decodes = false) {
  const ForwardSizes sizes{{"images", std::ssize(images)}, {"text_width", 24}, {"supervised", 12}};
  return {.name = std::move(name),
          .images = std::move(images),
          .carries = {},
          .pictures = {},
          .sizes = sizes,
          .longest = sizes,
          .outputs = decodes ? std::set<std::string>{"logits", "image"} : std::set<std::string>{"logits"}};
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
    for (const ForwardPart& part : model->Footprint(test::ForwardOf(
             {.rows = 2, .images = 2, .text_width = 10, .supervised = 4, .decodes_image = true})))
      groups[part.parameters] = part.gradients;
    std::int64_t named = 0;
    for (const auto& [group, bytes] : groups) named += bytes;
    EXPECT_EQ(named, ParameterBytes(model->parameters())) << name;
  }
}

TEST(Footprints, FrozenParametersHaveNoGradients) {
  const auto model = Meta("agent-tiny");
  for (const Parameter& parameter : model->parameters())
    at::Tensor(parameter.tensor).set_requires_grad(false);
  for (const ForwardPart& part :
       model->Footprint(test::ForwardOf({.rows = 2, .images = 1, .text_width = 10, .supervised = 4})))
    EXPECT_EQ(part.gradients, 0) << part.parameters;
}

TEST(Footprints, AreOptionalAndAnEstimateWithoutOneSaysWhatMeasures) {
  const testing_fixture::FixtureModel model;
  const auto error_of = [](const auto& ask) -> std::string {
    try {
      ask();
    } catch (const InputError& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  const EstimatedTask task{.request = {.form = OwnForm("questions"), .rows = 4},
                           .shape = Questions(1),
                           .setting = {.way = {}, .rows = 4},
                           .ways = {{Mode::kSequential, 0}}};
  for (const std::string& error : {error_of([&] { Estimate(model, {}, {task}, {}); }), error_of([&] {
                                     MakeHollow(model, ModelConfig(InfoOf(kAgentSpec)), /*on_gpu=*/false);
                                   })}) {
    EXPECT_EQ(error.rfind("the model 'fixture' has no footprint", 0), 0U) << error;
    EXPECT_NE(error.find("the model's Footprint"), std::string::npos) << error;
    EXPECT_NE(error.find("medley plan CONFIG"), std::string::npos) << error;
  }
}

TEST(Estimates, KnowTheWeightsOfAModelThatIsNotThere) {
  const auto model = Meta("agent-qwen3-0.6b");
  const std::int64_t weights = 4 * 685'461'507LL;
  EXPECT_GT(WeightBytes(*model), weights);
  EXPECT_LT(WeightBytes(*model), weights + (8 << 20));  // and tables
}

// s: what a pass keeps; t: what exists once. Joint is P s + t, sequential s + t and the gradients. Of many
// passes the widest moment is the end of their forwards, when the encodings' outputs are there too: 1.5 % of
// a pass.
TEST(Estimates, JointAddsPassesUpAndSequentialDoesNot) {
  const auto model = Meta("agent-tiny");
  const StepSetting joint{.way = {Mode::kJoint}, .rows = 64}, apart{.way = {Mode::kSequential}, .rows = 64};
  const std::int64_t one = Peak(*model, Apart(1), joint), two = Peak(*model, Apart(2), joint);
  const std::int64_t s = two - one;
  for (const int passes : {3, 4, 5})
    EXPECT_NEAR(Peak(*model, Apart(passes), joint), one + (passes - 1) * s, 0.02 * s);
  const MemoryLedger step = TrainingBytes(*model, Apart(5), apart, {});
  EXPECT_LE(step.total(), one + step.gradients);
  EXPECT_GT(step.gradients, 0);
}

TEST(Estimates, PassesThatLookAtOnePictureShareItsEncoding) {
  const auto model = Meta("agent-tiny");
  const StepSetting joint{.way = {Mode::kJoint}, .rows = 16},
      sequential{.way = {Mode::kSequential}, .rows = 16};
  EXPECT_LT(Peak(*model, Questions(4), joint), Peak(*model, Apart(4), joint));
  // A leaf and its gradient live while the passes run.
  EXPECT_GT(Peak(*model, Questions(4), sequential), Peak(*model, Questions(1), sequential));
  EXPECT_LT(Peak(*model, Questions(4), sequential),
            1.2 * static_cast<double>(Peak(*model, Apart(4), sequential)));
}

TEST(Estimates, MicroBatchesAndRecomputationTakeLess) {
  const auto model = Meta("agent-tiny");
  const StepSetting all{.way = {Mode::kJoint}, .rows = 64};
  StepSetting pieces = all, layers = all;
  pieces.micro_rows = 16;
  layers.way.recomputed = 1;
  EXPECT_LT(Peak(*model, Questions(3), pieces), Peak(*model, Questions(3), all) / 2);
  EXPECT_LT(Peak(*model, Questions(3), layers), 0.8 * static_cast<double>(Peak(*model, Questions(3), all)));
  StepSetting some = all;
  some.way.recomputed = 2;
  EXPECT_GT(Peak(*model, Questions(3), some), Peak(*model, Questions(3), layers));
  EXPECT_LT(Peak(*model, Questions(3), some), Peak(*model, Questions(3), all));
}

TEST(Estimates, GradientsOfAnEarlierDrawAreThereFromTheStart) {
  const auto model = Meta("agent-tiny");
  const StepSetting one{.way = {Mode::kSequential}, .rows = 16};
  StepSetting later = one;
  later.draws_per_step = 3;
  const std::int64_t trained = ParameterBytes(model->parameters());
  // Where all that is trained has a gradient at the end, it had none at the widest moment.
  EXPECT_GT(Peak(*model, Questions(1), later), Peak(*model, Questions(1), one) + trained / 2);
  EXPECT_LE(Peak(*model, Questions(1), later), Peak(*model, Questions(1), one) + trained);
  EXPECT_GE(TrainingBytes(*model, Questions(1), later, {}).gradients, trained);
}

TEST(Estimates, KeysAndValuesOfATextThatGoesOnAreThere) {
  const auto model = Meta("agent-qwen3-0.6b");
  AgentShape shape{.rows = 2, .images = 1, .text_width = 20, .supervised = 2, .with_graph = false};
  const auto kept = [&] {
    std::int64_t bytes = 0;
    for (const ForwardPart& part : model->Footprint(test::ForwardOf(shape))) bytes += part.kept;
    return bytes;
  };
  const std::int64_t before = kept();
  shape.cached = 24;
  const std::int64_t some = kept();
  shape.cached = 25;
  const std::int64_t a_position = std::int64_t{2} * 2 * 28 * 8 * 128 * 4;  // rows, k and v, layers, heads
  EXPECT_EQ(kept() - some, a_position);
  EXPECT_GT(some - before, 24 * a_position);  // and the picture's
}

class RecommendationTest : public ::testing::Test {
 protected:
  RecommendationTest() : model_(Meta("agent-tiny")) {}

  EstimatedTask Task(std::int64_t rows) const {
    return {.request = {.form = OwnForm("questions"), .passes = 3, .rows = rows},
            .shape = Questions(3),
            .setting = {.way = {Mode::kSequential}, .rows = rows},
            .ways = {{Mode::kSequential, 0}, {Mode::kSequential, 1}},
            .waiting_row = 60'000,
            .evaluation = PeakLines({{.rows = 1, .bytes = 1'000'000}, {.rows = 2, .bytes = 2'000'000}}),
            .evaluation_rows = 32};
  }
  Estimate Of(std::vector<EstimatedTask> tasks, Estimate::Setting setting = {.on_gpu = true}) const {
    return Estimate(*model_, {.weights = WeightBytes(*model_), .optimizer = 3'000'000}, std::move(tasks),
                    setting);
  }
  static Accumulation RowsIn(const Estimate& estimate, std::int64_t budget) {
    return estimate.Recommend(estimate.tasks()[0], estimate.PlanFor(budget)).rows;
  }

  std::unique_ptr<Model> model_;
};

TEST_F(RecommendationTest, KeepsTheRowsOfAStepAndFits) {
  const Estimate estimate = Of({Task(48)});
  const EstimatedTask& task = estimate.tasks()[0];
  const std::int64_t whole = estimate.Peak(task, 48, 48), single = estimate.Peak(task, 48, 1);
  EXPECT_EQ(RowsIn(estimate, whole), (Accumulation{48, 1}));
  std::int64_t before = 0;
  for (std::int64_t budget = single; budget < whole; budget += (whole - single) / 37) {
    const Plan plan = estimate.PlanFor(budget);
    const Estimate::Recommendation best = estimate.Recommend(task, plan);
    EXPECT_EQ(best.rows.rows * best.rows.steps, 48);
    EXPECT_EQ(plan.entries[0].way.mode, Mode::kSequential);
    EXPECT_EQ(plan.entries[0].way.recomputed, 0);
    EXPECT_LE(estimate.Peak(task, 48, best.rows.rows), best.peak);
    EXPECT_LE(best.peak, budget);
    EXPECT_GE(best.rows.rows, before);
    before = best.rows.rows;
  }
  EXPECT_GT(before, 8);
}

// A run never has to have a divisor: 61 rows in 31 and 30.
TEST_F(RecommendationTest, RowsWithoutADivisorAreCutInEvenPieces) {
  const Estimate estimate = Of({Task(61)});
  const EstimatedTask& task = estimate.tasks()[0];
  EXPECT_EQ(RowsIn(estimate, estimate.Peak(task, 61, 40)), (Accumulation{31, 2}));
  EXPECT_EQ(RowsIn(estimate, estimate.Peak(task, 61, 7) + 1000), (Accumulation{7, 9}));
  EXPECT_EQ(Accumulate(61, 60), (Accumulation{31, 2}));
  EXPECT_EQ(Accumulate(61, 1), (Accumulation{1, 61}));
}

TEST(Accumulations, TakeAtMostTwiceTheFewestForwardsAndLoseNoRow) {
  for (std::int64_t target = 1; target <= 200; ++target) {
    for (std::int64_t fit = 1; fit <= target; ++fit) {
      const Accumulation found = Accumulate(target, fit);
      const std::int64_t fewest = (target + fit - 1) / fit;
      EXPECT_LE(found.rows, fit);
      EXPECT_GE(found.rows * found.steps, target);
      EXPECT_LT(found.rows * (found.steps - 1), target);
      EXPECT_TRUE(found.steps == fewest || found.steps < 2 * fewest);
    }
  }
}

// Its model: 14 GB of weights, so much a sample with 1 to 4 images, 80 % of the memory, 16 rows a step. All
// in units of 1/800 GB.
TEST_F(RecommendationTest, TheCorrectedFormulaOfThePublishedConfigurationComesOut) {
  constexpr std::int64_t kPerSample[] = {800, 1500, 2100, 2600};
  struct Published {
    std::int64_t memory;
    int images;
    Accumulation corrected;
  };
  for (const Published& row : {Published{24, 1, {4, 4}},
                               {24, 2, {2, 8}},
                               {24, 3, {2, 8}},
                               {24, 4, {2, 8}},
                               {40, 1, {16, 1}},
                               {40, 2, {8, 2}},
                               {40, 3, {8, 2}},
                               {40, 4, {4, 4}},
                               {80, 1, {16, 1}},
                               {80, 4, {16, 1}}}) {
    const std::int64_t sample = kPerSample[row.images - 1];
    const std::vector<Probe> lines = {{.rows = 1, .bytes = sample}, {.rows = 2, .bytes = 2 * sample}};
    EstimatedTask task = Task(16);
    task.shape = {};
    task.ways = {{Mode::kSequential, 0}};
    ModeProfile mode;
    mode.whole = mode.pieces = lines;
    task.measured.emplace().modes = {mode};
    const Estimate estimate(*model_, {.weights = 14'000}, {task}, {.on_gpu = true});
    EXPECT_EQ(RowsIn(estimate, 800 * row.memory), row.corrected) << row.memory << " GB, " << row.images;
  }
}

TEST_F(RecommendationTest, RowsThatAreLeftOpenFillTheBudgetBesideTheRowsThatWait) {
  const std::int64_t budget = 200'000'000;
  std::int64_t before = 1 << 20;
  for (const std::int64_t ahead : {0, 4, 16}) {
    const Estimate estimate = Of({Task(0)}, {.on_gpu = false, .draws_per_step = 1, .draws_ahead = ahead});
    const EstimatedTask& task = estimate.tasks()[0];
    const Plan plan = estimate.PlanFor(budget);
    const Accumulation best = estimate.Recommend(task, plan).rows;
    EXPECT_EQ(best.steps, 1);
    EXPECT_GE(plan.data_bytes, (1 + ahead) * best.rows * task.waiting_row);
    EXPECT_LT(plan.data_bytes, (1 + ahead) * (best.rows + 1) * task.waiting_row);
    const auto needed = [&](std::int64_t rows) {
      return estimate.Peak(task, rows, rows) + rows * ((1 + ahead) * task.waiting_row - task.shape.row_bytes);
    };
    EXPECT_LE(needed(best.rows), budget);
    EXPECT_GT(needed(best.rows + 2), budget);
    EXPECT_LT(best.rows, before);
    before = best.rows;
  }
}

TEST_F(RecommendationTest, CachesLieInTheMachinesMemoryAndSoInTheBudgetOfTheCpuAlone) {
  EstimatedTask task = Task(8);
  task.cache = 1'000'000;
  const Estimate cpu = Of({task}, {.on_gpu = false}), gpu = Of({task}, {.on_gpu = true});
  EXPECT_EQ(cpu.PlanFor(1'000'000'000).cache_bytes, 1'000'000);
  EXPECT_EQ(gpu.PlanFor(1'000'000'000).cache_bytes, 0);
  EXPECT_EQ(gpu.CacheBytes(), 1'000'000);
}

TEST_F(RecommendationTest, DrawsOfOneStepLeaveGradientsAndWaitTogether) {
  const Estimate one = Of({Task(8)}, {.on_gpu = false, .draws_per_step = 1, .draws_ahead = 4}),
                 three = Of({Task(8)}, {.on_gpu = false, .draws_per_step = 3, .draws_ahead = 4});
  EXPECT_GT(three.Peak(three.tasks()[0], 8, 8), one.Peak(one.tasks()[0], 8, 8));
  EXPECT_EQ(one.WaitingBytes(), 4 * 8 * 60'000);
  EXPECT_EQ(three.WaitingBytes(), 6 * 8 * 60'000);
  const Plan plan = three.PlanFor(1'000'000'000);
  EXPECT_EQ(plan.data_bytes, 7 * 8 * 60'000);
  EXPECT_EQ(plan.entries[0].predicted_peak,
            three.Peak(three.tasks()[0], 8, 8) - 8 * three.tasks()[0].shape.row_bytes);
}

TEST_F(RecommendationTest, AnotherModeIsTakenWhereTheFirstDoesNotFit) {
  const Estimate estimate = Of({Task(4)});
  EstimatedTask recomputed = estimate.tasks()[0];
  recomputed.setting.way.recomputed = 1;
  const std::int64_t single = estimate.Peak(estimate.tasks()[0], 4, 1),
                     again = estimate.Peak(recomputed, 4, 1);
  ASSERT_LT(again, single);
  const Plan plan = estimate.PlanFor(single - 1);
  EXPECT_EQ(plan.entries[0].way.recomputed, 1);
  EXPECT_EQ(estimate.PlanFor(single).entries[0].way.recomputed, 0);
}

// As the planner, which has counted it: joint passes make keys and values of what they share once.
TEST_F(RecommendationTest, JointIsTakenWherePassesShareAPictureAndItFits) {
  for (const bool shares : {true, false}) {
    EstimatedTask task = Task(16);
    task.shape = shares ? Questions(3) : Apart(3);
    task.ways = {{Mode::kSequential, 0}, {Mode::kJoint, 0}, {Mode::kSequential, 1}, {Mode::kJoint, 1}};
    EXPECT_EQ(SharesBeyondEncodings(*model_, task.shape), shares);
    const Estimate estimate = Of({task});
    task.setting.way.mode = Mode::kJoint;
    const std::int64_t joint = estimate.Peak(task, 16, 16);
    const auto plan = [&](std::int64_t budget) { return estimate.PlanFor(budget).entries.at(0); };
    EXPECT_EQ(plan(joint).way.mode, shares ? Mode::kJoint : Mode::kSequential);
    EXPECT_EQ(plan(joint).why.empty(), !shares) << plan(joint).why;
    EXPECT_EQ(plan(joint - 1).way.mode, Mode::kSequential);
    EXPECT_EQ(plan(joint - 1).micro_rows, 16);
    task.request.rows = 0;  // as many as fit
    EXPECT_EQ(Of({task}).PlanFor(joint).entries.at(0).way.mode, Mode::kSequential);
  }
}

TEST_F(RecommendationTest, AShortfallSaysWhatIsMissing) {
  EstimatedTask task = Task(48);
  task.ways = {{Mode::kSequential, 0}};
  const Estimate estimate = Of({task});
  const auto refused = [&](std::int64_t budget) {
    try {
      estimate.PlanFor(budget);
    } catch (const DoesNotFit& refusal) {
      return refusal.refusals();
    }
    return std::vector<Refusal>{};
  };
  const std::int64_t single = estimate.Peak(task, 48, 1);
  EXPECT_TRUE(refused(single).empty());
  ASSERT_EQ(refused(single - 1000).size(), 1U);
  EXPECT_EQ(refused(single - 1000)[0].form, FormId("questions"));
  EXPECT_EQ(refused(single - 1000)[0].missing, 1000);
  ASSERT_EQ(refused(1'000'000).size(), 1U);
  EXPECT_EQ(refused(1'000'000)[0].form, std::nullopt);
  EXPECT_EQ(refused(1'000'000)[0].missing, estimate.floor().total() - 1'000'000);
}

// As rows get scarcer; the last GPU has not even the weights.
TEST_F(RecommendationTest, AGpuTakesWhatThePlannerWouldOrLacksBytes) {
  EstimatedTask narrow = Task(8), wide = Task(32);
  narrow.request.form = OwnForm("narrow");
  wide.shape = Questions(40);
  const Estimate estimate = Of({narrow, wide});
  const std::int64_t single = estimate.Peak(wide, 32, 1);
  const auto fit = [&](std::int64_t bytes) {
    return FitOn(estimate,
                 {.name = "card", .memory = bytes + 30, .context = 10, .workspace = 10, .margin = 10});
  };
  const GpuFit ample = fit(1'000'000'000'000);
  EXPECT_TRUE(ample.fits());
  ASSERT_EQ(ample.tasks.size(), 2U);
  EXPECT_EQ(ample.tasks[0].form, FormId("narrow"));
  EXPECT_EQ(ample.tasks[1].rows, 32);
  EXPECT_EQ(ample.tasks[1].forwards, (Accumulation{32, 1}));
  EXPECT_EQ(ample.tasks[1].room, 1'000'000'000'000 - estimate.Peak(wide, 32, 32));
  for (const GpuFit& some : {fit(2 * single), fit(single)}) {
    EXPECT_TRUE(some.fits());
    const Plan plan = estimate.PlanFor(some.gpu.usable());
    for (std::size_t i = 0; i < 2; ++i) {
      const Estimate::Recommendation best = estimate.Recommend(estimate.tasks()[i], plan);
      EXPECT_EQ(some.tasks[i].forwards, best.rows);
      EXPECT_EQ(some.tasks[i].room, some.gpu.usable() - best.peak);
      EXPECT_GE(some.tasks[i].room, 0);
    }
  }
  EXPECT_EQ(fit(estimate.floor().total() - 1).room, -1);
  EXPECT_FALSE(fit(estimate.floor().total() - 1).fits());
}

// Of two tasks one, and of that as many rows as where it is alone.
TEST_F(RecommendationTest, OnAGpuThatTakesSomeTasksTheOthersSayWhatTheyLack) {
  EstimatedTask narrow = Task(8), wide = Task(8);
  narrow.request.form = OwnForm("narrow");
  wide.shape = Apart(1);
  wide.shape.passes[0].sizes["text_width"] = wide.shape.passes[0].longest["text_width"] = 4096;
  for (EstimatedTask* task : {&narrow, &wide}) task->ways = {{Mode::kSequential, 0}};
  const Estimate estimate = Of({narrow, wide});
  const std::int64_t few = estimate.Peak(narrow, 8, 8), many = estimate.Peak(wide, 8, 1);
  ASSERT_LT(few, many);
  const GpuFit fit = FitOn(estimate, {.name = "card", .memory = few});
  EXPECT_FALSE(fit.fits());
  EXPECT_EQ(fit.room, 0);
  EXPECT_EQ(fit.tasks[0].forwards, (Accumulation{8, 1}));
  EXPECT_EQ(fit.tasks[0].room, 0);
  EXPECT_EQ(fit.tasks[1].forwards, (Accumulation{0, 0}));
  EXPECT_EQ(fit.tasks[1].room, few - many);
  const std::string table = GpuTable({fit}, {{FormId("narrow"), "short questions"}});
  EXPECT_TRUE(std::regex_search(table, std::regex("\ncard +short questions +sequential +8 +8 x 1 +0 B\n"
                                                  " +questions +does not fit +- +- +-[0-9.]+ .iB\n")))
      << table;
  EXPECT_EQ(CountOfFits({fit}), "card does not take every task.");
  EXPECT_EQ(CountOfFits({fit, fit}), "None of 2 GPUs takes every task.");
  const GpuFit larger = FitOn(estimate, {.name = "larger", .memory = many});
  EXPECT_EQ(CountOfFits({fit, larger}), "1 of 2 GPUs takes every task: larger.");
  EXPECT_EQ(CountOfFits({larger, larger}), "2 of 2 GPUs take every task; the smallest is larger.");
}

// The share is the fullest moment of all: of a step, or of an evaluation where the run makes any.
TEST_F(RecommendationTest, AVerdictIsOfTheFullestMomentOfAllTasks) {
  EstimatedTask narrow = Task(4), wide = Task(16);
  narrow.request.form = OwnForm("narrow");
  narrow.evaluation = PeakLines({{.rows = 1, .bytes = 300'000'000}});
  const auto verdict_of = [&](bool evaluates, std::int64_t budget) {
    const Estimate estimate = Of({narrow, wide}, {.on_gpu = true, .evaluates = evaluates});
    return VerdictOf(AdviceOf(estimate, estimate.PlanFor(budget)));
  };
  const Estimate estimate = Of({narrow, wide});
  const std::int64_t step = estimate.Peak(wide, 16, 16);
  const FitVerdict silent = verdict_of(false, 2 * step);
  EXPECT_EQ(silent.form, FormId("questions"));
  EXPECT_DOUBLE_EQ(silent.share, 0.5);
  EXPECT_TRUE(silent.as_configured);
  EXPECT_EQ(Words(silent, "1 GiB", {{FormId("questions"), "Q"}}), "fits, 50.0 % of 1 GiB at most (Q)");
  constexpr std::int64_t kAmple = 20'000'000'000;
  const FitVerdict evaluating = verdict_of(true, kAmple);
  EXPECT_EQ(evaluating.form, FormId("narrow"));
  EXPECT_DOUBLE_EQ(evaluating.share,
                   static_cast<double>(estimate.Evaluation(narrow, 32)) / static_cast<double>(kAmple));
  EXPECT_TRUE(Words(evaluating, "", {}).ends_with(" % of it at most (evaluating narrow)"));
}

// Also where rows wait beside the peaks: then these are another column.
TEST_F(RecommendationTest, APercentageOfTheMemoryIsThatOfTheBytesBesideIt) {
  const Estimate estimate = Of({Task(4), Task(16)});
  const std::int64_t budget = 3 * estimate.Peak(estimate.tasks()[1], 16, 16);
  Plan plan = estimate.PlanFor(budget);
  for (const std::int64_t waiting : {std::int64_t{0}, budget / 2}) {
    plan.data_bytes = waiting;
    const Advice advice = AdviceOf(estimate, plan);
    const std::string table = AdviceTable(advice, {});
    for (const TaskAdvice& task : advice.tasks) {
      EXPECT_EQ(task.taken, task.best.peak + waiting);
      EXPECT_NE(table.find(FormatBytesOf(task.taken, budget)), std::string::npos) << table;
      EXPECT_NEAR(task.share, static_cast<double>(task.taken) / static_cast<double>(budget), 1e-12);
    }
    const std::string most = FormatShare(VerdictOf(advice).share);
    EXPECT_NE(table.find("(" + most + ")"), std::string::npos) << most << " in\n" << table;
  }
}

TEST_F(RecommendationTest, AVerdictSaysHowManyTasksAreInPiecesAndWhichLacksTheMost) {
  EstimatedTask narrow = Task(4), wide = Task(64);
  narrow.request.form = OwnForm("narrow");
  const Estimate estimate = Of({narrow, wide});
  const std::int64_t whole = estimate.Peak(wide, 64, 64), row = estimate.Peak(wide, 64, 1);
  const FitVerdict pieces = VerdictOf(AdviceOf(estimate, estimate.PlanFor(whole - 1)));
  EXPECT_TRUE(pieces.fits);
  EXPECT_FALSE(pieces.as_configured);
  EXPECT_EQ(ShortWords(pieces, {}), "in pieces: 1 of 2 tasks");
  EXPECT_TRUE(Words(pieces, "", {}).starts_with("fits in pieces, "));
  EXPECT_EQ(ShortWords(VerdictOf(AdviceOf(estimate, estimate.PlanFor(whole))), {}), "yes");
  const auto refused = [&](const Estimate& one, std::int64_t budget) {
    try {
      one.PlanFor(budget);
    } catch (const DoesNotFit& refusal) {
      return VerdictOf(refusal, /*rows_wait=*/false);
    }
    return FitVerdict{.fits = true};
  };
  EstimatedTask pinned = wide;
  pinned.ways = {{Mode::kSequential, 0}};
  const std::int64_t alone = Of({pinned}).Peak(pinned, 1, 1);
  const FitVerdict lacks = refused(Of({pinned}), alone - 1000);
  EXPECT_FALSE(lacks.fits);
  EXPECT_TRUE(Words(lacks, "1 GiB", {}).starts_with("does not fit: one row of questions needs "))
      << Words(lacks, "1 GiB", {});
  const FitVerdict floor = refused(estimate, 1'000'000);
  EXPECT_EQ(floor.form, std::nullopt);
  EXPECT_TRUE(ShortWords(floor, {}).starts_with("no: parameters and optimizer need "));
  EXPECT_LT(row, whole);
}

// The GPUs up to the smallest that takes all as configured, and the names of those that do so too.
TEST_F(RecommendationTest, OfGpusThatTakeAllAsConfiguredTheFirstHasALine) {
  const Estimate estimate = Of({Task(64)});
  const std::int64_t whole = estimate.Peak(estimate.tasks()[0], 64, 64);
  const auto gpu = [](const char* name, std::int64_t memory) { return Gpu{.name = name, .memory = memory}; };
  const GpuVerdicts all =
      JudgeGpus(estimate, {gpu("tiny", 1'000'000), gpu("small", whole - 1), gpu("right", whole),
                           gpu("large", 2 * whole), gpu("huge", 3 * whole)});
  EXPECT_EQ(Recommendation(all),
            "Recommended: right, the smallest of 5 GPUs for every task as configured; small takes them in "
            "pieces.");
  const std::string table = VerdictTable(all, {});
  EXPECT_TRUE(std::regex_search(table, std::regex("tiny .* no: parameters and optimizer need .*\n"
                                                  "small .* in pieces: 1 of 1 task\n"
                                                  "right .* yes\nSo do the larger ones: large, huge.\n$")))
      << table;
  EXPECT_TRUE(std::regex_search(WholeVerdictTable(all, {}), std::regex("huge .* yes\n$")));
  const GpuVerdicts some = JudgeGpus(estimate, {gpu("small", whole - 1), gpu("tiny", 1'000'000)});
  EXPECT_EQ(Recommendation(some), "Recommended: small, the smallest of 2 GPUs for every task in pieces.");
}

// Each task and each GPU once, in order; nothing is told of what is done.
TEST_F(RecommendationTest, TellsHowFarItIs) {
  std::vector<double> shares;
  std::vector<std::string> words;
  const Telling tell = [&](const std::string& what, double done, double all) {
    words.push_back(what);
    shares.push_back(done / all);
  };
  EstimatedTask other = Task(4);
  other.request.form = OwnForm("other");
  const Estimate estimate(*model_, {.weights = WeightBytes(*model_)}, {Task(8), other}, {}, tell);
  EXPECT_EQ(words, (std::vector<std::string>{"estimating questions", "estimating other"}));
  EXPECT_EQ(shares, (std::vector<double>{0, 0.5}));
  words.clear();
  JudgeGpus(estimate, {{.name = "a", .memory = 1 << 30}, {.name = "b", .memory = 1 << 30}}, tell);
  EXPECT_EQ(words, (std::vector<std::string>{"planning for a", "planning for b"}));
  EXPECT_EQ(shares, (std::vector<double>{0, 0.5, 0, 0.5}));
}

TEST_F(RecommendationTest, AGpuThatTakesTheSameAsTheOneAboveHasOneLineOfSeveralTasks) {
  EstimatedTask narrow = Task(8);
  narrow.request.form = OwnForm("narrow");
  const Estimate two = Of({narrow, Task(32)}), one = Of({Task(32)});
  const auto table = [](const Estimate& estimate) {
    const std::int64_t all = estimate.Peak(estimate.tasks().back(), 32, 32);
    std::vector<GpuFit> fits;
    for (const std::int64_t memory : {all - 1, all + 1'048'576, all + 2'097'152})
      fits.push_back(FitOn(estimate, {.name = "card" + std::to_string(fits.size()), .memory = memory}));
    return GpuTable(fits, {});
  };
  const std::string of_two = table(two), of_one = table(one);
  EXPECT_TRUE(std::regex_search(of_two, std::regex("card0 +narrow .*\n +questions .* 16 x 2 .*\n"
                                                   "card1 +narrow .*\n +questions .* 32 x 1 +1 MiB\n"
                                                   "card2 +as above +2 MiB\n")))
      << of_two;
  EXPECT_TRUE(std::regex_search(of_one, std::regex("card2 +questions .* 32 x 1 +2 MiB\n"))) << of_one;
}

TEST_F(RecommendationTest, AnEvaluationThatDoesNotFitIsMissingOnAGpuToo) {
  EstimatedTask small = Task(1), large = Task(1);
  small.request.form = OwnForm("small");
  large.evaluation = PeakLines({{.rows = 1, .bytes = 100'000'000}});
  const Estimate estimate = Of({small, large}, {.on_gpu = true, .evaluates = true});
  const std::int64_t enough = estimate.Evaluation(large, 1);
  EXPECT_TRUE(FitOn(estimate, {.name = "card", .memory = enough}).fits());
  const GpuFit fit = FitOn(estimate, {.name = "card", .memory = enough - 1000});
  EXPECT_GE(fit.tasks[0].room, 0);
  EXPECT_EQ(fit.tasks[1].room, -1000);
}

TEST_F(RecommendationTest, MeasuredBytesGoBeforeTheEstimate) {
  EstimatedTask task = Task(48);
  ModeProfile mode;
  mode.whole = {{.rows = 1, .bytes = 1'000}, {.rows = 8, .bytes = 8'000}, {.rows = 16, .bytes = 16'000}};
  mode.pieces = {{.rows = 1, .bytes = 2'000}, {.rows = 16, .bytes = 17'000}};
  task.measured.emplace().modes = {mode};
  const Estimate on_cpu = Of({task}, {.on_gpu = false}), on_gpu = Of({task});
  const std::int64_t floor = on_cpu.floor().total(), row = task.shape.row_bytes;
  EXPECT_EQ(on_cpu.Peak(task, 48, 48), floor + 48'000 + 48 * row);
  EXPECT_EQ(on_cpu.Peak(task, 48, 16), floor + 17'000 + 48 * row);
  EXPECT_EQ(on_gpu.Peak(task, 48, 16), floor + 17'000 + 16 * row);  // only those of the forward lie there
  EXPECT_EQ(on_cpu.PlanFor(1'000'000'000).entries[0].predicted_peak, floor + 48'000);
}

// Not only in words: a run that evaluates would end there.
TEST_F(RecommendationTest, AnEvaluationOfWhichNotOneRowFitsIsRefusedWhereTheRunEvaluates) {
  EstimatedTask task = Task(1);
  task.evaluation = PeakLines({{.rows = 1, .bytes = 100'000'000}});
  const Estimate silent = Of({task}), estimate = Of({task}, {.on_gpu = true, .evaluates = true});
  const std::int64_t enough = estimate.Evaluation(task, 1);
  EXPECT_NO_THROW(silent.PlanFor(enough - 1000));
  EXPECT_NO_THROW(estimate.PlanFor(enough));
  try {
    estimate.PlanFor(enough - 1000);
    FAIL() << "the evaluation does not fit";
  } catch (const DoesNotFit& refusal) {
    EXPECT_EQ(refusal.code(), ExitCode::kDoesNotFit);
    ASSERT_EQ(refusal.refusals().size(), 1U);
    EXPECT_EQ(refusal.refusals()[0].form, FormId("questions"));
    EXPECT_EQ(refusal.refusals()[0].missing, 1000);
    EXPECT_EQ(refusal.refusals()[0].change, "eval.every=0");
  }
  const Gpu small{.name = "small", .memory = enough - 1000};
  const GpuVerdicts verdicts = JudgeGpus(estimate, {small});
  EXPECT_FALSE(verdicts.any_fits());
  EXPECT_EQ(verdicts.gpus.front().words, "no: evaluating a row of questions needs 1000 B more");
  EXPECT_TRUE(JudgeGpus(silent, {small}).any_fits());
}

// As the planner does: three tables, and room for two and a half.
TEST_F(RecommendationTest, TablesThatDoNotAllFitAreDropped) {
  constexpr std::int64_t kTable = 50'000'000;
  std::vector<EstimatedTask> tasks;
  for (const char* name : {"a", "b", "c"}) {
    tasks.push_back(Task(1));
    tasks.back().request.form = OwnForm(name);
    tasks.back().shape.constants = kTable;
  }
  const Estimate estimate = Of(tasks, {.on_gpu = false});
  const std::int64_t all = estimate.Peak(tasks[0], 1, 1);
  const Plan roomy = estimate.PlanFor(2 * all), plan = estimate.PlanFor(all - kTable / 2);
  EXPECT_FALSE(roomy.drops_tables);
  EXPECT_TRUE(plan.drops_tables);
  EXPECT_EQ(plan.floor_bytes() + 3 * kTable, roomy.floor_bytes());
  EXPECT_LE(plan.entries[0].predicted_peak, plan.floor_bytes() + 2 * kTable) << "while it is built";
  EXPECT_EQ(estimate.Recommend(tasks[0], plan).evaluation_rows, 32);
}

TEST_F(RecommendationTest, AnEvaluationHasRowsOfItsOwnBesideTheOptimizer) {
  const Estimate estimate = Of({Task(4)});
  const EstimatedTask& task = estimate.tasks()[0];
  EXPECT_EQ(estimate.Evaluation(task, 2), estimate.floor().total() + 2'000'000);
  EXPECT_GE(estimate.floor().total(), WeightBytes(*model_) + 3'000'000);
  EXPECT_EQ(estimate.Recommend(task, estimate.PlanFor(1'000'000'000)).evaluation_rows, 32);
  // Halved until they fit.
  EXPECT_EQ(estimate.Recommend(task, estimate.PlanFor(estimate.Evaluation(task, 31))).evaluation_rows, 16);
}

}  // namespace
}  // namespace medley
