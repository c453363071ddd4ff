// medley plan and medley report, as a user calls them.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::CommandResult;
using test::Has;
using test::Medley;
using test::Shell;

// The command of a page that makes its run again.
std::string RepeatOf(const std::string& page) {
  const std::string key = "\"repeat\":\"";
  const std::size_t begin = page.find(key) + key.size();
  return page.substr(begin, page.find('"', begin) - begin);
}

const std::string kQuickstart = MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json ";

// The quickstart with two of its tasks.
class PlanCommand : public ::testing::Test {
 protected:
  PlanCommand() {
    std::ofstream(scratch_ / "weights.json") << R"({"weights": {"position_qa": 1, "zoom_agent": 1}})";
    common_ = kQuickstart + " weights=" + (scratch_ / "weights.json").string() + " threads=1 ";
  }
  CommandResult Plan(const std::string& more) const {
    return Shell(Medley() + "plan " + common_ + more + " 2>&1");
  }
  json Read(const std::string& file) const { return json::parse(ReadText(scratch_ / file)); }

  ScratchDirectory scratch_;
  std::string common_;
};

TEST_F(PlanCommand, MeasuresOnceAndPlansForEveryBudget) {
  const std::string out = " --out " + (scratch_ / "out").string();
  const CommandResult first = Plan("--budget 80MiB tasks.zoom_agent.rows=auto" + out);
  ASSERT_EQ(first.code, 0) << first.out;
  for (const char* words : {"position_qa", "zoom_agent", "sequential", "micro", "in all, of the", "margin",
                            " are free", "measuring what the tasks take"})
    EXPECT_NE(first.out.find(words), std::string::npos) << first.out;
  const json large = Read("out/plan.json");
  EXPECT_GT(large["planning"]["steps"], 0);
  EXPECT_EQ(large["planning"]["overflows"], 0);

  const std::string profile = " --profile " + (scratch_ / "out/profile.json").string();
  const CommandResult second = Plan("--budget 40MiB tasks.zoom_agent.rows=auto" + profile + out);
  ASSERT_EQ(second.code, 0) << second.out;
  EXPECT_NE(second.out.find("with 0 measured steps"), std::string::npos) << second.out;
  const json small = Read("out/plan.json");
  EXPECT_LT(small["tasks"][1]["rows"], large["tasks"][1]["rows"]);
  EXPECT_EQ(small["tasks"][0]["rows"], 48);
  EXPECT_LT(small["tasks"][0]["micro_rows"], 48);

  const CommandResult other = Plan("--budget 40MiB threads=2" + profile);
  EXPECT_EQ(other.code, 2) << other.out;
  EXPECT_NE(other.out.find("threads 1 -> 2"), std::string::npos) << other.out;
}

TEST_F(PlanCommand, WhatDoesNotFitIsRefusedAndTheNamedChangeFits) {
  const std::string pinned = " tasks.position_qa.micro_rows=48 tasks.position_qa.mode=joint";
  const std::string out = " --out " + (scratch_ / "out").string();
  const CommandResult refused = Plan("--budget 50MiB" + pinned);
  EXPECT_EQ(refused.code, 5) << refused.out;
  EXPECT_NE(refused.out.find("task position_qa needs"), std::string::npos) << refused.out;
  const std::size_t at = refused.out.find("fits with ");
  ASSERT_NE(at, std::string::npos) << refused.out;
  const std::string change = refused.out.substr(at + 10, refused.out.find_first_of("\n ", at + 10) - at - 10);
  const CommandResult mended = Plan("--budget 50MiB" + pinned + " " + change + out);
  EXPECT_EQ(mended.code, 0) << change << "\n" << mended.out;
}

// Weights, gradients and moments are known from shapes: nobody waits for 0.6 billion random numbers first.
TEST_F(PlanCommand, ABudgetBelowTheModelIsRefusedAtOnce) {
  const std::string model = " model=" MEDLEY_SOURCE_DIR "/configs/models/agent-qwen3-0.6b.json ";
  const std::string run = (scratch_ / "run").string();
  // Address space for the libraries, not for 2.4 GB of weights.
  const std::string limited = "ulimit -v 2500000; " + Medley();
  for (const CommandResult& refused :
       {Plan("--budget 1MiB"), Shell(limited + "plan " + common_ + model + "--budget 200MiB 2>&1"),
        Shell(limited + "train " + common_ + model + "--budget 200MiB --out " + run + " 2>&1")}) {
    EXPECT_EQ(refused.code, 5) << refused.out;
    for (const char* words : {"before the first row", "gradients ", "optimizer state ", " are missing"})
      EXPECT_NE(refused.out.find(words), std::string::npos) << refused.out;
    EXPECT_EQ(refused.out.find("measuring"), std::string::npos) << refused.out;
  }
  EXPECT_FALSE(fs::exists(run));
}

