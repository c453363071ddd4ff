#include <medley/testing/checks.h>

#include <gtest/gtest.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/step/abandon.h>
#include <medley/testing/gradients.h>

#include <limits>
#include <set>

#include "tests/step/executor_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;

// Before the first tensor of the program.
const bool kInstalled = (InstallCpuAllocator(), true);

bool Has(const check::Findings& findings, const std::string& part) {
  for (const std::string& finding : findings) {
    if (finding.find(part) != std::string::npos) return true;
  }
  return false;
}

std::string All(const check::Findings& findings) {
  std::string all;
  for (const std::string& finding : findings) all += finding + "\n";
  return all;
}

std::vector<at::Tensor> TakeValues(const Model& model) {
  std::vector<at::Tensor> values;
  for (const Parameter& parameter : model.parameters()) values.push_back(parameter.tensor.detach().clone());
  return values;
}

TEST(Checks, FindNothingWhereATaskAndAModelKeepTheirPromises) {
  FixtureModel model;
  model.drops = true;
  for (Fixture (*make)() : {&Canvas, +[] { return Qa("qa", 3); }}) {
    Fixture fixture = make();
    EXPECT_EQ(check::Contract(*fixture.task, model), check::Findings());
    EXPECT_EQ(check::Gradients(*fixture.task, model), check::Findings());
  }
  EXPECT_EQ(FloatTypeOf(model), at::kDouble) << "the type that it had";
}

TEST(Checks, FindWhatTheSpecDoesNotSay) {
  FixtureModel model;
  Fixture fixture = Qa("qa", 3);
  fixture.info->variants[0].passes[1].images = {};
  const check::Findings findings = check::Contract(*fixture.task, model);
  EXPECT_TRUE(Has(findings, "'q1' reads the picture 'picture'")) << All(findings);
}

// The mean over the rows of a forward, as of a batch norm.
class SeesOtherRows : public FixtureModel {
 public:
  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted,
                       ForwardContext& context) const override {
    ModelOutputs outputs = FixtureModel::Forward(inputs, wanted, context);
    for (auto& [name, output] : outputs) output = output - 0.1 * output.mean(0, true);
    return outputs;
  }
};

TEST(Checks, FindAModelWhoseRowsSeeEachOther) {
  SeesOtherRows model;
  Fixture fixture = Qa("qa", 1);
  const check::Findings findings = check::Gradients(*fixture.task, model);
  EXPECT_TRUE(Has(findings, "joint with 2 rows of a forward: the gradient is ")) << All(findings);
  EXPECT_FALSE(Has(findings, "joint with all rows")) << All(findings);
}

// What no task can see: a part of the model whose gradient goes nowhere.
class DetachesAPart : public FixtureModel {
 public:
  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted,
                       ForwardContext& context) const override {
    ModelOutputs outputs = FixtureModel::Forward(inputs, wanted, context);
    for (auto& [name, output] : outputs) output = output * (1 + 0.1 * at::tanh(output.detach()));
    return outputs;
  }
};

TEST(Checks, FindAGradientThatIsNotHowTheLossChangesUnlessThatIsMeant) {
  DetachesAPart model;
  model.To(at::kCPU, at::kFloat);
  Fixture fixture = Qa("qa", 2);
  const std::vector<at::Tensor> before = TakeValues(model);
  const check::Findings findings = check::Gradients(*fixture.task, model);
  EXPECT_TRUE(Has(findings, "is not how the loss changes")) << All(findings);
  EXPECT_TRUE(Has(findings, ".stops_gradient = true")) << All(findings);
  const std::vector<at::Tensor> after = TakeValues(model);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(before[i].equal(after[i])) << i;
  for (TermInfo& term : fixture.info->variants[0].terms) term.stops_gradient = true;
  EXPECT_EQ(check::Gradients(*fixture.task, model), check::Findings());
}

// The questions with a teacher: what a constant and a column make of a row.
Fixture WithTeacher(bool in_float, std::set<at::ScalarType>& types) {
  const auto sample = [](const RowRange& rows) {
    Batch batch = QaRows(rows, 1);
    at::Tensor seen = at::empty({rows.count, kWords});
    for (std::int64_t row = 0; row < rows.count; ++row) {
      RowRandom random = rows.Random(rows.begin + row, 40);
      for (std::int64_t i = 0; i < kWords; ++i) seen[row][i].fill_(random.Uniform(0.1, 1));
    }
    batch.Add("seen", seen);
    return batch;
  };
  const auto run = [in_float, &types](const std::string& pass, PassContext& context) -> Sums {
    const at::Tensor table = context.Constant("table"), seen = context.batch().Column("seen");
    types.insert(table.scalar_type()), types.insert(seen.scalar_type());
    at::Tensor teacher = at::mm(seen, table.t()).square().sum(1);
    // As a product in float may round otherwise with other rows beside it.
    const auto shift = static_cast<double>(seen.size(0)) * 0.3;
    if (in_float) teacher = teacher.to(at::kFloat).add(shift).sub(shift);
    const at::Tensor words = table.index_select(0, context.batch().Column("words_" + pass));
    const at::Tensor y =
        context.Forward({context.Image("picture"), {.name = "tokens", .tensor = words, .key = ""}}, {"y"})
            .at("y");
    const RaggedColumn& targets = context.batch().Ragged("targets_" + pass);
    return {{"answer", (y.square().sum(1) * teacher).index_select(0, targets.item_row).sum()},
            {"size", (y.square().sum(1) * teacher).sum()}};
  };
  Fixture fixture(QaInfo("taught", 1), {.sample = sample, .run = run});
  for (TermInfo& term : fixture.info->variants[0].terms) term.counts_otherwise = true;
  return fixture;
}

