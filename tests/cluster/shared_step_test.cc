// A step's draws divided among processes, one after the other in this one: with the counts of all, their
// gradients add up to that of the whole step, whatever the modes, the micro-batches and the number of ranks.
#include <medley/train/work_division.h>

#include "tests/step/executor_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;

struct Way {
  Mode qa = Mode::kJoint, canvas = Mode::kJoint;
  std::int64_t micro_rows = 0;
};

class SharedSteps : public ::testing::Test {
 protected:
  Gradient Whole(const std::vector<CostedDraw>& draws, StepLosses& losses) {
    std::vector<Draw> all;
    for (const CostedDraw& draw : draws) all.push_back(draw.draw);
    return Part(all, all, {}, nullptr, losses);
  }

  // `counts`: of the whole step; null: this is the whole.
  Gradient Part(const std::vector<Draw>& draws, const std::vector<Draw>& all, const Way& way,
                const StepLosses* counts, StepLosses& losses) {
    StepExecutor executor(model_, at::kCPU);
    const std::map<std::string, Execution> ways = {
        {"qa", {.way = {.mode = way.qa}, .micro_rows = way.micro_rows}},
        {"other", {.way = {.mode = way.qa}, .micro_rows = way.micro_rows}},
        {"canvas", {.way = {.mode = way.canvas}, .micro_rows = way.micro_rows}}};
    std::vector<Batch> batches;
    batches.reserve(draws.size());
    std::vector<StepExecutor::Piece> pieces;
    for (const Draw& draw : draws) {
      batches.push_back(tasks_.at(draw.task)->Sample(Fixture::Range(draw.begin, draw.rows)));
      pieces.push_back({tasks_.at(draw.task), &batches.back(), &ways.at(draw.task)});
    }
    for (const Draw& draw : all) pieces.push_back({tasks_.at(draw.task), nullptr, &ways.at(draw.task)});
    StepExecutor::Totals totals = executor.Begin(pieces);
    EXPECT_EQ(totals.losses.size(), Names(all).size()) << "every task of the step, also without rows here";
    if (counts != nullptr) {
      for (auto& [task, terms] : totals.losses) {
        for (auto& [term, loss] : terms) {
          counted_[task][term].count += loss.count;
          loss.count = counts->at(task).at(term).count;
        }
      }
    }
    StepObserver nobody;
    executor.Accumulate(pieces, totals, nobody);
    losses = StepExecutor::Read(std::move(totals));
    return TakeGradient(model_);
  }

  static std::set<std::string> Names(const std::vector<Draw>& draws) {
    std::set<std::string> names;
    for (const Draw& draw : draws) names.insert(draw.task);
    return names;
  }

  FixtureModel model_;  // float64
  Fixture qa_ = Qa("qa", 3), other_ = Qa("other", 2), canvas_ = Canvas();
  std::map<std::string, LoadedTask*> tasks_ = {
      {"qa", qa_.task.get()}, {"other", other_.task.get()}, {"canvas", canvas_.task.get()}};
  StepLosses counted_;
};

TEST_F(SharedSteps, AddUpToTheWholeStepWhateverTheWayAndTheNumberOfRanks) {
  const std::vector<std::vector<CostedDraw>> steps = {
      {{{"qa", 4, 9}, 3}},
      {{{"qa", 0, 5}, 3}, {{"canvas", 7, 4}, 8}, {{"other", 1, 6}, 2}},
      {{{"canvas", 0, 1}, 1}, {{"qa", 3, 1}, 1}},
      {{{"qa", 0, 4}, 1}, {{"qa", 4, 4}, 1}, {{"canvas", 2, 3}, 2}},
  };
  for (const auto& step : steps) {
    StepLosses whole;
    const Gradient expected = Whole(step, whole);
    std::vector<Draw> all;
    for (const CostedDraw& draw : step) all.push_back(draw.draw);
    for (const Way& way : {Way{}, Way{Mode::kSequential, Mode::kTwoStage, 0},
                           Way{Mode::kJoint, Mode::kTwoStage, 2}, Way{Mode::kSequential, Mode::kJoint, 1}}) {
      for (std::int64_t ranks = 1; ranks <= 6; ++ranks) {
        Gradient sum;
        StepLosses sums;
        counted_.clear();
        for (const auto& part : AssignRows(step, ranks)) {
          StepLosses losses;
          const Gradient own = Part(part, all, way, &whole, losses);
          sum = sum.empty() ? own : Sum(sum, own);
          for (const auto& [task, terms] : losses) {
            for (const auto& [term, loss] : terms) sums[task][term].sum += loss.sum;
          }
        }
        EXPECT_LE(Distance(sum, expected), 1e-12) << ranks << " ranks";
        for (const auto& [task, terms] : whole) {
          for (const auto& [term, loss] : terms) {
            EXPECT_EQ(counted_[task][term].count, loss.count) << task << " " << term;
            EXPECT_NEAR(sums[task][term].sum, loss.sum, 1e-12 * std::abs(loss.sum));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace medley
