// Every message that says to resume or to train: what it says is done, and works. A message that is new in
// the sources needs a line in the table here.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <medley/checkpoint/checkpoint_files.h>

#include "tests/report/scratch_directory.h"
#include "tests/tools/background.h"
#include "tests/tools/run_command.h"
#include "tests/tools/small_runs.h"
#include "tests/tools/trouble_run.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::CommandBefore;
using test::CommandResult;
using test::Has;
using test::Medley;
using test::Printed;
using test::Shell;

struct Remedy {
  const char* source;  // below the tree, and a part of the line
  const char* words;
  const char* shown;  // the test that does it, or why none can
};

constexpr const char* kNoRemedy = "no remedy: it names the verb";

constexpr Remedy kRemedies[] = {
    {"core/base/next_command.cc", "return WithAsManyProcesses(\"medley resume \"",
     "Remedied.AsTheLastLineSays"},
    {"core/checkpoint/checkpoint_files.cc", "The newest checkpoint is", "a device that fails: a GPU"},
    {"core/checkpoint/checkpoint_keeper.cc", "where it was moved, medley resume goes on",
     "a directory that goes while a run trains"},
    {"core/checkpoint/checkpoint_keeper.cc", "then medley resume ", "Remedied.AfterThreeSavesThatFailed"},
    {"core/checkpoint/run_directory.cc", "already holds a run. To go on with it", "Remedied.WhereARunLies"},
    {"core/checkpoint/run_directory.cc", " is damaged: \" + problem",
     "DamagedFiles.StopNothingOrSayWhatToDo"},
    {"core/checkpoint/run_directory.cc", "Start one: medley train CONFIG --out", "Remedied.WhereNoRunLies"},
    {"core/config/run_config.cc", "What medley train reads", kNoRemedy},
    {"core/model/model.cc", "runs a few steps of each task here, and medley train", kNoRemedy},
    {"core/report/log_lines.cc", "medley resume keeps it aside", "DamagedFiles.StopNothingOrSayWhatToDo"},
    {"core/page/run_data.cc", "{\"repeat\", \"medley train ", "PlanCommand.ATrainedRunLeavesAReceipt"},
    {"core/run/config_change.cc", "medley train CONFIG init_from.run=DIR",
     "Remedied.OfAChangeThatARunCannotTake"},
    {"core/run/input_record.cc", "command = \"medley resume \"", "Remedied.OfAChangedFile"},
    {"core/run/published_files.cc", "medley train needs the file", kNoRemedy},
    {"core/run/run.cc", "holds no checkpoint yet. Train it first", "Remedied.OfARunWithoutACheckpoint"},
    {"core/run/run_files.cc", "or name it: medley resume", "MovedRun.ARunThatIsOverLearnsWhereItsFilesAre"},
    {"core/run/token_rows.cc", "medley train --allow-new-rows",
     "PretrainedRun.TokensThatTheFolderDoesNotKnowNeedANumber"},
    {"core/run/token_rows.cc", "medley train --allow-unknown-vocabulary",
     "PretrainedRun.AFolderWithoutATokenizerNeedsAWordWhichTheRunKeeps"},
    {"core/run/weight_log_check.cc", "or medley resume, which sets it aside",
     "Remedied.OfADamagedLogOfWeights"},
    {"core/run/weight_log_check.cc", "or medley resume, which writes it anew", "Remedied.OfMissingWeights"},
    {"core/run/weight_log_check.cc", "or remove it, then medley resume",
     "DamagedFiles.StopNothingOrSayWhatToDo"},
    {"core/session/repeated_run.cc", "medley resume goes on without what is lost",
     "Remedied.OfADamagedLogOfWeights"},
    {"core/session/repeated_run.cc", "with that medley; medley resume goes on", "a run of an older medley"},
    {"core/session/session.cc", "goes on by medley resume as a run of its own",
     "Interrupt.AReplayEndsWithTheCommandThatRepeatsItToItsEnd"},
    {"core/session/session_resume.cc", "these parameters: medley train CONFIG init_from.run=DIR",
     "Remedied.OfAChangeThatARunCannotTake"},
    {"core/session/session_resume.cc", "steps are done; to go on", "Remedied.OfARunWhoseStepsAreDone"},
    {"core/train/remedy.cc", "\"medley train \" + ShellWord(",
     "SmallRun.WhatARunAdvisesThatExplodedAtOnceIsANewOne"},
    {"core/train/run_hours.cc", "For more: medley resume with --steps", "Remedied.OfARunThatDecayedEarly"},
    {"core/train/trainer.cc", ".resume = \"medley resume \"", "a machine that is slow for a minute"},
    {"core/train/trainer.cc", "What the run saved stays: medley resume", "Remedied.OfACrash"},
    {"core/train/trainer.cc", "the run's hours are over; medley resume", "Remedied.OfHoursThatAreOver"},
    {"core/train/weight_edits.cc", "mend what is wrong, then medley resume",
     "trouble of the disk just when an edit comes again"},
    {"tools/medley/sweep_request.cc", "medley train trains one run", kNoRemedy},
    {"tools/medley/weights.cc", "medley train writes one, and medley resume", "a run of an older medley"},
};

