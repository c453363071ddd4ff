#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/device.h>
#include <medley/plan/prober.h>
#include <medley/step/work_counter.h>

#include "tests/plan/long_rows.h"

namespace medley {
namespace {

using namespace testing_fixture;

constexpr std::uint64_t kSeed = 11;
constexpr std::int64_t kMuchRoom = std::int64_t{1} << 30;

class ProberTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    InstallCpuAllocator();
    at::set_num_threads(1);
  }
  void TearDown() override {
    FailCpuAllocation(0);
    SetCpuBudget(0);
  }

  Prober Make(std::int64_t most_bytes = kMuchRoom) {
    return Prober(model_, executor_, at::kCPU, kSeed, most_bytes);
  }
  // Bytes above the floor of a draw of these rows.
  std::int64_t PeakOf(Fixture& task, const Batch& rows, Execution plan, std::int64_t micro_rows) {
    plan.micro_rows = micro_rows;
    const std::int64_t floor = ReadCpuMemory().now;
    ResetCpuPeak();
    executor_.Run({{.task = task.task.get(), .batch = &rows, .execution = &plan}});
    const std::int64_t peak = ReadCpuMemory().peak - floor;
    ClearGradients(model_);
    model_.seeds.clear();
    return peak;
  }
  static Batch Longest(const Fixture& task, std::int64_t rows) {
    const MemoryOwnerScope data(MemoryOwner::kData);
    return task.task->Sample({.seed = 3, .begin = 100, .count = rows, .longest = true});
  }
  static Batch Drawn(const Fixture& task, std::int64_t begin, std::int64_t rows) {
    const MemoryOwnerScope data(MemoryOwner::kData);
    return task.task->Sample({.seed = 3, .begin = begin, .count = rows});
  }

  FixtureModel model_;
  ContractCheck contract_{model_, at::kCPU};
  StepExecutor executor_{model_, at::kCPU, &contract_};
};

std::vector<Execution> PlansOf(const Fixture& task) {
  std::vector<Execution> plans;
  for (const int recompute_every : {0, 1}) {
    for (const Mode mode : LegalModes(task.task->variant()))
      plans.push_back({.way = {mode, recompute_every}});
  }
  return plans;
}

TEST_F(ProberTest, LinesAreExactInEveryModeInsideAndAboveTheProbes) {
  for (int kind = 0; kind < 4; ++kind) {
    Fixture task = kind == 3 ? Canvas() : LongQa("qa", 1 + 2 * kind);
    for (const Execution& plan : PlansOf(task)) {
      TaskProfile profile;
      Make().Measure(*task.task, plan, profile);
      const ModeProfile& mode = profile.modes.at(0);
      ASSERT_EQ(mode.whole.size(), 3U);
      const PeakLines whole(mode.whole), pieces(mode.pieces);
      const std::int64_t second = mode.whole[1].rows, third = mode.whole[2].rows;
      for (const std::int64_t rows :
           {std::int64_t{1}, second, second + 1, (second + third) / 2, third, third + 1, 2 * third, 500L}) {
        const std::string where = task.info->name + " " + std::string(ModeName(plan.way.mode)) + ", " +
                                  std::to_string(rows) + " rows";
        EXPECT_EQ(PeakOf(task, Longest(task, rows), plan, 0), whole.At(rows)) << where;
        EXPECT_EQ(PeakOf(task, Longest(task, 3 * rows), plan, rows), pieces.At(rows)) << where << " a piece";
      }
    }
  }
}

TEST_F(ProberTest, NoDrawnRowsTakeMoreThanWasPredicted) {
  Fixture honours = LongQa("qa", 3), ignores = Qa("qa", 3), canvas = Canvas();
  for (Fixture* task : {&honours, &ignores, &canvas}) {
    for (const Execution& plan : PlansOf(*task)) {
      TaskProfile profile;
      Make().Measure(*task->task, plan, profile);
      const PeakLines whole(profile.modes[0].whole), pieces(profile.modes[0].pieces);
      for (std::int64_t rows = 1; rows < 80; rows += 1 + rows / 9) {
        EXPECT_LE(PeakOf(*task, Drawn(*task, 1000 * rows, rows), plan, 0), whole.At(rows)) << rows;
        EXPECT_LE(PeakOf(*task, Drawn(*task, 1000 * rows, 2 * rows + 1), plan, rows), pieces.At(rows))
            << rows;
      }
    }
  }
}

