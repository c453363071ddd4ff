#include "tasks/complex_loss/closer.h"

#include "tests/tasks/seen.h"
#include "tests/tasks/task_testing.h"

namespace medley::tasks {
namespace {

at::Tensor Floats(const at::Tensor& bytes, at::ScalarType dtype = at::kDouble) {
  return bytes.to(dtype).div(255);
}

at::Tensor PictureOf(const world::Scene& scene, int size, at::ScalarType dtype = at::kDouble) {
  at::Tensor picture = at::empty({1, 3, size, size}, at::kByte);
  world::Render(scene, size,
                {picture.mutable_data_ptr<std::uint8_t>(), static_cast<std::size_t>(picture.numel())});
  return Floats(picture, dtype);
}

double At(const at::Tensor& values, int column = -1) {
  return column < 0 ? values[0].item<double>() : values[0][column].item<double>();
}

TEST(Estimates, OfTheGamesOwnPicturesAreWhatItDraws) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const world::State state = world::BareStateOf(seed);
    const Estimate e = EstimateObjects(PictureOf({state}, 224));
    EXPECT_TRUE(e.agent_found.item<bool>() && e.eye_found.item<bool>() && e.gold_found.item<bool>());
    EXPECT_NEAR(At(e.agent_radius), 0.0483, 4e-4) << "368 to 372 pixels";
    EXPECT_NEAR(At(e.gold_radius), 0.01234, 1e-4) << "24 pixels";
    for (const int axis : {0, 1}) {
      const auto mean = [&](double x) { return (std::trunc(224 * x) - 0.5) / 224; };
      EXPECT_NEAR(At(e.agent, axis), mean(axis == 0 ? state.agent.x : state.agent.y), 0.15 / 224);
      EXPECT_NEAR(At(e.gold, axis), mean(axis == 0 ? state.gold[0].x : state.gold[0].y), 0.15 / 224);
    }
    EXPECT_NEAR(Signed(At(e.direction) - state.direction), 0, 0.2);
  }
}

TEST(Estimates, MasksHaveTheDocumentedValues) {
  // One pixel whose mean squared difference from yellow is q gives an area of m(q) pixels.
  for (const auto& [q, m] : {std::pair{0.0, 1.0}, {0.05, 0.46}, {0.1, 0.04}}) {
    at::Tensor picture = at::full({1, 3, 16, 16}, -5.0, at::kDouble);
    picture[0].select(1, 4).select(1, 7).copy_(at::tensor({1.0, 200 / 255.0, std::sqrt(3 * q)}, at::kDouble));
    const double radius = At(EstimateObjects(picture).gold_radius);
    EXPECT_NEAR(radius * radius * world::kPi * 256, m, 0.006) << q;
    EXPECT_EQ(EstimateObjects(picture).gold_found.item<bool>(), q < 0.028);
  }
}

// Half of the distance: no loss. All of it: 3 |g - a|^2.
TEST(CloserLoss, IsZeroFromHalfwayOn) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const world::State before = world::BareStateOf(seed);
    const double distance = world::GoldDistance(before);
    if (distance < 0.2) continue;
    const Estimate truth = EstimateObjects(PictureOf({before}, 224));
    const auto loss = [&](double along) {
      world::State now = before;
      now.agent.x += along * (before.gold[0].x - before.agent.x);
      now.agent.y += along * (before.gold[0].y - before.agent.y);
      return At(CloserLoss(EstimateObjects(PictureOf({now}, 224)), truth));
    };
    EXPECT_NEAR(loss(0), 3 * distance * distance, 0.02);
    EXPECT_NEAR(loss(0.25), 1.25 * distance * distance, 0.03);
    EXPECT_LT(loss(0.54), 2e-4);
  }
}

TEST(CloserLoss, NoticesGoldThatMovedAndSizesThatChanged) {
  const world::State before = world::BareStateOf(3);
  const Estimate truth = EstimateObjects(PictureOf({before}, 224));
  world::State now = before;
  now.agent = {(before.agent.x + before.gold[0].x) / 2, (before.agent.y + before.gold[0].y) / 2};
  const auto loss = [&] { return At(CloserLoss(EstimateObjects(PictureOf({now}, 224)), truth)); };
  const double right = loss();
  now.gold[0].x += 0.1;
  EXPECT_NEAR(loss() - right, 10 * 0.01, 0.02);
  now.gold[0].x -= 0.1;
  now.gold_radius = 0.04;
  EXPECT_NEAR(loss() - right, 100 * std::pow(0.0357 - 0.0123, 2), 0.01);
}

