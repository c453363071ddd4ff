// An evaluation that finds no room takes fewer rows at once: its scores are those of an evaluation that took
// so few from the start.

#include <medley/eval/evaluator.h>
#include <medley/eval/score_report.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/train/memory_advice.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/step/agent_fixture.h"
#include "tests/train/trainer_fixture.h"

namespace medley::testing_fixture {
namespace {

using nlohmann::json;
using OnPiece = std::function<void(EvalPass&)>;

constexpr std::int64_t kMiB = 1 << 20;

// Asks three questions and adds to its lists after each, so that a piece that fails leaves half of its rows.
class Asking final : public ScriptedTask {
 public:
  Asking(Script script, OnPiece on_piece) : ScriptedTask(std::move(script)), on_piece_(std::move(on_piece)) {}
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const override {
    Outcomes outcomes;
    std::vector<at::Tensor> pictures;
    context.ForEachPiece(rows, [&](EvalPass& pass) {
      if (on_piece_) on_piece_(pass);
      for (const char* question : {"q0", "q1", "q2"}) {
        const at::Tensor words =
            pass.Constant("table").index_select(0, pass.batch().Column("words_" + std::string(question)));
        const at::Tensor y =
            pass.Forward({pass.Image("picture"), {.name = "tokens", .tensor = words, .key = ""}}, {"y"})
                .at("y");
        const at::Tensor size = y.pow(2).sum(1).to(at::kDouble);
        const double* first = size.const_data_ptr<double>();
        std::vector<double>& figure =
            std::string(question) == "q0" ? outcomes.score : outcomes.Amount(question);
        figure.insert(figure.end(), first, first + size.numel());
      }
      pictures.push_back(pass.batch().Column("picture"));
    });
    outcomes.input = at::cat(pictures);
    return outcomes;
  }

 private:
  OnPiece on_piece_;
};

FixtureTask AskingTask(const std::string& name, OnPiece on_piece) {
  FixtureTask made;
  TaskInfo info = QaInfo(name, 3);
  info.score = {.name = "size", .higher_is_better = true, .chance = std::nullopt};
  made.info = std::make_unique<TaskInfo>(std::move(info));
  Script script{.sample = [](const RowRange& rows) { return QaRows(rows, 3); }, .run = QaPass};
  made.task = std::make_unique<LoadedTask>(*made.info, made.info->variants.front(), "fixture",
                                           std::make_unique<Asking>(std::move(script), std::move(on_piece)));
  return made;
}

// Bytes of a piece that grow with its rows, so that a budget can refuse some and not others.
OnPiece Spike(std::int64_t bytes_a_row) {
  return [=](EvalPass& pass) { at::empty({bytes_a_row * pass.batch().size()}, at::kByte); };
}

class EvalMemory : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { InstallCpuAllocator(); }
  EvalMemory() { model_.To(at::kCPU, at::kFloat); }
  ~EvalMemory() override {
    SetCpuBudget(0);
    FailCpuAllocation(0);
  }

  TaskScore Score(const FixtureTask& made, std::int64_t rows_at_once = kEvalRows, std::int64_t rows = 70) {
    return ScoreTask(*made.task, {}, {model_, at::kCPU, 3, rows, rows_at_once});
  }

