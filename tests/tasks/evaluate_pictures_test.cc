#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>

#include "tasks/drivers/pictures.h"
#include "tests/tasks/task_testing.h"

namespace medley::tasks {
namespace {

// Over the rows that count.
double MeanOfNumbers(const std::vector<double>& values) {
  double sum = 0, count = 0;
  for (const double value : values) {
    if (!std::isnan(value)) sum += value, ++count;
  }
  return sum / count;
}

// Mean squared error over the pixels where target and input differ, one row, the slow way.
double RegionError(const at::Tensor& answer, const at::Tensor& target, const at::Tensor& input) {
  const at::Tensor region = target.ne(input).any(0).expand_as(target);
  return (answer - target).square().masked_select(region).mean().item<double>();
}

// The slow way: without row `row` itself.
at::Tensor MeanOfOthers(const at::Tensor& pictures, std::int64_t row) {
  return at::cat({pictures.narrow(0, 0, row), pictures.narrow(0, row + 1, pictures.size(0) - row - 1)})
      .mean(0);
}

TEST(EvaluatePictures, APerfectPictureHasNoErrorAndTheInputHasItsTrivialOne) {
  for (const char* name : {"arrow_to_gold", "zoom_gold"}) {
    const TaskUnderTest test(name);
    FakeEval eval(test);
    eval.draw = [](FakePass& pass) { return pass.Pixels("target"); };
    const Outcomes perfect = test.task->Evaluate(eval, {3, 0, 12});
    ASSERT_EQ(perfect.score.size(), 12U);
    EXPECT_EQ(Mean(perfect.score), 0);
    EXPECT_EQ(perfect.output.sizes(), at::IntArrayRef({8, 3, 128, 128}));
    EXPECT_TRUE(perfect.output.equal(perfect.target));
    EXPECT_TRUE(perfect.input.equal(test.task->Sample({3, 0, 8}).Column("image")));

    eval.draw = [](FakePass& pass) { return pass.Pixels("image"); };
    const Outcomes same = test.task->Evaluate(eval, {3, 0, 12});
    EXPECT_EQ(same.score, same.trivial.at("input"));
    EXPECT_GT(Mean(same.score), 0.01);
  }
}

TEST(EvaluatePictures, TrivialAnswersEqualTheSlowOnes) {
  const TaskUnderTest test("zoom_halfway");
  FakeEval eval(test, 4);
  eval.draw = [](FakePass& pass) { return pass.Pixels("image").mul(3); };  // clamped before it is judged
  const Outcomes outcomes = test.task->Evaluate(eval, {4, 20, 10});
  const Batch batch = test.task->Sample({4, 20, 10});
  const at::Tensor input = batch.Column("image").to(at::kFloat).div(255);
  const at::Tensor target = batch.Column("target").to(at::kFloat).div(255);
  for (std::int64_t row = 0; row < 10; ++row) {
    const auto i = static_cast<std::size_t>(row);
    const at::Tensor mean = MeanOfOthers(target, row);
    EXPECT_NEAR(outcomes.trivial.at("input")[i], RegionError(input[row], target[row], input[row]), 1e-5);
    EXPECT_NEAR(outcomes.trivial.at("mean target")[i], RegionError(mean, target[row], input[row]), 1e-5);
    EXPECT_NEAR(outcomes.score[i], RegionError(input[row].mul(3).clamp(0, 1), target[row], input[row]), 1e-5);
  }
}

// Where something is left out, all white would be right in the region that changes.
TEST(EvaluatePictures, LeavingOutIsAlsoJudgedByWhatStays) {
  for (const char* name :
       {"imagine_without_you", "imagine_without_gold", "imagine_without_walls", "imagine_walls_only"}) {
    SCOPED_TRACE(name);
    const TaskUnderTest test(name);
    FakeEval eval(test);
    const auto outcomes_of = [&](const std::function<at::Tensor(FakePass&)>& draw) {
      eval.draw = draw;
      return test.task->Evaluate(eval, {3, 0, 60});
    };
    const Outcomes perfect = outcomes_of([](FakePass& pass) { return pass.Pixels("target"); });
    EXPECT_EQ(Mean(perfect.score), 0);
    EXPECT_GT(Mean(perfect.trivial.at("input")), 0.05);
    EXPECT_GT(Mean(perfect.trivial.at("mean target")), 0.02) << "it lacks what stays";

    const Outcomes input = outcomes_of([](FakePass& pass) { return pass.Pixels("image"); });
    EXPECT_EQ(input.score, input.trivial.at("input"));
    EXPECT_GT(MeanOfNumbers(input.figures.at("error_of_what_goes").rows), 0.3);
    EXPECT_EQ(MeanOfNumbers(input.figures.at("error_of_what_stays").rows), 0);
    const Outcomes white = outcomes_of([](FakePass& pass) { return at::ones_like(pass.Pixels("image")); });
    EXPECT_EQ(MeanOfNumbers(white.figures.at("error_of_what_goes").rows), 0);
    if (std::string(name) == "imagine_walls_only") {  // a gap stays, which is white
      EXPECT_EQ(MeanOfNumbers(white.figures.at("error_of_what_stays").rows), 0);
    } else {
      EXPECT_GT(MeanOfNumbers(white.figures.at("error_of_what_stays").rows), 0.05);
    }
    const double elsewhere = MeanOfNumbers(white.figures.at("error_elsewhere").rows);
    if (std::string(name) == "imagine_without_walls") {
      EXPECT_EQ(elsewhere, 0) << "white";
    } else {
      EXPECT_GT(elsewhere, 0.03) << "it lacks the walls";
    }
    for (std::size_t row = 0; row < white.score.size(); ++row) {
      double sum = 0, parts = 0;
      for (const char* part : {"error_of_what_goes", "error_of_what_stays", "error_elsewhere"}) {
        const double error = white.figures.at(part).rows[row];
        if (!std::isnan(error)) sum += error, ++parts;
      }
      EXPECT_NEAR(white.score[row], sum / parts, 1e-6);
    }
    EXPECT_GT(Mean(white.score), 0.02);
  }
}

// The arrow's region is blue in every target, so that a blue picture has no error in it: beside it stands
// what the picture does to all that should stay.
TEST(EvaluatePictures, FloodingARegionShowsElsewhere) {
  const TaskUnderTest test("arrow_to_gold");
  FakeEval eval(test);
  eval.draw = [](FakePass& pass) {
    const at::Tensor blue = at::tensor({0.0F, 0.0F, 213 / 255.0F}).view({1, 3, 1, 1});
    return blue.expand_as(pass.Pixels("image")).clone();
  };
  const Outcomes flooded = test.task->Evaluate(eval, {3, 0, 12});
  EXPECT_LT(Mean(flooded.score), 0.01);
  EXPECT_GT(MeanOfNumbers(flooded.figures.at("error_elsewhere").rows), 0.3);
}

TEST(EvaluatePictures, ControlIsJudgedOnTheWholePictureAgainstTheMeanImage) {
  const TaskUnderTest test("control");
  FakeEval eval(test);
  eval.draw = [](FakePass& pass) { return at::ones_like(pass.Pixels("image")); };
  const Outcomes outcomes = test.task->Evaluate(eval, {6, 0, 10});
  const at::Tensor image = test.task->Sample({6, 0, 10}).Column("image").to(at::kFloat).div(255);
  const at::Tensor white = (image - 1).square().mean({1, 2, 3});
  ASSERT_EQ(outcomes.trivial.size(), 1U);
  EXPECT_EQ(outcomes.figures.size(), 2U) << "what is found, of what was drawn and of the mean";
  EXPECT_EQ(MeanOfNumbers(outcomes.figures.at("found").rows), 0) << "white shows nothing";
  for (std::int64_t row = 0; row < 10; ++row) {
    const auto i = static_cast<std::size_t>(row);
    EXPECT_NEAR(outcomes.score[i], white[row].item<double>(), 1e-5);
    const double mean = (image[row] - MeanOfOthers(image, row)).square().mean().item<double>();
    EXPECT_NEAR(outcomes.trivial.at("mean image")[i], mean, 1e-5);
  }
}

TEST(EvaluatePictures, OnlyWhatIsDrawnWhereItBelongsIsFound) {
  const std::set<std::string> nothing_changes = {"arrow_to_gold", "imagine_without_walls"},
                              changes_to_nothing = {"imagine_without_gold", "imagine_without_you"},
                              always_the_same = {"zoom_agent", "zoom_gold"};  // a disc in the middle
  for (const std::string name : {"control", "arrow_to_gold", "zoom_agent", "zoom_gold", "zoom_halfway",
                                 "imagine_after_move", "imagine_closer_to_gold", "imagine_facing_gold",
                                 "imagine_without_gold", "imagine_without_you", "imagine_without_walls"}) {
    SCOPED_TRACE(name);
    const TaskUnderTest test(name);
    FakeEval eval(test);
    const bool is_control = name == "control", zooms = name.starts_with("zoom");
    const auto figures = [&](const std::function<at::Tensor(const at::Tensor&)>& draw) {
      eval.draw = [&](FakePass& pass) { return draw(pass.Pixels(is_control ? "image" : "target")); };
      std::map<std::string, double> means;
      for (const auto& [figure, rows] : test.task->Evaluate(eval, {3, 0, 24}).figures)
        means[figure] = MeanOfNumbers(rows.rows);
      return means;
    };
    const auto perfect = figures([](const at::Tensor&picture) { return picture; }),
               pale = figures([](const at::Tensor&picture) { return picture.mul(0.5).add(0.5); }),
               white = figures([](const at::Tensor&picture) { return at::ones_like(picture); });
    EXPECT_EQ(perfect.count("found_kept"), is_control ? 0U : 1U) << "control draws all of it";
    if (nothing_changes.count(name) > 0) {
      EXPECT_TRUE(std::isnan(perfect.at("found")));
    } else {
      EXPECT_EQ(perfect.at("found"), 1);
      EXPECT_EQ(pale.at("found"), white.at("found")) << "pale is not found";
      if (changes_to_nothing.count(name) > 0) {
        EXPECT_EQ(white.at("found"), 1) << "only what shall be gone";
      } else {
        EXPECT_LT(white.at("found"), zooms ? 0.6 : 0.1) << "what the close-up does not show shall be gone";
      }
      if (always_the_same.count(name) + changes_to_nothing.count(name) == 0) {
        EXPECT_LT(perfect.at("found_by_mean"), 0.6);
      }
    }
    if (is_control) continue;
    if (zooms) {
      EXPECT_TRUE(std::isnan(perfect.at("found_kept"))) << "all is magnified";
    } else {
      EXPECT_EQ(perfect.at("found_kept"), 1);
      EXPECT_EQ(white.at("found_kept"), 0);
    }
  }
}

TEST(EvaluatePictures, OneRowHasNoMeanOfOthers) {
  for (const char* name : {"control", "arrow_to_gold", "imagine_without_you"}) {
    const TaskUnderTest test(name);
    FakeEval eval(test);
    eval.draw = [](FakePass& pass) { return pass.Pixels("image"); };
    const Outcomes outcomes = test.task->Evaluate(eval, {6, 0, 1});
    const char* mean = std::string(name) == "control" ? "mean image" : "mean target";
    EXPECT_TRUE(std::isnan(outcomes.trivial.at(mean).at(0))) << name;
    EXPECT_FALSE(std::isnan(outcomes.score.at(0))) << name;
  }
}

// Draws, in the recall, the picture that lies `back` steps back; by row where that is left open.
Outcomes Recall(std::optional<std::int64_t> back) {
  const TaskUnderTest test("mem_canvas");
  FakeEval eval(test);
  eval.draw = [&](FakePass& pass) {
    if (pass.images.count("image3") == 0) return at::full_like(pass.LastImage(), 0.25);
    EXPECT_EQ(pass.inputs[0].tensor.max().item<float>(), 0.25F) << "a canvas is what was drawn";
    EXPECT_EQ(pass.inputs[1].tensor.max().item<float>(), 0.25F);
    std::vector<at::Tensor> rows;
    for (std::int64_t row = 0; row < pass.batch().size(); ++row) {
      const std::int64_t at = back ? *back : pass.batch().Column("recall.back")[row].item<std::int64_t>();
      rows.push_back(pass.Pixels("image" + std::to_string(3 - at))[row]);
    }
    return at::stack(rows).mul(0.9).add(0.02);
  };
  const Outcomes outcomes = test.task->Evaluate(eval, {8, 0, 12});
  EXPECT_TRUE(outcomes.output.to(at::kInt).sub(outcomes.target.to(at::kInt)).abs().max().item<int>() <= 26 ||
              back);
  return outcomes;
}

constexpr const char* kRecalls[] = {"recall_now", "recall_last", "recall_two_ago"};

TEST(EvaluatePictures, MemCanvasCountsTheRightPictures) {
  const Outcomes all = Recall({});
  EXPECT_EQ(Mean(all.score), 1);
  EXPECT_NEAR(Mean(all.trivial.at("input")), 1.0 / 3, 1e-12);
  EXPECT_NEAR(Mean(all.trivial.at("anything but the present")), 2.0 / 3, 1e-12);
  for (const std::int64_t back : {0, 1, 2}) {
    const Outcomes one = Recall(back);
    EXPECT_NEAR(Mean(one.score), 1.0 / 3, 1e-12);
    for (std::int64_t asked = 0; asked < 3; ++asked) {
      const auto& recall = one.figures.at(kRecalls[asked]).rows;
      EXPECT_EQ(MeanOfNumbers(recall), asked == back ? 1 : 0);
      EXPECT_EQ(std::count_if(recall.begin(), recall.end(), [](double x) { return std::isnan(x); }), 8)
          << "asked for in 4 of 12 rows";
    }
  }
}

// Looks at the present alone: draws it, or its negative, which is like anything sooner than like itself. A
// bit of noise, because boards whose objects do not overlap are equally far from a third.
TEST(EvaluatePictures, WhoRemembersNothingGetsTheTrivialRecall) {
  const TaskUnderTest test("mem_canvas");
  FakeEval eval(test, 60);
  at::manual_seed(1);
  eval.draw = [&](FakePass& pass) {
    if (pass.images.count("image3") == 0) return pass.LastImage();
    const at::Tensor now = pass.batch().Column("recall.back").eq(0).view({-1, 1, 1, 1});
    const at::Tensor present = pass.Pixels("image3");
    return at::where(now, present, (1 - present).mul(0.9).add(at::rand_like(present), 0.1));
  };
  const Outcomes outcomes = test.task->Evaluate(eval, {8, 0, 300});
  EXPECT_EQ(MeanOfNumbers(outcomes.figures.at("recall_now").rows), 1);
  for (const char* past : {"recall_last", "recall_two_ago"})
    EXPECT_NEAR(MeanOfNumbers(outcomes.figures.at(past).rows), 0.5, 0.15) << past;
  EXPECT_NEAR(Mean(outcomes.score), Mean(outcomes.trivial.at("anything but the present")), 0.08);
}

TEST(EvaluatePictures, MemCanvasRepeatsItsFirstPictureWhereThatIsAskedForAndTakesEither) {
  const RowRange rows{8, 0, 300};
  const Batch plain = TaskUnderTest("mem_canvas").task->Sample(rows);
  for (const double share : {0.0, 0.5, 1.0}) {
    const TaskUnderTest test("mem_canvas", 128, "default", {{"repeats", share}});
    const Batch batch = test.task->Sample(rows);
    const at::Tensor& first = batch.Column("image1");
    EXPECT_TRUE(first.equal(plain.Column("image1")));
    EXPECT_TRUE(batch.Column("image3").equal(plain.Column("image3")));
    const at::Tensor repeated = batch.Column("image2").eq(first).flatten(1).all(1);
    EXPECT_NEAR(repeated.to(at::kDouble).mean().item<double>(), share, 0.1);
    EXPECT_TRUE(batch.Column("image2")
                    .eq(plain.Column("image2"))
                    .flatten(1)
                    .all(1)
                    .logical_or(repeated)
                    .all()
                    .item<bool>());
  }
  const TaskUnderTest test("mem_canvas", 128, "default", {{"repeats", 1}});
  FakeEval eval(test);
  eval.draw = [](FakePass& pass) {
    return pass.images.count("image3") == 0 ? pass.LastImage() : pass.Pixels("image1").mul(0.9);
  };
  const Outcomes outcomes = test.task->Evaluate(eval, {8, 0, 12});
  EXPECT_NEAR(Mean(outcomes.score), 2.0 / 3, 1e-12) << "wrong only where the present is asked for";
  EXPECT_NEAR(Mean(outcomes.trivial.at("anything but the present")), 2.0 / 3, 1e-12);
  // Neither does a haze remember anything where the past is one picture.
  at::manual_seed(1);
  eval.draw = [](FakePass& pass) {
    if (pass.images.count("image3") == 0) return pass.LastImage();
    const at::Tensor now = pass.batch().Column("recall.back").eq(0).view({-1, 1, 1, 1});
    const at::Tensor present = pass.Pixels("image3");
    return at::where(now, present, (1 - present).mul(0.9).add(at::rand_like(present), 0.1));
  };
  EXPECT_NEAR(Mean(test.task->Evaluate(eval, {8, 0, 300}).score), 2.0 / 3, 0.08);
}

at::Tensor SeenPictures(const TaskUnderTest& test, const RowRange& rows,
                        const std::vector<std::string>& columns) {
  const Batch batch = test.task->Sample(rows);
  std::vector<at::Tensor> pictures;
  for (const std::string& column : columns) pictures.push_back(batch.Column(column));
  return at::cat(pictures, 3);
}

TEST(EvaluatePictures, SheetsShowAllThatWasSeenBesideWhatShouldComeAndWhatCame) {
  const auto draw = [](FakePass& pass) { return pass.LastImage().mul(0.5); };
  {
    const TaskUnderTest test("mem_canvas");
    FakeEval eval(test, 3);
    eval.draw = draw;
    const Outcomes outcomes = test.task->Evaluate(eval, {8, 30, 12});
    EXPECT_TRUE(outcomes.input.equal(SeenPictures(test, {8, 30, 8}, {"image1", "image2", "image3"})));
    EXPECT_EQ(outcomes.target.sizes(), at::IntArrayRef({8, 3, 128, 128}));
    for (std::int64_t row = 0; row < 8; ++row) {
      const std::int64_t back = test.task->Sample({8, 30, 8}).Column("recall.back")[row].item<std::int64_t>();
      EXPECT_TRUE(outcomes.target[row].equal(outcomes.input[row].narrow(2, (2 - back) * 128, 128)));
    }
    EXPECT_EQ(outcomes.output.max().item<int>(), 128) << "what came: half of the last picture";
  }
  const TaskUnderTest test("comparison");
  FakeEval eval(test);
  eval.draw = draw;
  eval.answer = [](FakePass& pass) {
    return std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(pass.batch().size()));
  };
  const Outcomes outcomes = test.task->Evaluate(eval, {8, 0, 12});
  EXPECT_TRUE(outcomes.input.equal(SeenPictures(test, {8, 0, 8}, {"image1", "image2"})));
  EXPECT_TRUE(outcomes.target.equal(SeenPictures(test, {8, 0, 8}, {"image1"})));
  EXPECT_EQ(outcomes.output.max().item<int>(), 128);
  EXPECT_NEAR(Mean(outcomes.trivial.at("most frequent reply")), 0.5, 1e-12);
}

// A picture that lacks what stays, judged with and without objects in the region.
TEST(PictureLoss, CanSeeObjectsThatStay) {
  const auto image_of = [](double objects, const std::function<at::Tensor(FakePass&)>& draw) {
    const TaskUnderTest test("imagine_facing_gold", 128, "default",
                             {{"region_share", 0.4}, {"objects", objects}});
    FakePass pass(test, test.task->Sample({31, 0, 12}));
    pass.draw = draw;
    return test.task->Run("task", pass).at("image").item<double>() / 12;
  };
  const auto without_what_stays = [](FakePass& pass) {
    const at::Tensor target = pass.Pixels("target");
    const at::Tensor stays = Coloured(target).logical_and(target.eq(pass.Pixels("image")).all(1, true));
    return at::where(stays, 1.0, target);
  };
  const auto target = [](FakePass& pass) { return pass.Pixels("target"); };
  EXPECT_EQ(image_of(1, target), 0);
  EXPECT_LT(image_of(0, without_what_stays), 0.01) << "some 140 of 16,384 pixels";
  EXPECT_GT(image_of(1, without_what_stays), 0.15);
  double less = 0;
  for (const double objects : {0.1, 0.3, 1.0}) {
    const double more = image_of(objects, without_what_stays);
    EXPECT_GT(more, 1.1 * less) << objects;
    less = more;
  }
}

}  // namespace
}  // namespace medley::tasks