// What leaves a GPU, in one copy: the numbers that the game draws from.
TEST(Estimate, AsNumbersHasEveryPlaceAndWhatWasFound) {
  const Estimate estimate =
      EstimateObjects(at::cat({PictureOf({world::BareStateOf(3)}, 128), at::ones({1, 3, 128, 128})}));
  const at::Tensor numbers = AsNumbers(estimate);
  ASSERT_EQ(numbers.sizes(), at::IntArrayRef({2, 8}));
  EXPECT_TRUE(at::equal(numbers.narrow(1, 0, 2), estimate.agent.to(at::kDouble)));
  EXPECT_TRUE(at::equal(numbers.narrow(1, 2, 2), estimate.gold.to(at::kDouble)));
  EXPECT_TRUE(at::equal(numbers.select(1, 4), estimate.direction.to(at::kDouble)));
  EXPECT_TRUE(at::equal(
      numbers.narrow(1, 5, 3),
      at::stack({estimate.agent_found, estimate.eye_found, estimate.gold_found}, 1).to(at::kDouble)));
  EXPECT_EQ(numbers[0].narrow(0, 5, 3).sum().item<double>(), 3);
  EXPECT_EQ(numbers[1].narrow(0, 5, 3).sum().item<double>(), 0) << "an empty board";
}

// Pictures of every kind of trouble, [n, 3, 24, 24].
at::Tensor Troubles(at::ScalarType dtype) {
  at::manual_seed(5);
  const auto options = at::TensorOptions(dtype);
  const at::Tensor white = at::ones({1, 3, 24, 24}, options);
  at::Tensor only_agent = white.clone();
  only_agent[0][0].narrow(0, 3, 6).fill_(0);
  only_agent[0][2].narrow(0, 3, 6).fill_(0);
  at::Tensor both = only_agent.clone();
  both[0].narrow(1, 15, 4).copy_(at::tensor({1.0, 200 / 255.0, 0.0}, options).view({3, 1, 1}));
  return at::cat({white, white.mul(0), white.mul(-3), white.mul(1e4), white.mul(-1e18), only_agent, both,
                  at::randn({4, 3, 24, 24}, options).mul(5).add(40),
                  both.add(at::randn({1, 3, 24, 24}, options).mul(0.05))});
}

TEST(CloserLoss, AndItsGradientAreFiniteForEmptyMasksAndOutOfRangePixels) {
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    const at::Tensor pictures = Troubles(dtype).set_requires_grad(true);
    const Estimate drawn = EstimateObjects(pictures);
    const Estimate truth =
        EstimateObjects(PictureOf({world::BareStateOf(1)}, 128, dtype).expand({12, -1, -1, -1}));
    const at::Tensor loss = CloserLoss(drawn, truth);
    ASSERT_EQ(loss.size(0), 12);
    EXPECT_TRUE(loss.isfinite().all().item<bool>());
    EXPECT_TRUE(DistanceLeft(drawn, truth).isfinite().all().item<bool>());
    const at::Tensor gradient = torch::autograd::grad({loss.sum()}, {pictures})[0];
    EXPECT_TRUE(gradient.isfinite().all().item<bool>());
    EXPECT_EQ(gradient.narrow(0, 0, 6).abs().max().item<double>(), 0) << "nothing is found there";
    EXPECT_GT(gradient[6].abs().max().item<double>(), 0);
    EXPECT_EQ(drawn.agent_found.sum().item<int>(), 3);
    EXPECT_EQ(drawn.gold_found.sum().item<int>(), 2);
  }
}