TEST(Checks, HandATeacherOverInDoubleWhereTheModelIs) {
  FixtureModel model;
  std::set<at::ScalarType> types;
  Fixture fixture = WithTeacher(/*in_float=*/false, types);
  std::vector<std::string> not_judged;
  EXPECT_EQ(check::Gradients(*fixture.task, model, {.in_float = false, .not_judged = &not_judged}),
            check::Findings());
  EXPECT_EQ(not_judged, std::vector<std::string>());
  EXPECT_EQ(types, std::set<at::ScalarType>{at::kDouble});
  model.To(at::kCPU, at::kFloat);
  types.clear();
  const Batch rows = fixture.Rows(1, 2);
  DrawGradient(model, fixture, rows, Mode::kJoint);
  EXPECT_TRUE(types.count(at::kFloat) > 0) << "a run's own rows are as Sample made them";
}

TEST(Checks, SayThatAPassComputesInFloatAndLetItPass) {
  FixtureModel model;
  std::set<at::ScalarType> types;
  Fixture fixture = WithTeacher(/*in_float=*/true, types);
  std::vector<std::string> not_judged;
  EXPECT_EQ(check::Gradients(*fixture.task, model, {.in_float = false, .not_judged = &not_judged}),
            check::Findings());
  ASSERT_EQ(not_judged.size(), 1U);
  EXPECT_TRUE(Says(not_judged[0], {"something in the pass computes in float; the rest agrees"}));
}

TEST(Checks, FindNothingBetweenGradientsThatAreBothZero) {
  const check::Gradient none = {at::zeros({3})}, some = {at::ones({3})};
  EXPECT_EQ(check::Distance(none, none), 0);
  EXPECT_EQ(check::Distance(some, some), 0);
  EXPECT_FALSE(check::Distance(some, none) <= 1);
}

// In three modes, of which two-stage alone is legal beside joint.
TEST(Checks, MeasureTheFootprintOfATaskWithACarry) {
  FixtureModel model;
  Fixture canvas = Canvas();
  EXPECT_EQ(check::Footprint(*canvas.task, model), check::Findings());
}

class FailsInAModel : public FixtureModel {
 public:
  ModelOutputs Forward(const ModelInputs&, const WantedOutputs&, ForwardContext&) const override {
    at::mm(at::ones({2, 3}), at::ones({2, 3}));
    return {};
  }
};

TEST(Checks, WhatThrowsIsAFinding) {
  FailsInAModel model;
  Fixture fixture = Qa("qa", 1);
  EXPECT_TRUE(Has(check::Contract(*fixture.task, model), "cannot be multiplied"));
  EXPECT_TRUE(Has(check::Gradients(*fixture.task, model), "cannot be multiplied"));
  EXPECT_TRUE(Has(check::Footprint(*fixture.task, model), "cannot be multiplied"));
}

// As dropout from libtorch's generator is.
TEST(Checks, FindRandomNumbersThatAreNobodys) {
  FixtureModel model;
  model.noise = 0.1;
  Fixture fixture = Qa("qa", 2);
  EXPECT_TRUE(Has(check::Contract(*fixture.task, model), "libtorch's own generator"));
  EXPECT_FALSE(check::Gradients(*fixture.task, model).empty());
}

class ScoredTask : public ScriptedTask {
 public:
  ScoredTask(Script script, double score) : ScriptedTask(std::move(script)), score_(score) {}
  Outcomes Evaluate(EvalContext&, const RowRange& rows) const override {
    Outcomes outcomes;
    for (std::int64_t row = 0; row < rows.count; ++row)
      outcomes.score.push_back(rows.Random(row).Uniform() < score_ ? 1 : score_ * 0);  // NaN stays NaN
    return outcomes;
  }

 private:
  double score_;
};