TEST_F(PlanCommand, AModelThatNoMachineHasRoomForIsRefusedAtOnceAndByTheEstimate) {
  json model = json::parse(ReadText(MEDLEY_SOURCE_DIR "/configs/models/agent-tiny.json"));
  model["language"]["hidden"] = 1000000;
  std::ofstream(scratch_ / "model.json") << model.dump();
  const std::string wide = common_ + " model=" + (scratch_ / "model.json").string() + " 2>&1";
  const CommandResult trained = Shell(Medley() + "train --out " + (scratch_ / "run").string() + " " + wide);
  EXPECT_EQ(trained.code, 5) << trained.out;
  EXPECT_NE(trained.out.find("This machine has no more than"), std::string::npos) << trained.out;
  const CommandResult estimated = Shell(Medley() + "estimate " + wide);
  EXPECT_EQ(estimated.code, 5) << estimated.out;
  for (const char* words : {"None of 23 GPUs is large enough", "the run fits none of the GPUs"})
    EXPECT_NE(estimated.out.find(words), std::string::npos) << estimated.out;
}

// Above what shapes say rows decide, which are measured.
TEST_F(PlanCommand, ABudgetBelowOneRowIsRefusedWithOneThatFitsAndTrains) {
  const std::string rows = " tasks.zoom_agent.rows=2 tasks.position_qa.rows=2";
  const CommandResult refused = Plan("--budget 7MiB" + rows);
  EXPECT_EQ(refused.code, 5) << refused.out;
  EXPECT_NE(refused.out.find(" bytes) are missing"), std::string::npos) << refused.out;
  const std::size_t at = refused.out.find("budget=");
  ASSERT_NE(at, std::string::npos) << refused.out;
  const std::string change = refused.out.substr(at, refused.out.find(' ', at) - at);
  const CommandResult mended = Plan(change + rows);
  EXPECT_EQ(mended.code, 0) << change << "\n" << mended.out;
  const CommandResult trained = Shell(Medley() + "train " + common_ + change + rows + " --out " +
                                      (scratch_ / "run").string() + " steps=6 eval.every=0 2>&1");
  EXPECT_EQ(trained.code, 0) << change << "\n" << trained.out;
  EXPECT_EQ(trained.out.find("out of memory"), std::string::npos) << trained.out;
}

TEST_F(PlanCommand, AnOutThatIsNoDirectoryIsRefusedBeforeAnythingIsMeasured) {
  std::ofstream(scratch_ / "file") << "text";
  for (const char* out : {"file", "file/below"}) {
    const CommandResult refused = Plan("--out " + (scratch_ / out).string());
    EXPECT_EQ(refused.code, 2) << refused.out;
    EXPECT_NE(refused.out.find("file is a file; expected a directory"), std::string::npos) << refused.out;
    EXPECT_EQ(refused.out.find("measuring"), std::string::npos) << refused.out;
  }
}

TEST_F(PlanCommand, AProfileThatCannotBeUsedIsRefused) {
  const std::string profile = " --profile " + (scratch_ / "profile.json").string();
  const CommandResult ignored = Shell(Medley() + "train " + common_ + "plan=false" + profile + " --out " +
                                      (scratch_ / "run").string() + " steps=1 2>&1");
  EXPECT_EQ(ignored.code, 2) << ignored.out;
  EXPECT_NE(ignored.out.find("nothing is planned"), std::string::npos) << ignored.out;
  EXPECT_FALSE(fs::exists(scratch_ / "run"));
  std::ofstream(scratch_ / "profile.json") << "{";
  const CommandResult broken = Plan(profile);
  EXPECT_EQ(broken.code, 2) << broken.out;
  EXPECT_NE(broken.out.find("not valid JSON"), std::string::npos) << broken.out;
}

