// Runs of several processes against the same run of one, as `medley launch` starts them.
#include <medley/page/run_data.h>

#include <cstdlib>
#include <map>
#include <utility>

#include "tests/cluster/ranks_fixture.h"
#include "tests/sweep.h"
#include "tests/tools/trouble_run.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::CommandResult;
using test::Has;
using test::Medley;
using test::Ranks;
using test::Shell;

// In the log of times, the report and the page.
void ExpectThatAllSayWhatTheyTook(const fs::path& run, int ranks) {
  const std::string timing = ReadText(run / "timing.jsonl");
  const json last = json::parse(timing.substr(timing.rfind('\n', timing.size() - 2) + 1));
  EXPECT_EQ(last.at("rank_work_ms").size(), static_cast<std::size_t>(ranks)) << last;
  const CommandResult report = Shell(Medley() + "report " + run.string() + " 2>&1");
  EXPECT_TRUE(Has(report.out, "rank " + std::to_string(ranks - 1) + "\n")) << report.out;
  const auto page = RunData(run).at("ranks");
  ASSERT_EQ(page.size(), static_cast<std::size_t>(ranks));
  for (const auto& rank : page) {
    EXPECT_GT(rank.at("worked").get<double>(), 0);
    EXPECT_FALSE(rank.at("memory").at("forms").empty()) << rank;
  }
}

TEST_F(Ranks, TrainWhatOneTrains) {
  for (const std::string draws : {"draws_per_step=1 steps=6", "draws_per_step=5 steps=4"}) {
    ASSERT_EQ(Train(1, "one" + draws.substr(15, 1), draws).code, 0);
    for (const int ranks : test::Slice<int>("Ranks." + draws, {2, 3}, 2)) {
      const std::string run = std::to_string(ranks) + "of" + draws.substr(15, 1);
      const CommandResult done = Train(ranks, run, draws);
      ASSERT_EQ(done.code, 0) << done.out;
      ExpectTheSameRun(run, "one" + draws.substr(15, 1));
      ExpectTheSameSumsOnAll(run, ranks);
      EXPECT_TRUE(Has(ReadText(At(run) / "log.txt"), " % waiting for processes (rank "));
      ExpectThatAllSayWhatTheyTook(At(run), ranks);
    }
  }
}

// Tasks are divided among them; all know what came out, to the bit, with the sheets.
TEST_F(Ranks, EvaluateTheirShareAndKnowAllScores) {
  ASSERT_EQ(Train(1, "one", "steps=4 tensorboard=true").code, 0);
  const CommandResult done = Train(3, "run", "steps=4 tensorboard=true");
  ASSERT_EQ(done.code, 0) << done.out;
  ExpectTheSameRun("run", "one");
  const json scores = Metrics("run").back().at("eval");
  EXPECT_EQ(scores.size(), 4U) << scores;
  for (const std::string rank : {"run/rank-1", "run/rank-2"})
    EXPECT_EQ(Metrics(rank).back().at("eval").dump(), scores.dump());
}

TEST_F(Ranks, OneOfThemIsTodaysRun) {
  ASSERT_EQ(Train(1, "launched", "steps=3").code, 0);
  const CommandResult plain = Shell(Medley() + "train " + Quickstart() + " --out " + At("plain").string() +
                                    Settings("steps=3") + " 2>&1");
  ASSERT_EQ(plain.code, 0) << plain.out;
  EXPECT_EQ(ReadText(At("launched") / "metrics.jsonl"), ReadText(At("plain") / "metrics.jsonl"));
}