check::Findings ScoreOf(double share, std::optional<double> chance, bool higher_is_better = true) {
  TaskInfo info = QaInfo("qa", 2);
  info.score = {.name = "right", .higher_is_better = higher_is_better, .chance = chance};
  Script script{.sample = [](const RowRange& rows) { return QaRows(rows, 2); }, .run = QaPass};
  LoadedTask task(info, info.variants.front(), "fixture", std::make_unique<ScoredTask>(script, share));
  return check::Score(task, FixtureModel());
}

TEST(Checks, FindAScoreThatNothingExplains) {
  EXPECT_EQ(ScoreOf(0.25, 0.25), check::Findings());
  EXPECT_EQ(ScoreOf(0, 0.25), check::Findings()) << "nonsense is no answer";
  EXPECT_EQ(ScoreOf(1, std::nullopt), check::Findings());
  EXPECT_EQ(ScoreOf(1, 0.25, false), check::Findings());
  EXPECT_TRUE(
      Has(ScoreOf(0.6, 0.25), "models that have learned nothing score clearly above chance, the first 0."))
      << All(ScoreOf(0.6, 0.25));
  EXPECT_TRUE(Has(ScoreOf(0.2, 0.6, false), "chance is said to be 0.6"));
  EXPECT_FALSE(ScoreOf(std::numeric_limits<double>::quiet_NaN(), 0.25).empty());
}

// By the accident of one start all rows may be judged alike.
class RightByOneStart : public ScriptedTask {
 public:
  using ScriptedTask::ScriptedTask;
  Outcomes Evaluate(EvalContext&, const RowRange& rows) const override {
    const double share = evaluations_++ == 0 ? 0.9 : 0.25;
    Outcomes outcomes;
    for (std::int64_t row = 0; row < rows.count; ++row)
      outcomes.score.push_back(rows.Random(row).Uniform() < share ? 1 : 0);
    return outcomes;
  }

 private:
  mutable int evaluations_ = 0;
};

class FailsToEvaluate : public ScriptedTask {
 public:
  using ScriptedTask::ScriptedTask;
  Outcomes Evaluate(EvalContext&, const RowRange&) const override { throw std::runtime_error("no idea"); }
};

template <typename T>
check::Findings ScoreOfA(const Model& model) {
  TaskInfo info = QaInfo("qa", 2);
  info.score = {.name = "right", .higher_is_better = true, .chance = 0.25};
  Script script{.sample = [](const RowRange& rows) { return QaRows(rows, 2); }, .run = QaPass};
  LoadedTask task(info, info.variants.front(), "fixture", std::make_unique<T>(script));
  return check::Score(task, model);
}

TEST(Checks, ForgiveWhatOnlyOneStartDoesAndLeaveTheModelAsItWas) {
  const FixtureModel model;
  std::vector<at::Tensor> before;
  for (const Parameter& parameter : model.parameters()) before.push_back(parameter.tensor.detach().clone());
  EXPECT_EQ(ScoreOfA<RightByOneStart>(model), check::Findings());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(before[i].equal(model.parameters()[i].tensor));
}

TEST(Checks, FindAnEvaluationThatFails) {
  EXPECT_TRUE(Has(ScoreOfA<FailsToEvaluate>(FixtureModel()), "no idea"));
}

// One layer: it keeps its input's product and the ReLU's output.
class OneLayer : public FixtureModel {
 public:
  explicit OneLayer(std::int64_t kept) : kept_(kept) {}
  std::vector<ForwardPart> Footprint(const ForwardShape& shape) const override {
    return {{.kept = shape.rows * kHidden * 8 * kept_, .parameters = "words"}};
  }
  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs&, ForwardContext&) const override {
    const at::Tensor hidden = at::mm(inputs[0].tensor, parameters()[2].tensor);
    return {{"y", at::tanh(hidden) * hidden}};
  }

 private:
  std::int64_t kept_;
};

TEST(Checks, FindAFootprintThatIsBelowOrFarAboveWhatIsCounted) {
  ASSERT_TRUE(kInstalled);
  const ModelInputs inputs{{"tokens", Numbers("tokens", {50, kWords}, 1), ""}};
  const ForwardShape shape{.rows = 50};
  const auto find = [&](std::int64_t kept) { return check::Footprint(OneLayer(kept), inputs, {"y"}, shape); };
  EXPECT_EQ(find(3), check::Findings()) << All(find(3));
  EXPECT_TRUE(Has(find(2), "holds 5600 bytes, counted were 8400")) << All(find(2));
  EXPECT_TRUE(Has(find(2), "peaks at 5600 bytes"));
  EXPECT_TRUE(Has(find(4), "holds 11200 bytes"));
}

TEST(Checks, ReportsWithTheExitCodeOfATest) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(check::Report({}), 0);
  EXPECT_EQ(check::Report({"one", "two"}), 1);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "one\ntwo\n");
}

}  // namespace
}  // namespace medley
