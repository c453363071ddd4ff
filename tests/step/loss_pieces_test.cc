// Steps whose losses are made piece by piece have the gradients of those whose logits are all there at once.

#include <gtest/gtest.h>
#include <medley/testing/checks.h>

#include <string>
#include <vector>

#include "tests/step/agent_fixture.h"
#include "tests/sweep.h"

namespace medley {
namespace {

using namespace testing_fixture;

struct Cut {
  TaskVariant what;
  LoraConfig lora{};
};
std::ostream& operator<<(std::ostream& out, const Cut& c) {
  return out << c.what << ", rank " << c.lora.rank;
}

std::vector<Cut> AllCuts() {
  std::vector<Cut> all;
  const LoraConfig lora{.rank = 2, .alpha = 8, .targets = {.names = {"q_proj", "v_proj"}}, .tokens = {9, 12}};
  for (const TaskVariant& what : {TaskVariant{"control", "default"}, TaskVariant{"position_qa", "default"},
                                  TaskVariant{"position_qa", "fused"}, TaskVariant{"comparison", "default"},
                                  TaskVariant{"mem_canvas", "default"}}) {
    all.push_back({what}), all.push_back({what, lora});
  }
  return all;
}

class CutLossesOf : public ::testing::TestWithParam<Cut> {
 protected:
  static constexpr std::int64_t kFew = 3;  // items that there is room for
  AgentWithTask whole_{GetParam().what, 0, at::kDouble, false, GetParam().lora};
  AgentWithTask cut_{GetParam().what, 0, at::kDouble, false, GetParam().lora, kFew};
};

TEST_P(CutLossesOf, GiveEveryModeTheGradientOfWholeLogits) {
  const Batch rows = whole_.Rows(0, 4);
  const Gradient expected = whole_.GradientOf(rows, {.way = {Mode::kJoint}});
  for (const Mode mode : LegalModes(whole_.task.variant())) {
    for (const int every : {0, 1}) {
      for (const std::int64_t micro_rows : {0, 1}) {
        const Execution plan{.way = {mode, every}, .micro_rows = micro_rows};
        EXPECT_LT(check::Distance(cut_.GradientOf(rows, plan), expected), 1e-12)
            << ModeName(mode) << ", recompute " << every << ", micro rows " << micro_rows;
      }
    }
  }
}

// Terms of unlike weights, and a step of several draws.
TEST_P(CutLossesOf, OfUnlikeWeightsAddUpOverDraws) {
  const Batch first = whole_.Rows(0, 2), second = whole_.Rows(2, 3);
  Execution plan{.way = {Mode::kJoint}};
  double weight = 0.3;
  for (const TermInfo& term : whole_.task.variant().terms) plan.term_weights[term.name] = weight *= 1.7;
  const auto gradient = [&](AgentWithTask& loaded) {
    loaded.executor.Run({{.task = &loaded.task, .batch = &first, .execution = &plan},
                         {.task = &loaded.task, .batch = &second, .execution = &plan}});
    return TakeGradient(*loaded.model);
  };
  EXPECT_LT(check::Distance(gradient(cut_), gradient(whole_)), 1e-12);
}

TEST_P(CutLossesOf, PassTheCheckOfATask) {
  EXPECT_EQ(check::Contract(cut_.task, *cut_.model), check::Findings());
}

INSTANTIATE_TEST_SUITE_P(Tasks, CutLossesOf, ::testing::ValuesIn(test::Slice("CutLossesOf", AllCuts(), 3)),
                         [](const auto& info) {
                           return NameOf(info.param.what) + (info.param.lora.rank > 0 ? "_lora" : "");
                         });

// An agent as a custom model may be that gives logits alone.
class LogitsAlone final : public Model {
 public:
  explicit LogitsAlone(const Model& model) : Model(Spec(model)), model_(model) {}

  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted,
                       ForwardContext& context) const override {
    for (const std::string_view output : wanted) EXPECT_NE(output, "losses");
    return model_.Forward(inputs, wanted, context);
  }
  const std::vector<Parameter>& parameters() const override { return model_.parameters(); }
  std::int64_t vocabulary() const override { return model_.vocabulary(); }
  void To(at::Device, at::ScalarType) override {}

 private:
  static const ModelSpec& Spec(const Model& model) {
    static ModelSpec spec;
    spec = model.spec();
    spec.outputs = {};
    for (const TensorSpec& output : model.spec().outputs) {
      if (output.name != "losses") spec.outputs.Add(output);
    }
    return spec;
  }

  const Model& model_;
};

// Where the agent's own would be cut, so that the two are made in other ways.
TEST(LossesOfAModelThatGivesLogitsAlone, AreMadeOfThemWithTheSameGradient) {
  for (const TaskVariant& what :
       {TaskVariant{"position_qa", "default"}, TaskVariant{"position_qa", "fused"}}) {
    AgentWithTask agent(what, 0, at::kDouble, false, {}, /*loss_items=*/3);
    const LogitsAlone alone(*agent.model);
    StepExecutor executor(alone, at::kCPU);
    const Batch rows = agent.Rows(0, 4);
    for (const Mode mode : LegalModes(agent.task.variant())) {
      const Execution plan{.way = {mode, 1}, .micro_rows = 3};
      executor.Run({{.task = &agent.task, .batch = &rows, .execution = &plan}});
      const Gradient made = TakeGradient(alone);
      EXPECT_LT(check::Distance(made, agent.GradientOf(rows, plan)), 1e-12) << ModeName(mode);
    }
  }
}

}  // namespace
}  // namespace medley
