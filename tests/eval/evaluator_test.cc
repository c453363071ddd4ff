#include <medley/eval/evaluator.h>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <medley/base/durable_file.h>
#include <medley/base/random.h>
#include <medley/data/item_stream.h>
#include <medley/eval/eval_pass.h>
#include <medley/eval/row_items.h>
#include <medley/eval/score_comparison.h>
#include <medley/eval/score_report.h>
#include <medley/report/sheet.h>

#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "tests/report/scratch_directory.h"
#include "tests/step/executor_fixture.h"

namespace medley::testing_fixture {
namespace {

using ScoreRows = std::function<Outcomes(EvalContext&, const RowRange&)>;

// A scripted task whose evaluation a test writes down.
class ScriptedScore : public ScriptedTask {
 public:
  ScriptedScore(Script script, ScoreRows score) : ScriptedTask(std::move(script)), score_(std::move(score)) {}
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const override {
    return score_(context, rows);
  }

 private:
  ScoreRows score_;
};

// Three questions about one picture.
struct Scored {
  explicit Scored(ScoreRows score, std::vector<std::int64_t>* sampled = nullptr,
                  std::function<void(Batch&)> change = {}, bool reads_files = false,
                  bool of_any_rows = false) {
    info = QaInfo("qa", 3);
    info.score = {.name = "brightness", .higher_is_better = true, .chance = 0.25};
    info.score.chance_of_any_rows = of_any_rows;
    Script script{.sample =
                      [=](const RowRange& rows) {
                        if (sampled != nullptr) sampled->push_back(rows.begin);
                        Batch batch = QaRows(rows, 3);
                        if (change) change(batch);
                        return batch;
                      },
                  .run = QaPass};
    task = std::make_unique<LoadedTask>(info, info.variants.front(), "fixture",
                                        std::make_unique<ScriptedScore>(std::move(script), std::move(score)),
                                        reads_files);
  }
  TaskScore Score(const FixtureModel& model, std::int64_t rows, std::uint64_t seed = 3,
                  const Execution& plan = {}) const {
    return ScoreTask(*task, plan, {model, at::kCPU, seed, rows});
  }