bool IsAdvice(const std::string& line) {
  const bool names = Has(line, "medley resume") || Has(line, "medley train ");
  return names && !line.ends_with("\"medley resume\");") && !line.ends_with("\"medley train\");") &&
         Has(line, "\"") && line.find_first_not_of(' ') != line.find("//");
}

TEST(Remedies, OfTheSourcesStandAllInTheTable) {
  std::set<const Remedy*> found;
  for (const char* folder : {"core", "tools/medley"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(MEDLEY_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".cc") continue;
      const std::string source = entry.path().lexically_relative(MEDLEY_SOURCE_DIR).string();
      std::ifstream lines(entry.path());
      for (std::string line; std::getline(lines, line);) {
        if (!IsAdvice(line)) continue;
        const auto* remedy = std::find_if(
            std::begin(kRemedies), std::end(kRemedies),
            [&](const Remedy& known) { return known.source == source && Has(line, known.words); });
        EXPECT_NE(remedy, std::end(kRemedies)) << source << ": " << line << "\nis no line of the table";
        found.insert(remedy);
      }
    }
  }
  for (const Remedy& remedy : kRemedies)
    EXPECT_TRUE(found.count(&remedy) > 0) << remedy.source << ": " << remedy.words;
}

TEST(Remedies, OfTheTableAreTestsThatAreThere) {
  std::string tests;
  for (const char* folder : {"tests/tools", "tests/session", "tests/kit"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(MEDLEY_SOURCE_DIR) / folder)) {
      if (entry.path().extension() == ".cc") tests += ReadText(entry.path());
    }
  }
  for (const Remedy& remedy : kRemedies) {
    const std::string shown = remedy.shown;
    const auto dot = shown.find('.');
    if (dot == std::string::npos) continue;
    const std::string name = "(" + shown.substr(0, dot) + ", " + shown.substr(dot + 1) + ")";
    EXPECT_TRUE(Has(tests, "TEST" + name) || Has(tests, "TEST_F" + name)) << shown;
  }
}

// A run of one task, as small as they come, and what is advised about it.
class Remedied : public ::testing::Test {
 protected:
  Remedied() { WriteText(weights_, test::kOneTaskWeights); }

  std::string TrainLine(const std::string& more) const {
    return Medley() + "train " + kConfig + " --out " + run().string() + " " + Settings() + " " + more;
  }
  std::string Settings() const { return test::kOneTask + weights_.string(); }
  CommandResult Train(const std::string& more) const { return Shell(TrainLine(more) + " 2>&1"); }
  CommandResult Verb(const std::string& verb, const std::string& more = "") const {
    return Shell(Medley() + verb + " " + run().string() + " " + more + " 2>&1");
  }
  // What was printed before these words is done, and ends well.
  static void ExpectWorks(const CommandResult& result, const std::string& words,
                          const std::string& more = "") {
    const std::string command = CommandBefore(result.out, words);
    ASSERT_FALSE(command.empty()) << result.out;
    const CommandResult done = Printed(command + more);
    EXPECT_EQ(done.code, 0) << command << more << "\n" << done.out;
  }
  std::int64_t Newest() const {
    const auto saved = ListCheckpoints(run());
    return saved.empty() ? -1 : saved.front().step;
  }
  fs::path run() const { return scratch_ / "run"; }