TEST(CloserLoss, HasTheGradientOfFiniteDifferences) {
  const at::Tensor all = Troubles(at::kDouble);
  const Estimate truth = EstimateObjects(PictureOf({world::BareStateOf(1)}, 128));
  const auto loss = [&](const at::Tensor& picture) {
    return CloserLoss(EstimateObjects(picture), truth).sum();
  };
  const at::Tensor picture = all.narrow(0, 11, 1).clone();
  const at::Tensor leaf = picture.clone().set_requires_grad(true);
  const at::Tensor gradient = torch::autograd::grad({loss(leaf)}, {leaf})[0];
  at::manual_seed(6);
  for (int i = 0; i < 20; ++i) {
    const at::Tensor way = at::randn_like(picture);
    const double step = 1e-6;
    const double slope =
        (loss(picture + step * way) - loss(picture - step * way)).item<double>() / (2 * step);
    EXPECT_NEAR(slope, (gradient * way).sum().item<double>(), 1e-6 * gradient.norm().item<double>() + 1e-9);
  }
}

std::map<std::string, double> SumsFor(const TaskUnderTest& test, std::int64_t rows,
                                      const std::function<at::Tensor(FakePass&)>& draw) {
  FakePass pass(test, test.task->Sample({31, 0, rows}));
  pass.draw = draw;
  std::map<std::string, double> sums;
  for (const auto& [term, sum] : test.task->Run("task", pass)) sums[term] = sum.item<double>();
  EXPECT_EQ(pass.batch().ItemCount("closer"), rows) << "counted over all rows";
  return sums;
}

TEST(ComplexLoss, IsSummedOverRowsWhateverTheirNumber) {
  const TaskUnderTest test("complex_loss");
  const auto input = [](FakePass& pass) { return pass.Pixels("image"); };
  const auto all = SumsFor(test, 12, input);
  EXPECT_EQ(all.at("detected"), 12);
  EXPECT_GT(all.at("closer"), 0);
  // The game draws what it finds in its own picture nearly as it was: only the direction is estimated.
  EXPECT_LT(all.at("game") / 12, 0.0008);

  const auto half = SumsFor(test, 12, [](FakePass& pass) {
    at::Tensor picture = pass.Pixels("image").clone();
    picture.narrow(0, 6, 6).fill_(1);
    return picture;
  });
  EXPECT_EQ(half.at("detected"), 6);
  EXPECT_LT(half.at("closer"), all.at("closer"));
  EXPECT_NEAR(half.at("closer"), SumsFor(test, 6, input).at("closer"), 1e-4);
  // A blank picture is asked to show the board again.
  EXPECT_GT(half.at("game"), 6 * 0.1);
}

TEST(ComplexLoss, OfAShareOfTheRowsTheGameDrawsTheAgentHalfway) {
  const auto halfway = [](FakePass& pass) {
    std::vector<at::Tensor> rows;
    for (std::int64_t row = 0; row < 12; ++row) {
      RowRandom random = pass.batch().rows().Random(row, 0);
      world::State state = world::BareState(random);
      state.agent = {(state.agent.x + state.gold[0].x) / 2, (state.agent.y + state.gold[0].y) / 2};
      rows.push_back(PictureOf({state}, 128, at::kFloat));
    }
    return at::cat(rows);
  };
  const auto input = [](FakePass& pass) { return pass.Pixels("image"); };
  const auto game = [&](double shown, const auto& draw) {
    const TaskUnderTest test("complex_loss", 128, "default", {{"shown", shown}});
    return SumsFor(test, 12, draw).at("game") / 12;
  };
  EXPECT_LT(game(1, halfway), 1e-9);
  EXPECT_GT(game(1, input), 10 * game(0, input)) << "a copy is no longer what the game would draw";
  EXPECT_GT(game(0.5, input), game(0, input));
  EXPECT_LT(game(0.5, input), game(1, input));
}

TEST(ComplexLoss, TheGameRedrawsAgentAndGoldWhereTheyWereFound) {
  const TaskUnderTest test("complex_loss");
  const auto sums = SumsFor(test, 12, [](FakePass& pass) {
    std::vector<at::Tensor> rows;
    for (std::int64_t row = 0; row < 12; ++row) {
      RowRandom random = pass.batch().rows().Random(row, 0);
      world::State state = world::BareState(random);
      state.agent = {0.3, 0.6};
      state.gold[0] = {0.7, 0.25};
      rows.push_back(PictureOf({state}, 128, at::kFloat));
    }
    return at::cat(rows);
  });
  EXPECT_EQ(sums.at("detected"), 12);
  EXPECT_LT(sums.at("game") / 12, 0.0008) << "an agent or gold that stayed would cost ten times as much";
}

