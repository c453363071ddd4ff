// What a run says and does about files that are not as it left them, as its user meets it.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <tuple>

#include <medley/checkpoint/run_directory.h>

#include "tests/session/session_runs.h"
#include "tests/tools/run_command.h"
#include "tests/tools/small_runs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::Ended;
using test::EndState;
using test::Has;
using test::Medley;
using test::Shell;

// A run of one task, as small as they come.
class SmallRun : public ::testing::Test {
 protected:
  SmallRun() { WriteText(scratch_ / "weights.json", test::kOneTaskWeights); }

  Ended Train(const fs::path& out, const std::string& more) const {
    return test::TrainToTheEnd(
        test::RequestOf("quickstart.json",
                        test::kOneTask + (scratch_ / "weights.json").string() + " " + more),
        out);
  }
  static Ended Resume(const fs::path& run, const std::string& more = "") {
    return test::ResumeToTheEnd(run, more);
  }
  // The run as if it had been killed after step k.
  void ForgetAfter(const fs::path& run, std::int64_t k) const {
    for (const CheckpointEntry& entry : ListCheckpoints(run)) {
      if (entry.step > k) fs::remove_all(entry.path);
    }
    WriteText(run / "LATEST", CheckpointName(k) + "\n");
  }

  ScratchDirectory scratch_;
};

TEST_F(SmallRun, ALatestThatCannotBeWrittenCostsNothing) {
  const fs::path run = scratch_ / "run";
  fs::create_directories(run / "LATEST");
  const Ended trained = Train(run, "steps=8 checkpoint.every=2 checkpoint.keep=2");
  EXPECT_EQ(trained.code, ExitCode::kDone) << trained.out;
  EXPECT_TRUE(Has(trained.out, "saved step 8")) << trained.out;
  EXPECT_TRUE(Has(trained.out, "step 8 is saved, but LATEST still names an older one")) << trained.out;
  EXPECT_FALSE(Has(trained.out, "not saved")) << trained.out;
  EXPECT_EQ(ListCheckpoints(run).size(), 2u) << "rotation goes on";
}

TEST_F(SmallRun, ADamagedLogIsNamedAndKeptAndTheRunGoesOn) {
  const fs::path whole = scratch_ / "whole";
  ASSERT_EQ(Train(whole, "steps=6 checkpoint.every=2 checkpoint.keep=9").code, ExitCode::kDone);
  const auto expected = EndState(whole);
  const std::string metrics = ReadText(whole / "metrics.jsonl");
  const auto digit = metrics.find('.', metrics.find("\"loss\":")) + 1;
  std::map<std::string, std::string> damaged = {
      {"a digit", metrics}, {"a brace", metrics}, {"a line", metrics}};
  damaged["a digit"][digit] = metrics[digit] == '1' ? '2' : '1';
  damaged["a brace"][0] = '[';
  damaged["a line"].erase(0, metrics.find('\n') + 1);
  damaged["the end"] = metrics.substr(0, metrics.size() / 3);
  for (const auto& [what, text] : damaged) {
    const fs::path run = scratch_ / "run";
    fs::copy(whole, run, fs::copy_options::recursive);
    ForgetAfter(run, 4);
    WriteText(run / "metrics.jsonl", text);
    const Ended resumed = Resume(run);
    EXPECT_EQ(resumed.code, ExitCode::kDone) << what << resumed.out;
    EXPECT_TRUE(Has(resumed.out, "restored step 4")) << what << resumed.out;
    EXPECT_TRUE(Has(resumed.out, "metrics.jsonl.damaged-1")) << what << resumed.out;
    EXPECT_EQ(ReadText(run / "metrics.jsonl.damaged-1"), text) << what;
    auto state = EndState(run);
    for (const char* name : {"step", "model", "optimizer", "state"})
      EXPECT_EQ(state.at(name), expected.at(name)) << what;
    const std::string end = state.at("metrics");
    EXPECT_TRUE(Has(end, "{\"step\":5,") && Has(end, "{\"step\":6,")) << what << end;
    const std::string losses = state.at("losses");
    EXPECT_EQ(std::count(losses.begin(), losses.end(), '\n'), std::count(end.begin(), end.end(), '\n') + 1)
        << what;
    fs::remove_all(run);
  }
}