  static constexpr const char* kConfig = MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json";
  ScratchDirectory scratch_;
  const fs::path weights_ = scratch_ / "weights.json";
};

TEST_F(Remedied, WhereARunLies) {
  ASSERT_EQ(Train("steps=2").code, 0);
  const CommandResult refused = Train("steps=2");
  EXPECT_EQ(refused.code, 2) << refused.out;
  ExpectWorks(refused, ". To start anew:");
}

TEST_F(Remedied, WhereNoRunLies) {
  fs::create_directory(run());
  const CommandResult refused = Verb("resume");
  EXPECT_EQ(refused.code, 2) << refused.out;
  std::string command = CommandBefore(refused.out, "\n");
  ASSERT_TRUE(Has(command, "train CONFIG --out")) << refused.out;
  command.replace(command.find("CONFIG"), 6, kConfig);
  EXPECT_EQ(Printed(command + " steps=1 " + Settings()).code, 0) << command;
  EXPECT_EQ(Newest(), 1);
}

TEST_F(Remedied, OfARunWhoseStepsAreDone) {
  ASSERT_EQ(Train("steps=2").code, 0);
  const CommandResult done = Verb("resume");
  EXPECT_EQ(done.code, 0) << done.out;
  ExpectWorks(done, "N (N in all)", "4");
  EXPECT_EQ(Newest(), 4);
}

// All that it names, in its order, however it came to its end.
TEST_F(Remedied, ByWhatARunEndsWith) {
  const auto commands = [](const std::string& out) {
    std::vector<std::string> found;
    std::istringstream lines(out.substr(std::min(out.find("\nnext:\n"), out.size())));
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("  medley ")) found.push_back(line.substr(2, line.find("  ", 2) - 2));
    return found;
  };
  CommandResult ended = Train("steps=2");
  const std::vector<std::string> first = commands(ended.out);
  ASSERT_EQ(first.size(), 3u) << ended.out;
  EXPECT_EQ(first[0], "medley eval " + run().string()) << "nothing was scored";
  EXPECT_EQ(first[2], "medley resume " + run().string() + " --steps 4");
  for (const std::string& command : first) {
    ended = Printed(command);
    EXPECT_EQ(ended.code, 0) << command << "\n" << ended.out;
    if (command != first[0]) continue;  // the same end, and the verdict that the report has next
    EXPECT_EQ(commands(ended.out), (std::vector<std::string>{first[1], first[2]})) << ended.out;
    const std::size_t end = ended.out.find(", after step 2\nnext:\n");
    ASSERT_NE(end, std::string::npos) << ended.out;
    const std::size_t begin = ended.out.rfind('\n', end) + 1;
    const std::string report = Printed(first[1]).out;
    EXPECT_TRUE(Has(report, "scores after step 2: " + ended.out.substr(begin, end - begin))) << report;
  }
  EXPECT_EQ(Newest(), 4);
  // A last stage has no more steps, hours are counted anew, and after an early decay the config's steps are
  // what does not go on.
  fs::remove_all(run());
  WriteText(weights_, R"({"stages": [{"name": "one", "weights": {"control": 1}, "until": {"steps": 2}}]})");
  EXPECT_EQ(commands(Train("steps=9").out).size(), 2u);
  fs::remove_all(run());
  WriteText(weights_, test::kOneTaskWeights);
  ended = Train("steps=1000000 hours=0.0003 optimizer.decay_fraction=0");
  EXPECT_EQ(commands(ended.out).back(), "medley resume " + run().string()) << ended.out;
  fs::remove_all(run());
  ended = Train("steps=1000000 hours=0.0005");
  const std::int64_t early = Newest();
  ASSERT_EQ(commands(ended.out).back(),
            "medley resume " + run().string() + " --steps " + std::to_string(2 * early))
      << ended.out;
  ended = Printed(commands(ended.out).back());
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_GT(Newest(), early);
}