TEST(ComplexLoss, ScoresTheDistanceThatIsLeft) {
  const TaskUnderTest test("complex_loss", 224);
  FakeEval eval(test);
  const auto score = [&](double along) {
    eval.draw = [=](FakePass& pass) {
      std::vector<at::Tensor> rows;
      for (std::int64_t row = 0; row < pass.batch().size(); ++row) {
        RowRandom random = pass.batch().rows().Random(pass.batch().rows().begin + row, 0);
        world::State state = world::BareState(random);
        state.agent.x += along * (state.gold[0].x - state.agent.x);
        state.agent.y += along * (state.gold[0].y - state.agent.y);
        if (along > 2) state.gold = {};
        rows.push_back(PictureOf({state}, 224, at::kFloat));
      }
      return at::cat(rows);
    };
    const Outcomes outcomes = test.task->Evaluate(eval, {41, 0, 12});
    for (const double input : outcomes.trivial.at("input")) EXPECT_EQ(input, 1);
    for (std::size_t row = 0; row < 12; ++row) {
      RowRandom random = RowRange{41, 0, 12}.Random(static_cast<std::int64_t>(row), 0);
      const world::State state = world::BareState(random);
      EXPECT_NEAR(outcomes.trivial.at("agent in the middle")[row],
                  world::Distance(state.gold[0], {0.5, 0.5}) / world::GoldDistance(state), 0.05);
    }
    for (std::size_t row = 0; row < 12; ++row) {
      const double left = outcomes.figures.at("distance_left_of_detected").rows[row];
      const double gold = outcomes.figures.at("gold_moved_of_detected").rows[row];
      EXPECT_EQ(outcomes.figures.at("detected").rows[row], along > 2 ? 0 : 1);
      if (along > 2) {
        EXPECT_TRUE(std::isnan(left) && std::isnan(gold)) << "such a row has no distance";
      } else {
        EXPECT_EQ(left, outcomes.score[row]);
        EXPECT_LT(gold, 0.005);
      }
    }
    return outcomes.score;
  };
  for (const double left : score(0.5)) EXPECT_NEAR(left, 0.5, 0.06);
  for (const double left : score(0.2)) EXPECT_NEAR(left, 0.8, 0.06);
  for (const double left : score(3)) EXPECT_EQ(left, 1) << "no gold is found";
}

// The input without its agent, judged with different shares: what the missing agent costs.
TEST(ComplexLoss, TheRegionIsWhereAgentAndGoldAreOrWere) {
  const auto game_of = [](double share, const std::function<at::Tensor(FakePass&)>& draw) {
    const TaskUnderTest test("complex_loss", 128, "default", {{"region_share", share}});
    return SumsFor(test, 12, draw).at("game") / 12;
  };
  const auto coloured = [](const at::Tensor& picture) {
    return picture.ne(picture.narrow(1, 0, 1)).any(1, /*keepdim=*/true).expand_as(picture);
  };
  // Grey where objects are: nothing is found there, so all of the region should come back.
  at::Tensor outside, inside;
  const auto grey_objects = [&](FakePass& pass) {
    const at::Tensor picture = pass.Pixels("image");
    const at::Tensor drawn = at::where(coloured(picture), 0.5, picture);
    const at::Tensor errors = (drawn - picture).square();
    inside = errors.masked_select(coloured(picture)).mean();
    outside = errors.mean();
    return drawn;
  };
  const double all = game_of(0, grey_objects), half = game_of(0.5, grey_objects);
  EXPECT_NEAR(all, outside.item<double>(), 1e-7);
  EXPECT_NEAR(half, 0.5 * outside.item<double>() + 0.5 * inside.item<double>(), 0.01 * half);
  EXPECT_GT(half, 20 * all);
  // What is wrong with the walls is outside of it.
  const auto input = [](FakePass& pass) { return pass.Pixels("image"); };
  const auto grey_walls = [&](FakePass& pass) {
    const at::Tensor picture = pass.Pixels("image");
    return at::where(picture.sum(1, true).eq(0).expand_as(picture), 0.2, picture);  // far from any colour
  };
  const auto walls = [&](double share) { return game_of(share, grey_walls) - game_of(share, input); };
  EXPECT_GT(walls(0), 0.005);
  EXPECT_NEAR(walls(0.5), 0.5 * walls(0), 1e-6);
}

}  // namespace
}  // namespace medley::tasks