  TaskInfo info;
  std::unique_ptr<LoadedTask> task;
};

FixtureModel FloatModel() {
  FixtureModel model;
  model.To(at::kCPU, at::kFloat);
  return model;
}

// The picture's brightness, after every question was put to the model.
Outcomes AskAll(EvalContext& context, const RowRange& rows) {
  Outcomes outcomes;
  context.ForEachPiece(rows, [&](EvalPass& pass) {
    for (const char* question : {"q0", "q1", "q2"}) QaPass(question, pass);
    for (std::int64_t row = 0; row < pass.batch().size(); ++row)
      outcomes.score.push_back(pass.Pixels("picture")[row].mean().item<double>());
  });
  return outcomes;
}

Outcomes Zeros(const RowRange& rows) {
  return {.score = std::vector<double>(static_cast<std::size_t>(rows.count))};
}

TEST(Evaluator, APictureIsEncodedOnceAPieceHoweverOftenTheModelLooksAtIt) {
  const Scored scored(AskAll);
  const FixtureModel model = FloatModel();
  scored.Score(model, 70);  // pieces of 32, 32 and 6 rows
  EXPECT_EQ(model.encodings_made, 2 * 3) << "once for the score, once for the loss";
}

// Two answers that are even, in a file; its author thought of four. Nothing rests on what he thought.
TEST(Evaluator, ChanceOfRowsFromAFileIsNotWhatTheSpecAssumed) {
  const auto halves = [](EvalContext&, const RowRange& rows) {
    Outcomes outcomes;
    for (std::int64_t row = 0; row < rows.count; ++row) {
      outcomes.score.push_back(static_cast<double>(row % 2));
      if (rows.count > 50) outcomes.trivial["most frequent answer"].push_back(static_cast<double>(row % 2));
    }
    return outcomes;
  };
  const FixtureModel model = FloatModel();
  const auto score = [&](std::int64_t rows, bool reads_files, bool of_any_rows) {
    return Scored(halves, nullptr, {}, reads_files, of_any_rows).Score(model, rows);
  };
  EXPECT_EQ(score(40, false, false).chance, 0.25) << "rows that it makes up";
  EXPECT_EQ(score(40, true, true).chance, 0.25) << "it is that of any rows";
  const TaskScore unknown = score(40, true, false);
  EXPECT_FALSE(unknown.chance);
  EXPECT_FALSE(BestBaseline(unknown));
  EXPECT_FALSE(IsClear(unknown)) << "of what nobody knows";
  EXPECT_EQ(IsClear(score(40, false, false)), true);
  const TaskScore known = score(60, true, false);
  EXPECT_EQ(BestBaseline(known)->name, "most frequent answer");
  EXPECT_EQ(IsClear(known), false);
  EXPECT_EQ(unknown.score.low, score(40, false, false).score.low) << "where it can be is known all the same";
}

TEST(Evaluator, AnErrorOfLibtorchsNamesTheTensorsOfThePiece) {
  const Scored scored([](EvalContext& context, const RowRange& rows) {
    context.ForEachPiece(rows, [](EvalPass& pass) {
      QaPass("q0", pass);
      pass.Carry("seen", pass.Pixels("picture"));
      at::mm(pass.batch().Column("picture"), at::ones({2, 2}));
    });
    return Zeros(rows);
  });
  const FixtureModel model = FloatModel();
  EXPECT_TRUE(Says(MessageOf([&] { scored.Score(model, 3); }),
                   {"(task qa, while evaluating rows 0..3): ", "\n  columns: picture [3, 3, 2, 2] Byte, ",
                    "\n  carries: seen [3, 3, 2, 2] Float", "\n  outputs: y [3, 5] Float"}));
}

TEST(Evaluator, ScoresRowsThatTrainingNeverDraws) {
  std::set<std::uint64_t> trained, scored_seeds;
  const Scored scored([&](EvalContext&, const RowRange& rows) {
    scored_seeds.insert(rows.seed);
    return Zeros(rows);
  });
  const FixtureModel model = FloatModel();
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    trained.insert(TaskSeed(seed, "qa"));
    scored.Score(model, 2, seed);
  }
  EXPECT_EQ(scored_seeds.size(), 50U);
  for (const std::uint64_t seed : scored_seeds) EXPECT_EQ(trained.count(seed), 0U);
}

TEST(Evaluator, RowsAreHeldOutHoweverTheyAreCut) {
  std::vector<Split> splits;
  const Scored scored(AskAll, nullptr, [&](Batch& batch) { splits.push_back(batch.rows().split); });
  scored.Score(FloatModel(), 70);
  EXPECT_EQ(splits, std::vector<Split>(3, Split::kHeldOut));
}

TEST(Evaluator, ATaskThatLooksAtItsRowsOnceHasThemSampledOnce) {
  std::vector<std::int64_t> sampled;
  const Scored scored(AskAll, &sampled);
  scored.Score(FloatModel(), 70);
  EXPECT_EQ(sampled, (std::vector<std::int64_t>{0, 32, 64}));
}

// As a data thread samples: also the rows that only the loss looks at.
// What EvalContext says that a task may do: its rows twice, other rows, those of training.
TEST(Evaluator, ATaskMayGoThroughAnyRowsAsOftenAsItLikes) {
  std::vector<RowRange> looked_at;
  std::vector<std::int64_t> first, second, told;
  const auto rows_of = [](const RowRange& rows, std::vector<std::int64_t>& into) {
    for (std::int64_t row = 0; row < rows.count; ++row) into.push_back(rows.begin + row);
  };
  const Scored scored([&](EvalContext& context, const RowRange& rows) {
    const auto look = [&](std::vector<std::int64_t>& into) {
      return [&](EvalPass& pass) {
        QaPass("q0", pass);
        rows_of(pass.batch().rows(), into);
      };
    };
    context.ForEachPiece(rows, look(first));
    context.ForEachPiece(rows, look(second));
    RowRange trained = rows.Part(1000, 3);
    trained.split = Split::kTraining;
    context.ForEachPiece(trained, [&](EvalPass& pass) { looked_at.push_back(pass.batch().rows()); });
    context.ForEachPiece(rows.Part(5, 0), [&](EvalPass&) { ADD_FAILURE() << "no row, no piece"; });
    return Zeros(rows);
  });
  const TaskScore twice = scored.Score(FloatModel(), 70);
  rows_of({3, 0, 70}, told);
  EXPECT_EQ(first, told);
  EXPECT_EQ(second, told);
  ASSERT_EQ(looked_at.size(), 1U);
  EXPECT_EQ(looked_at[0].begin, 1000);
  EXPECT_EQ(looked_at[0].count, 3);
  EXPECT_EQ(looked_at[0].split, Split::kTraining);
  const Scored once(AskAll);
  EXPECT_EQ(twice.loss, once.Score(FloatModel(), 70).loss) << "the loss is that of the rows to score";
}

// How often it will go through them nobody knows: what was all is half then, and grows again.
TEST(Evaluator, TellsHowFarItIsHoweverOftenATaskGoesThroughItsRows) {
  const auto shares = [](int times) {
    const Scored scored([=](EvalContext& context, const RowRange& rows) {
      for (int i = 0; i < times; ++i) context.ForEachPiece(rows, [](EvalPass&) {});
      return Zeros(rows);
    });
    const FixtureModel model = FloatModel();
    std::vector<double> told;
    ScoreTask(*scored.task, {},
              {.model = model, .device = at::kCPU, .seed = 3, .rows = 64, .progress = [&](double share) {
                 told.push_back(share);
               }});
    return told;
  };
  EXPECT_EQ(shares(1), (std::vector<double>{0.5, 1}));
  EXPECT_EQ(shares(2), (std::vector<double>{0.5, 1, 0.75, 1}));
}

TEST(Evaluator, SamplesOnOneThread) {
  at::set_num_threads(3);
  for (const bool looks : {true, false}) {
    std::vector<int> threads;
    const Scored scored(
        looks ? ScoreRows(AskAll) : [](EvalContext&, const RowRange& rows) { return Zeros(rows); }, nullptr,
        [&](Batch&) { threads.push_back(at::get_num_threads()); });
    scored.Score(FloatModel(), 70);
    EXPECT_EQ(threads, (std::vector<int>{1, 1, 1}));
    EXPECT_EQ(at::get_num_threads(), 3);
  }
  at::set_num_threads(1);
}

TEST(Evaluator, TheLossIsThatOfAllRowsWhateverTheTaskLooksAt) {
  const auto nothing = [](EvalPass&) {};
  const std::vector<ScoreRows> ways = {
      AskAll, [](EvalContext&, const RowRange& rows) { return Zeros(rows); },
      [&](EvalContext& context, const RowRange& rows) {  // a part, then a part before it, and other rows
        context.ForEachPiece({rows.seed, 40, 20}, nothing);
        context.ForEachPiece({rows.seed, 0, 10}, nothing);
        context.ForEachPiece({rows.seed + 1, 10, 30}, nothing);
        context.ForEachPiece({rows.seed, 60, 500}, nothing);
        return Zeros(rows);
      },
      [&](EvalContext& context, const RowRange& rows) {  // twice
        context.ForEachPiece(rows, nothing);
        context.ForEachPiece(rows, nothing);
        return Zeros(rows);
      }};
  const FixtureModel model = FloatModel();
  const TaskScore first = Scored(ways[0]).Score(model, 70);
  EXPECT_GT(first.loss, 0);
  for (const ScoreRows& way : ways) {
    const TaskScore score = Scored(way).Score(model, 70);
    EXPECT_NEAR(score.loss, first.loss, 1e-6 * first.loss);
    EXPECT_EQ(score.rows_digest, first.rows_digest);
  }
}

TEST(Evaluator, TheSameRowsMayBeLookedAtTwiceAndOthersToo) {
  std::vector<std::int64_t> looked;
  const auto look = [&](EvalPass& pass) { looked.push_back(pass.batch().rows().begin); };
  const Scored scored([&](EvalContext& context, const RowRange& rows) {
    const RowRange training{.seed = 77, .begin = 500, .count = 3};
    for (const RowRange& range : {rows, rows, training}) context.ForEachPiece(range, look);
    return Zeros(rows);
  });
  scored.Score(FloatModel(), 3);
  EXPECT_EQ(looked, (std::vector<std::int64_t>{0, 0, 500}));
}

TEST(Evaluator, APieceWithinAPieceAndRowsBelow0AreRefused) {
  const auto message = [](const ScoreRows& score) {
    const Scored scored(score);
    return MessageOf([&] { scored.Score(FloatModel(), 3); });
  };
  const auto nothing = [](EvalPass&) {};
  const std::string within = message([&](EvalContext& context, const RowRange& rows) {
    context.ForEachPiece(rows, [&](EvalPass&) { context.ForEachPiece(rows, nothing); });
    return Zeros(rows);
  });
  EXPECT_TRUE(Says(within, {"task 'qa': Evaluate called ForEachPiece from within a piece", "call it again"}));
  const std::string below = message([&](EvalContext& context, const RowRange& rows) {
    context.ForEachPiece({.seed = rows.seed, .begin = -1, .count = 2}, nothing);
    return Zeros(rows);
  });
  EXPECT_TRUE(Says(below, {"task 'qa': Evaluate asked ForEachPiece for 2 rows from row -1"}));
}

TEST(Evaluator, PinnedTermWeightsCountInTheLoss) {
  const Scored scored(AskAll);
  const FixtureModel model = FloatModel();
  const auto loss = [&](const std::map<std::string, double, std::less<>>& weights) {
    Execution plan;
    plan.term_weights = weights;
    return scored.Score(model, 20, 3, plan).loss;
  };
  const double answer = loss({{"size", 0}}), size = loss({{"answer", 0}, {"size", 1}});
  EXPECT_NEAR(loss({}), answer + 0.3 * size, 1e-6 * answer);
  EXPECT_NEAR(loss({{"size", 2}}), answer + 2 * size, 1e-6 * answer);
}

TEST(Evaluator, AFigureIsTheMeanOfTheRowsThatCountInIt) {
  const Scored scored([](EvalContext&, const RowRange& rows) {
    Outcomes outcomes = Zeros(rows);
    for (std::int64_t row = 0; row < rows.count; ++row) {
      outcomes.Share("found").push_back(row % 4 == 0);
      outcomes.Amount("distance").push_back(row % 4 == 0 ? static_cast<double>(row) : NAN);
    }
    return outcomes;
  });
  const TaskScore score = scored.Score(FloatModel(), 40);
  EXPECT_EQ(score.figures.at("found").rows, 40);
  EXPECT_DOUBLE_EQ(score.figures.at("found").value.value, 0.25);
  EXPECT_EQ(score.figures.at("distance").rows, 10);
  EXPECT_DOUBLE_EQ(score.figures.at("distance").value.value, 18);
  EXPECT_LT(score.figures.at("distance").value.low, 18);
}

// A mean of 0 would be the best of all checkpoints.
TEST(Evaluator, TheMeanLossOfNoTaskIsNoNumber) { EXPECT_TRUE(std::isnan(MeanLoss({}))); }

// Nobody but the task knows whether a row of 0.5 is half of all there is, or half a metre.
TEST(Evaluator, AFigureIsWhereTheTaskSaysAndNotWhereItsRowsHappenToBe) {
  const auto figure = [](std::optional<double> low, std::optional<double> high) {
    const Scored scored([=](EvalContext&, const RowRange& rows) {
      Outcomes outcomes = Zeros(rows);
      FigureRows& figure = outcomes.figures["figure"];
      figure = {.rows = {0.25, 0.875, 0.875, NAN}, .low = low, .high = high};
      return outcomes;
    });
    return scored.Score(FloatModel(), 4).figures.at("figure").value;
  };
  EXPECT_LT(figure({}, {}).low, 0);
  EXPECT_GT(figure({}, {}).high, 1);
  EXPECT_EQ(figure(0, {}).low, 0);
  EXPECT_GT(figure(0, {}).high, 1);
  EXPECT_GT(figure(0, 1).low, 0);
  EXPECT_LT(figure(0, 1).high, 1);
  EXPECT_LE(figure(-1, 0.875).high, 0.875);
  EXPECT_TRUE(Says(MessageOf([&] { figure(0.5, {}); }),
                   {"fixture", "qa", "figure 'figure' of row 0 is 0.25", "at least 0.5", "FigureRows::low"}));
  EXPECT_TRUE(
      Says(MessageOf([&] { figure(0, 0.5); }), {"row 1 is 0.875", "at most 0.5", "FigureRows::high"}));
}

// A task over finite data: six items in all, of which the rows show one each.
class OfItems : public ScriptedScore {
 public:
  OfItems(Script script, ScoreRows score, const ItemStream* items)
      : ScriptedScore(std::move(script), std::move(score)), items_(items) {}
  const ItemStream* Items() const override { return items_; }