TEST_F(PlanCommand, ATrainedRunLeavesAReceipt) {
  const fs::path run = scratch_ / "run";
  const CommandResult trained =
      Shell(Medley() + "train " + common_ + "--budget 40MiB --out " + run.string() + " steps=4 2>&1");
  ASSERT_EQ(trained.code, 0) << trained.out;
  for (const char* name : {"profile.json", "plan.json", "receipt.json"}) EXPECT_TRUE(fs::exists(run / name));
  const CommandResult report = Shell(Medley() + "report " + run.string() + " 2>&1");
  EXPECT_EQ(report.code, 0) << report.out;
  EXPECT_NE(report.out.find("4 draws: 0 above the prediction"), std::string::npos) << report.out;
  EXPECT_TRUE(Has(report.out, "Gflop/s")) << report.out;
  EXPECT_TRUE(Has(ReadText(run / "timing.jsonl"), "\"operations_per_second\":"));
  const CommandResult resumed = Shell(Medley() + "resume " + run.string() + " --steps 6 2>&1");
  EXPECT_EQ(resumed.code, 0) << resumed.out;
  EXPECT_NE(resumed.out.find("which still holds"), std::string::npos) << resumed.out;
  const fs::path page = scratch_ / "page.html";
  const CommandResult drawn = Shell(Medley() + "report " + run.string() + " --html " + page.string() +
                                    " --against " + run.string() + " 2>&1");
  EXPECT_EQ(drawn.code, 0) << drawn.out;
  EXPECT_TRUE(Has(ReadText(page), "\"predicted\":")) << drawn.out;
  const std::string again = (scratch_ / "again").string();
  std::string repeat = RepeatOf(ReadText(page));
  ASSERT_TRUE(Has(repeat, " --out AGAIN")) << repeat;
  const CommandResult repeated = Shell(
      Medley() + repeat.replace(repeat.find("AGAIN"), 5, again).substr(std::strlen("medley ")) + " 2>&1");
  EXPECT_EQ(repeated.code, 0) << repeated.out;
  EXPECT_EQ(ReadText(run / "metrics.jsonl"), ReadText(fs::path(again) / "metrics.jsonl"));
  const CommandResult alone = Shell(Medley() + "report " + run.string() + " --live 5 2>&1");
  EXPECT_EQ(alone.code, 2) << alone.out;
  EXPECT_TRUE(Has(alone.out, "--html")) << alone.out;
  const CommandResult both = Shell(Medley() + "report " + run.string());
  EXPECT_NE(both.out.find("6 draws: 0 above the prediction"), std::string::npos) << both.out;
}

// The newest checkpoint is damaged: what came after the one before it was not trained, and is not reported.
TEST_F(PlanCommand, AReportAfterADamagedCheckpointHasTheStepsThatWereTrained) {
  const fs::path run = scratch_ / "run";
  const CommandResult trained = Shell(Medley() + "train " + common_ + "--budget 40MiB --out " + run.string() +
                                      " steps=4 checkpoint.every=2 2>&1");
  ASSERT_EQ(trained.code, 0) << trained.out;
  const json before = Read("run/receipt.json");
  fs::remove(run / "step-00000004/state.json");
  std::ofstream(run / "receipt.json") << "{";
  const CommandResult resumed = Shell(Medley() + "resume " + run.string() + " 2>&1");
  EXPECT_EQ(resumed.code, 0) << resumed.out;
  const CommandResult report = Shell(Medley() + "report " + run.string() + " 2>&1");
  EXPECT_NE(report.out.find("4 draws: 0 above the prediction"), std::string::npos) << report.out;
  const json after = Read("run/receipt.json");
  for (const auto& [task, epochs] : before.at("tasks").items()) {
    for (const char* what : {"draws", "rows", "tokens_run", "forwards"})
      EXPECT_EQ(after.at("tasks").at(task).at(0).at(what), epochs.at(0).at(what)) << task << " " << what;
  }
}

TEST_F(PlanCommand, ReportRefusesWhatIsNoRun) {
  EXPECT_EQ(Shell(Medley() + "report " + (scratch_ / "nothing").string() + " 2>&1").code, 2);
  const CommandResult empty = Shell(Medley() + "report " + scratch_.path().string() + " 2>&1");
  EXPECT_EQ(empty.code, 2);
  EXPECT_NE(empty.out.find("holds no run (it has no config.resolved.json)"), std::string::npos) << empty.out;
  std::ofstream(scratch_ / "receipt.json") << "{";
  EXPECT_EQ(Shell(Medley() + "report " + scratch_.path().string() + " 2>&1").code, 2);
}

}  // namespace
}  // namespace medley