// Half of the rows have their items in the first pass, the others in the second: neither kind bounds the
// other.
TEST_F(ProberTest, KindsOfRowsThatAreHeavyInDifferentPassesAreAllTried) {
  TaskInfo info = QaInfo("kinds", 2, 40);
  const auto sample = [](const RowRange& rows) {
    Batch batch(rows);
    batch.Add("picture", Bytes(rows, 1));
    for (int p = 0; p < 2; ++p) {
      batch.Add("words_q" + std::to_string(p), Ints(rows, 10 + p, 6));
      std::vector<std::vector<std::int64_t>> targets(rows.count);
      for (std::int64_t row = 0; row < rows.count; ++row) {
        if ((rows.begin + row) % 2 == p) targets[row].assign(40, 2);
      }
      batch.AddRagged("targets_q" + std::to_string(p), targets);
    }
    batch.SetItems("answer", at::full({rows.count}, 40, at::kLong));
    batch.SetItems("size", at::full({rows.count}, 2, at::kLong));
    return batch;
  };
  Fixture task(info, {.sample = sample, .run = QaPass});
  EXPECT_EQ(ProbeRows(*task.task, kSeed).kinds(), 2);
  for (const Execution& plan : PlansOf(task)) {
    TaskProfile profile;
    Make().Measure(*task.task, plan, profile);
    const PeakLines whole(profile.modes[0].whole);
    for (std::int64_t rows = 1; rows < 60; rows += 3) {
      for (const std::int64_t begin : {0, 1})
        EXPECT_LE(PeakOf(task, Drawn(task, begin, rows), plan, 0), whole.At(rows)) << rows;
    }
  }
}

TEST_F(ProberTest, TriesAtMostThreeSizesASingleRowAmongThemAndNoneThatCouldBeTooLarge) {
  Fixture task = LongQa("qa", 4);
  for (const std::int64_t most : {8000L, 12000L, 30000L, 100000L, 1000000L, kMuchRoom}) {
    for (const Execution& plan : PlansOf(task)) {
      TaskProfile profile;
      Prober prober = Make(most);
      prober.CheckContract(contract_, *task.task);
      prober.Measure(*task.task, plan, profile);
      const ModeProfile& mode = profile.modes.at(0);
      ASSERT_LE(mode.whole.size(), 3U);
      EXPECT_EQ(mode.whole.front().rows, 1);
      EXPECT_EQ(prober.overflows(), 0);
      for (std::size_t i = 1; i < mode.whole.size(); ++i) {
        EXPECT_LE(mode.whole[i].bytes, most);
        EXPECT_LE(mode.pieces[i].bytes, most);
      }
    }
  }
}

TEST_F(ProberTest, LeavesNoTrace) {
  Fixture qa = LongQa("qa", 3), canvas = Canvas();
  model_.drops = true;
  for (Fixture* task : {&qa, &canvas}) {
    Prober prober = Make();
    prober.CheckContract(contract_, *task->task);  // builds the tables
    std::vector<at::Tensor> weights;
    for (const Parameter& parameter : model_.parameters())
      weights.push_back(parameter.tensor.detach().clone());
    const nlohmann::json generators = SaveGenerators(at::kCPU);
    const std::int64_t floor = ReadCpuMemory().now, data = ReadCpuMemory().data_now;
    SetCpuBudget(floor + data + 12345);
    for (const Execution& plan : PlansOf(*task)) {
      TaskProfile profile;
      prober.Measure(*task->task, plan, profile);
      prober.Confirm(*task->task, plan, 70, profile);
      model_.seeds.clear();
      EXPECT_EQ(ReadCpuMemory().now, floor);
      EXPECT_EQ(CpuBudget(), floor + data + 12345);
    }
    EXPECT_EQ(SaveGenerators(at::kCPU), generators);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      EXPECT_TRUE(at::equal(model_.parameters()[i].tensor, weights[i]));
      EXPECT_FALSE(model_.parameters()[i].tensor.grad().defined());
    }
    SetCpuBudget(0);
  }
}