 private:
  const ItemStream* items_;
};

TEST(Evaluator, RowsWithoutAScoreShowNoItem) {
  const Scored scored([](EvalContext&, const RowRange& rows) {
    Outcomes outcomes;
    for (std::int64_t row = 0; row < rows.count; ++row) outcomes.score.push_back(row % 4 == 0 ? NAN : 1);
    return outcomes;
  });
  const TaskScore score = scored.Score(FloatModel(), 40);
  EXPECT_EQ(score.rows, 40);
  EXPECT_EQ(score.unscored, 10);
  EXPECT_EQ(score.items, 30);
  EXPECT_EQ(ToJson(score)["unscored"], 10);
  const std::string table = ScoresTable(ScoresAfter(1, Scores{{"qa", score}}));
  EXPECT_NE(table.find("  30  "), std::string::npos) << table;
}

// Right of every other item. Rows that `says` names are told apart by their stream, others by their bytes.
TaskScore ScoreOfItems(const ItemStream& stream, bool says, bool rows_repeat, std::int64_t rows) {
  TaskInfo info = QaInfo("qa", 1);
  info.score = {.name = "accuracy", .higher_is_better = true, .chance = 0.5};
  info.rows_repeat = rows_repeat;
  const auto item = [&](const RowRange& range, std::int64_t row) {
    return stream.ItemOf(range, range.begin + row);
  };
  Script script{.sample =
                    [&](const RowRange& range) {
                      Batch batch(range);
                      const Batch all = QaRows({.seed = 1, .count = 100}, 1);
                      std::vector<std::int64_t> shown;
                      for (std::int64_t row = 0; row < range.count; ++row) shown.push_back(item(range, row));
                      const Batch taken = all.Take(shown);
                      for (const auto& [name, column] : taken.columns()) batch.Add(name, column);
                      for (const auto& [term, items] : taken.items()) batch.SetItems(term, items);
                      for (const auto& [name, column] : taken.ragged()) {
                        std::vector<std::int64_t> counts;
                        for (std::size_t row = 0; row + 1 < column.offsets.size(); ++row)
                          counts.push_back(column.offsets[row + 1] - column.offsets[row]);
                        batch.AddRagged(name, column.values, counts);
                      }
                      return batch;
                    },
                .run = QaPass};
  const auto score = [&](EvalContext&, const RowRange& range) {
    Outcomes outcomes;
    for (std::int64_t row = 0; row < range.count; ++row) {
      outcomes.score.push_back(static_cast<double>(item(range, row) % 2));
      outcomes.Share("half").push_back(row < range.count / 2 ? 1 : NAN);
    }
    return outcomes;
  };
  LoadedTask task(info, info.variants.front(), "fixture",
                  std::make_unique<OfItems>(std::move(script), score, says ? &stream : nullptr));
  return ScoreTask(task, {}, {FloatModel(), at::kCPU, 3, RowsOnce(task, rows)});
}

TEST(Evaluator, AnItemOfFiniteDataIsScoredOnce) {
  const ItemStream stream(40, 20, "qa");
  const TaskScore all = ScoreOfItems(stream, true, false, 512);
  EXPECT_EQ(all.rows, 20);
  EXPECT_EQ(all.items, 20);
  EXPECT_EQ(std::set<std::int64_t>(all.row_items.begin(), all.row_items.end()).size(), 20U);
  EXPECT_EQ(ScoreOfItems(stream, true, false, 7).rows, 7) << "fewer may be asked for";
}

TEST(Evaluator, RowsThatShowAnItemAgainAreNoFurtherEvidence) {
  const ItemStream groups(40, 20, "qa", ItemStream::Shows::kPartOfItem);
  const TaskScore once = ScoreOfItems(ItemStream(40, 20, "qa"), true, false, 20);
  for (const bool says : {true, false}) {
    const TaskScore again = ScoreOfItems(groups, says, false, 200);
    EXPECT_EQ(again.rows, 200) << "of groups as many as are asked for";
    EXPECT_EQ(again.items, 20);
    EXPECT_EQ(again.figures.at("half").rows, 100);
    EXPECT_EQ(again.figures.at("half").items, 20);
    EXPECT_DOUBLE_EQ(again.score.value, once.score.value);
    EXPECT_NEAR(again.score.low, once.score.low, 1e-9);
    EXPECT_NEAR(again.score.high, once.score.high, 1e-9);
  }
  const TaskScore made_up = ScoreOfItems(groups, false, /*rows_repeat=*/true, 200);
  EXPECT_EQ(made_up.items, 200) << "its spec says that equal rows are drawn each for itself";
  EXPECT_LT(made_up.score.high, once.score.high);
}

TEST(Evaluator, ScoresKeepToTheRangeOfTheirSpec) {
  const auto scored = [](double value) {
    return Scored([=](EvalContext&, const RowRange& rows) {
      Outcomes outcomes = Zeros(rows);
      outcomes.score[1] = value;
      return outcomes;
    });
  };
  const auto score = [&](double value, std::optional<double> low, std::optional<double> high) {
    Scored task = scored(value);
    task.info.score = {.name = "gain", .higher_is_better = true, .chance = {}, .low = low, .high = high};
    return task.Score(FloatModel(), 4);
  };
  EXPECT_EQ(score(2, -1, 2).range->low, -1);
  EXPECT_LE(score(2, -1, 2).score.high, 2);
  EXPECT_EQ(score(1 + 1e-9, 0, 1).row_scores[1], 1) << "rounding";
  EXPECT_TRUE(Says(MessageOf([&] { score(1.01, 0, 1); }),
                   {"fixture", "qa", "row 1 is 1.01", "gain to be at most 1", "ScoreSpec::high"}));
  EXPECT_TRUE(Says(MessageOf([&] { score(-0.5, 0, std::nullopt); }), {"row 1 is -0.5", "at least 0", "low"}));
}

TEST(Evaluator, AListOfOutcomesWithTooFewRowsIsRefusedByName) {
  const FixtureModel model = FloatModel();
  const auto message = [&](const std::function<void(Outcomes&)>& spoil) {
    const Scored scored([&](EvalContext&, const RowRange& rows) {
      Outcomes outcomes = Zeros(rows);
      spoil(outcomes);
      return outcomes;
    });
    return MessageOf([&] { scored.Score(model, 5); });
  };
  EXPECT_TRUE(Says(message([](Outcomes& o) {
                     o.Amount("detection") = {1, 2};
                   }),
                   {"fixture", "qa", "5 rows", "2", "figure 'detection'"}));
  EXPECT_TRUE(Says(message([](Outcomes& o) { o.trivial["input"] = {}; }), {"5 rows", "answer 'input'"}));
  EXPECT_TRUE(Says(message([](Outcomes& o) { o.score.pop_back(); }), {"5 rows", "4", "the score"}));
}

// A task may make a carry again within a piece, with another prompt.
TEST(Evaluator, ACarryThatIsMadeAgainIsEncodedAgain) {
  const FixtureModel model = FloatModel();
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> seen;
  const Scored scored([&](EvalContext& context, const RowRange& rows) {
    context.ForEachPiece(rows, [&](EvalPass& pass) {
      for (const double gray : {0.25, 0.75}) {
        pass.Carry("c1", at::full_like(pass.Pixels("picture"), gray));
        for (int again = 0; again < 2; ++again)
          seen.push_back(pass.Forward({pass.Image("c1")}, {"y"}).at("y"));
      }
      ForwardContext plain;
      const ModelInput gray{"images", at::full_like(pass.Pixels("picture"), 0.75), ""};
      seen.push_back(model.Forward({gray}, {"y"}, plain).at("y"));
    });
    return Zeros(rows);
  });
  scored.Score(model, 4);
  ASSERT_EQ(seen.size(), 5u);
  EXPECT_TRUE(seen[0].equal(seen[1]));
  EXPECT_FALSE(seen[1].equal(seen[2]));
  EXPECT_TRUE(seen[2].equal(seen[4]));
  EXPECT_EQ(model.encodings_made, 2 + 1 + 1) << "two canvases, the plain forward, and the loss";
}

TEST(Evaluator, NothingIsDroppedInHeldOutRows) {
  FixtureModel model = FloatModel();
  const double loss = Scored(AskAll).Score(model, 5).loss;
  model.drops = true;
  EXPECT_EQ(Scored(AskAll).Score(model, 5).loss, loss);
}

TEST(Evaluator, RunsCompareWhereTheyShowTheSamePictures) {
  const FixtureModel model = FloatModel();
  const auto digest = [&](std::function<void(Batch&)> change, std::uint64_t seed = 3,
                          std::int64_t rows = 40) {
    return Scored(AskAll, nullptr, std::move(change)).Score(model, rows, seed).rows_digest;
  };
  const std::string plain = digest({});
  EXPECT_EQ(digest({}), plain);
  EXPECT_EQ(digest([](Batch& batch) { batch.Add("kind", Ints(batch.rows(), 9, 3)); }), plain)
      << "numbers are a variant's, or a tokenizer's";
  EXPECT_EQ(digest([](Batch& batch) { batch.Add("fused.picture", batch.Column("picture").clone()); }), plain)
      << "a pass's own";
  EXPECT_NE(digest({}, 4), plain);
  EXPECT_NE(digest({}, 3, 39), plain);
  EXPECT_NE(digest([](Batch& batch) { batch.Column("picture")[7][0][0][0].bitwise_xor_(1); }), plain);
}

TEST(Evaluator, ARunComparedWithItselfIsNoDifferenceAndABrighterOneIsBetter) {
  const FixtureModel model = FloatModel();
  const Scored plain(AskAll), brighter([](EvalContext&context, const RowRange&rows) {
    Outcomes outcomes = AskAll(context, rows);
    for (double& score : outcomes.score) score += 0.01 + 0.01 * score;
    return outcomes;
  });
  const Scores scores{{"qa", plain.Score(model, 64)}}, better{{"qa", brighter.Score(model, 64)}};
  EXPECT_EQ(CompareScores(scores, scores).tasks.at("qa").verdict, ScoreVerdict::kNoDifference);
  EXPECT_EQ(CompareScores(better, scores).tasks.at("qa").verdict, ScoreVerdict::kBetter);
  const ScoreDifference worse = CompareScores(scores, better).tasks.at("qa");
  EXPECT_EQ(worse.verdict, ScoreVerdict::kWorse);
  EXPECT_NEAR(worse.difference.value, worse.value - worse.other, 1e-12);
}

TEST(Evaluator, AnExampleHasWhateverTheTaskShows) {
  const Scored scored([](EvalContext&, const RowRange& rows) {
    Outcomes outcomes = Zeros(rows);
    outcomes.input = at::zeros({9, 3, 4, 6}, at::kByte);
    outcomes.answers.assign(2, {{.question = "Here?", .reply = "No.", .right = "Yes."}});
    return outcomes;
  });
  const TaskScore score = scored.Score(FloatModel(), 12);
  ASSERT_EQ(score.examples.size(), 8u);
  EXPECT_EQ(score.examples[7].pictures.size(), 1u) << "the input alone";
  EXPECT_EQ(score.examples[0].pictures[0].width, 6);
  EXPECT_EQ(score.examples[1].answers.at(0).reply, "No.");
  EXPECT_TRUE(score.examples[2].answers.empty());
  EXPECT_TRUE(Scored([](EvalContext&, const RowRange& rows) { return Zeros(rows); })
                  .Score(FloatModel(), 12)
                  .examples.empty());
}

TEST(SheetFiles, ArePicturesAndAnswersAndNothingWithoutThem) {
  const Example picture{.pictures = {Picture(4, 4)}, .answers = {}};
  const Example words{
      .pictures = {},
      .answers = {{"Left or right?", "Le\xff\nft.", "Right.", false}, {"Up?", "Yes.", "Yes.", true}}};
  Scores scores;
  scores["drawn"].examples = {picture, picture};
  scores["said"].examples = {Example(), words};
  scores["both"].examples = {{.pictures = {Picture(4, 4)}, .answers = words.answers}};
  scores["none"] = {};
  std::vector<std::string> names;
  const auto files = SheetFiles(scores);
  for (const auto& [name, bytes] : files) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"sheet-both.png", "sheet-both.txt", "sheet-drawn.png",
                                             "sheet-said.txt"}));
  EXPECT_EQ(DecodePng(files.at("sheet-both.png"), "").pixels, MakeSheet({{Picture(4, 4)}}, {}).pixels);
  EXPECT_EQ(files.at("sheet-said.txt"),
            "row 2\n"
            "  question  \"Left or right?\"\n"
            "  model     \"Le\xEF\xBF\xBD\\nft.\"  (wrong)\n"
            "  right     \"Right.\"\n"
            "  question  \"Up?\"\n"
            "  model     \"Yes.\"  (right)\n"
            "  right     \"Yes.\"\n");
}

}  // namespace
}  // namespace medley::testing_fixture
