// medley eval of runs in which something is wrong.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/tools/small_runs.h"
#include "tests/tools/trouble_run.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::Has;
using test::Medley;
using test::Shell;
using test::TroubleRun;

CommandResult Eval(const TroubleRun& trouble, const std::string& more = "") {
  return Shell(Medley() + "eval " + trouble.run().string() + " --rows 4 " + more + " 2>&1");
}

TEST(EvalCommand, ATaskThatTheRunDroppedIsNamedAndLeftOut) {
  const TroubleRun trouble;
  ASSERT_EQ(
      Shell(trouble.Train(
                "steps=6 on_task_error=drop tasks.trouble.options.fails_at=2 tasks.trouble.options.scores=2"))
          .code,
      3);
  const CommandResult scored = Eval(trouble);
  EXPECT_EQ(scored.code, 0) << scored.out;
  EXPECT_TRUE(Has(scored.out, "left out: trouble, which the run dropped (")) << scored.out;
  EXPECT_TRUE(Has(scored.out, "these rows are meant to fail")) << scored.out;
  EXPECT_EQ(trouble.Json("eval.json").at("tasks").size(), 1u);

  const CommandResult all = Eval(trouble, "--all");
  EXPECT_EQ(all.code, 3) << all.out;
  EXPECT_TRUE(Has(all.out, "failed: trouble (")) << all.out;
  EXPECT_TRUE(Has(all.out, "\ncontrol ")) << "the table is there: " << all.out;
  EXPECT_EQ(trouble.Json("eval.json").at("tasks").size(), 1u);
  EXPECT_EQ(trouble.Json("eval.json").at("failed").size(), 1u);
}

TEST(EvalCommand, ATaskThatFailsCostsItsOwnRow) {
  const TroubleRun trouble;
  ASSERT_EQ(Shell(trouble.Train("steps=2 tasks.trouble.options.scores=2")).code, 0);
  const CommandResult scored = Eval(trouble, "--against " + trouble.run().string());
  EXPECT_EQ(scored.code, 3) << scored.out;
  EXPECT_TRUE(Has(scored.out, "failed: trouble (plugin 'trouble'")) << scored.out;
  EXPECT_TRUE(Has(scored.out, "there is no score")) << scored.out;
  EXPECT_TRUE(Has(scored.out, "\ncontrol ")) << scored.out;
}

TEST(EvalCommand, OtherRowsThanTheRunsAreAskedAndWrittenWhereItIsSaid) {
  const TroubleRun trouble;
  ASSERT_EQ(Shell(trouble.Train("steps=2")).code, 0);
  const CommandResult scored = Eval(trouble, "tasks.trouble.options.scores=0");
  EXPECT_EQ(scored.code, 3) << scored.out;
  EXPECT_TRUE(Has(scored.out, "trouble has no score")) << scored.out;
  EXPECT_FALSE(fs::exists(trouble.run() / "eval.json"));
  const fs::path out = trouble / "other";
  EXPECT_EQ(Eval(trouble, "tasks.trouble.options.sample_ms=1 --out " + out.string()).code, 0);
  const auto json = nlohmann::json::parse(ReadText(out / "eval.json"));
  EXPECT_EQ(json.at("overrides"), nlohmann::json({"tasks.trouble.options.sample_ms=1"}));
  for (const char* other : {"steps=3", "tasks.trouble.rows=3"}) {
    const CommandResult refused = Eval(trouble, other);
    EXPECT_EQ(refused.code, 2) << refused.out;
    EXPECT_TRUE(Has(refused.out, "expected tasks.NAME.options.OPTION=VALUE")) << refused.out;
  }
}

TEST(EvalCommand, ScoresThatAreAllNanAreSaidAndExitThree) {
  const TroubleRun trouble;
  const CommandResult trained =
      Shell(trouble.Train("steps=2 eval.every=2 eval.rows=2 tasks.trouble.options.scores=0"));
  ASSERT_EQ(trained.code, 0) << trained.out;
  EXPECT_TRUE(Has(trained.out, "trouble has no score: its Evaluate answered NaN")) << trained.out;
  const CommandResult scored = Eval(trouble);
  EXPECT_EQ(scored.code, 3) << scored.out;
  EXPECT_TRUE(Has(scored.out, "trouble has no score: its Evaluate answered NaN for each of the 4 rows"))
      << scored.out;
}