// From 200 rows on another moment rules, which no small size shows.
TEST_F(ProberTest, RowsThatOverflowAreNoPointOfALineAndFewerAreTried) {
  const auto late = [](std::int64_t rows) { return std::max<std::int64_t>(0, rows - 200) << 20; };
  Fixture task(QaInfo("late", 2), {.sample = [](const RowRange& rows) { return LongQaRows(rows, 2); },
                                   .run =
                                       [&](const std::string& pass, PassContext& context) {
                                         at::empty({late(context.batch().size())}, at::kByte);
                                         return QaPass(pass, context);
                                       }});
  Make().CheckContract(contract_, *task.task);
  const Execution plan{.way = {Mode::kJoint}};
  constexpr std::int64_t kRoom = 40 << 20;
  Prober prober(model_, executor_, at::kCPU, kSeed, kRoom,
                ReadCpuMemory().now + ReadCpuMemory().data_now + kRoom);
  TaskProfile profile;
  prober.Measure(*task.task, plan, profile);
  const std::vector<Probe>& whole = profile.modes.at(0).whole;
  ASSERT_LT(whole.back().rows, 160);
  EXPECT_FALSE(prober.Confirm(*task.task, plan, 300, profile)) << "100 MiB";
  EXPECT_EQ(prober.overflows(), 1);
  EXPECT_GT(whole.back().rows, 200);
  EXPECT_EQ(whole.back().bytes, PeakOf(task, Longest(task, whole.back().rows), plan, 0));
  const std::int64_t more = whole.back().rows + 5;
  EXPECT_TRUE(prober.Confirm(*task.task, plan, more, profile));
  EXPECT_EQ(PeakLines(whole).At(more + 10), PeakOf(task, Longest(task, more + 10), plan, 0));
  const std::int64_t most = whole.back().rows;
  FailCpuAllocation(40);
  EXPECT_TRUE(prober.Confirm(*task.task, plan, most + 1, profile)) << "no row between them is left to try";
  EXPECT_GT(PeakLines(whole).At(most + 1), kRoom);
  EXPECT_EQ(PeakLines(whole).LargestRows(kRoom, 1000), most);
}

TEST_F(ProberTest, AThrowingTaskIsNamedWithWhatWasMeasured) {
  int runs_left = 1 << 20;
  Fixture task(QaInfo("faulty", 2), {.sample = [](const RowRange& rows) { return LongQaRows(rows, 2); },
                                     .run =
                                         [&](const std::string& pass, PassContext& context) {
                                           Sums sums = QaPass(pass, context);
                                           if (--runs_left < 0) throw Error("a mistake in the task");
                                           return sums;
                                         }});
  Prober prober = Make();
  prober.CheckContract(contract_, *task.task);
  runs_left = 8;
  const std::int64_t floor = ReadCpuMemory().now;
  TaskProfile profile;
  const std::string words = MessageOf([&] { prober.Measure(*task.task, {.way = {Mode::kJoint}}, profile); });
  EXPECT_TRUE(Says(words, {"measuring task 'faulty'", "mode joint", "rows", "a mistake in the task"}));
  EXPECT_TRUE(profile.modes.empty());
  model_.seeds.clear();
  EXPECT_EQ(ReadCpuMemory().now, floor);
}

TEST_F(ProberTest, AMistakeInTheInputKeepsItsExitCode) {
  Fixture task = LongQa("qa", 2);
  Prober prober = Make();
  TaskProfile profile;
  try {
    prober.Measure(*task.task, {.way = {Mode::kTwoStage}}, profile);
    FAIL() << "two-stage without carries";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput) << error.what();
  }
}

TEST_F(ProberTest, ASingleRowThatOverflowsIsNotedAndLeavesNothing) {
  Fixture task = LongQa("qa", 3);
  Prober prober = Make(5000);
  prober.CheckContract(contract_, *task.task);
  TaskProfile warm;
  prober.Measure(*task.task, {.way = {Mode::kJoint}}, warm);
  model_.seeds.clear();
  const std::int64_t floor = ReadCpuMemory().now;
  FailCpuAllocation(40);
  TaskProfile profile;
  prober.Measure(*task.task, {.way = {Mode::kJoint}}, profile);
  EXPECT_EQ(prober.overflows(), 1);
  EXPECT_FALSE(profile.modes.at(0).measured());
  EXPECT_EQ(profile.modes.at(0).more_than, 5000);
  model_.seeds.clear();
  EXPECT_EQ(ReadCpuMemory().now, floor);
}

// Also a single row, of which nobody knows before what it takes.
TEST_F(ProberTest, NothingIsTriedBeyondTheMachine) {
  Fixture task(QaInfo("qa", 3), {.sample = [](const RowRange& rows) { return LongQaRows(rows, 3); },
                                 .run =
                                     [](const std::string& pass, PassContext& context) {
                                       at::empty({context.batch().size() << 20}, at::kByte);
                                       return QaPass(pass, context);
                                     }});
  Make().CheckContract(contract_, *task.task);  // builds its tables
  const auto measure = [&](std::int64_t room) {
    const std::int64_t in_use = ReadCpuMemory().now + ReadCpuMemory().data_now;
    Prober prober(model_, executor_, at::kCPU, kSeed, kMuchRoom, room == 0 ? 0 : in_use + room);
    TaskProfile profile;
    prober.Measure(*task.task, {.way = {Mode::kJoint}}, profile);
    EXPECT_EQ(CpuBudget(), 0);
    model_.seeds.clear();
    return profile.modes.at(0);
  };
  measure(0);  // what is made once counts as gradients of the first, by which larger sizes are chosen
  const ModeProfile all = measure(0);
  ASSERT_EQ(all.whole.size(), 3U);
  const ModeProfile some = measure(all.whole.at(2).bytes - 1);
  EXPECT_TRUE(some.measured());
  EXPECT_LT(some.whole.size(), all.whole.size());
  EXPECT_FALSE(measure(all.whole.at(0).bytes - 1).measured()) << "the single row overflows, and is noted";
  EXPECT_TRUE(Says(MessageOf([&] { measure(100); }), {"sampling task 'qa'", "this machine has"}));
}