  FixtureModel model_;
};

void ExpectSame(const TaskScore& got, const TaskScore& expected) {
  EXPECT_EQ(got.row_scores, expected.row_scores);
  EXPECT_EQ(got.loss, expected.loss);
  EXPECT_EQ(got.rows_digest, expected.rows_digest);
  EXPECT_EQ(got.rows_at_once, expected.rows_at_once);
  EXPECT_EQ(ScoresJson({{"qa", got}}), ScoresJson({{"qa", expected}}));
  ASSERT_EQ(got.examples.size(), expected.examples.size());
  for (std::size_t i = 0; i < got.examples.size(); ++i)
    EXPECT_EQ(got.examples[i].pictures.at(0).pixels, expected.examples[i].pictures.at(0).pixels);
}

// Sampling, the task's look at its rows and the held-out loss, one allocation after the other.
TEST_F(EvalMemory, AnOverflowAtAnyAllocationGivesTheScoresOfSmallerPiecesAndLeavesNothing) {
  const FixtureTask qa = AskingTask("qa", nullptr);
  const TaskScore small = Score(qa, kEvalRows / 2), whole = Score(qa);  // and the constants are there
  EXPECT_EQ(whole.rows_at_once, kEvalRows);
  const std::int64_t floor = ReadCpuMemory().now;
  const json generators = SaveGenerators(at::kCPU);
  std::int64_t nth = 1;
  for (;; ++nth) {
    FailCpuAllocation(nth);
    const TaskScore score = Score(qa);
    FailCpuAllocation(0);
    if (score.rows_at_once == kEvalRows) break;
    SCOPED_TRACE("allocation " + std::to_string(nth));
    ExpectSame(score, small);
    ASSERT_EQ(ReadCpuMemory().now, floor);
    ASSERT_EQ(SaveGenerators(at::kCPU), generators);
    if (HasFailure()) return;
  }
  EXPECT_GT(nth, 100)
      << "three pieces, three questions in each, and the loss of them allocate more than that";
}

// Kernels may add in another order where there are fewer rows, and a sum of sums does.
TEST_F(EvalMemory, SmallerPiecesMoveScoresByRoundingAlone) {
  const FixtureTask qa = AskingTask("qa", nullptr);
  const TaskScore whole = Score(qa);
  for (const std::int64_t rows_at_once : {16, 7, 1}) {
    const TaskScore small = Score(qa, rows_at_once);
    for (std::size_t row = 0; row < whole.row_scores.size(); ++row)
      EXPECT_NEAR(small.row_scores[row], whole.row_scores[row], 5e-6 * whole.row_scores[row]);
    EXPECT_NEAR(small.loss, whole.loss, 1e-6 * whole.loss);
    EXPECT_EQ(small.rows_digest, whole.rows_digest);
    EXPECT_EQ(small.examples.size(), whole.examples.size());
  }
}

TEST_F(EvalMemory, ABudgetIsReachedInHalves) {
  const FixtureTask qa = AskingTask("qa", Spike(kMiB));
  const TaskScore plain = Score(AskingTask("qa", nullptr), 4);
  SetCpuBudget(ReadCpuMemory().now + 6 * kMiB);
  ExpectSame(Score(qa), plain);
  EXPECT_EQ(Score(qa, kEvalRows, 3).rows_at_once, kEvalRows) << "there are no more than three";
}

TEST_F(EvalMemory, WhereNotOneRowFitsItSaysSoAndWhatToDo) {
  const FixtureTask qa = AskingTask("qa", Spike(8 * kMiB));
  Score(AskingTask("qa", nullptr));
  const std::int64_t floor = ReadCpuMemory().now;
  SetCpuBudget(floor + 2 * kMiB);
  try {
    Score(qa);
    FAIL() << "8 MiB in 2";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kDoesNotFit);
    EXPECT_TRUE(Says(error.what(), {"not one row of task 'qa' fits", "asked for 8 MiB", "in use",
                                    "Raise the budget", "eval.every 0"}));
  }
  EXPECT_LE(ReadCpuMemory().now, floor + qa.task->ConstantBytes(at::kCPU));
}

struct Trained : Ended {
  std::map<std::string, std::int64_t> rows_at_once;  // of an evaluation, by task: what fitted
  std::map<std::string, std::string> state;
};