// Each has them all, and nothing of them is exchanged: those of the beginning, and an average.
TEST_F(Ranks, AskFurtherWeights) {
  ::setenv("MEDLEY_PLUGIN_PATH", MEDLEY_BEYOND_PLUGINS, /*overwrite=*/1);
  WriteText(scratch_ / "weights.json",
            R"({"unit": "steps", "weights": {"solver": 2, "student": 2, "arrow_to_gold": 1}})");
  const std::string texts = MEDLEY_SOURCE_DIR "/configs/texts/";
  const std::string settings =
      "tasks.solver.kind=preference tasks.solver.options.data=" + texts +
      "pairs.jsonl tasks.solver.rows=5 tasks.student.options.data=" + texts +
      "talk.jsonl tasks.student.options.validation=" + texts +
      "talk-validation.jsonl tasks.student.rows=4 tasks.student.terms.file=1 references.teacher.of=average "
      "references.teacher.decay=0.5 draws_per_step=2 ";
  ExpectToGoOnWithAnotherNumber(settings);
  EXPECT_FALSE(fs::exists(At("run") / "rank-1/references"));
  EXPECT_EQ(ReadText(At("run") / "references/start.safetensors"),
            ReadText(At("straight") / "references/start.safetensors"));
  ::unsetenv("MEDLEY_PLUGIN_PATH");
}

TEST_F(Ranks, GoOnWithAnotherNumberOfThem) { ExpectToGoOnWithAnotherNumber("eval.every=4"); }

TEST_F(Ranks, AnInterruptOfOneSavesAllAndTheyGoOn) {
  ASSERT_EQ(Train(2, "straight", "steps=5").code, 0);
  const CommandResult stopped = Train(2, "run", "steps=5", "ON_RANK=1 AT=4 FAULT=interrupt");
  EXPECT_EQ(stopped.code, 130) << stopped.out;
  EXPECT_EQ(ListCheckpoints(At("run")).front().step, 3);
  EXPECT_EQ(Sums("run", 0), Sums("run", 1));
  const CommandResult done = Resume(2, "run");
  EXPECT_EQ(done.code, 0) << done.out;
  EXPECT_EQ(ReadText(At("run") / "metrics.jsonl"), ReadText(At("straight") / "metrics.jsonl"));
}

// The same, whichever of them it is.
TEST_F(Ranks, AnOverflowOfOneIsAnotherTryOfAll) {
  for (const std::string rank : {"0", "1"}) {
    const CommandResult done =
        Train(2, rank, "steps=3 dtype=fp16 optimizer.shard=true" + std::string(kSteady),
              "AT=2 FAULT=overflow ON_RANK=" + rank);
    ASSERT_EQ(done.code, 0) << done.out;
    ExpectTheSameSumsOnAll(rank, 2);
    const std::string timing = ReadText(At(rank) / "timing.jsonl");
    EXPECT_TRUE(Has(timing, R"("loss_scale":{"scale":32768.0,"repeats":1})")) << timing;
  }
  EXPECT_EQ(Sums("0", 0), Sums("1", 0));
  EXPECT_EQ(Metrics("0"), Metrics("1"));
}

// The step at which one was asked to stop, while it was repeated, is no step of anybody's.
TEST_F(Ranks, AnInterruptBetweenTwoTriesOfOneCostsAllTheWholeStep) {
  const std::string settings = "steps=3 dtype=fp16" + std::string(kSteady);
  ASSERT_EQ(Train(2, "straight", settings).code, 0);
  const CommandResult stopped = Train(2, "run", settings, "ON_RANK=1 AT=3 FAULT=overflow:interrupt");
  EXPECT_EQ(stopped.code, 130) << stopped.out;
  EXPECT_EQ(ListCheckpoints(At("run")).front().step, 2);
  EXPECT_EQ(Sums("run", 0), Sums("run", 1));
  const CommandResult done = Resume(2, "run");
  EXPECT_EQ(done.code, 0) << done.out;
  ExpectTheSameSumsOnAll("run", 2);
  EXPECT_EQ(ReadText(At("run") / "metrics.jsonl"), ReadText(At("straight") / "metrics.jsonl"));
  EXPECT_FALSE(Has(ReadText(At("run") / "timing.jsonl"), R"("scale":32768.0)"));
}