// All passes at once, which a tight budget that cannot be lifted, a GPU's, has no room for.
TEST_F(ProberTest, ATaskWhoseCheckOverflowsStaysUncheckedAndIsNotAskedAgain) {
  Fixture task = LongQa("qa", 3);
  Prober prober = Make(5000);
  model_.seeds.clear();
  FailCpuAllocation(400);
  TaskProfile profile;
  EXPECT_FALSE(prober.CheckContract(contract_, *task.task, &profile));
  FailCpuAllocation(0);
  EXPECT_EQ(profile.contract, 5000) << "more than there is, so that a plan does not count on it";
  EXPECT_TRUE(contract_.Knows(*task.task));
  EXPECT_TRUE(prober.CheckContract(contract_, *task.task, &profile));
}

TEST_F(ProberTest, TheLineThroughCountedWorkIsExactForAnyRows) {
  Fixture qa = LongQa("qa", 3), canvas = Canvas();
  for (Fixture* task : {&qa, &canvas}) {
    TaskProfile profile;
    Prober prober = Make();
    prober.CheckContract(contract_, *task->task);
    for (const Execution& plan : PlansOf(*task)) {
      prober.Measure(*task->task, plan, profile);
      for (const std::int64_t rows : {1, 2, 5, 40, 300}) {
        const Batch batch = Longest(*task, rows);
        const WorkCounter counter;
        executor_.Run({{.task = task->task.get(), .batch = &batch, .execution = &plan}});
        EXPECT_EQ(profile.Find(plan.way)->Operations(rows), static_cast<double>(counter.operations()))
            << task->info->name << " " << plan.way.Words() << ", " << rows << " rows";
        ClearGradients(model_);
      }
    }
    EXPECT_GT(profile.modes.back().Operations(1), profile.modes.front().Operations(1)) << "it is recomputed";
  }
}

TEST_F(ProberTest, SavedBytesAndForwardsAreThoseOfTheMode) {
  Fixture qa = LongQa("qa", 3), canvas = Canvas();
  TaskProfile profile;
  Prober prober = Make();
  for (const Execution& plan : PlansOf(qa)) prober.Measure(*qa.task, plan, profile);
  EXPECT_GT(profile.Find({Mode::kJoint, 0})->saved_per_row,
            2 * profile.Find({Mode::kSequential, 0})->saved_per_row);
  EXPECT_EQ(profile.Find({Mode::kSequential, 0})->forwards, 3);
  std::int64_t sum = 0, most = 0;
  for (const char* pass : {"q0", "q1", "q2"}) {
    const std::int64_t saved = profile.Find({Mode::kJoint, 0})->saved_by_pass.at(pass);
    EXPECT_GT(saved, 0);
    sum += saved;
    most = std::max(most, profile.Find({Mode::kSequential, 0})->saved_by_pass.at(pass));
  }
  EXPECT_EQ(profile.Find({Mode::kJoint, 0})->saved_per_row, sum);
  EXPECT_EQ(profile.Find({Mode::kSequential, 0})->saved_per_row, most);
  EXPECT_LT(profile.Find({Mode::kJoint, 0})->gradients_whole, profile.gradients);
  EXPECT_EQ(profile.Find({Mode::kJoint, 0})->gradients_pieces, profile.gradients);
  std::int64_t gradients = 0;
  for (const Parameter& parameter : model_.parameters()) {
    if (!parameter.name.starts_with("picture"))
      gradients += static_cast<std::int64_t>(parameter.tensor.nbytes());
  }
  EXPECT_EQ(profile.gradients, gradients);
  TaskProfile carries;
  for (const Execution& plan : PlansOf(canvas)) prober.Measure(*canvas.task, plan, carries);
  EXPECT_EQ(carries.Find({Mode::kTwoStage, 0})->forwards, 5);
}

}  // namespace
}  // namespace medley