// The one that was kept first stays as it is.
TEST_F(SmallRun, ALogThatIsDamagedTwiceIsKeptTwice) {
  const fs::path run = scratch_ / "run";
  ASSERT_EQ(Train(run, "steps=4 checkpoint.every=2 checkpoint.keep=9").code, ExitCode::kDone);
  ForgetAfter(run, 2);
  for (const std::string n : {"1", "2"}) {
    const std::string damaged = "[" + ReadText(run / "metrics.jsonl").substr(1);
    WriteText(run / "metrics.jsonl", damaged);
    const Ended resumed = Resume(run, "checkpoint.every=0 steps=4");
    EXPECT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
    EXPECT_EQ(ReadText(run / ("metrics.jsonl.damaged-" + n)), damaged) << resumed.out;
    ForgetAfter(run, 2);
  }
}

// All that a run leaves, whoever added to it: each may be a file of somebody's in the folder that he names.
TEST_F(SmallRun, NoNewRunBeginsWhereOneOfItsFilesIsSomebodys) {
  const fs::path run = scratch_ / "run";
  ASSERT_EQ(Train(run, "steps=1 plan=false").code, ExitCode::kDone);
  // The lock is of a start, log.txt goes on below what is there, weights.jsonl is set aside.
  const std::set<std::string> spared = {"run.lock", "log.txt", "weights.jsonl"};
  int refused = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
    const std::string name = entry.path().filename();
    if (!entry.is_regular_file() || spared.count(name) > 0) continue;
    fs::create_directories(scratch_ / ("with " + name));
    WriteText(scratch_ / ("with " + name) / name, "mine");
    EXPECT_THROW(RunDirectory::CheckFree(scratch_ / ("with " + name)), InputError)
        << name << " belongs into WouldBeLost of core/checkpoint/run_directory.cc";
    ++refused;
  }
  EXPECT_GE(refused, 7);
}

