// What happens to a run whose weights file is edited, while it goes on and while it rests.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <medley/base/durable_file.h>
#include <medley/base/files.h>

#include "tests/session/session_runs.h"
#include "tests/sweep.h"
#include "tests/tools/background.h"
#include "tests/tools/edited_runs.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::Ended;
using test::EndState;
using test::Has;
using test::Medley;
using test::Shell;
using test::TrainUntil;
using Cause = WeightEntry::Cause;

class LiveEdit : public ::testing::Test {
 protected:
  LiveEdit() { WriteText(scratch_ / "template.json", test::kEditedWeights); }

  BeginRequest Request(const std::string& more) const {
    return test::RequestOf("quickstart.json",
                           test::kEdited + (scratch_ / "template.json").string() + " " + more);
  }
  // Goes on until it is told to end. Four steps are done.
  Session Begin(BeginRequest request) {
    Session session = Session::Begin(request, run(), *console_);
    EXPECT_EQ(session.Train(4), ExitCode::kDone);
    return session;
  }
  Ended Train(const std::string& more) const { return test::TrainToTheEnd(Request(more), run()); }
  // A run of 80 steps with stages, edited at some step, and resumed about it and at others.
  struct EditedStages {
    std::string stages, edited;
    std::int64_t after = 0, before = 0;  // steps, between which the edit must come
    std::vector<std::int64_t> resumes;
  };
  void ExpectResumes(const EditedStages& what) {
    WriteText(scratch_ / "template.json", what.stages);
    {
      Session session = Session::Begin(Request("plan=false steps=80 checkpoint.every=1"), run(), *console_);
      ASSERT_EQ(session.Train(what.after + 1), ExitCode::kDone);
      WriteText(weights(), what.edited);
      ASSERT_EQ(session.Train(), ExitCode::kDone) << console_.words();
    }
    const auto edits = test::EntriesOf(run(), Cause::kEdit);
    ASSERT_EQ(edits.size(), 1u);
    const std::int64_t at = edits.front().step;
    ASSERT_LT(at, what.before);
    const auto expected = EndState(run());
    const std::string log = ReadText(run() / kWeightLog);
    std::vector<std::int64_t> resumes = what.resumes;
    resumes.insert(resumes.end(), {at - 1, at, at + 1});
    for (const std::int64_t k : test::Slice("ResumedAboutAnEdit." + what.stages, resumes, 5)) {
      const fs::path part = CopyWithCheckpoint(k);
      const Ended resumed = test::ResumeToTheEnd(part, "checkpoint.every=0");
      EXPECT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
      EXPECT_EQ(EndState(part), expected)
          << "resumed after step " << k << ", the edit came after " << at << resumed.out;
      EXPECT_EQ(ReadText(part / kWeightLog), log) << k;
      EXPECT_EQ(Has(resumed.out, "an edit of the weights comes again"), k < at) << resumed.out;
      fs::remove_all(part);
    }
  }
  fs::path run() const { return scratch_ / "run"; }
  fs::path weights() const { return run() / kRunWeights; }
  bool IsRefused(Session& session) const {
    const std::size_t before = test::EntriesOf(run(), Cause::kRefusedEdit).size();
    return TrainUntil(session, [&] { return test::EntriesOf(run(), Cause::kRefusedEdit).size() > before; });
  }
  // The newest edit has this in its text, and the run went on with it.
  bool TookOver(Session& session, const std::string& part) const {
    return TrainUntil(session,
                      [&] {
                        const auto edits = test::EntriesOf(run(), Cause::kEdit);
                        return !edits.empty() && Has(edits.back().text, part);
                      }) &&
           GoesOn(session);
  }
  static bool GoesOn(Session& session) {
    const std::int64_t step = session.step();
    return session.Train(step + 1) == ExitCode::kDone && session.step() == step + 1;
  }
  // The run as if it had been killed after a step.
  fs::path CopyWithCheckpoint(std::int64_t step) const {
    const fs::path copy = scratch_ / "part";
    fs::create_directory(copy);
    for (const fs::directory_entry& entry : fs::directory_iterator(run())) {
      const std::int64_t saved = StepOfName(entry.path().filename().string());
      if (saved < 0 || saved == step)
        fs::copy(entry.path(), copy / entry.path().filename(), fs::copy_options::recursive);
    }
    return copy;
  }

  ScratchDirectory scratch_;
  test::SilentConsole console_;
};