TEST_F(Remedied, OfAChangeThatARunCannotTake) {
  ASSERT_EQ(Train("steps=2").code, 0);
  const CommandResult refused = Verb("resume", "seed=6 --steps 4");
  EXPECT_EQ(refused.code, 2) << refused.out;
  std::string command = CommandBefore(refused.out, "\n");
  ASSERT_TRUE(Has(command, "train CONFIG init_from.run=DIR")) << refused.out;
  command.replace(command.find("CONFIG"), 6, kConfig);
  command.replace(command.find("DIR"), 3, run().string());
  const CommandResult other =
      Printed(command + " " + Settings() + " seed=6 steps=2 --out " + run().string() + "-2");
  EXPECT_EQ(other.code, 0) << other.out;
  EXPECT_TRUE(Has(other.out, "parameters from " + run().string())) << other.out;
}

TEST_F(Remedied, OfAChangedFile) {
  const fs::path text = scratch_ / "own.txt";
  fs::copy_file(MEDLEY_SOURCE_DIR "/configs/texts/control.txt", text);
  ASSERT_EQ(Train("steps=2 control_text=" + text.string()).code, 0);
  std::ofstream(text, std::ios::app) << "another line\n";
  const CommandResult refused = Verb("resume", "--steps 3");
  EXPECT_EQ(refused.code, 2) << refused.out;
  ExpectWorks(refused, " goes on with it", " --steps 3");
  EXPECT_EQ(Newest(), 3);
  // Of a run whose steps are done an evaluation is what goes on.
  std::ofstream(text, std::ios::app) << "one more line\n";
  const CommandResult scored = Verb("eval", "--rows 8");
  EXPECT_EQ(scored.code, 2) << scored.out;
  ExpectWorks(scored, " goes on with it");
  EXPECT_EQ(Verb("eval", "--rows 8").code, 0);
  EXPECT_EQ(Verb("weights history").code, 0);
  EXPECT_EQ(Verb("resume", "--steps 4").code, 0);
}

TEST_F(Remedied, OfARunWithoutACheckpoint) {
  ASSERT_EQ(Train("steps=1").code, 0);
  fs::remove_all(run() / CheckpointName(1));
  fs::remove(run() / kLatestFile);
  const CommandResult refused = Verb("eval", "--rows 8");
  EXPECT_EQ(refused.code, 2) << refused.out;
  ExpectWorks(refused, "\n");
  EXPECT_EQ(Verb("eval", "--rows 8").code, 0);
}

TEST_F(Remedied, OfADamagedLogOfWeights) {
  ASSERT_EQ(Train("steps=2").code, 0);
  const std::string log = ReadText(run() / "weights.jsonl");
  WriteText(run() / "weights.jsonl", "[" + log.substr(1));
  const CommandResult history = Verb("weights history");
  EXPECT_EQ(history.code, 2) << history.out;
  EXPECT_TRUE(Has(history.out, "or medley resume, which sets it aside")) << history.out;
  const CommandResult repeated = Shell(TrainLine("steps=2 --replay " + run().string()) + "-2 2>&1");
  EXPECT_EQ(repeated.code, 2) << repeated.out;
  const CommandResult resumed = Verb("resume", "--steps 3");
  EXPECT_EQ(resumed.code, 0) << resumed.out;
  EXPECT_EQ(Verb("weights history").code, 0);
}

TEST_F(Remedied, OfMissingWeights) {
  ASSERT_EQ(Train("steps=2").code, 0);
  fs::remove(run() / "weights.json");
  const CommandResult refused = Verb("eval", "--rows 8");
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_TRUE(Has(refused.out, "or medley resume, which writes it anew")) << refused.out;
  const CommandResult resumed = Verb("resume", "--steps 3");
  EXPECT_EQ(resumed.code, 0) << resumed.out;
  EXPECT_EQ(Verb("eval", "--rows 8").code, 0);
}

