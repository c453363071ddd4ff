// Runs with adapters, as a user has them: trained, resumed, taken by other runs.
#include <gtest/gtest.h>

#include "tests/session/session_runs.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::CommandResult;
using test::Ended;
using test::Has;
using test::Medley;
using test::Shell;

class AdapterRuns : public ::testing::Test {
 protected:
  Ended Train(const std::string& run, const std::string& more) const {
    return test::TrainToTheEnd(
        test::RequestOf("control.json",
                        "threads=1 plan=false hours=0 steps=4 checkpoint.every=2 tasks.control.rows=2 "
                        "optimizer.warmup_steps=0 optimizer.decay_fraction=0 " +
                            more),
        scratch_ / run);
  }
  std::string From(const std::string& run) const {
    return "init_from.run=" + (scratch_ / run).string() + " ";
  }
  Ended Resume(const std::string& run, const std::string& more = "") const {
    return test::ResumeToTheEnd(scratch_ / run, more);
  }
  std::string Digest(const std::string& run) const {
    const fs::path newest = ListCheckpoints(scratch_ / run).at(0).path;
    return newest.filename().string() + HashFile(newest / "model.safetensors") +
           HashFile(newest / "optim.safetensors") + ReadText(scratch_ / run / "metrics.jsonl");
  }

  static constexpr const char* kLora = "lora.rank=2 lora.dropout=0.1 lora.tokens=[40] ";
  ScratchDirectory scratch_;
};

// Which are tried for adapters alone.
TEST_F(AdapterRuns, PredictByTheirLastStepAndGoOn) {
  const std::string more =
      std::string(kLora) +
      "steps=40 checkpoint.every=8 checkpoint.keep=5 optimizer.average=0.9 "
      "phases.warmup_steps=4 phases.full_steps=8 phases.correct_steps=2 phases.allowance=0.9";
  const Ended whole = Train("whole", more);
  ASSERT_EQ(whole.code, ExitCode::kDone) << whole.out;
  const std::string metrics = ReadText(scratch_ / "whole/metrics.jsonl");
  EXPECT_TRUE(Has(metrics, "\"direction\":\"last_step\"")) << metrics;
  const std::string end = Digest("whole");
  for (const char* later : {"step-00000040", "step-00000032", "step-00000024"})
    fs::remove_all(scratch_ / "whole" / later);
  const Ended resumed = Resume("whole");
  EXPECT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
  EXPECT_EQ(Digest("whole"), end);
}

TEST_F(AdapterRuns, GoOnAtEveryCheckpointAndAreTakenByRunsWithAndWithout) {
  ASSERT_EQ(Train("base", "").code, ExitCode::kDone);
  const Ended adapted = Train("adapted", From("base") + kLora);
  ASSERT_EQ(adapted.code, ExitCode::kDone) << adapted.out;
  EXPECT_TRUE(Has(adapted.out, "; the adapters begin anew")) << adapted.out;
  const json first = json::parse(ReadText(scratch_ / "adapted/step-00000004/state.json"));
  EXPECT_EQ(first.at("/adapters/state/rank"_json_pointer), 2);
  EXPECT_EQ(first.at("/adapters/state/tokens"_json_pointer), json({40}));

  const std::string whole = Digest("adapted");
  fs::remove_all(scratch_ / "adapted/step-00000004");
  const Ended resumed = Resume("adapted");
  EXPECT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
  EXPECT_EQ(Digest("adapted"), whole);
  const Ended other = Resume("adapted", "lora.alpha=8 steps=5");
  EXPECT_EQ(other.code, ExitCode::kBadInput);
  EXPECT_TRUE(Has(other.out, "cannot change lora.alpha: 16.0 -> 8.0")) << other.out;

  const Ended both = Train("both", From("adapted") + kLora);
  EXPECT_EQ(both.code, ExitCode::kDone) << both.out;
  const Ended differs = Train("differs", From("adapted") + "lora.rank=3");
  EXPECT_EQ(differs.code, ExitCode::kBadInput);
  EXPECT_TRUE(Has(differs.out, "have rank 2") || Has(differs.out, "rank 2, ")) << differs.out;
  EXPECT_TRUE(Has(differs.out, "rank 3, ")) << differs.out;
  const Ended merged = Train("merged", From("adapted"));
  EXPECT_EQ(merged.code, ExitCode::kDone) << merged.out;
  EXPECT_TRUE(Has(merged.out, "; merged its adapters into them")) << merged.out;

  const CommandResult scores = Shell(Medley() + "eval " + (scratch_ / "adapted").string() + " --rows 2 2>&1");
  EXPECT_EQ(scores.code, 0) << scores.out;
}

TEST_F(AdapterRuns, AreRefusedBeforeAnythingIsMadeWhereTheyCannotBe) {
  for (const auto& [lora, words] :
       {std::pair{"lora.rank=0", "lora.rank: expected an integer of at least 1"},
        {"lora.rank=65",
         "lora.rank: expected at most 64, the smaller side of model.layers.0.self_attn.q_proj"},
        {"lora.rank=33", "the smaller side of model.layers.0.self_attn.k_proj"},
        {"lora.rank=2 lora.targets=[\"qproj\"]", "'qproj' is no linear map of the model's language; it has"},
        {"lora.rank=2 lora.tokens=[70000]", "lora.tokens: expected ids below"},
        {"lora.pretrained=nowhere", "lora.pretrained: "}}) {
    const Ended refused = Train("refused", lora);
    EXPECT_EQ(refused.code, ExitCode::kBadInput) << refused.out;
    EXPECT_TRUE(Has(refused.out, words)) << refused.out;
    EXPECT_FALSE(fs::exists(scratch_ / "refused"));
  }
}

}  // namespace
}  // namespace medley