TEST_F(LiveEdit, ABadOneIsRefusedWithItsPlaceAndTheOldWeightsStay) {
  Session train = Begin(Request("plan=false steps=1000000"));
  const auto refused = [&](const std::string& text, const std::string& words) {
    WriteText(weights(), text);
    EXPECT_TRUE(IsRefused(train)) << text;
    EXPECT_TRUE(Has(console_.words(), words)) << text << "\n" << console_.words();
    EXPECT_TRUE(GoesOn(train));
  };
  refused("{\"unit\": \"steps\", \"weights\": {\"control\": 1,\n  \"zoom_glod\": 2}}",
          "weights.json:2:3: weights.zoom_glod: no such task; did you mean 'zoom_gold'?");
  refused("{\"unit\": \"steps\", \"weights\": {\"control\": 1", "not valid JSON");
  refused("{\"unit\": \"rows\", \"weights\": {\"control\": 1}}",
          "weights.json:1:10: unit: is the run's and stays \"steps\"");
  refused("{\"unit\": \"steps\", \"weights\": {\"control\": 0}}",
          "weights.json:1:30: weights: every weight is 0");
  refused("{\"unit\": \"steps\", \"weights\": {\"control\": 1}, \"comment\": \"" +
              std::string(10'000'000, 'x') + "\"}",
          "weights.json is longer than 1 MiB");
  const WeightEntry last = test::EntriesOf(run(), Cause::kRefusedEdit).back();
  EXPECT_EQ(last.after, (std::map<std::string, double>{{"control", 0.25}, {"zoom_gold", 0.75}}));
  WriteText(weights(), test::EditedWeights("3"));
  EXPECT_TRUE(TookOver(train, "\"control\": 3"));
  EXPECT_EQ(test::TrainInterrupted(train), ExitCode::kInterrupted) << console_.words();
}

TEST_F(LiveEdit, AFileThatCannotBeReadIsRefusedWithTheReason) {
  Session train = Begin(Request("plan=false steps=1000000"));
  const std::string before = ReadText(weights());
  fs::remove(weights());
  EXPECT_TRUE(IsRefused(train));
  EXPECT_TRUE(Has(console_.words(), "no such file: ")) << console_.words();
  fs::create_directory(weights());
  EXPECT_TRUE(IsRefused(train));
  EXPECT_TRUE(Has(console_.words(), "weights.json is a directory; expected a file")) << console_.words();
  fs::remove(weights());
  WriteText(weights(), test::EditedWeights("3"));
  EXPECT_TRUE(TookOver(train, "\"control\": 3"));
  EXPECT_EQ(test::TrainInterrupted(train), ExitCode::kInterrupted) << console_.words();
}

// Its own rows and columns; nobody else's rows move.
TEST_F(LiveEdit, ATaskThatWasNotNamedIsPlannedWhileTheRunPauses) {
  Session train =
      Begin(Request("budget=100MiB steps=1000000 tasks.zoom_gold.rows=auto tasks.arrow_to_gold.rows=auto"));
  const auto planned = nlohmann::json::parse(ReadText(run() / "plan.json"));
  WriteText(weights(),
            "{\"unit\": \"steps\", \"weights\": {\"arrow_to_gold\": 1, \"zoom_gold\": 1, \"control\": 1}}");
  ASSERT_TRUE(TookOver(train, "arrow_to_gold")) << console_.words();
  const auto more = nlohmann::json::parse(ReadText(run() / "plan.json"));
  for (const auto& entry : planned.at("tasks")) {
    const auto same = std::find_if(more.at("tasks").begin(), more.at("tasks").end(),
                                   [&](const auto& other) { return other.at("task") == entry.at("task"); });
    ASSERT_NE(same, more.at("tasks").end());
    EXPECT_EQ(same->at("rows"), entry.at("rows"));
  }
  EXPECT_EQ(more.at("tasks").size(), planned.at("tasks").size() + 1);
  EXPECT_TRUE(TrainUntil(train, [&] { return Has(ReadText(run() / "metrics.jsonl"), "arrow_to_gold"); }));
  EXPECT_TRUE(ReadText(run() / "losses.csv").starts_with("step,arrow_to_gold,zoom_gold,control\n"));
  EXPECT_EQ(test::TrainInterrupted(train), ExitCode::kInterrupted) << console_.words();
  const std::int64_t step = ListCheckpoints(run()).at(0).step;
  { const Session ended = std::move(train); }  // who holds the run
  const Ended resumed = test::ResumeToTheEnd(run(), "steps=" + std::to_string(step + 2));
  EXPECT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
  EXPECT_TRUE(Has(resumed.out, "plan (of an earlier start, which still holds): ")) << resumed.out;
}