// A stage that ended is not counted again, and what began from another run's weights is still they.
TEST_F(Ranks, AnOverflowWithAdaptersInAStageOfARunThatGoesOnFromAnotherIsOneMoreTry) {
  ASSERT_EQ(Train(1, "base", "steps=1 dtype=fp16" + std::string(kSteady)).code, 0);
  WriteText(scratch_ / "weights.json", R"({"unit": "steps", "stages": [
      {"name": "words", "weights": {"control": 1}, "until": {"steps": 2}},
      {"name": "pictures", "weights": {"arrow_to_gold": 1, "position_qa": 1}}]})");
  const std::string settings =
      "steps=4 dtype=fp16 lora.rank=2 optimizer.average=0.9 init_from.run=" + At("base").string() + kSteady;
  ASSERT_EQ(Train(1, "straight", settings).code, 0);
  for (const std::string step : {"2", "3"}) {  // the last of a stage, the first of the next
    const CommandResult done = Train(1, step, settings, "ON_RANK=0 AT=" + step + " FAULT=overflow");
    ASSERT_EQ(done.code, 0) << done.out;
    ExpectTheSameRun(step, "straight");
    const std::string timing = ReadText(At(step) / "timing.jsonl");
    EXPECT_TRUE(Has(timing, R"("loss_scale":{"scale":32768.0,"repeats":1})")) << timing;
    EXPECT_FALSE(Has(timing, R"("repeats":2)")) << timing;
  }
}

TEST_F(Ranks, OneThatIsKilledEndsTheOthersAndIsBlamed) {
  const CommandResult ended = Train(3, "run", "steps=5", "ON_RANK=1 AT=3 FAULT=kill");
  EXPECT_EQ(ended.code, 4) << ended.out;
  EXPECT_TRUE(Has(ended.out, "rank 1 (process")) << ended.out;
  EXPECT_TRUE(Has(ended.out, "was ended by signal 9")) << ended.out;
  for (const std::string rank : {"rank 0 of 3", "rank 2 of 3"})
    EXPECT_TRUE(Has(ended.out, rank + " cannot go on: rank 1 (host ")) << ended.out;
  const std::string folder = (At("run") / "rank-1").string();
  for (const std::string& verb : {"resume " + folder, "eval " + folder, "report " + folder + "/",
                                  "train " + Quickstart() + " --out " + folder}) {
    const CommandResult refused = Shell(Medley() + verb + " 2>&1");
    EXPECT_EQ(refused.code, 2) << refused.out;
    EXPECT_TRUE(Has(refused.out, "no run. Name the run: " + At("run").string() + "\n")) << refused.out;
  }
  EXPECT_EQ(ListCheckpoints(At("run")).front().step, 2);
  EXPECT_EQ(Resume(2, "run").code, 0);
}

TEST_F(Ranks, OneThatHangsIsWaitedForNoLongerThanItsTimeout) {
  const CommandResult ended = Train(2, "run", "steps=5 peer_timeout=4", "ON_RANK=1 AT=3 FAULT=stop");
  EXPECT_EQ(ended.code, 4) << ended.out;
  EXPECT_TRUE(Has(ended.out, "cannot go on: rank 1 (host ")) << ended.out;
  EXPECT_TRUE(Has(ended.out, ") did not answer within 4 s (")) << ended.out;
  EXPECT_TRUE(Has(ended.out, "Timed out")) << ended.out;
  EXPECT_EQ(ListCheckpoints(At("run")).front().step, 2);
}

TEST_F(Ranks, OneWhoseMemoryRunsOutCutsItsOwnRows) {
  int cuts = 0;
  for (const int allocation : {40, 150, 400}) {
    const std::string run = "run" + std::to_string(allocation);
    const CommandResult done =
        Train(2, run,
              "steps=4 tasks.control.rows=8 tasks.position_qa.rows=8 tasks.arrow_to_gold.rows=8 "
              "tasks.zoom_halfway.rows=8",
              "ON_RANK=1 AT=2 FAULT=memory:" + std::to_string(allocation));
    EXPECT_EQ(done.code, 0) << done.out;
    ExpectTheSameSumsOnAll(run, 2);
    cuts += Has(ReadText(At(run) / "rank-1/log.txt"), "ran out of memory") ? 1 : 0;
  }
  EXPECT_GT(cuts, 0) << "none of the faults happened";
}