TEST_F(SmallRun, MissingLogsAndPipesInTheirPlaceDoNotStopIt) {
  const fs::path run = scratch_ / "run";
  ASSERT_EQ(Train(run, "steps=2 checkpoint.every=2").code, ExitCode::kDone);
  for (const char* log : {"metrics.jsonl", "losses.csv", "timing.jsonl"}) fs::remove(run / log);
  ASSERT_EQ(::mkfifo((run / "timing.jsonl").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo((run / "losses.csv").c_str(), 0600), 0);
  const Ended resumed = Resume(run, "steps=4");
  EXPECT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
  EXPECT_TRUE(Has(resumed.out, "metrics.jsonl is missing; a new one begins here")) << resumed.out;
  EXPECT_TRUE(Has(resumed.out, "timing.jsonl is no plain file; it is now timing.jsonl.damaged-1"))
      << resumed.out;
  EXPECT_TRUE(fs::is_fifo(run / "losses.csv.damaged-1"));
  EXPECT_EQ(ListCheckpoints(run).at(0).step, 4);
}

// Checkpoints of before the logs had sums.
TEST_F(SmallRun, AnOlderManifestStillResumes) {
  const fs::path run = scratch_ / "run";
  ASSERT_EQ(Train(run, "steps=4 checkpoint.every=2 checkpoint.keep=9").code, ExitCode::kDone);
  const auto expected = EndState(run);
  ForgetAfter(run, 2);
  const fs::path checkpoint = run / CheckpointName(2);
  auto manifest = nlohmann::ordered_json::parse(ReadText(checkpoint / kManifestFile));
  for (auto& [log, mark] : manifest.at("facts").at("logs").items())
    mark = nlohmann::ordered_json(mark.at("bytes"));
  manifest.at("facts").erase("config");
  const std::string text = manifest.dump(1) + "\n";
  const nlohmann::ordered_json seal = {
      {"format", 1}, {"step", 2}, {"manifest_bytes", text.size()}, {"manifest_xxh3_128", HashText(text)}};
  WriteText(checkpoint / kManifestFile, text);
  WriteText(checkpoint / kSealFile, seal.dump() + "\n");
  const Ended resumed = Resume(run);
  EXPECT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
  EXPECT_FALSE(Has(resumed.out, "damaged")) << resumed.out;
  EXPECT_EQ(EndState(run), expected);
}

TEST_F(SmallRun, LatestIsMendedWhenTheNewestIsSetAside) {
  const fs::path run = scratch_ / "run";
  ASSERT_EQ(Train(run, "steps=4 checkpoint.every=2 checkpoint.keep=9").code, ExitCode::kDone);
  fs::remove(run / CheckpointName(4) / "seal");
  ASSERT_EQ(Resume(run, "steps=2").code, ExitCode::kDone);  // nothing is left to do
  EXPECT_EQ(ReadText(run / "LATEST"), "step-00000002\n");
}

TEST_F(SmallRun, AForeignLockFileIsNoObstacle) {
  const fs::path run = scratch_ / "run";
  ASSERT_EQ(Train(run, "steps=2").code, ExitCode::kDone);
  for (const char* text : {R"({"host":1})", R"({"pid":{},"started":[],"boot_id":7})", "[", "7"}) {
    WriteText(run / "run.lock", text);
    const Ended resumed = Resume(run);
    EXPECT_EQ(resumed.code, ExitCode::kDone) << text << resumed.out;
    EXPECT_TRUE(Has(resumed.out, "took over the stale lock of ")) << text << resumed.out;
  }
  fs::remove(run / "run.lock");
  ASSERT_EQ(::mkfifo((run / "run.lock").c_str(), 0600), 0);
  const Ended fifo = Resume(run);
  EXPECT_EQ(fifo.code, ExitCode::kBadInput) << fifo.out;
  EXPECT_TRUE(Has(fifo.out, "run.lock is no plain file")) << fifo.out;
  fs::create_directory(scratch_ / "new");
  ASSERT_EQ(::mkfifo((scratch_ / "new/run.lock").c_str(), 0600), 0);
  const Ended start = Train(scratch_ / "new", "steps=1");
  EXPECT_EQ(start.code, ExitCode::kBadInput) << start.out;
  EXPECT_TRUE(Has(start.out, "run.lock is no plain file")) << start.out;
}

TEST_F(SmallRun, APipeInPlaceOfTheConsolesLogIsRefused) {
  const fs::path run = scratch_ / "run";
  ASSERT_EQ(Train(run, "steps=2").code, ExitCode::kDone);
  fs::remove(run / "log.txt");
  ASSERT_EQ(::mkfifo((run / "log.txt").c_str(), 0600), 0);
  const Ended resumed = Resume(run);
  EXPECT_EQ(resumed.code, ExitCode::kBadInput) << resumed.out;
  EXPECT_TRUE(Has(resumed.out, "log.txt is a FIFO; expected a file")) << resumed.out;
}

TEST_F(SmallRun, ARunThatBeganWithAnotherOneOutlivesIt) {
  const fs::path first = scratch_ / "first", run = scratch_ / "run";
  ASSERT_EQ(Train(first, "steps=1").code, ExitCode::kDone);
  const Ended begun = Train(run, "steps=2 init_from.run=" + first.string());
  ASSERT_EQ(begun.code, ExitCode::kDone) << begun.out;
  EXPECT_TRUE(Has(begun.out, "parameters from " + first.string())) << begun.out;
  fs::remove_all(first);
  const Ended resumed = Resume(run, "steps=3");
  EXPECT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
  const CommandResult scored = Shell(Medley() + "eval " + run.string() + " --rows 2 2>&1");
  EXPECT_EQ(scored.code, 0) << scored.out;
  const Ended next = Train(scratch_ / "next", "steps=1 init_from.run=" + run.string());
  EXPECT_EQ(next.code, ExitCode::kDone) << next.out;
  const fs::path checkpoint = run / CheckpointName(2);
  const Ended from_one = Train(scratch_ / "one", "steps=1 init_from.run=" + checkpoint.string());
  EXPECT_EQ(from_one.code, ExitCode::kDone) << from_one.out;
  EXPECT_TRUE(Has(from_one.out, "parameters from " + checkpoint.string())) << from_one.out;
  const Ended gone = Train(scratch_ / "none", "steps=1 init_from.run=" + first.string());
  EXPECT_EQ(gone.code, ExitCode::kBadInput) << gone.out;
  EXPECT_TRUE(Has(gone.out, "init_from.run: no such directory")) << gone.out;
}

TEST_F(SmallRun, ResumeTakesWhatMayChangeAndSaysIt) {
  const fs::path run = scratch_ / "run";
  ASSERT_EQ(Train(run, "steps=2 optimizer.learning_rate=0.001 optimizer.clip_norm=1 data.threads=1").code,
            ExitCode::kDone);
  const Ended resumed =
      Resume(run, "optimizer.learning_rate=0.000125 steps=4 checkpoint.every=1 data.threads=0 eval.rows=3");
  ASSERT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
  EXPECT_TRUE(Has(resumed.out, "optimizer.learning_rate: 0.001 -> 0.000125")) << resumed.out;
  EXPECT_TRUE(Has(resumed.out, "steps: 2 -> 4")) << resumed.out;
  EXPECT_TRUE(Has(resumed.out, "data.threads: 1 -> 0")) << resumed.out;
  const auto config = nlohmann::json::parse(ReadText(run / "config.resolved.1.json"));
  EXPECT_EQ(config.at("optimizer").at("learning_rate"), 0.000125);
  const Ended again = Resume(run, "steps=5");
  EXPECT_EQ(again.code, ExitCode::kDone) << again.out;
  EXPECT_FALSE(Has(again.out, "optimizer.learning_rate")) << "what the checkpoint was trained with already";

  // The file, too, may be edited.
  const fs::path newest = run / "config.resolved.2.json";
  auto edited = nlohmann::ordered_json::parse(ReadText(newest));
  edited["optimizer"]["clip_norm"] = 0.25;
  WriteText(newest, edited.dump(2));
  const Ended after = Resume(run, "steps=6");
  EXPECT_EQ(after.code, ExitCode::kDone) << after.out;
  EXPECT_TRUE(Has(after.out, "optimizer.clip_norm: 1.0 -> 0.25")) << after.out;
}

TEST_F(SmallRun, WhatDecidesRowsOrTheModelIsRefusedAtAResume) {
  const fs::path run = scratch_ / "run";
  ASSERT_EQ(Train(run, "steps=2").code, ExitCode::kDone);
  const std::string config = ReadText(run / "config.resolved.json");
  const std::string checkpoint = ReadText(run / "step-00000002/manifest.json");
  for (const char* change : {"seed=6", "draws_per_step=2", "tasks.control.rows=4",
                             "model=" MEDLEY_SOURCE_DIR "/configs/models/agent-qwen3-0.6b.json"}) {
    const Ended resumed = Resume(run, std::string("steps=4 ") + change);
    EXPECT_EQ(resumed.code, ExitCode::kBadInput) << change << resumed.out;
    const std::string key = std::string(change).substr(0, std::string(change).find('='));
    EXPECT_TRUE(Has(resumed.out, key == "model" ? "(model) is not what the run began with" : key + ": "))
        << resumed.out;
    EXPECT_TRUE(Has(resumed.out, "start a new run")) << change << resumed.out;
  }
  auto edited = nlohmann::ordered_json::parse(config);
  edited["seed"] = 6;
  edited["steps"] = 4;
  WriteText(run / "config.resolved.json", edited.dump(2));
  const Ended resumed = Resume(run);
  EXPECT_EQ(resumed.code, ExitCode::kBadInput) << resumed.out;
  EXPECT_TRUE(Has(resumed.out, "seed: 5 -> 6")) << resumed.out;
  EXPECT_FALSE(fs::exists(run / "config.resolved.1.json"));
  EXPECT_EQ(ReadText(run / "step-00000002/manifest.json"), checkpoint);
  WriteText(run / "config.resolved.json", config);
  EXPECT_EQ(Resume(run, "steps=3").code, ExitCode::kDone);
}

// Also where there is nothing left to do.
TEST_F(SmallRun, AFinishedRunRefusesThemToo) {
  const fs::path run = scratch_ / "run";
  ASSERT_EQ(Train(run, "steps=1").code, ExitCode::kDone);
  const Ended refused = Resume(run, "seed=6");
  EXPECT_EQ(refused.code, ExitCode::kBadInput) << refused.out;
  EXPECT_TRUE(Has(refused.out, "seed: 5 -> 6")) << refused.out;
  EXPECT_TRUE(Has(Resume(run).out, "all 1 steps are done"));
}

TEST_F(SmallRun, ThreadsThatWouldStopTheMachineAreRefusedAtAResume) {
  const fs::path run = scratch_ / "run";
  ASSERT_EQ(Train(run, "steps=1").code, ExitCode::kDone);
  const Ended refused = Resume(run, "steps=2 threads=4096");
  EXPECT_EQ(refused.code, ExitCode::kBadInput) << refused.out;
  EXPECT_TRUE(Has(refused.out, "threads: 4096 on ")) << refused.out;
  EXPECT_FALSE(fs::exists(run / "step-00000002"));
}

// As rm -r leaves it that races with a save: a checkpoint, and nothing to go on with.
TEST_F(SmallRun, ARunWhoseFilesAreRemovedWhileItTrainsDoesNotEndWell) {
  for (const char* gone : {"config.resolved.json", ""}) {
    const fs::path run = scratch_ / "run";
    const Ended ended = test::EndOf([&](Console& console) {
      Session session = Session::Begin(
          test::RequestOf("quickstart.json", test::kOneTask + (scratch_ / "weights.json").string() +
                                                 " steps=3 checkpoint.every=1"),
          run, console);
      session.Train(2);
      fs::remove_all(run / gone);
      return session.Train();
    });
    EXPECT_EQ(ended.code, ExitCode::kFailed) << ended.out;
    EXPECT_TRUE(Has(ended.out, *gone ? "has lost its config.resolved.json" : "The run's directory is gone"))
        << ended.out;
    fs::remove_all(run);
  }
}

// It is kept aside as a damaged log is, and all of it that is as it was written goes on.
TEST_F(SmallRun, ADamagedRecordStopsNoResume) {
  const fs::path run = scratch_ / "run";
  ASSERT_EQ(Train(run, "steps=1").code, ExitCode::kDone);
  const auto good = nlohmann::ordered_json::parse(ReadText(run / "run.json"));
  auto types = good;
  types["inputs"]["model"]["xxh3_128"] = 5;
  types["plugins"][0]["tasks"] = {{"name", 1}};
  auto rules = good;
  rules["data_rules"] = {{"held_out", 3}};
  std::int64_t steps = 1;
  for (const auto& [text, lost, kept] :
       {std::tuple(types.dump(), std::string("\"inputs\" is not as it was written, \"plugins\" is not"),
                   true),
        std::tuple(rules.dump(), std::string("does not say any more what is held out"), true),
        std::tuple(good.dump().substr(0, 300), std::string("it cannot be repeated"), false),
        std::tuple(std::string(200, '\0'), std::string("is now run.json.damaged-"), false),
        std::tuple(std::string("[]"), std::string("a JSON object was expected"), false)}) {
    WriteText(run / "run.json", text);
    const Ended resumed = Resume(run, "steps=" + std::to_string(++steps));
    ASSERT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
    EXPECT_TRUE(Has(resumed.out, "run.json is damaged: ") && Has(resumed.out, lost)) << resumed.out;
    EXPECT_EQ(ReadText(run / ("run.json.damaged-" + std::to_string(steps - 1))), text);
    const auto now = nlohmann::ordered_json::parse(ReadText(run / "run.json"));
    EXPECT_EQ(now.at("inputs").at("model"), good.at("inputs").at("model"));
    EXPECT_EQ(now.at("starts").size() > 1, kept);
    EXPECT_EQ(now.at("data_rules"), good.at("data_rules"));
  }
}

TEST_F(SmallRun, GoesOnFromAnOlderCheckpointAndKeepsTheNewerOnesAside) {
  const fs::path run = scratch_ / "run";
  ASSERT_EQ(Train(run, "steps=8 checkpoint.every=2 checkpoint.keep=9").code, ExitCode::kDone);
  const auto expected = EndState(run);
  const std::string newest = ReadText(run / CheckpointName(8) / "model.safetensors");
  const auto from = [&](std::int64_t step) { return test::ResumeToTheEnd(run, ResumeRequest{.from = step}); };
  const Ended missing = from(5);
  EXPECT_EQ(missing.code, ExitCode::kBadInput);
  EXPECT_TRUE(Has(missing.out, "has no checkpoint of step 5; it has those of 2, 4, 6, 8")) << missing.out;
  const std::string weights = ReadText(run / CheckpointName(6) / "model.safetensors");
  WriteText(run / CheckpointName(6) / "model.safetensors", "x" + weights.substr(1));
  const Ended damaged = from(6);
  EXPECT_EQ(damaged.code, ExitCode::kBadInput);
  EXPECT_TRUE(Has(damaged.out, "the checkpoint of step 6 cannot be used: ")) << damaged.out;
  EXPECT_EQ(ListCheckpoints(run).size(), 4U) << "nothing was set aside";
  EXPECT_EQ(EndState(run), expected);

  const Ended older = from(4);  // a damaged one that is newer does not matter
  EXPECT_EQ(older.code, ExitCode::kDone) << older.out;
  EXPECT_TRUE(Has(older.out, "restored step 4 ")) << older.out;
  EXPECT_TRUE(
      Has(older.out, "step-00000008 is of a later step; it is now newer-step-00000008, which no resume"))
      << older.out;
  EXPECT_EQ(EndState(run), expected) << "the same steps again";
  EXPECT_EQ(ReadText(run / "newer-step-00000008/model.safetensors"), newest);
  const Ended again = from(2);
  EXPECT_EQ(again.code, ExitCode::kDone) << again.out;
  EXPECT_EQ(EndState(run), expected);
  EXPECT_EQ(ReadText(run / "newer-step-00000008-2/model.safetensors"), newest);
  const Ended last = from(8);
  EXPECT_EQ(last.code, ExitCode::kDone) << last.out;
  EXPECT_TRUE(Has(last.out, "all 8 steps are done")) << last.out;
}

// As after a power failure: some of the newer ones are aside, and the run was not begun again.
TEST_F(SmallRun, AGoingBackThatWasCutGoesOnFromOneOrTheOther) {
  const fs::path whole = scratch_ / "whole";
  ASSERT_EQ(Train(whole, "steps=8 checkpoint.every=2 checkpoint.keep=9").code, ExitCode::kDone);
  const auto expected = EndState(whole);
  for (const auto& [moved, restored] :
       {std::pair(6, "all 8 steps are done"), std::pair(8, "restored step 4 ")}) {
    const fs::path run = scratch_ / "run";
    fs::copy(whole, run, fs::copy_options::recursive);
    for (std::int64_t step = 6; step <= moved; step += 2)
      fs::rename(run / CheckpointName(step), run / ("newer-" + CheckpointName(step)));
    const Ended resumed = Resume(run);
    EXPECT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
    EXPECT_TRUE(Has(resumed.out, restored)) << resumed.out;
    EXPECT_EQ(EndState(run), expected);
    fs::remove_all(run);
  }
}

}  // namespace
}  // namespace medley