TEST_F(LiveEdit, ATaskThatDoesNotFitIsRefusedWithTheMissingBytes) {
  Session train = Begin(Request(
      "budget=300MiB steps=1000000 tasks.arrow_to_gold.rows=4096 tasks.arrow_to_gold.micro_rows=4096"));
  WriteText(weights(), "{\"unit\": \"steps\", \"weights\": {\"arrow_to_gold\": 1, \"control\": 1}}");
  EXPECT_TRUE(IsRefused(train)) << console_.words();
  EXPECT_TRUE(
      Has(test::EntriesOf(run(), Cause::kRefusedEdit).back().words, "not one row of task arrow_to_gold fits"))
      << console_.words();
  EXPECT_TRUE(Has(test::EntriesOf(run(), Cause::kRefusedEdit).back().words, " bytes) more than the budget"))
      << console_.words();
  EXPECT_TRUE(GoesOn(train));
  EXPECT_EQ(test::TrainInterrupted(train), ExitCode::kInterrupted) << console_.words();
}

TEST_F(LiveEdit, ATaskWhosePluginDoesNotLoadIsRefused) {
  BeginRequest request = Request("plan=false steps=1000000");
  request.plugins.paths = {MEDLEY_PLUGIN_FIXTURES "/undefined_symbol"};
  Session train = Begin(request);
  const std::string text = "{\"unit\": \"steps\", \"weights\": {\"control\": 1, \"undefined_symbol\": 1}}";
  WriteText(weights(), text);
  EXPECT_TRUE(IsRefused(train)) << console_.words();
  WriteText(weights(), text);  // the plugin may be mended now
  EXPECT_TRUE(IsRefused(train)) << "the same file was not looked at again";
  EXPECT_TRUE(Has(test::EntriesOf(run(), Cause::kRefusedEdit).back().words, "DefinedNowhere"))
      << console_.words();
  EXPECT_TRUE(GoesOn(train));
  EXPECT_EQ(test::TrainInterrupted(train), ExitCode::kInterrupted) << console_.words();
}

TEST_F(LiveEdit, AResumeBeforeAtAndAfterAnEditIsTheUninterruptedRun) {
  const std::string stages =
      "{\"unit\": \"steps\", \"stages\": [{\"name\": \"a\", \"weights\": {\"control\": 1}, \"until\": "
      "{\"steps\": 50}},"
      "{\"name\": \"b\", \"weights\": {\"zoom_gold\": 1}, \"ramp\": {\"draws\": 15}}]}";
  std::string edited = stages;
  edited.replace(edited.find("\"control\": 1"), 12, "\"control\": 1, \"arrow_to_gold\": 2");
  ExpectResumes({.stages = stages, .edited = edited, .after = 3, .before = 48, .resumes = {1, 49, 50, 57}});
}

// Every task that the file no longer draws is one that no later resume knows.
TEST_F(LiveEdit, AResumeInARampThatAnEditTookATaskOutOfIsTheUninterruptedRun) {
  const std::string stages =
      "{\"unit\": \"steps\", \"stages\": [{\"name\": \"a\", \"weights\": {\"control\": 1}, \"until\": "
      "{\"steps\": 5}},"
      "{\"name\": \"b\", \"weights\": {\"zoom_gold\": 3, \"arrow_to_gold\": 1}, \"ramp\": {\"draws\": 60}}]}";
  std::string edited = stages;
  edited.replace(edited.find("\"zoom_gold\": 3, "), 16, "");
  ExpectResumes({.stages = stages, .edited = edited, .after = 10, .before = 50, .resumes = {4, 52, 70}});
}

// There are shares by then that it can begin with.
TEST_F(LiveEdit, AResumeAboutARampInARunOfOneStageIsTheUninterruptedRun) {
  ExpectResumes({.stages = "{\"unit\": \"steps\", \"weights\": {\"control\": 1, \"zoom_gold\": 9}}",
                 .edited = "{\"unit\": \"steps\", \"weights\": {\"control\": 9, \"zoom_gold\": 1}, \"ramp\": "
                           "{\"draws\": 40}}",
                 .after = 5,
                 .before = 30,
                 .resumes = {2, 35, 78}});
  const WeightEntry edit = test::EntriesOf(run(), Cause::kEdit).at(0);
  EXPECT_TRUE(Has(edit.words, "control 1 -> 9 (10 % -> 90 %)") &&
              Has(edit.words, "a ramp of 40 draws begins"))
      << edit.words;
  EXPECT_EQ(test::EntriesOf(run(), Cause::kRamp).at(0).step, edit.step + 40);
}