TEST_F(Ranks, AnEditOfTheRunsWeightsIsInForceOnAllAtOnce) {
  test::Background run(Command(2, Quickstart(), "run", Settings("steps=1000000 eval.every=0")), At("log"));
  ASSERT_TRUE(run.WaitUntil([&] { return test::StepsOf(At("run")) >= 3; })) << run.words();
  WriteText(At("run") / "weights.json", R"({"unit": "steps", "weights": {"control": 1, "zoom_gold": 3}})");
  ASSERT_TRUE(run.WaitUntil([&] { return Has(ReadText(At("run") / "metrics.jsonl"), "zoom_gold"); }))
      << run.words();
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 130) << run.words();
  ExpectTheSameSumsOnAll("run", 2);
  EXPECT_TRUE(Has(ReadText(At("run") / "weights.jsonl"), "zoom_gold"));
}

// The first cannot write its plan, the other can: all refuse the edit, and all look at it again.
TEST_F(Ranks, AnEditThatOneCannotSaveIsTakenByAllOnceItCan) {
  WriteText(scratch_ / "weights.json", R"({"unit": "steps", "weights": {"control": 1}})");
  const std::string settings = Settings("plan=true budget=1GiB steps=1000000 eval.every=0");
  test::Background run(Command(2, Quickstart(), "run", settings), At("log"));
  ASSERT_TRUE(run.WaitUntil([&] { return test::StepsOf(At("run")) >= 3; })) << run.words();
  const fs::path plan = At("run") / "plan.json";
  fs::rename(plan, At("kept.json"));
  fs::create_directories(plan / "full");
  const std::string edit = R"({"unit": "steps", "weights": {"control": 1, "zoom_gold": 3}})";
  WriteText(At("run") / "weights.json", edit);
  ASSERT_TRUE(run.WaitUntil([&] { return Has(ReadText(At("run") / "log.txt"), "is refused"); }))
      << run.words();
  fs::remove_all(plan);
  WriteText(At("run") / "weights.json", edit + "\n");
  ASSERT_TRUE(run.WaitUntil([&] { return Has(ReadText(At("run") / "metrics.jsonl"), "zoom_gold"); }))
      << run.words();
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 130) << run.words();
  ExpectTheSameSumsOnAll("run", 2);
  EXPECT_TRUE(Has(ReadText(plan), "zoom_gold"));
}

// Each measures for itself, and all have the same rows, else the roll call would say so; the hours
// are the first's.
TEST_F(Ranks, PlanAlikeAndEndWithTheirHours) {
  const CommandResult done =
      Train(2, "run", "plan=true budget=1GiB steps=1000000 hours=0.001 eval.every=0 draws_per_step=3");
  EXPECT_EQ(done.code, 0) << done.out;
  ExpectTheSameSumsOnAll("run", 2);
  EXPECT_EQ(ReadText(At("run") / "metrics.jsonl"), ReadText(At("run") / "rank-1/metrics.jsonl"));
  ExpectRowsByCountedWork("run");
}

