#include <medley/task/drivers/carry_task.h>

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/tasks/task_testing.h"
#include "tests/words.h"

namespace medley {
namespace {

using tasks::GameContext;

constexpr std::string_view kAsked[] = {"Look.", "Remember it."};
constexpr TextList kAskedList{"prompts", kAsked};

// Row r has r mod 3 items; the error of an item is its number.
class Marks final : public CarryTask {
 public:
  static constexpr TaskSpec kSpec =
      CarrySpec("marks", "", kAskedList,
                {{.name = "look", .weight = 0.5}, {.name = "again", .looks_at = "look", .most_items = 2}});
  explicit Marks(const TaskContext& context, std::int64_t too_many = 0)
      : CarryTask(context, kSpec, kAskedList), too_many_(too_many) {}

 private:
  std::vector<std::int64_t> Draw(Row& row, PictureBytes image, PictureBytes target) const override {
    image.Fill(kBlack);
    target.Fill(kWhite);
    std::vector<std::int64_t> items;
    for (std::int64_t i = 0; i < row.number % 3; ++i) items.push_back(row.number * 10 + i);
    return items;
  }
  at::Tensor Errors(std::string_view pass, const at::Tensor& drawn, PassContext& context) const override {
    if (pass == "look") return CarryTask::Errors(pass, drawn, context);
    const at::Tensor values = context.batch().Ragged("items").values.to(at::kFloat);
    return too_many_ > 0 ? at::full({too_many_}, 1.0) : values;
  }

  std::int64_t too_many_;
};

// Each pass draws in grey what it was handed, a quarter lighter.
class Lighter final : public EvalPass {
 public:
  explicit Lighter(Batch batch) : batch_(std::move(batch)), images_(batch_, at::kFloat) {}
  const Batch& batch() const override { return batch_; }
  at::Tensor Constant(std::string_view) override { return at::zeros({2, kAskedList.Width()}, at::kLong); }
  at::Tensor Pixels(std::string_view column) override { return images_.Pixels(column); }
  ModelInput Image(std::string_view name) override { return images_.Image(name); }
  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted) override {
    EXPECT_EQ(wanted.size(), 1U);  // the picture, or of a pass before the last the drawing
    return {{std::string(wanted.at(0)), InputNamed(inputs, "images").add(0.25)}};
  }
  void Carry(std::string_view name, at::Tensor value) override { images_.Carry(name, std::move(value)); }
  at::Tensor Carried(std::string_view name) override { return images_.Carried(name); }
  Generated Generate(const ModelInputs&, const GenerateOptions&) override { return {}; }

 private:
  Batch batch_;
  PassImages images_;
};

class LighterPieces final : public EvalContext {
 public:
  explicit LighterPieces(const Task& task) : task_(task) {}
  void ForEachPiece(const RowRange& rows, const std::function<void(EvalPass&)>& fn) override {
    for (std::int64_t from = 0; from < rows.count; from += 4) {
      Lighter piece(task_.Sample(rows.Part(from, std::min<std::int64_t>(4, rows.count - from))));
      fn(piece);
    }
  }