// Without a touch of the weights file: the disk has room again.
TEST_F(LiveEdit, WhatWasRefusedForTheMachineIsTriedAgainByItself) {
  using Clock = std::chrono::steady_clock;
  Session train = Begin(Request("plan=false steps=1000000 checkpoint.every=0"));
  const fs::path log = run() / kWeightLog, kept = scratch_ / "kept";
  fs::rename(log, kept);
  fs::create_directories(log / "in the way");
  WriteText(weights(), test::EditedWeights("2"));
  const auto refusals = [&] {
    std::size_t found = 0, at = 0;
    const std::string text = console_.words(), words = "an edit of the weights is refused";
    while ((at = text.find(words, at)) != std::string::npos) ++found, ++at;
    return found;
  };
  std::optional<Clock::time_point> refused;
  std::size_t said = 0;
  bool mended = false;
  const auto mend = [&] {
    if (!refused && refusals() > 0) refused = Clock::now();
    const bool tried = refused && Clock::now() - *refused > std::chrono::milliseconds(2500);
    if (tried && !std::exchange(mended, true)) {
      said = refusals();
      Exchange(kept, log);  // at once: where there is none, the run writes one
    }
    return Has(console_.words(), "what an edit of the weights was refused for is gone");
  };
  const auto end = Clock::now() + std::chrono::minutes(2);
  const test::InterruptsWhen interrupts([&] { return mend() || Clock::now() > end; },
                                        std::chrono::milliseconds(100));
  EXPECT_EQ(train.Train(), ExitCode::kInterrupted) << console_.words();
  EXPECT_EQ(said, 1U) << "it was tried, and said before: " << console_.words();
  const auto edits = test::EntriesOf(run(), Cause::kEdit);
  ASSERT_EQ(edits.size(), 1U) << console_.words();
  EXPECT_TRUE(Has(edits[0].text, "\"control\": 2"));
}

TEST_F(LiveEdit, AnEditOfARestingRunHoldsFromItsFirstStep) {
  ASSERT_EQ(Train("plan=false steps=5 optimizer.decay_fraction=0").code, ExitCode::kDone);
  const std::string log = ReadText(run() / kWeightLog), metrics = ReadText(run() / "metrics.jsonl");
  WriteText(weights(), "{\"unit\": \"steps\", \"weights\": {\"control\": 1, \"zoom_glod\": 1}}");
  const Ended bad = test::ResumeToTheEnd(run(), "steps=10");
  EXPECT_EQ(bad.code, ExitCode::kBadInput) << bad.out;
  EXPECT_TRUE(Has(bad.out, "weights.zoom_glod: no such task")) << bad.out;
  EXPECT_EQ(ReadText(run() / kWeightLog), log);
  EXPECT_EQ(ReadText(run() / "metrics.jsonl"), metrics);

  const auto diff = [&] { return Shell(Medley() + "weights diff " + run().string() + " 2>&1"); };
  EXPECT_EQ(diff().code, 2);
  EXPECT_TRUE(Has(diff().out, "weights.zoom_glod: no such task")) << diff().out;
  WriteText(weights(), "{\"unit\": \"rows\", \"weights\": {\"control\": 1}}");
  EXPECT_EQ(diff().code, 2);
  EXPECT_TRUE(Has(diff().out, "unit: is the run's and stays \"steps\"")) << diff().out;
  const Ended other_unit = test::ResumeToTheEnd(run(), "steps=10");
  EXPECT_EQ(other_unit.code, ExitCode::kBadInput) << other_unit.out;
  EXPECT_TRUE(Has(other_unit.out, "unit: is the run's and stays \"steps\"")) << other_unit.out;
  EXPECT_FALSE(fs::exists(run() / "config.resolved.1.json")) << "nothing has changed";

  WriteText(weights(), "{\"unit\": \"steps\", \"weights\": {\"control\": 1, \"zoom_gold\": 0}}");
  EXPECT_EQ(diff().out, "zoom_gold 3 -> 0 (75 % -> 0 %); so control 25 % -> 100 %\n");
  EXPECT_EQ(diff().code, 0);
  const Ended good = test::ResumeToTheEnd(run(), "steps=10");
  EXPECT_EQ(good.code, ExitCode::kDone) << good.out;
  EXPECT_TRUE(
      Has(good.out,
          "step 5: the weights were edited: zoom_gold 3 -> 0 (75 % -> 0 %); so control 25 % -> 100 %\n"))
      << good.out;
  const auto edits = test::EntriesOf(run(), Cause::kEdit);
  ASSERT_EQ(edits.size(), 1u);
  EXPECT_EQ(edits[0].step, 5);
  // The checkpoint of step 5 lacks it: from there it comes again.
  const fs::path killed = CopyWithCheckpoint(5);
  const Ended again = test::ResumeToTheEnd(killed);
  EXPECT_EQ(again.code, ExitCode::kDone) << again.out;
  EXPECT_TRUE(Has(again.out, "step 5: an edit of the weights comes again")) << again.out;
  EXPECT_EQ(EndState(killed), EndState(run()));
  EXPECT_EQ(diff().out, "no weight changed\n");
  const CommandResult history = Shell(Medley() + "weights history " + run().string() + " 2>&1");
  EXPECT_TRUE(Has(history.out, "step 0, draw 0: start\n    control 25 %, zoom_gold 75 %\n")) << history.out;
  EXPECT_TRUE(Has(history.out,
                  "step 5, draw 5: edit: zoom_gold 3 -> 0 (75 % -> 0 %)\n    control 25 % -> 100 %, "
                  "zoom_gold 75 % -> 0 %\n"))
      << history.out;
  EXPECT_EQ(Shell(Medley() + "weights history " + scratch_.path().string() + " 2>&1").code, 2);
  EXPECT_TRUE(Has(test::ResumeToTheEnd(run(), "weights=" + weights().string()).out,
                  "this run has a weights file of its own"));
}