// On a GPU that computes on the CPU, whose NCCL does so too (tests/fake_cuda). Two numbers have one sum,
// whoever adds them.
TEST_F(Ranks, OnGpusAddUpThereOrSayWhyNot) {
  if (!fs::exists(MEDLEY_BUILD_DIR "/lib/medley/medley_nccl.so"))
    GTEST_SKIP() << "medley_nccl.so was not built here";
  const std::string gpu = "LD_LIBRARY_PATH=" MEDLEY_BUILD_DIR "/tests/fake_cuda/lib ";
  const std::string settings = "device=cuda steps=3 eval.every=0 ";
  const auto expect = [&](const std::string& run, const std::string& fault, int code,
                          const std::string& words, const std::string& more = "") {
    const CommandResult done = Train(2, run, settings + more, gpu + fault);
    EXPECT_EQ(done.code, code) << done.out;
    EXPECT_TRUE(Has(done.out, words)) << done.out;
    if (code == 0) ExpectTheSameSumsOnAll(run, 2);
  };
  const std::string through = "gradients go through the CPU, as not all have NCCL: rank ";
  expect("nccl", "", 0, "gradients are added up on the GPUs, by NCCL");
  expect("cpu", "MEDLEY_NCCL=0", 0, through + "0: MEDLEY_NCCL is 0");
  expect("refused", "FAKE_NCCL=refuses", 0, through + "1: NCCL does not come up (the fake NCCL refuses)");
  for (const char* run : {"cpu", "refused"}) EXPECT_EQ(Sums(run, 0), Sums("nccl", 0));
  expect("divided", "", 0, "each of 2 processes keeps its part of the moments", "optimizer.shard=true");
  const fs::path weights = fs::path(CheckpointName(3)) / "model.safetensors";
  EXPECT_TRUE(ReadText(At("divided") / weights) == ReadText(At("nccl") / weights));
  expect("operators", "MEDLEY_KERNELS=0", 0, "There is no kernel: MEDLEY_KERNELS is 0",
         "optimizer.moments=8bit");
  expect("hung", "FAKE_NCCL=hangs", 4, "did not answer within 3 s (the fake NCCL hangs)", "peer_timeout=3");
}

// Of an earlier number of processes the rows stay, and how many of them run at once follows the number.
TEST_F(Ranks, OpenRowsAreThoseOfAllAndStayWhateverTheirNumberIsLater) {
  WriteText(scratch_ / "weights.json", R"({"unit": "steps", "weights": {"control": 1, "position_qa": 1}})");
  const std::string planned =
      " plan=true budget=20MiB draws_per_step=1 data.threads=0 eval.every=0 optimizer.warmup_steps=0 "
      "optimizer.decay_fraction=0 tasks.control.rows=auto tasks.position_qa.rows=5";
  const auto plan = [&](const std::string& run) { return json::parse(ReadText(At(run) / "plan.json")); };
  const CommandResult done = Train(2, "run", "steps=2" + planned);
  ASSERT_EQ(done.code, 0) << done.out;
  EXPECT_TRUE(Has(ReadText(At("run") / "plan.txt"), "which 2 processes divide"));
  const json two = plan("run"), open = two.at("tasks").at(0), asked = two.at("tasks").at(1);
  EXPECT_EQ(two.at("ranks"), 2);
  EXPECT_EQ(open.at("task"), "control");
  EXPECT_GT(open.at("micro_rows"), 2);
  EXPECT_EQ(open.at("rows"), 2 * open.at("micro_rows").get<std::int64_t>());
  EXPECT_EQ(asked.at("rows"), 5);
  EXPECT_EQ(asked.at("micro_rows"), 3) << "of its part";
  for (const auto& [ranks, steps] : {std::pair{1, 3}, {3, 4}}) {
    const CommandResult resumed = Resume(ranks, "run", "steps=" + std::to_string(steps));
    ASSERT_EQ(resumed.code, 0) << resumed.out;
    ExpectTheSameSumsOnAll("run", ranks);
    const json now = plan("run");
    EXPECT_EQ(now.value("ranks", 1), ranks);
    EXPECT_EQ(now.at("tasks").at(0).at("rows"), open.at("rows"));
    EXPECT_LE(now.at("tasks").at(0).at("micro_rows"), open.at("micro_rows"));
  }
  ASSERT_EQ(Train(2, "straight", "steps=4" + planned).code, 0);
  ExpectTheSameRun("run", "straight");
}

TEST_F(Ranks, AnInterruptOfOneThatPlansEndsAll) {
  const CommandResult ended = Train(2, "run", "plan=true budget=1GiB", "ON_RANK=1 AT=0 FAULT=interrupt");
  EXPECT_EQ(ended.code, 130) << ended.out;
  const std::string words = "interrupted: what was under way is given up";
  EXPECT_NE(ended.out.find(words), ended.out.rfind(words)) << "both say so: " << ended.out;
  EXPECT_FALSE(fs::exists(At("run")));
}

