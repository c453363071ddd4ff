#include <medley/task/drivers/classify_task.h>

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <medley/task/losses.h>

#include "tests/tasks/task_testing.h"

namespace medley {
namespace {

using tasks::GameContext;

// Of class r mod 4; `drop`: so many inputs too few.
class Fours final : public ClassifyTask {
 public:
  static constexpr TaskSpec kSpec =
      ClassifySpec("fours", "", {.inputs = {"picture", "number"}, .classes = 4, .output = "scores"});
  explicit Fours(const TaskContext& context, std::size_t drop = 0)
      : ClassifyTask(context, kSpec), drop_(drop) {}

 private:
  Classified Draw(Row& row) const override {
    const auto label = row.number % 4;
    std::vector<at::Tensor> inputs{at::full({3, 8, 8}, 255, at::kByte),
                                   at::full({}, static_cast<double>(label), at::kFloat)};
    inputs.resize(inputs.size() - drop_);
    return {inputs, label};
  }
  std::map<std::string, double> Marks(std::int64_t said, std::int64_t right) const override {
    return {{"both low", said < 2 && right < 2 ? 1.0 : 0.0}};
  }
  std::string NameOf(std::int64_t label) const override { return "class " + std::to_string(label); }

  std::size_t drop_;
};

// A model that takes every number for its class, but 3 for 0.
class ThreeIsZero final : public EvalPass {
 public:
  explicit ThreeIsZero(Batch batch) : batch_(std::move(batch)) {}
  const Batch& batch() const override { return batch_; }
  at::Tensor Constant(std::string_view) override { return {}; }
  at::Tensor Pixels(std::string_view column) override { return batch_.Picture(column, at::kFloat); }
  ModelInput Image(std::string_view) override { return {}; }
  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted) override {
    picture = InputNamed(inputs, "picture");
    const at::Tensor said = InputNamed(inputs, "number").to(at::kLong).remainder(3);
    const at::Tensor logits = at::zeros({said.size(0), 4}).scatter_(1, said.unsqueeze(1), 5.0);
    return {{std::string(wanted.at(0)), logits}};
  }
  void Carry(std::string_view, at::Tensor) override {}
  at::Tensor Carried(std::string_view) override { return {}; }
  Generated Generate(const ModelInputs&, const GenerateOptions&) override { return {}; }

  at::Tensor picture;

 private:
  Batch batch_;
};

class Pieces final : public EvalContext {
 public:
  explicit Pieces(const Task& task) : task_(task) {}
  void ForEachPiece(const RowRange& rows, const std::function<void(EvalPass&)>& fn) override {
    for (std::int64_t from = 0; from < rows.count; from += 5) {
      ThreeIsZero piece(task_.Sample(rows.Part(from, std::min<std::int64_t>(5, rows.count - from))));
      fn(piece);
    }
  }

 private:
  const Task& task_;
};

TaskContext Context(double smoothing) {
  static const std::vector<std::string> kLines{"a line"};
  static const WordTokenizer kWords(kLines);
  return GameContext(kWords, kLines, {{"label_smoothing", smoothing}});
}

TEST(ClassifyTask, LossIsTheSumOverRowsSmoothedAsTheOptionSays) {
  for (const double smoothing : {0.0, 0.2}) {
    const Fours task(Context(smoothing));
    ThreeIsZero pass(task.Sample({1, 0, 8}));
    const at::Tensor loss = task.Run("look", pass).at("class");
    const at::Tensor labels = pass.batch().Column("label");
    const at::Tensor logits =
        pass.Forward({{"picture", pass.picture, ""}, {"number", labels.to(at::kFloat), ""}}, {"x"})["x"];
    const at::Tensor log_p = logits.log_softmax(1);
    const at::Tensor right = log_p.gather(1, labels.unsqueeze(1)).sum(), all = log_p.mean(1).sum();
    EXPECT_NEAR(loss.item<double>(), -((1 - smoothing) * right + smoothing * all).item<double>(), 1e-5);
    EXPECT_EQ(pass.batch().ItemCount("class"), 8);
    EXPECT_TRUE(pass.picture.eq(1).all().item<bool>()) << "bytes are a picture in [0, 1]";
  }
}

TEST(ClassifyTask, ScoresEachRowNamesClassesAndShowsWhatItShows) {
  const Fours task(Context(0));
  Pieces context(task);
  const Outcomes outcomes = task.Evaluate(context, {1, 0, 10});
  EXPECT_EQ(outcomes.score, (std::vector<double>{1, 1, 1, 0, 1, 1, 1, 0, 1, 1}));
  EXPECT_EQ(outcomes.trivial.at("most frequent class"), (std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(outcomes.figures.at("both low").rows, (std::vector<double>{1, 1, 0, 0, 1, 1, 0, 0, 1, 1}));
  ASSERT_EQ(outcomes.answers.size(), kSheetRows);
  EXPECT_EQ(outcomes.answers[3][0].reply, "class 0");
  EXPECT_EQ(outcomes.answers[3][0].right, "class 3");
  EXPECT_FALSE(outcomes.answers[3][0].is_right);
  EXPECT_EQ(outcomes.input.sizes(), at::IntArrayRef({kSheetRows, 3, 8, 8}));
}

TEST(ClassifyTask, ARowWithTooFewInputsIsRefusedByItsNumber) {
  const Fours task(Context(0), 1);
  try {
    task.Sample({1, 7, 2});
    FAIL() << "an input is missing";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "row 7 has 1 inputs, the spec 2");
  }
}

}  // namespace
}  // namespace medley