TEST_F(LiveEdit, StagesThatAreOverMayNotChangeAndThoseAheadMay) {
  const auto text = [](const std::string& a, const std::string& b, const std::string& c) {
    return "{\"unit\": \"steps\", \"stages\": [\n{\"name\": \"a\", \"weights\": {\"control\": " + a +
           "}, \"until\": {\"steps\": 2}},\n{\"name\": \"b\", \"weights\": {\"zoom_gold\": 1}, \"until\": "
           "{\"steps\": " +
           b + "}},\n{\"name\": \"c\", \"weights\": {\"control\": " + c + ", \"zoom_gold\": 1}}]}";
  };
  WriteText(scratch_ / "template.json", text("1", "4", "1"));
  ASSERT_EQ(Train("plan=false steps=4").code, ExitCode::kDone);
  WriteText(weights(), text("2", "4", "1"));
  const Ended past = test::ResumeToTheEnd(run(), "steps=8");
  EXPECT_EQ(past.code, ExitCode::kBadInput) << past.out;
  EXPECT_TRUE(Has(past.out, "weights.json:2:1: stages.0: stage a is over; what is over stays as it was"))
      << past.out;
  WriteText(weights(), text("1", "3", "3"));
  const Ended ahead = test::ResumeToTheEnd(run(), "steps=8");
  EXPECT_EQ(ahead.code, ExitCode::kDone) << ahead.out;
  EXPECT_TRUE(Has(ahead.out, "until 4 steps -> 3 steps, stage c is another")) << ahead.out;
  EXPECT_TRUE(Has(ahead.out, "step 5: stage c begins")) << ahead.out;
}

TEST_F(LiveEdit, AStageThatFollowsTheLastOneIsSaid) {
  const std::string two =
      "{\"unit\": \"steps\", \"stages\": [{\"name\": \"a\", \"weights\": {\"control\": 1}, \"until\": "
      "{\"steps\": 2}}, "
      "{\"name\": \"b\", \"weights\": {\"zoom_gold\": 1}, \"until\": {\"steps\": 1}}]}";
  WriteText(scratch_ / "template.json", two);
  ASSERT_EQ(Train("plan=false steps=9").code, ExitCode::kDone);
  EXPECT_EQ(test::StepsOf(run()), 3);
  std::string over = two;
  over.replace(over.find("\"zoom_gold\": 1"), 14, "\"zoom_gold\": 2");
  WriteText(weights(), over);
  const CommandResult refused = Shell(Medley() + "weights diff " + run().string() + " 2>&1");
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_TRUE(Has(refused.out, "stage b is over; what is over stays as it was")) << refused.out;
  WriteText(weights(),
            two.substr(0, two.size() - 2) + ", {\"name\": \"tail\", \"weights\": {\"control\": 1}}]}");
  EXPECT_EQ(Shell(Medley() + "weights diff " + run().string()).out, "stage tail is new\n");
  const Ended more = test::ResumeToTheEnd(run(), "steps=9");
  EXPECT_EQ(more.code, ExitCode::kDone) << more.out;
  EXPECT_TRUE(Has(more.out, "step 3: the weights were edited: stage tail is new")) << more.out;
  EXPECT_TRUE(Has(more.out, "step 3: stage tail begins")) << more.out;
  EXPECT_EQ(test::StepsOf(run()), 9);
}

}  // namespace
}  // namespace medley