// Of the other run's too, and where something else went wrong besides.
TEST(EvalCommand, NoScoreIsSaidBesideAFailureAndForTheOtherRun) {
  const TroubleRun fine, nan;
  ASSERT_EQ(Shell(fine.Train("steps=1")).code, 0);
  ASSERT_EQ(Shell(nan.Train("steps=1 tasks.trouble.options.scores=0")).code, 0);
  const CommandResult scored = Eval(fine, "--against " + nan.run().string());
  EXPECT_EQ(scored.code, 3) << scored.out;
  EXPECT_TRUE(Has(scored.out, "trouble has no score")) << scored.out;
}

// As when a run diverges: what was trained stays of use.
TEST(EvalCommand, AHeldOutLossThatIsNanBlocksNoCheckpoint) {
  const TroubleRun trouble;
  const CommandResult trained =
      Shell(trouble.Train("steps=3 eval.every=1 eval.rows=16 checkpoint.every=1 checkpoint.keep=1 "
                          "tasks.trouble.options.scores=3"));
  ASSERT_EQ(trained.code, 0) << trained.out;
  EXPECT_TRUE(Has(trained.out, "the held-out loss of trouble is not finite")) << trained.out;
  EXPECT_TRUE(fs::exists(trouble.run() / "step-00000003"));
  EXPECT_NE(Eval(trouble).code, 1);
  const CommandResult resumed = Shell(Medley() + "resume " + trouble.run().string() + " --steps 4 2>&1");
  EXPECT_EQ(resumed.code, 0) << resumed.out;
  EXPECT_TRUE(Has(resumed.out, "restored step 3")) << resumed.out;
}

// Its words are kept in every later checkpoint, and are no UTF-8.
TEST(EvalCommand, WhatATaskSaidWhenItWasDroppedBlocksNoSave) {
  const TroubleRun trouble;
  const CommandResult trained =
      Shell(trouble.Train("steps=6 checkpoint.every=1 on_task_error=drop tasks.trouble.options.fails_at=2"));
  ASSERT_EQ(trained.code, 3) << trained.out;
  EXPECT_TRUE(Has(trained.out, "these rows are meant to fail in a caf\\xe9")) << trained.out;
  EXPECT_FALSE(Has(trained.out, "was not saved")) << trained.out;
  const CommandResult resumed = Shell(Medley() + "resume " + trouble.run().string() + " --steps 7 2>&1");
  EXPECT_EQ(resumed.code, 3) << resumed.out;
}

TEST(EvalCommand, WhereNothingCanBeWrittenTheScoresAreOnTheScreen) {
  const TroubleRun trouble;
  ASSERT_EQ(Shell(trouble.Train("steps=2")).code, 0);
  fs::create_directory(trouble.run() / "eval.json");  // root may write into a read-only directory
  const CommandResult scored = Eval(trouble);
  EXPECT_EQ(scored.code, 0) << scored.out;
  EXPECT_TRUE(Has(scored.out, "\ncontrol ")) << scored.out;
  EXPECT_TRUE(Has(scored.out, "the scores were not written down: ")) << scored.out;
}

// What train accepts, the verbs that use its run accept too.
TEST(EvalCommand, ARunOfAPluginFileIsScoredAndGoesOn) {
  const TroubleRun trouble;
  ASSERT_EQ(Shell(trouble.Train("steps=2")).code, 0);
  const CommandResult scored = Eval(trouble);
  EXPECT_EQ(scored.code, 0) << scored.out;
  const CommandResult resumed = Shell(Medley() + "resume " + trouble.run().string() + " --steps 3 2>&1");
  EXPECT_EQ(resumed.code, 0) << resumed.out;
}

