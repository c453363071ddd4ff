// Checkpoints with and without adapters, taken by models with and without.

#include <gtest/gtest.h>
#include <medley/base/error.h>
#include <medley/checkpoint/adapters_section.h>
#include <medley/checkpoint/checkpoint.h>
#include <medley/checkpoint/load_weights.h>
#include <medley/model/parameter_names.h>

#include <memory>
#include <string>

#include "tests/model/agent_fixture.h"
#include "tests/report/scratch_directory.h"

namespace medley {
namespace {

const test::LetterTokenizer kTokenizer;

LoraConfig Lora() {
  LoraConfig lora{.rank = 2, .alpha = 6, .targets = {.names = {"q_proj", "up_proj"}}};
  lora.tokens = {40};
  return lora;
}

// An agent whose weights all matter.
struct Subject {
  explicit Subject(const LoraConfig& lora, std::uint64_t seed = 7)
      : adapters(AdaptersOf(lora, &kTokenizer)),
        agent(test::SmallConfig(), kTokenizer, seed, at::kCPU, nullptr, adapters) {
    const at::NoGradGuard no_grad;
    for (const Parameter& parameter : parameters()) {
      if (IsAdapter(parameter.name)) parameter.tensor.detach().normal_(0, 0.3);
    }
  }
  const std::vector<Parameter>& parameters() const { return std::as_const(agent).parameters(); }
  at::Tensor Logits() const { return test::Logits(agent, test::RandomExample(2, 1, 9, 5, at::kFloat)); }
  TrainingState State() const {
    TrainingState state{parameters(), {}, {}};
    if (adapters.any()) state.sections.push_back(AdaptersSection(adapters));
    return state;
  }

  Adapters adapters;
  Agent agent;
};

class AdaptersIn : public ::testing::Test {
 protected:
  void Save(const Subject& subject) {
    SaveCheckpoint(scratch_.path(), subject.State(),
                   {.step = 3, .logs = {}, .evaluated = {}, .config_hash = "x"});
  }
  TakenWeights LoadInto(const Subject& subject, const std::vector<std::string>& patterns = {"*"}) {
    return LoadWeights(checkpoint_, subject.parameters(), patterns, subject.adapters);
  }
  std::string Refusal(const LoraConfig& lora) {
    try {
      LoadInto(Subject(lora));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  ScratchDirectory scratch_;
  std::filesystem::path checkpoint_ = scratch_ / "step-00000003";
};

TEST_F(AdaptersIn, NeitherTakesWeights) {
  const Subject saved({}), loaded({}, 8);
  Save(saved);
  EXPECT_EQ(LoadInto(loaded).adapters, "");
  EXPECT_TRUE(at::equal(saved.Logits(), loaded.Logits()));
}

TEST_F(AdaptersIn, TheModelAloneBeginThereAsTheyAre) {
  const Subject saved({}), loaded(Lora(), 8);
  Save(saved);
  const at::Tensor a = TensorNamed(loaded.parameters(), "model.layers.0.self_attn.q_proj.lora_A.weight");
  const at::Tensor before = a.detach().clone();
  const TakenWeights taken = LoadInto(loaded);
  EXPECT_EQ(taken.count, saved.parameters().size());
  EXPECT_EQ(taken.adapters, "the adapters begin anew");
  EXPECT_TRUE(at::equal(a, before));
  EXPECT_TRUE(at::equal(TensorNamed(loaded.parameters(), "model.norm.weight"),
                        TensorNamed(saved.parameters(), "model.norm.weight")));
}

TEST_F(AdaptersIn, BothAreTaken) {
  const Subject saved(Lora()), loaded(Lora(), 8);
  Save(saved);
  const TakenWeights taken = LoadInto(loaded);
  EXPECT_EQ(taken.count, loaded.parameters().size());
  EXPECT_EQ(taken.adapters, "");
  EXPECT_TRUE(at::equal(saved.Logits(), loaded.Logits()));
}

TEST_F(AdaptersIn, TheCheckpointAloneAreMergedFromIt) {
  const Subject saved(Lora()), loaded({}, 8);
  Save(saved);
  const TakenWeights taken = LoadInto(loaded);
  EXPECT_EQ(taken.count, loaded.parameters().size());
  EXPECT_EQ(taken.adapters, "merged its adapters into them");
  EXPECT_LT(test::LargestDifference(saved.Logits(), loaded.Logits()), 1e-5);
  // A part of them too.
  const Subject part({}, 8);
  LoadInto(part, {"model.layers.0.self_attn.q_proj.weight"});
  EXPECT_TRUE(at::equal(TensorNamed(part.parameters(), "model.layers.0.self_attn.q_proj.weight"),
                        TensorNamed(loaded.parameters(), "model.layers.0.self_attn.q_proj.weight")));
}

TEST_F(AdaptersIn, BothThatAreOthersAreRefusedAndBothNamed) {
  Save(Subject(Lora()));
  EXPECT_EQ(Refusal(Lora()), "");
  LoraConfig rank = Lora(), alpha = Lora(), scale = Lora(), targets = Lora(), tokens = Lora();
  rank.rank = 3;
  alpha.alpha = 5;
  scale.rslora = true;
  targets.targets.names = {"q_proj"};
  tokens.tokens = {41};
  const std::string text = Refusal(rank);
  EXPECT_NE(text.find("rank 2, "), std::string::npos) << text;
  EXPECT_NE(text.find("rank 3, "), std::string::npos) << text;
  for (const LoraConfig& other : {alpha, scale, targets, tokens})
    EXPECT_NE(Refusal(other).find("the adapters of "), std::string::npos);
}

TEST_F(AdaptersIn, TargetsInAnotherOrderAreTheSame) {
  Save(Subject(Lora()));
  LoraConfig other = Lora();
  other.targets.names = {"up_proj", "q_proj"};
  EXPECT_EQ(Refusal(other), "");
}

TEST_F(AdaptersIn, OthersDoNotMatterWhereNoneIsTaken) {
  Save(Subject(Lora()));
  LoraConfig other = Lora();
  other.rank = 3;
  const TakenWeights taken = LoadInto(Subject(other, 8), {"model.norm.weight"});
  EXPECT_EQ(taken.count, 1U);
  EXPECT_EQ(taken.adapters, "");
  EXPECT_EQ(LoadInto(Subject({}, 8), {"model.norm.weight"}).adapters, "");
}

TEST_F(AdaptersIn, NothingButAdaptersOfARunWithoutIsRefused) {
  Save(Subject({}));
  EXPECT_THROW(LoadInto(Subject(Lora(), 8), {"*.lora_?.weight"}), InputError);
}

TEST_F(AdaptersIn, AResumeComparesThem) {
  Save(Subject(Lora()));
  LoadCheckpoint(checkpoint_, Subject(Lora(), 8).State());
  LoraConfig other = Lora();
  other.alpha = 5;
  EXPECT_THROW(LoadCheckpoint(checkpoint_, Subject(other, 8).State()), Error);
  EXPECT_THROW(LoadCheckpoint(checkpoint_, Subject({}, 8).State()), Error);
}

}  // namespace
}  // namespace medley