TEST_F(Ranks, RepeatARunOfSeveralAlsoWithAnotherNumber) {
  const std::string train =
      " -- " + Medley() + "train " + Quickstart() + Settings("steps=2 eval.every=0") + " --out ";
  const auto with = [&](int ranks, const std::string& run, const std::string& more = "") {
    return Shell(Medley() + "launch -n " + std::to_string(ranks) + train + At(run).string() + more + " 2>&1");
  };
  ASSERT_EQ(with(2, "run").code, 0);
  const CommandResult same = with(2, "same", " --replay " + At("run").string());
  ASSERT_EQ(same.code, 0) << same.out;
  for (const char* file : {"metrics.jsonl", "step-00000002/model.safetensors"})
    EXPECT_TRUE(ReadText(At("same") / file) == ReadText(At("run") / file)) << file;
  ASSERT_EQ(Resume(3, "run", "steps=3").code, 0);
  for (const int ranks : {1, 2}) {
    const std::string again = "again" + std::to_string(ranks);
    const CommandResult repeated = with(ranks, again, " --replay " + At("run").string());
    ASSERT_EQ(repeated.code, 0) << repeated.out;
    ExpectTheSameRun(again, "run");
  }
}

TEST_F(Ranks, PredictWeightsByOneVerdict) {
  WriteText(scratch_ / "weights.json", test::kOneTaskWeights);
  const CommandResult done =
      Train(2, "run",
            "steps=16 draws_per_step=1 eval.every=0 tasks.control.rows=16 optimizer.average=0.9 "
            "phases.warmup_steps=2 phases.full_steps=5 phases.allowance=0.9");
  ASSERT_EQ(done.code, 0) << done.out;
  ExpectTheSameSumsOnAll("run", 2);
  const std::string metrics = ReadText(At("run") / "metrics.jsonl");
  EXPECT_EQ(metrics, ReadText(At("run") / "rank-1/metrics.jsonl"));
  EXPECT_TRUE(Has(metrics, "\"jump\"")) << metrics;
}

// What goes wrong on the second process alone: all end with one reason and one code, or go on with the same.
class TroubledRanks : public ::testing::Test {
 protected:
  static CommandResult Train(const test::TroubleRun& trouble, const std::string& more) {
    return Shell(Medley() + "launch -n 2 -- " + trouble.Train("peer_timeout=120 seed=5 " + more));
  }
  CommandResult Train(const std::string& more) const { return Train(trouble_, more); }
  void ExpectTheSameStepsOnBoth() const {
    EXPECT_EQ(ReadText(trouble_.run() / "rank-1/metrics.jsonl"), ReadText(trouble_.run() / "metrics.jsonl"));
  }
  std::string Newest() const { return ListCheckpoints(trouble_.run()).front().path.filename().string(); }

  test::TroubleRun trouble_;
};

TEST_F(TroubledRanks, RowsThatFailOnOneEndAll) {
  const CommandResult ended = Train("steps=6 tasks.trouble.rows=4 tasks.trouble.options.fails_at=6");
  EXPECT_EQ(ended.code, 1) << ended.out;
  EXPECT_TRUE(Has(ended.out, "rank 1: step")) << ended.out;
  EXPECT_TRUE(Has(ended.out, "these rows are meant to fail")) << ended.out;
  EXPECT_TRUE(Has(ended.out, "is saved; ")) << ended.out;
  ExpectTheSameStepsOnBoth();
  EXPECT_FALSE(ReadText(trouble_.run() / "metrics.jsonl").empty());
}

TEST_F(TroubledRanks, ATaskThatFailsOnOneIsDroppedOnAll) {
  const CommandResult ended =
      Train("steps=6 on_task_error=drop tasks.trouble.rows=4 tasks.trouble.options.fails_at=6");
  EXPECT_EQ(ended.code, 3) << ended.out;
  EXPECT_TRUE(Has(ended.out, "the task trouble is dropped from here on")) << ended.out;
  ExpectTheSameStepsOnBoth();
  EXPECT_EQ(Newest(), "step-00000006");
}

