#include <ATen/Parallel.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/train/prefetcher.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "tests/train/trainer_fixture.h"

namespace medley::testing_fixture {
namespace {

using namespace std::chrono_literals;

RunConfig DataConfigured(std::int64_t threads) {
  RunConfig config = TinyConfig(100);
  config.data = {.threads = threads, .ahead = 4};
  return config;
}

std::map<std::string, RowHook> OnEvery(const RowHook& hook) {
  return {{"one", hook}, {"two", hook}, {"three", hook}};
}

// Whose tasks nobody checks on their first draw: every Sample is one of a draw.
std::unique_ptr<TinyRun> MakeUncheckedRun(const RunConfig& config,
                                          const std::map<std::string, RowHook>& hooks) {
  auto tiny = MakeTinyRun(config, hooks);
  for (auto& [name, task] : tiny->tasks()) tiny->run.contract->Waive(*task.task);
  return tiny;
}

template <typename Condition>
void WaitUntil(const Condition& condition) {
  for (int i = 0; i < 10000 && !condition(); ++i) std::this_thread::sleep_for(1ms);
  ASSERT_TRUE(condition());
}

bool SameRows(const Batch& a, const Batch& b) {
  return a.rows().begin == b.rows().begin && a.Column("picture").equal(b.Column("picture")) &&
         a.Ragged("targets_q0").values.equal(b.Ragged("targets_q0").values);
}

class AnyThreads : public ::testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Threads, AnyThreads, ::testing::Values(0, 1, 3));

TEST_P(AnyThreads, RowsAreThoseOfTheDrawsInTheirOrderExpectedOrNot) {
  // Later rows are ready sooner.
  const auto tiny = MakeTinyRun(DataConfigured(GetParam()), OnEvery([](const RowRange& rows) {
                                  if (rows.count > 1) std::this_thread::sleep_for((20 - rows.begin) * 100us);
                                }));
  Prefetcher prefetcher(tiny->Sampling());
  const std::vector<Draw> draws = tiny->run.mixer->Peek(6);
  const std::vector<Draw> late = {draws[4], draws[5], draws[0]};
  prefetcher.Expect({draws[0], draws[1], draws[2], draws[3]});
  for (const std::vector<Draw>& step : {draws, late}) {
    const Prefetcher::Rows rows = prefetcher.Take(step);
    ASSERT_EQ(rows.pieces.size(), step.size());
    for (std::size_t i = 0; i < step.size(); ++i) {
      LoadedTask& task = tiny->task(step[i].task);
      const Batch expected = task.Sample({TaskSeed(3, step[i].task), step[i].begin, step[i].rows});
      EXPECT_EQ(rows.pieces[i].task, &task);
      EXPECT_TRUE(SameRows(*rows.pieces[i].batch, expected)) << step[i].task;
    }
  }
}

TEST_P(AnyThreads, OperationsOfASampleStayOnItsThreadAndLeaveTheTrainersAlone) {
  at::set_num_threads(3);
  std::atomic<int> samples{0}, wrong{0};
  {
    const RowHook look = [&](const RowRange&) {
      ++samples;
      if (at::get_num_threads() != 1 || at::GradMode::is_enabled()) ++wrong;
    };
    const auto tiny = MakeUncheckedRun(DataConfigured(GetParam()), OnEvery(look));
    Prefetcher prefetcher(tiny->Sampling());
    EXPECT_EQ(at::get_num_threads(), 3);
    int of_a_new_thread = 0;
    std::thread([&] { of_a_new_thread = at::get_num_threads(); }).join();
    EXPECT_EQ(of_a_new_thread, 3);
    prefetcher.Expect(tiny->run.mixer->Peek(6));
    prefetcher.Take(tiny->run.mixer->Peek(6));
    EXPECT_EQ(at::get_num_threads(), 3);
  }
  EXPECT_EQ(samples, 6);
  EXPECT_EQ(wrong, 0);
  at::set_num_threads(1);
}

TEST_P(AnyThreads, RowsAreOnTheDataThreadsAccount) {
  InstallCpuAllocator();
  const auto tiny = MakeTinyRun(DataConfigured(GetParam()));
  Prefetcher prefetcher(tiny->Sampling());
  const std::vector<Draw> draws = tiny->run.mixer->Peek(5);
  prefetcher.Take(draws);  // loads the tasks
  const CpuMemory before = ReadCpuMemory();
  {
    const Prefetcher::Rows rows = prefetcher.Take(draws);
    EXPECT_EQ(ReadCpuMemory().now, before.now);
    EXPECT_GT(ReadCpuMemory().data_now, before.data_now);
  }
  EXPECT_EQ(ReadCpuMemory().data_now, before.data_now);
}

TEST_P(AnyThreads, ATaskThatDrawsFromLibtorchsGeneratorIsRefused) {
  const auto tiny =
      MakeTinyRun(DataConfigured(GetParam()), {{"two", [](const RowRange&) { at::rand({2}); }}});
  const nlohmann::json before = SaveGenerators(at::kCPU);
  Prefetcher prefetcher(tiny->Sampling());
  const std::vector<Draw> draws = tiny->run.mixer->Peek(2);
  prefetcher.Expect(draws);
  EXPECT_EQ(SaveGenerators(at::kCPU), before);
  EXPECT_NO_THROW(prefetcher.Take({draws[0]}));
  EXPECT_TRUE(Says(MessageOf([&] { prefetcher.Take({draws[1]}); }),
                   {"plugin 'fixture'", "task two", "while sampling", "rows.Random(row)"}));
}

// The rows of the trainer's three tasks that were sampled for training, and how many at a time.
struct Seen {
  std::mutex mutex;
  std::multiset<std::int64_t> begins;
  int now = 0, most = 0;
};

RowHook Watch(Seen& seen, const std::function<void()>& meanwhile) {
  return [&seen, meanwhile](const RowRange& rows) {
    {
      const std::scoped_lock lock(seen.mutex);
      seen.begins.insert(rows.begin);
      seen.most = std::max(seen.most, ++seen.now);
    }
    meanwhile();
    const std::scoped_lock lock(seen.mutex);
    --seen.now;
  };
}
RowHook Watch(Seen& seen, std::chrono::milliseconds pause = 0ms) {
  return Watch(seen, [pause] { std::this_thread::sleep_for(pause); });
}

TEST(Prefetcher, SamplesOnlyWhatIsExpectedOnceAndSeveralAtATime) {
  Seen seen;
  const auto until_another_samples = [&] {
    WaitUntil([&] {
      const std::scoped_lock lock(seen.mutex);
      return seen.most >= 2;
    });
  };
  const auto tiny = MakeUncheckedRun(DataConfigured(3), {{"one", Watch(seen, until_another_samples)}});
  Prefetcher prefetcher(tiny->Sampling());
  std::vector<Draw> draws;
  for (int i = 0; i < 6; ++i) draws.push_back({.task = "one", .begin = 5 * i, .rows = 5});
  prefetcher.Expect(draws);
  prefetcher.Expect(draws);
  WaitUntil([&] {
    const std::scoped_lock lock(seen.mutex);
    return seen.begins.size() == 6 && seen.now == 0;
  });
  prefetcher.Take(draws);
  EXPECT_EQ(seen.begins, (std::multiset<std::int64_t>{0, 5, 10, 15, 20, 25}));
  EXPECT_GE(seen.most, 2);
}

TEST(Prefetcher, ADrawOfAnotherSizeIsSampledAnew) {
  const auto tiny = MakeTinyRun(DataConfigured(1));
  Prefetcher prefetcher(tiny->Sampling());
  const Draw old{.task = "one", .begin = 0, .rows = 5}, wide{.task = "one", .begin = 0, .rows = 7};
  prefetcher.Expect({old});
  prefetcher.Expect({wide});
  EXPECT_EQ(prefetcher.Take({wide}).pieces.at(0).batch->size(), 7);
  EXPECT_EQ(prefetcher.Take({old}).pieces.at(0).batch->size(), 5);
}

TEST(Prefetcher, WhatIsNoLongerExpectedIsForgotten) {
  Seen seen;
  std::atomic<bool> goes_on{false};
  const auto until_it_goes_on = [&] { WaitUntil([&] { return goes_on.load(); }); };
  const auto tiny = MakeUncheckedRun(DataConfigured(1), {{"one", Watch(seen, until_it_goes_on)}});
  Prefetcher prefetcher(tiny->Sampling());
  const Draw begun{.task = "one", .begin = 0, .rows = 5}, dropped{.task = "one", .begin = 5, .rows = 5};
  const Draw next{.task = "one", .begin = 90, .rows = 5};
  prefetcher.Expect({begun, dropped});
  const auto seen_so_far = [&] {
    const std::scoped_lock lock(seen.mutex);
    return seen.begins;
  };
  WaitUntil([&] { return seen_so_far().size() == 1; });
  prefetcher.Expect({next});
  goes_on = true;
  WaitUntil([&] { return seen_so_far().size() == 2; });
  std::this_thread::sleep_for(90ms);  // time for one more
  EXPECT_EQ(seen_so_far(), (std::multiset<std::int64_t>{0, 90}));
}

TEST(Prefetcher, EndsWhileManyDrawsWait) {
  Seen seen;
  {
    const auto tiny = MakeUncheckedRun(DataConfigured(2), {{"one", Watch(seen, 5ms)}});
    Prefetcher prefetcher(tiny->Sampling());
    std::vector<Draw> draws;
    for (int i = 0; i < 20000; ++i) draws.push_back({.task = "one", .begin = 5 * i, .rows = 5});
    prefetcher.Expect(draws);
    prefetcher.Take({draws[0], draws[1]});
  }
  EXPECT_LT(seen.begins.size(), 20000u);
  EXPECT_EQ(seen.now, 0);
}

// What a plugin's loading turns for a moment (the default dtype, the generators) no Sample may see.
TEST(Prefetcher, LoadsATaskWhileNobodySamples) {
  Seen seen;
  const auto tiny = MakeUncheckedRun(DataConfigured(3), OnEvery(Watch(seen, 10ms)));
  int loaded_beside = 0;
  std::set<std::string> loaded;
  tiny->host->is_loaded = [&](const std::string& name) { return loaded.count(name) > 0; };
  tiny->host->on_get = [&](const std::string& name) {
    const std::scoped_lock lock(seen.mutex);
    if (loaded.insert(name).second) loaded_beside += seen.now;
  };
  Prefetcher prefetcher(tiny->Sampling());
  std::vector<Draw> draws;
  for (const char* task : {"one", "two", "three"}) {
    for (int i = 0; i < 3; ++i) draws.push_back({.task = task, .begin = 5 * i, .rows = 5});
    prefetcher.Expect(draws);
    std::this_thread::sleep_for(2ms);  // the data threads have begun
  }
  EXPECT_EQ(prefetcher.Take(draws).pieces.size(), 9u);
  EXPECT_EQ(loaded.size(), 3u);
  EXPECT_EQ(loaded_beside, 0);
}

TEST(Prefetcher, OutOfMemoryAheadIsTriedAgainWhenTheRowsAreNeededWithNothingAheadInMemory) {
  InstallCpuAllocator();
  const auto trainer = std::this_thread::get_id();
  std::atomic<int> refused{0};
  std::int64_t bytes_ahead = -1;
  const RowHook only_the_trainer = [&](const RowRange& rows) {
    if (std::this_thread::get_id() == trainer) {
      if (rows.count == 3) bytes_ahead = ReadCpuMemory().data_now;
      return;
    }
    ++refused;
    TORCH_CHECK_WITH(OutOfMemoryError, false, "full");
  };
  const auto tiny = MakeTinyRun(DataConfigured(2), {{"two", only_the_trainer}});
  const std::int64_t before = ReadCpuMemory().data_now;
  Prefetcher prefetcher(tiny->Sampling());
  const std::vector<Draw> draws = tiny->run.mixer->Peek(5);
  prefetcher.Expect(draws);
  WaitUntil([&] { return refused == 2; });
  EXPECT_EQ(draws[1].task, "two");
  EXPECT_EQ(prefetcher.Take({draws[1]}).pieces.size(), 1u);
  EXPECT_EQ(bytes_ahead, before);
}

TEST(Prefetcher, CountsTheTimeThatTheTrainerSamples) {
  Seen seen;
  const auto tiny = MakeUncheckedRun(DataConfigured(0), {{"one", Watch(seen, 60ms)}});
  Prefetcher prefetcher(tiny->Sampling());
  prefetcher.Take({{.task = "one", .begin = 0, .rows = 5}});
  EXPECT_GE(prefetcher.seconds_waited(), 0.06);
}

TEST(Prefetcher, RowsThatAreReadyCostNoWaiting) {
  Seen seen;
  const auto tiny = MakeUncheckedRun(DataConfigured(1), {{"one", Watch(seen, 100ms)}});
  Prefetcher prefetcher(tiny->Sampling());
  const std::vector<Draw> draws = {{.task = "one", .begin = 0, .rows = 5}};
  prefetcher.Expect(draws);
  WaitUntil([&] {
    const std::scoped_lock lock(seen.mutex);
    return seen.begins.size() == 1 && seen.now == 0;
  });
  const auto before = std::chrono::steady_clock::now();
  prefetcher.Take(draws);
  const std::chrono::duration<double> taking = std::chrono::steady_clock::now() - before;
  // Less than the 100 ms of sampling, but on a machine that stands still meanwhile.
  EXPECT_LE(prefetcher.seconds_waited(), taking.count());
}

}  // namespace
}  // namespace medley::testing_fixture