 private:
  const Task& task_;
};

TaskContext ContextOfMarks() {
  static const std::vector<std::string> kLines{"Look. Remember it."};
  static const WordTokenizer kWords(kLines);
  return GameContext(kWords, kLines, {}, "default", 8);
}

TEST(CarrySpec, APassThatAnotherLooksAtCarriesWhatItDraws) {
  ASSERT_EQ(Marks::kSpec.passes.size(), 2U);
  EXPECT_EQ(Marks::kSpec.passes[0].images[0], "image");
  EXPECT_EQ(Marks::kSpec.passes[0].carries[0], "look");
  EXPECT_EQ(Marks::kSpec.passes[1].images[0], "look");
  EXPECT_TRUE(Marks::kSpec.passes[1].carries.empty());
  EXPECT_EQ(Marks::kSpec.terms[0].weight, 0.5);
  EXPECT_EQ(Marks::kSpec.terms[1].max_items, 2);
}

TEST(CarryTask, RowsCountTheItemsThatTheyHaveAndLossesAreSums) {
  const Marks task(ContextOfMarks());
  Lighter pass(task.Sample({1, 0, 6}));
  EXPECT_EQ(pass.batch().ItemCount("look"), 6);
  EXPECT_EQ(pass.batch().ItemCount("again"), 6);  // 0 1 2 0 1 2
  // Black is drawn as a quarter.
  EXPECT_NEAR(task.Run("look", pass).at("look").item<double>(), 6 * 0.0625, 1e-6);
  EXPECT_TRUE(pass.Carried("look").eq(0.25).all().item<bool>());
  EXPECT_EQ(task.Run("again", pass).at("again").item<double>(), 10 + 20 + 21 + 40 + 50 + 51);
}

TEST(CarryTask, ScoresTheLastPassByTheMeanOfARowsItems) {
  const Marks task(ContextOfMarks());
  LighterPieces context(task);
  const Outcomes outcomes = task.Evaluate(context, {1, 0, 6});
  ASSERT_EQ(outcomes.score.size(), 6U);
  EXPECT_TRUE(std::isnan(outcomes.score[0]) && std::isnan(outcomes.score[3])) << "they have no item";
  EXPECT_EQ(outcomes.score[1], 10);
  EXPECT_EQ(outcomes.score[2], 20.5);
  EXPECT_EQ(outcomes.score[5], 50.5);
  EXPECT_EQ(outcomes.figures.at("error of look").rows, std::vector<double>(6, 0.0625));
  EXPECT_EQ(outcomes.trivial.at("a white picture").at(1), 10);
  EXPECT_EQ(outcomes.trivial.count("mean target"), 1U);
  EXPECT_EQ(outcomes.output.sizes(), at::IntArrayRef({6, 3, 8, 8}));
  EXPECT_TRUE(outcomes.output.eq(128).all().item<bool>()) << "the carried picture, lighter once more";
}

// The defaults: other passes draw what was seen, the last one what is to come.
class Plain final : public CarryTask {
 public:
  static constexpr TaskSpec kSpec =
      CarrySpec("plain", "", kAskedList, {{.name = "look"}, {.name = "again", .looks_at = "look"}});
  explicit Plain(const TaskContext& context, const TaskSpec& spec = kSpec)
      : CarryTask(context, spec, kAskedList) {}

 private:
  std::vector<std::int64_t> Draw(Row&, PictureBytes image, PictureBytes) const override {
    image.Fill(kBlack);
    return {};
  }
};

TEST(CarryTask, WithoutItemsTheLastPassIsHeldAgainstTheTarget) {
  const Plain task(ContextOfMarks());
  Lighter pass(task.Sample({1, 0, 2}));
  EXPECT_NEAR(task.Run("look", pass).at("look").item<double>(), 2 * 0.0625, 1e-6);
  EXPECT_NEAR(task.Run("again", pass).at("again").item<double>(), 2 * 0.25, 1e-6);
}

TEST(CarryTask, MistakesAreTold) {
  const Marks task(ContextOfMarks(), 5);
  Lighter pass(task.Sample({1, 0, 3}));
  task.Run("look", pass);
  EXPECT_EQ(test::MessageOf([&] { task.Run("again", pass); }),
            "Errors of the pass 'again' gave the shape [5]; expected [3], an error for each item");
  TaskSpec later = Plain::kSpec;
  later.passes = {Plain::kSpec.passes[1], Plain::kSpec.passes[0]};
  EXPECT_EQ(test::MessageOf([&] { Plain(ContextOfMarks(), later); }),
            "pass 'again' looks at 'look'; expected \"image\" or the name of a pass before it");
}

}  // namespace
}  // namespace medley