// Task two takes these bytes for each row of a piece, of which the run has `room` above what is in use.
Trained Train(const std::filesystem::path& directory, const RunConfig& config, std::int64_t bytes_a_row,
              std::int64_t room, const std::optional<FoundCheckpoint>& from = std::nullopt) {
  SilentConsole console;
  const auto tiny = MakeTinyRun(config);
  tiny->tasks().at("two") = AskingTask("two", Spike(bytes_a_row));
  if (room > 0) tiny->run.budget.bytes = ReadCpuMemory().now + ReadCpuMemory().data_now + room;
  TestTrainer trainer(*tiny, directory, *console, from);
  Trained trained{TrainToTheEnd(trainer, console), trainer.evaluation().rows_at_once(), {}};
  if (trained.error.empty()) trained.state = EndState(directory);
  return trained;
}

std::size_t Count(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_F(EvalMemory, ARunRemembersWhatFittedAlsoAcrossAResume) {
  const ScratchDirectory scratch;
  const RunConfig config = TinyConfig(20);
  const std::int64_t ooms = ReadCpuMemory().ooms;
  const Trained trained = Train(scratch.path(), config, kMiB, 20 * kMiB);
  ASSERT_EQ(trained.code, ExitCode::kDone) << trained.error;
  EXPECT_EQ(ReadCpuMemory().ooms - ooms, 1) << "the second evaluation begins with what fitted";
  EXPECT_EQ(trained.rows_at_once.at("two"), 16);
  EXPECT_EQ(trained.rows_at_once.at("one"), kEvalRows);
  EXPECT_EQ(Count(trained.words, "evaluation of two after step 5 ran out of memory"), 1u);
  EXPECT_TRUE(Says(trained.words, {"from now on it takes 16 rows at once"}));

  for (const CheckpointEntry& entry : ListCheckpoints(scratch.path())) {
    if (entry.step > 12) std::filesystem::remove_all(entry.path);
  }
  SilentConsole console;
  const auto found = FindCheckpoint(scratch.path(), OnDamage::kSetAside, *console);
  EXPECT_EQ(Train(scratch.path(), config, 0, 0, found).state, trained.state) << "though there is room now";
}

TEST_F(EvalMemory, ARunWhoseEvaluationTakesNotOneRowEndsSavedWithItsOwnExitCode) {
  const ScratchDirectory scratch;
  RunConfig config = TinyConfig(20);
  config.checkpoint.every = 0;
  const Trained trained = Train(scratch.path(), config, 30 * kMiB, 20 * kMiB);
  EXPECT_EQ(trained.code, ExitCode::kDoesNotFit);
  EXPECT_TRUE(Says(trained.error, {"evaluation of two after step 5", "not one row of task 'two' fits",
                                   "Raise the budget", "Step 5 is saved", "medley resume"}));
  EXPECT_EQ(ListCheckpoints(scratch.path()).at(0).step, 5);
}

TEST_F(EvalMemory, RunsOfDifferentVariantsAreScoredOnTheSamePictures) {
  const auto digest = [](const char* variant) {
    AgentWithTask agent({"zoom_gold", variant});
    return ScoreTask(agent.task, {}, {*agent.model, at::kCPU, 3, 4}).rows_digest;
  };
  const std::string expected = digest("default");
  EXPECT_EQ(digest("fused"), expected);
  EXPECT_EQ(digest("carry"), expected);
}

// The review's case: a task that answers in words, and budgets that training keeps and 32 rows do not.
TEST_F(EvalMemory, TheAgentsScoresAreTheSameUnderATightBudget) {
  AgentWithTask agent({"position_qa", "default"});
  const auto score = [&] { return ScoreTask(agent.task, {}, {*agent.model, at::kCPU, 3, 48}); };
  const TaskScore whole = score();
  ResetCpuPeak();
  score();
  const std::int64_t floor = ReadCpuMemory().now, needed = ReadCpuMemory().peak - floor;
  for (const std::int64_t part : {2, 4, 8}) {
    SetCpuBudget(floor + needed / part);
    const TaskScore tight = score();
    SetCpuBudget(0);
    EXPECT_LT(tight.rows_at_once, kEvalRows);
    EXPECT_GE(tight.rows_at_once, kEvalRows / part / 2);
    EXPECT_EQ(tight.row_scores, whole.row_scores) << "right or wrong: rounding is not enough to change it";
    EXPECT_NEAR(tight.loss, whole.loss, 1e-6 * whole.loss);
    EXPECT_EQ(tight.rows_digest, whole.rows_digest);
    EXPECT_EQ(ReadCpuMemory().now, floor);
  }
}

// Not as one initializer: GCC 12 takes its map for uninitialized then.
CrowdedDraw EightRows(const VariantInfo& variant) {
  CrowdedDraw draw;
  draw.form = OwnForm("qa");
  draw.rows = 8;
  draw.variant = variant;
  return draw;
}

TEST(MemoryAdvice, NamesTheFirstChangeWithWhichItFitsAndNothingThatIsSoAlready) {
  const VariantInfo carried = Canvas().task->variant(), additive = QaInfo("qa", 2).variants.front();
  CrowdedDraw draw = EightRows(additive);
  draw.draws_per_step = 4;
  draw.draws_ahead = 3;
  const auto where = [&](const TryDraw& fits) { return MemoryAdvice(draw, fits); };
  const auto micro = [](std::int64_t most) {
    return [=](const CutDraw& cut) { return cut.execution.micro_rows <= most; };
  };
  const std::string tried = "It was tried: one fits with ";
  EXPECT_EQ(where(micro(7)), tried + "tasks.qa.micro_rows=4");
  EXPECT_EQ(where(micro(1)), tried + "tasks.qa.micro_rows=1");
  draw.execution.micro_rows = 4;
  EXPECT_EQ(where(micro(3)), tried + "tasks.qa.micro_rows=2");
  draw.execution.micro_rows = 1;
  EXPECT_EQ(where([](const CutDraw& cut) { return cut.execution.way.recomputed == 1; }),
            tried + "tasks.qa.recompute_every=1");
  EXPECT_EQ(where([](const CutDraw& cut) { return cut.waiting <= 4; }), tried + "data.threads=0");
  EXPECT_EQ(where([](const CutDraw& cut) { return cut.waiting * cut.rows <= 8 * 4; }),
            tried + "data.threads=0");
  EXPECT_EQ(where([](const CutDraw& cut) { return cut.waiting < 0 || cut.rows <= 3; }),
            tried + "tasks.qa.rows=2");
  draw.draws_ahead = 0;
  EXPECT_EQ(where([](const CutDraw& cut) { return cut.waiting <= 2; }), tried + "draws_per_step=2");
  draw.variant = carried;
  draw.execution.way = {Mode::kJoint, 2};
  EXPECT_EQ(where([](const CutDraw& cut) { return cut.execution.way.mode == Mode::kTwoStage; }),
            tried + "tasks.qa.mode=two_stage");
  EXPECT_EQ(where([](const CutDraw& cut) {
              return cut.execution.way == Way{Mode::kTwoStage, 1};
            }),
            tried + "tasks.qa.mode=two_stage tasks.qa.recompute_every=1");
}

// A larger budget only where the machine has one.
TEST(MemoryAdvice, WhereNothingFitsSaysWhatThereIs) {
  const auto nothing = [](const CutDraw&) { return false; };
  CrowdedDraw draw = EightRows(QaInfo("qa", 2).variants.front());
  const std::string words =
      "Already one row by itself is too much, in every mode: use fewer or smaller pictures";
  EXPECT_EQ(MemoryAdvice(draw, nothing), words);
  draw.budget = 20 * kMiB;
  EXPECT_EQ(MemoryAdvice(draw, nothing), words + ", or raise the budget (now 20 MiB)");
  draw.machine = 30 * kMiB;
  EXPECT_EQ(MemoryAdvice(draw, nothing),
            words + ", or raise the budget (now 20 MiB of the 30 MiB that this machine has)");
  draw.budget = draw.machine;
  EXPECT_EQ(MemoryAdvice(draw, nothing), words + "; the budget is all of the 30 MiB that this machine has");
}

}  // namespace
}  // namespace medley::testing_fixture