TEST_F(TroubledRanks, WithSeveralDrawsAStepTheOneToBlameIsDropped) {
  const CommandResult ended = Train(
      "steps=3 draws_per_step=3 on_task_error=drop tasks.trouble.rows=4 tasks.trouble.options.scores=4");
  EXPECT_EQ(ended.code, 3) << ended.out;
  EXPECT_TRUE(Has(ended.out, "the task trouble is dropped from here on")) << ended.out;
  ExpectTheSameStepsOnBoth();
}

TEST_F(TroubledRanks, ALossThatIsNoNumberOnOneEndsAllAsItWouldEndOne) {
  const CommandResult ended = Train("steps=6 tasks.trouble.rows=17 tasks.trouble.options.scores=3");
  EXPECT_EQ(ended.code, 1) << ended.out;
  EXPECT_TRUE(Has(ended.out, "task 'trouble': the term 'answer' is nan")) << ended.out;
  EXPECT_FALSE(Has(ended.out, "did not answer")) << ended.out;
  ExpectTheSameStepsOnBoth();
}

TEST_F(TroubledRanks, ATaskWhoseEvaluationFailsIsDroppedOnAll) {
  const std::string fails = "steps=6 eval.every=2 eval.rows=2 tasks.trouble.options.scores=2 ";
  const CommandResult ended = Train(fails + "on_task_error=drop");
  EXPECT_EQ(ended.code, 3) << ended.out;
  const std::string drops = "is dropped from here on";
  EXPECT_TRUE(Has(ended.out, drops)) << ended.out;
  EXPECT_EQ(ended.out.find(drops), ended.out.rfind(drops)) << "one of them evaluates it: " << ended.out;
  EXPECT_EQ(Newest(), "step-00000006");
  const test::TroubleRun fresh;
  const CommandResult stopped = Train(fresh, fails);
  EXPECT_EQ(stopped.code, 1) << stopped.out;
  EXPECT_TRUE(Has(stopped.out, "there is no score")) << stopped.out;
}

TEST_F(TroubledRanks, OneThatCrashesInItsRowsEndsTheOther) {
  const CommandResult ended = Train("steps=60 tasks.trouble.rows=4 tasks.trouble.options.dies_at=42");
  EXPECT_EQ(ended.code, 4) << ended.out;
  EXPECT_TRUE(Has(ended.out, "rank 1 (process")) << ended.out;
  EXPECT_TRUE(Has(ended.out, "medley resume " + trouble_.run().string() + " goes on")) << ended.out;
}

TEST_F(Ranks, StartedWithAnotherConfigTheyAreRefusedBeforeTheFirstStep) {
  WriteText(At("other.sh"), "#!/bin/sh\nexec " MEDLEY_BUILD_DIR "/bin/medley train " + Quickstart() +
                                " --out " + At("run").string() + Settings("steps=2") +
                                " seed=$((7 + RANK))\n");
  fs::permissions(At("other.sh"), fs::perms::owner_all);
  const CommandResult refused = Shell(Medley() + "launch -n 2 -- " + At("other.sh").string() + " 2>&1");
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_TRUE(
      Has(refused.out, "rank 1 was started with something else than rank 0: its config's seed is 8, not 7"))
      << refused.out;
  EXPECT_FALSE(fs::exists(At("run")));
}

TEST_F(Ranks, LaunchSaysWhatItCannotStart) {
  const CommandResult none = Shell(Medley() + "launch -n 2 -- /no/such/program 2>&1");
  EXPECT_EQ(none.code, 2);
  EXPECT_TRUE(Has(none.out, "/no/such/program cannot be started")) << none.out;
  EXPECT_EQ(Shell(Medley() + "launch -n 0 -- true 2>&1").code, 2);
  EXPECT_EQ(Shell(Medley() + "launch -n 2 -- true 2>&1").code, 0);
}

}  // namespace
}  // namespace medley
