// The driver of preferences, with rows of its own.
#include <medley/task/drivers/preference_task.h>

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/tasks/texts/talk_testing.h"

namespace medley::tasks {
namespace {

class Preferred final : public PreferenceTask {
 public:
  static constexpr TaskSpec kSpec = PreferenceSpec("preferred", "", {.text_width = 64});
  Preferred(const TaskContext& context, std::vector<Preference> rows)
      : PreferenceTask(context), rows_(std::move(rows)) {}

 private:
  Preference Draw(Row& row) const override {
    return rows_[static_cast<std::size_t>(row.number) % rows_.size()];
  }
  std::vector<Preference> rows_;
};

const std::vector<Preference> kPairs = {{{{"user", "a"}}, "bcd", "x"},
                                        {{{"user", "a longer question"}}, "x", "yes and no"},
                                        {{{"user", "p"}, {"assistant", "q", true}, {"user", "r"}}, "s", "t"},
                                        {{{"system", "s"}, {"user", "u"}}, "one <eos>", "one"},
                                        {{{"user", ""}}, " ", "  "}};
constexpr double kModel = 0.5, kStart = 0.25;

Preferred MakePreferred(const std::string& variant, const OptionValues& changed = {},
                        std::vector<Preference> rows = kPairs) {
  return {TalkContext(TalkOptions(Preferred::kSpec, changed), variant), std::move(rows)};
}

Sums RunAll(const Task& task, const Batch& rows, const std::string& variant) {
  Carries carries;
  Sums all;
  for (const char* pass : {"ref_chosen", "ref_rejected", "chosen", "rejected"}) {
    const bool is_reference = std::string(pass).starts_with("ref_");
    if (is_reference && variant != "default") continue;
    TalkPass context(rows, is_reference ? kStart : kModel, 0, carries);
    all.merge(task.Run(pass, context));
  }
  return all;
}

// A reply's log-probability, summed over it and its end, and how many tokens these are.
struct ByHand {
  double sum = 0, items = 0;
  double mean() const { return sum / items; }
};
ByHand LogOf(const std::string& asked, const std::string& reply, double model) {
  std::vector<std::int64_t> ids = TalkBytes().Encode(asked);
  const std::size_t begin = ids.size();
  for (const std::int64_t id : TalkBytes().EncodeText(reply)) ids.push_back(id);
  ids.push_back(TalkBytes().eos());
  ByHand found;
  for (std::size_t place = begin; place < ids.size(); ++place, ++found.items)
    found.sum -= TalkLoss(ids[place - 1], ids[place], model);
  return found;
}

double LogSigmoid(double x) { return -std::log1p(std::exp(-x)); }
double LogOddsByHand(double log_p) { return log_p - std::log(1 - std::exp(log_p)); }

// What is in front of the replies of kPairs.
const std::vector<std::string> kAsked = {"user:a<eos>assistant:", "user:a longer question<eos>assistant:",
                                         "user:p<eos>assistant:q<eos>user:r<eos>assistant:",
                                         "system:s<eos>user:u<eos>assistant:", "user:<eos>assistant:"};

TEST(PreferenceTask, LossesOfFiveRowsAreThoseByHand) {
  for (const std::string variant : {"default", "orpo", "simpo"}) {
    double loss = 0, chosen = 0, margins = 0, right = 0;
    for (std::size_t row = 0; row < kPairs.size(); ++row) {
      const ByHand c = LogOf(kAsked[row], kPairs[row].chosen, kModel),
                   r = LogOf(kAsked[row], kPairs[row].rejected, kModel);
      double margin = 0;
      if (variant == "default") {
        margin = 0.1 * (c.sum - LogOf(kAsked[row], kPairs[row].chosen, kStart).sum -
                        (r.sum - LogOf(kAsked[row], kPairs[row].rejected, kStart).sum));
        loss -= LogSigmoid(margin);
      } else if (variant == "simpo") {
        margin = 2 * (c.mean() - r.mean());
        loss -= LogSigmoid(margin - 0.5);
      } else {
        margin = LogOddsByHand(c.mean()) - LogOddsByHand(r.mean());
        loss -= 0.1 * LogSigmoid(margin);
      }
      chosen -= c.sum;
      margins += margin;
      right += margin > 0 ? 1 : 0;
    }
    const Preferred task = MakePreferred(variant);
    const Sums sums = RunAll(task, task.Sample({1, 0, 5}), variant);
    EXPECT_NEAR(sums.at("preference").item<double>(), loss, 1e-12) << variant;
    EXPECT_NEAR(sums.at("chosen").item<double>(), chosen, 1e-10) << variant;
    EXPECT_NEAR(sums.at("margin").item<double>(), margins, 1e-10) << variant;
    EXPECT_EQ(sums.at("accuracy").item<double>(), right) << variant;
  }
}

TEST(PreferenceTask, BetaAndGammaAreTheOptions) {
  const OptionValues changed{{"beta", 0.7}, {"gamma", 1.25}};
  const ByHand c = LogOf(kAsked[0], kPairs[0].chosen, kModel),
               r = LogOf(kAsked[0], kPairs[0].rejected, kModel);
  const Preferred task = MakePreferred("simpo", changed);
  EXPECT_NEAR(RunAll(task, task.Sample({1, 0, 1}), "simpo").at("preference").item<double>(),
              -LogSigmoid(0.7 * (c.mean() - r.mean()) - 1.25), 1e-12);
}

// Two models that are one: nothing is preferred yet.
TEST(PreferenceTask, TheFirstLossIsTheLogarithmOfTwo) {
  const Preferred task = MakePreferred("default");
  const Batch rows = task.Sample({1, 0, 5});
  Carries carries;
  Sums all;
  for (const char* pass : {"ref_chosen", "ref_rejected", "chosen", "rejected"}) {
    TalkPass context(rows, kModel, 0, carries);
    all.merge(task.Run(pass, context));
  }
  EXPECT_NEAR(all.at("preference").item<double>(), 5 * std::log(2.0), 1e-12);
  EXPECT_EQ(all.at("accuracy").item<double>(), 2.5);
}

TEST(PreferenceTask, SumsOfARowAreThoseBesideAnyOther) {
  for (const std::string variant : {"default", "orpo", "simpo"}) {
    const Preferred task = MakePreferred(variant);
    const Batch batch = task.Sample({1, 0, 5});
    const auto sum_of = [&](const Batch& rows) {
      return RunAll(task, rows, variant).at("preference").item<double>();
    };
    for (std::int64_t row = 0; row < 5; ++row) {
      for (std::int64_t other = 0; other < 5; ++other)
        EXPECT_NEAR(sum_of(batch.Take({row, other})),
                    sum_of(batch.Slice(row, 1)) + sum_of(batch.Slice(other, 1)), 1e-12)
            << variant;
    }
  }
}

// A reply that is sure has finite odds and a finite gradient.
TEST(PreferenceTask, OddsOfASureReplyAreFinite) {
  class Sure final : public PassContext {
   public:
    explicit Sure(const Batch& batch) : batch_(batch.To(at::kCPU)) {}
    const Batch& batch() const override { return batch_; }
    at::Tensor Constant(std::string_view) override { return {}; }
    at::Tensor Pixels(std::string_view) override { return {}; }
    ModelInput Image(std::string_view) override { return {}; }
    ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs&) override {
      return {{"losses", at::zeros(inputs[2].tensor.sizes()).requires_grad_()}};
    }
    void Carry(std::string_view, at::Tensor value) override { chosen_ = std::move(value); }
    at::Tensor Carried(std::string_view) override { return chosen_; }

   private:
    Batch batch_;
    at::Tensor chosen_;
  };
  const Preferred task = MakePreferred("orpo");
  Sure context(task.Sample({1, 0, 2}));
  task.Run("chosen", context);
  const at::Tensor loss = task.Run("rejected", context).at("preference");
  EXPECT_TRUE(loss.isfinite().item<bool>());
  loss.backward();
}

std::string MistakeOfPair(Preference preference) {
  try {
    MakePreferred("default", {}, {std::move(preference)}).Sample({1, 20, 1});
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(PreferenceTask, RowsThatCannotBeTakenAreNamed) {
  EXPECT_EQ(MistakeOfPair({{{"user", "a"}}, "b", "b"}),
            "row 20: chosen and rejected are the same; expected two replies");
  EXPECT_EQ(MistakeOfPair({{{"user", "a"}}, "", "b"}), "row 20: chosen: expected words to learn, found none");
  EXPECT_EQ(MistakeOfPair({{{"user", "a"}}, "b", ""}),
            "row 20: rejected: expected words to learn, found none");
  EXPECT_EQ(MistakeOfPair({{}, "b", "c"}), "row 20: the prompt: expected a user's turn at its end");
  EXPECT_EQ(MistakeOfPair({{{"user", "a"}, {"system", "x"}, {"user", "b"}}, "b", "c"})
                .rfind("row 20: the prompt's turn 2: expected user or assistant", 0),
            0U);
  EXPECT_NE(MistakeOfPair({{{"user", "a"}}, std::string(80, 'x'), "c"}).find("text_width is 64"),
            std::string::npos);
}

TEST(PreferenceTask, BothRepliesStandBehindThePromptThatTheLongerOneLeavesRoomFor) {
  const Preference row{
      {{"user", std::string(20, 'a')}, {"assistant", "b"}, {"user", "c"}}, std::string(20, 'x'), "y"};
  const Preferred task = MakePreferred("default", {{"too_long", std::string("cut")}}, {row});
  const Batch batch = task.Sample({1, 0, 1});
  const auto text = [&](const char* column) {
    const at::Tensor ids = batch.Ragged(column).values;
    return TalkBytes().Decode(
        {ids.const_data_ptr<std::int64_t>(), ids.const_data_ptr<std::int64_t>() + ids.numel()});
  };
  EXPECT_EQ(text("rejected.tokens"), "user:c<eos>assistant:y<eos>");
  EXPECT_EQ(text("chosen.tokens"), "user:c<eos>assistant:" + std::string(20, 'x') + "<eos>");
}

TEST(PreferenceTask, ScoresWhichReplyIsPreferredAndShowsBoth) {
  for (const std::string variant : {"default", "orpo", "simpo"}) {
    const Preferred task = MakePreferred(variant);
    TalkEval context(task, kModel, kStart);
    const Outcomes outcomes = task.Evaluate(context, {1, 0, 5});
    ASSERT_EQ(outcomes.score.size(), 5U);
    ASSERT_EQ(outcomes.figures.at("margin").rows.size(), 5U);
    for (std::size_t row = 0; row < 5; ++row) {
      const Sums one = RunAll(task, task.Sample({1, static_cast<std::int64_t>(row), 1}), variant);
      EXPECT_EQ(outcomes.score[row], one.at("accuracy").item<double>()) << variant;
      EXPECT_NEAR(outcomes.figures.at("margin").rows[row], one.at("margin").item<double>(), 1e-12) << variant;
    }
    EXPECT_EQ(outcomes.trivial.at("the longer reply"), (std::vector<double>{1, 0, 0.5, 1, 0}));
    ASSERT_EQ(outcomes.answers.size(), 5U);
    EXPECT_EQ(outcomes.answers[0][0].question, "user: a\nchosen: bcd\nrejected: x");
    EXPECT_EQ(outcomes.answers[0][0].is_right, outcomes.score[0] == 1);
  }
}

}  // namespace
}  // namespace medley::tasks