TEST(EvalCommand, ARunThatKeepsAnAverageIsScoredAndExportedByItUnlessAsked) {
  const TroubleRun trouble;
  const CommandResult trained = Shell(trouble.Train("steps=3 optimizer.average=0.5"));
  ASSERT_EQ(trained.code, 0) << trained.out;
  const CommandResult averaged = Eval(trouble);
  EXPECT_EQ(averaged.code, 0) << averaged.out;
  EXPECT_TRUE(Has(averaged.out, "averaged parameters of step 3 from ")) << averaged.out;
  const auto scores = trouble.Json("eval.json");
  EXPECT_TRUE(scores.at("averaged"));
  const CommandResult raw = Eval(trouble, "--raw-weights");
  EXPECT_TRUE(Has(raw.out, "parameters of step 3 from ") && !Has(raw.out, "averaged")) << raw.out;
  EXPECT_FALSE(trouble.Json("eval.json").contains("averaged"));
  EXPECT_NE(trouble.Json("eval.json").at("tasks").at("control").at("loss"),
            scores.at("tasks").at("control").at("loss"));
  for (const std::string more : {"", " --raw-weights"}) {
    const fs::path folder = trouble / ("folder" + more.substr(0, more.empty() ? 0 : 1));
    const CommandResult exported = Shell(Medley() + "export " + trouble.run().string() + " --out '" +
                                         folder.string() + "'" + more + " 2>&1");
    EXPECT_EQ(exported.code, 0) << exported.out;
    EXPECT_EQ(Has(exported.out, "wrote the averaged parameters of step 3 to "), more.empty()) << exported.out;
  }
  EXPECT_NE(ReadText(trouble / "folder" / "model.safetensors"),
            ReadText(trouble / "folder " / "model.safetensors"));
}

// The same rows by the same weights, whether a verb or a run scores them before the first step.
TEST(EvalCommand, TheModelAsItBeginsIsScoredByTheConfigAloneAndByTheRunOnce) {
  const ScratchDirectory scratch;
  WriteText(scratch / "weights.json", test::kOneTaskWeights);
  const std::string config = MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json ",
                    more = " eval.rows=4 steps=1 " + std::string(test::kOneTask) +
                           (scratch / "weights.json").string() + " 2>&1";
  const fs::path run = scratch / "run", before = scratch / "before";
  const CommandResult nowhere = Shell(Medley() + "eval " + config + more);
  EXPECT_EQ(nowhere.code, 2) << nowhere.out;
  EXPECT_TRUE(Has(nowhere.out, "Say where: --out DIR")) << nowhere.out;
  const CommandResult first = Shell(Medley() + "eval " + config + "--out " + before.string() + more);
  ASSERT_EQ(first.code, 0) << first.out;
  EXPECT_TRUE(Has(first.out, "perplexity  bits a byte")) << first.out;
  const auto scored = nlohmann::json::parse(ReadText(before / "eval.json"));
  EXPECT_EQ(scored.at("step"), 0);
  EXPECT_FALSE(scored.contains("run"));

  const CommandResult trained =
      Shell(Medley() + "train " + config + "--out " + run.string() + " eval.at_start=true" + more);
  ASSERT_EQ(trained.code, 0) << trained.out;
  EXPECT_TRUE(Has(trained.out, "step 0 evaluated")) << trained.out;
  EXPECT_EQ(test::LineCount(run / "losses.csv"), 2) << "the heads and a step";
  ASSERT_EQ(Shell(Medley() + "resume " + run.string() + " --steps 2 2>&1").code, 0);
  const std::string log = ReadText(run / "metrics.jsonl");
  EXPECT_EQ(test::LineCount(run / "metrics.jsonl"), 3) << log;
  const auto at_start = nlohmann::json::parse(log.substr(0, log.find('\n')));
  EXPECT_EQ(at_start.at("step"), 0);
  EXPECT_EQ(at_start.at("eval"), scored.at("tasks"));
  const auto& text = at_start.at("eval").at("control").at("text").at("control_text");
  const double loss = text.at("loss"), tokens = text.at("tokens"), bytes = text.at("bytes");
  EXPECT_DOUBLE_EQ(text.at("perplexity"), std::exp(loss));
  EXPECT_DOUBLE_EQ(text.at("bits_per_byte"), loss * tokens / std::log(2.0) / bytes);
  EXPECT_GT(bytes, tokens);

  const CommandResult both = Shell(Medley() + "eval " + config + "--out " + (scratch / "both").string() +
                                   " --against " + run.string() + more);
  EXPECT_EQ(both.code, 0) << "what replaces the config's values is not the run's: " << both.out;
  EXPECT_TRUE(Has(both.out, "on the same held-out rows")) << both.out;

  const CommandResult now = Shell(Medley() + "eval " + run.string() + " 2>&1");
  EXPECT_TRUE(Has(now.out, "perplexity before")) << now.out;
  const CommandResult report = Shell(Medley() + "report " + run.string() + " --json");
  const auto score = nlohmann::json::parse(report.out).at("scores").at("control");
  EXPECT_EQ(score.at("before"), at_start.at("eval").at("control"));
  EXPECT_EQ(score.at("step"), 2);
}

}  // namespace
}  // namespace medley