// ulimit -f stands in for a full disk: blocks of 1 KiB.
TEST_F(Remedied, AfterThreeSavesThatFailed) {
  const CommandResult full =
      Shell("bash -c 'ulimit -f 100; " + TrainLine("steps=9 checkpoint.every=1") + "' 2>&1");
  EXPECT_EQ(full.code, 1) << full.out;
  EXPECT_TRUE(Has(full.out, "That was the 3rd time in a row")) << full.out;
  EXPECT_TRUE(Has(full.out, "was not saved") && Has(full.out, "There is no checkpoint yet")) << full.out;
  EXPECT_FALSE(Has(full.out, "is intact")) << full.out;
  EXPECT_EQ(test::LastCommand(full.out), "medley resume " + run().string());
  ExpectWorks(full, "\n");
  EXPECT_EQ(Newest(), 9);
}

// However it ends, and where a shell would take the names apart.
TEST_F(Remedied, AsTheLastLineSays) {
  const test::TroubleRun trouble;
  const fs::path run = trouble / "my $run";
  const auto train = [&](const std::string& more) {
    fs::remove_all(run);
    return Shell(trouble.Command("train", "--out '" + run.string() + "' " + more + " 2>&1"));
  };
  const std::string fails = "plan=false steps=4 draws_per_step=2 tasks.trouble.options.fails_at=2 ";
  const CommandResult failed = train(fails);
  EXPECT_EQ(failed.code, 1) << failed.out;
  EXPECT_EQ(test::LastCommand(failed.out), "medley resume '" + run.string() + "'");
  EXPECT_TRUE(Has(Printed(test::LastCommand(failed.out)).out, "\nrestored step 1 ")) << failed.out;
  const CommandResult dropped = train(fails + "on_task_error=drop");
  EXPECT_EQ(dropped.code, 3) << dropped.out;
  const CommandResult report = Printed(CommandBefore(dropped.out, "  scores, losses, memory"));
  EXPECT_EQ(report.code, 0) << report.out;
  // The same command, with what fits in the place of what does not.
  const CommandResult refused = train("plan=true steps=2 --budget 8MiB");
  EXPECT_EQ(refused.code, 5) << refused.out;
  EXPECT_FALSE(Has(test::LastCommand(refused.out), "8MiB")) << refused.out;
  const CommandResult fits = Printed(test::LastCommand(refused.out));
  EXPECT_EQ(fits.code, 0) << test::LastCommand(refused.out) << fits.out;
  EXPECT_EQ(ListCheckpoints(run).front().step, 2);
}

TEST_F(Remedied, OfHoursThatAreOver) {
  const CommandResult over = Train("steps=1000000 hours=0.0003 optimizer.decay_fraction=0");
  EXPECT_EQ(over.code, 0) << over.out;
  const std::int64_t first = Newest();
  ExpectWorks(over, " goes on\n");
  EXPECT_GT(Newest(), first);
}

TEST_F(Remedied, OfARunThatDecayedEarly) {
  const std::string early = "hours=0.0005";
  ASSERT_EQ(Train("steps=1000000 " + early).code, 0);
  const std::int64_t first = Newest();
  const CommandResult done = Verb("resume");
  EXPECT_EQ(done.code, 0) << done.out;
  EXPECT_TRUE(Has(done.out, "For more: medley resume with --steps N (N in all, not 1000000)")) << done.out;
  const CommandResult more = Verb("resume", "--steps 2000000");
  EXPECT_EQ(more.code, 0) << more.out;
  EXPECT_GT(Newest(), first);
}

TEST_F(Remedied, OfACrash) {
  test::Background train(TrainLine("steps=1000000 checkpoint.every=1"), scratch_ / "words");
  ASSERT_TRUE(train.WaitUntil([&] { return fs::exists(run()) && Newest() > 1; })) << train.words();
  train.Signal(SIGSEGV);
  EXPECT_EQ(train.Wait(), 128 + SIGSEGV) << train.words();
  const std::int64_t saved = Newest();
  ExpectWorks({1, train.words()}, " goes on from its newest checkpoint",
              " --steps " + std::to_string(saved + 2));
  EXPECT_EQ(Newest(), saved + 2);
}

}  // namespace
}  // namespace medley
