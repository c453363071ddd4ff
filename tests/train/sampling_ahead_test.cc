// Runs of the whole trainer: what is trained does not depend on the data threads.

#include <medley/train/prefetcher.h>

#include <atomic>
#include <set>
#include <thread>

#include "tests/sweep.h"
#include "tests/train/trainer_fixture.h"

namespace medley::testing_fixture {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

struct DataSetting {
  std::int64_t threads, ahead;
};
std::vector<DataSetting> AllSettings() {
  std::vector<DataSetting> settings;
  for (const std::int64_t threads : {1, 3}) {
    for (std::int64_t ahead = 1; ahead <= 5; ++ahead) settings.push_back({threads, ahead});
  }
  return settings;
}

RunConfig Configured(std::int64_t steps, std::int64_t draws_per_step, const DataSetting& data) {
  RunConfig config = TinyConfig(steps);
  config.draws_per_step = draws_per_step;
  config.data = {.threads = data.threads, .ahead = data.ahead};
  return config;
}

// Draws take unlike times, so that data threads finish them out of order.
void Dawdle(const RowRange& rows) {
  std::this_thread::sleep_for(std::chrono::microseconds(MixBits(rows.seed + rows.begin) % 800));
}

Ended TrainSamplingAhead(const fs::path& directory, const RunConfig& config,
                         std::map<std::string, RowHook> hooks) {
  SilentConsole console;
  const auto found = FindCheckpoint(directory, OnDamage::kSetAside, *console);
  const auto tiny = MakeTinyRun(config, std::move(hooks));
  TestTrainer trainer(*tiny, directory, *console, found);
  Ended ended = TrainToTheEnd(trainer, console);
  ended.error = ended.error.substr(0, ended.error.find(". Step"));  // then comes the directory
  return ended;
}

using State = std::map<std::string, std::string>;

class SamplingAhead : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(DrawsPerStep, SamplingAhead, ::testing::Values(1, 2, 5));

TEST_P(SamplingAhead, TrainsTheSameBitForBitWithAnyThreadsAndDepth) {
  const ScratchDirectory scratch;
  const auto train = [&](const DataSetting& data, const std::string& name) {
    fs::create_directory(scratch / name);
    const RunConfig config = Configured(10, GetParam(), data);
    EXPECT_EQ(TrainSamplingAhead(scratch / name, config, {{"one", Dawdle}, {"two", Dawdle}}).code,
              ExitCode::kDone);
    return EndState(scratch / name);
  };
  const State expected = train({0, 4}, "alone");
  const std::string sweep = "SamplingAhead." + std::to_string(GetParam());
  for (const DataSetting& data : test::Slice(sweep, AllSettings(), 4)) {
    const std::string name = std::to_string(data.threads) + "-" + std::to_string(data.ahead);
    EXPECT_EQ(train(data, name), expected) << name;
  }
}

TEST_P(SamplingAhead, AResumeWithOtherThreadsGoesOnBitForBit) {
  const ScratchDirectory scratch;
  fs::create_directory(scratch / "whole");
  TrainSamplingAhead(scratch / "whole", Configured(8, GetParam(), {3, 5}), {{"one", Dawdle}});
  const State expected = EndState(scratch / "whole");
  for (const std::int64_t k : test::SliceOfSteps("ResumedAhead." + std::to_string(GetParam()), 1, 8, 3)) {
    const fs::path part = scratch / ("part" + std::to_string(k));
    fs::copy(scratch / "whole", part, fs::copy_options::recursive);
    for (const CheckpointEntry& entry : ListCheckpoints(part)) {
      if (entry.step > k) fs::remove_all(entry.path);
    }
    TrainSamplingAhead(part, Configured(8, GetParam(), {k % 4, k}), {{"two", Dawdle}});
    EXPECT_EQ(EndState(part), expected) << "resumed after step " << k;
  }
}

// Task two fails from its second draw on; it is dropped, and the draws that were peeked with it are others.
TEST_P(SamplingAhead, ADroppedTaskIsDroppedAtItsDrawWhoeverSampledIt) {
  const ScratchDirectory scratch;
  const RowHook fail = [](const RowRange& rows) {
    if (rows.begin >= 3 && rows.count == 3) throw std::runtime_error("the camera is gone");
  };
  const auto train = [&](const DataSetting& data, const std::string& name) {
    fs::create_directory(scratch / name);
    RunConfig config = Configured(12, GetParam(), data);
    config.on_task_error = "drop";
    const Ended outcome = TrainSamplingAhead(scratch / name, config, {{"one", Dawdle}, {"two", fail}});
    EXPECT_EQ(outcome.code, ExitCode::kSomethingDropped) << outcome.error;
    EXPECT_EQ(outcome.dropped.count("two"), 1u);
    return EndState(scratch / name);
  };
  const State expected = train({0, 4}, "alone");
  for (const DataSetting& data : {DataSetting{1, 1}, {1, 4}, {3, 2}, {3, 5}}) {
    const std::string name = std::to_string(data.threads) + "-" + std::to_string(data.ahead);
    EXPECT_EQ(train(data, name), expected) << name;
  }
}

TEST_P(SamplingAhead, AnErrorEndsTheRunAtItsDrawInTheSameWords) {
  const RowHook late = [](const RowRange& rows) {
    if (rows.begin >= 6) throw std::runtime_error("the camera is gone");
  };
  const RowHook at_its_check = [](const RowRange& rows) {
    if (rows.count == 1) throw std::runtime_error("no camera at all");
  };
  for (const auto& [task, hook] : {std::pair{"two", late}, std::pair{"three", at_its_check}}) {
    std::optional<Ended> expected;
    for (const DataSetting& data : {DataSetting{0, 4}, {1, 1}, {1, 4}, {3, 5}}) {
      const ScratchDirectory scratch;
      const Ended outcome =
          TrainSamplingAhead(scratch.path(), Configured(30, GetParam(), data), {{task, hook}});
      EXPECT_EQ(outcome.code, ExitCode::kFailed);
      EXPECT_TRUE(Says(outcome.error, {"plugin 'fixture'", task, "while sampling rows", "camera"}));
      EXPECT_EQ(ListCheckpoints(scratch.path()).at(0).step, outcome.step);
      if (!expected) expected = outcome;
      EXPECT_EQ(outcome.error, expected->error);
      EXPECT_EQ(outcome.step, expected->step);
    }
  }
}

TEST(SamplingAheadOfTheEnd, NothingIsSampledOrLoadedThatTheRunWillNotTrain) {
  std::atomic<std::int64_t> rows_of_two{0};
  std::atomic<int> rows_of_three{0};
  const ScratchDirectory scratch;
  // one, two, three, one, two: the second draw of two is the fifth.
  TrainSamplingAhead(scratch.path(), Configured(2, 1, {1, 5}),
                     {{"two",
                       [&](const RowRange& rows) {
                         if (rows.count < 3) return;  // its check
                         rows_of_two = std::max<std::int64_t>(rows_of_two, rows.begin + rows.count);
                       }},
                      {"three", [&](const RowRange&) { ++rows_of_three; }}});
  EXPECT_EQ(rows_of_two, 3);
  EXPECT_EQ(rows_of_three, 0);
}

// Steps without a trainer, so that the mixer can be edited between two of them.
std::vector<double> LossesOfAnEditedRun(const DataSetting& data) {
  const auto tiny = MakeTinyRun(Configured(30, 1, data), {{"one", Dawdle}, {"three", Dawdle}});
  Run& run = tiny->run;
  Prefetcher prefetcher(tiny->Sampling());
  std::vector<double> losses;
  for (int step = 0; step < 30; ++step) {
    if (step == 7) run.mixer->SetMixture({.weights = {{"one", 1}, {"two", 8}, {"three", 2}}});
    if (step == 12) run.mixer->SetSize("two", {.rows = 4});
    if (step == 16) run.mixer->SetMixture({.order = DrawOrder::kUrn, .weights = {{"one", 2}, {"three", 3}}});
    if (step == 24) run.mixer->SetMixture({.weights = {{"three", 1}, {"two", 1}, {"one", 1}}});
    std::vector<Draw> draws = run.mixer->Peek(1 + data.ahead);
    prefetcher.Expect(draws);
    draws.resize(1);
    const Prefetcher::Rows rows = prefetcher.Take(draws);
    losses.push_back(WeightedLoss(run.executor->Run(rows.pieces)));
    run.optimizer->Step(step);
    run.mixer->Commit(draws);
  }
  return losses;
}

TEST(SamplingAheadOfEdits, DrawsThatAreNoLongerNextAreSampledAnew) {
  const std::vector<double> expected = LossesOfAnEditedRun({0, 4});
  for (const DataSetting& data : AllSettings()) {
    EXPECT_EQ(LossesOfAnEditedRun(data), expected) << data.threads << " threads, ahead " << data.ahead;
  }
}

TEST(SamplingAheadTimes, EveryStepSaysHowLongItWaitedAndTheSummarySaysItsShare) {
  const ScratchDirectory scratch;
  SilentConsole console;
  const RowHook slow = [](const RowRange& rows) {
    if (rows.count == 3) std::this_thread::sleep_for(30ms);
  };
  const auto tiny = MakeTinyRun(Configured(4, 3, {0, 1}), {{"two", slow}});
  TestTrainer(*tiny, scratch.path(), *console).Train();
  std::istringstream lines(ReadText(scratch / "timing.jsonl"));
  int steps = 0;
  for (std::string line; std::getline(lines, line); ++steps) {
    const auto json = nlohmann::json::parse(line);
    EXPECT_GE(json.at("data_wait_ms"), 30);
    EXPECT_LE(json.at("data_wait_ms").get<double>(), 1000 * json.at("seconds").get<double>());
  }
  EXPECT_EQ(steps, 4);
  EXPECT_EQ(ReadText(scratch / "metrics.jsonl").find("wait"), std::string::npos);
  EXPECT_TRUE(Says(console.words(), {"waited for data ", " % of the steps' time"}));
}

// What loading turns for a moment no Sample may see; the task that is drawn last is first asked by an
// evaluation.
TEST(SamplingAheadOfEvaluations, LoadATaskWhileNobodySamples) {
  std::atomic<int> sampling{0}, loaded_beside{0};
  const RowHook slow_draw = [&](const RowRange& rows) {
    if (rows.count != 3) return;
    ++sampling;
    std::this_thread::sleep_for(200ms);
    --sampling;
  };
  RunConfig config = Configured(2, 1, {.threads = 2, .ahead = 1});
  config.eval = {.every = 1, .rows = 4};
  const auto tiny = MakeTinyRun(config, {{"two", slow_draw}});
  std::set<std::string> loaded;
  tiny->host->is_loaded = [&](const std::string& name) { return loaded.count(name) > 0; };
  tiny->host->on_get = [&](const std::string& name) {
    if (loaded.insert(name).second) loaded_beside += sampling;
  };
  const ScratchDirectory scratch;
  SilentConsole console;
  TestTrainer trainer(*tiny, scratch.path(), *console);
  EXPECT_EQ(TrainToTheEnd(trainer, console).code, ExitCode::kDone);
  EXPECT_EQ(loaded.size(), 3u);
  EXPECT_EQ(loaded_beside, 0);
}

}  // namespace
}  // namespace medley::testing_fixture
