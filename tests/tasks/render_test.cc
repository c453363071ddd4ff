#include <set>

#include "tasks/world/solver.h"
#include "tests/tasks/world_testing.h"

namespace medley::world {
namespace {

// The disc rule as it is written down, without any shortcut.
int SlowHalfWidth(int radius, int k) {
  const auto n = [radius](int j) {
    return static_cast<int>(std::lround(std::sqrt(radius * radius - j * j)));
  };
  int half = n(k);
  for (int j = 1; j <= radius; ++j) {
    if (n(j) >= k) half = std::max(half, j);
  }
  return half;
}

// An arena with nothing but one gold of that radius in pixels of a 224 picture.
std::vector<std::uint8_t> DiscPicture(int radius, Point centre = {0.5, 0.5}) {
  State state;
  state.gold.Add(centre);
  state.gold_radius = (radius + 0.5) / 224;
  return Draw({state, {.agent = false}}, 224);
}

TEST(Render, DiscsHaveTheAreasOfTheOriginal) {
  const std::pair<int, int> areas[] = {{3, 24},    {4, 44},    {7, 148},    {8, 188},
                                       {11, 368},  {21, 1356}, {22, 1492},  {26, 2104},
                                       {28, 2440}, {35, 3800}, {67, 14044}, {89, 24780}};
  for (const auto& [radius, area] : areas) {
    EXPECT_EQ(CountPixels(DiscPicture(radius), 224, kYellow), area) << "radius " << radius;
  }
}

TEST(Render, DiscRowsFollowTheRule) {
  for (int radius = 2; radius < 110; ++radius) {
    const auto pixels = DiscPicture(radius);
    for (int k = 1; k <= radius; ++k) {
      const int half = SlowHalfWidth(radius, k);
      for (const int row : {112 - k, 112 + k - 1}) {
        for (int j = 0; j < 224; ++j) {
          const bool inside = j >= 112 - half && j < 112 + half;
          ASSERT_EQ(PixelOf(pixels, 224, row, j) == kYellow, inside)
              << radius << " row " << row << " column " << j;
        }
      }
    }
  }
}

TEST(Render, ADiscIsSymmetricAndTruncatesItsCentre) {
  const auto pixels = DiscPicture(11, {0.4, 0.6});  // 89.6, 134.4
  for (int i = -12; i < 12; ++i) {
    for (int j = -12; j < 12; ++j) {
      EXPECT_EQ(PixelOf(pixels, 224, 89 + i, 134 + j), PixelOf(pixels, 224, 89 + j, 134 + i));
      EXPECT_EQ(PixelOf(pixels, 224, 89 + i, 134 + j), PixelOf(pixels, 224, 89 - 1 - i, 134 + j));
    }
  }
}

TEST(Render, BareImagesHaveTheReferencesPixelCounts) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const State state = BareStateOf(seed);
    const auto pixels = Draw({state, {}}, 224);
    const int black = CountPixels(pixels, 224, kBlack);
    EXPECT_EQ(black, state.walls.size() == 4 ? 11760 : 11438);
    EXPECT_EQ(CountPixels(pixels, 224, kRed), 44);
    EXPECT_EQ(CountPixels(pixels, 224, kYellow), 24);
    const int agent = 44 + CountPixels(pixels, 224, kGreen);
    EXPECT_GE(agent, 368);
    EXPECT_LE(agent, 372);
    EXPECT_EQ(black + agent + 24 + CountPixels(pixels, 224, kWhite), 224 * 224) << "a colour too many";
  }
}

TEST(Render, AGapShowsInThePixels100To122) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const State state = BareStateOf(seed);
    if (state.walls.size() == 4) continue;
    const auto pixels = Draw({state, {}}, 224);
    std::set<int> open;
    for (int i = 0; i < 224; ++i) {
      for (const auto& [row, column] : {std::pair{i, 0}, {i, 223}, {0, i}, {223, i}}) {
        if (PixelOf(pixels, 224, row, column) != kBlack) open.insert(i);
      }
    }
    EXPECT_EQ(open.size(), 23U);
    EXPECT_EQ(*open.begin(), 100);
    EXPECT_EQ(*open.rbegin(), 122);
  }
}

TEST(Render, RowIsGameXAndColumnIsGameY) {
  State state;
  state.gold.Add({0.25, 0.75});
  const auto pixels = Draw({state, {.agent = false}}, 224);
  EXPECT_EQ(PixelOf(pixels, 224, 56, 168), kYellow);
  EXPECT_EQ(PixelOf(pixels, 224, 168, 56), kWhite);
}

TEST(Render, TheEyeShowsTheDirection) {
  State state;
  state.agent = {0.5, 0.5};
  state.direction = kPi / 2;  // right
  const auto pixels = Draw({state, {}}, 224);
  EXPECT_EQ(PixelOf(pixels, 224, 112, 112 + 6), kRed);
  EXPECT_EQ(PixelOf(pixels, 224, 112, 112 - 6), kGreen);
  EXPECT_EQ(PixelOf(pixels, 224, 112 + 6, 112), kGreen);
}

// Every pixel that `without` changes showed a colour of the thing that was left out.
void ExpectOnlyChanges(const std::vector<std::uint8_t>& full, const std::vector<std::uint8_t>& without,
                       std::initializer_list<std::uint32_t> colours) {
  int other = 0;
  for (int i = 0; i < 224; ++i) {
    for (int j = 0; j < 224; ++j) {
      const auto shown = PixelOf(full, 224, i, j);
      if (PixelOf(without, 224, i, j) == shown) continue;
      other += std::find(colours.begin(), colours.end(), shown) == colours.end();
    }
  }
  EXPECT_EQ(other, 0);
}

TEST(Render, LeavingOutShowsTheRestUnchanged) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    const State state = FullStateOf(seed);
    const auto full = Draw({state, {}}, 224);
    const auto without_agent = Draw({state, {.agent = false}}, 224);
    const auto without_gold = Draw({state, {.gold = false}}, 224);
    const auto without_walls = Draw({state, {.walls = false}}, 224);
    EXPECT_EQ(CountPixels(without_agent, 224, kGreen) + CountPixels(without_agent, 224, kRed), 0);
    EXPECT_EQ(CountPixels(without_gold, 224, kYellow), 0);
    EXPECT_EQ(CountPixels(without_walls, 224, kBlack), 0);
    EXPECT_GT(CountPixels(without_walls, 224, kGreen), 300);
    ExpectOnlyChanges(full, without_agent, {kGreen, kRed});
    ExpectOnlyChanges(full, without_gold, {kYellow});
    ExpectOnlyChanges(full, without_walls, {kBlack});
  }
}

TEST(Render, TheLineCoversTheReferencesPixels) {
  State state;
  state.agent = {0.5, 0.5};
  struct Case {
    double angle;
    int row0, row1, column0, column1;
  };
  for (const Case& c : {Case{0, 123, 144, 110, 113}, Case{kPi / 2, 110, 113, 123, 144}}) {
    const auto pixels = Draw({state, {.agent = false, .line = Line{c.angle, 1}}}, 224);
    EXPECT_EQ(CountPixels(pixels, 224, kBlue), 88);
    for (int i = c.row0; i <= c.row1; ++i) {
      for (int j = c.column0; j <= c.column1; ++j) EXPECT_EQ(PixelOf(pixels, 224, i, j), kBlue);
    }
  }
  EXPECT_EQ(CountPixels(Draw({state, {.agent = false, .line = Line{kPi, 1}}}, 224), 224, kBlue), 88);
}

TEST(Render, EveryLineEqualsThePixelTest) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RowRandom random = RandomOf(seed);
    State state;
    state.agent = {random.Uniform(0.1, 0.9), random.Uniform(0.1, 0.9)};
    const Line line{random.Uniform(0, 2 * kPi), random.Uniform(0, 4)};
    const auto pixels = Draw({state, {.agent = false, .line = line}}, 224);
    const double length = std::floor(22.4 * line.extension);
    const double c = std::cos(line.angle), s = std::sin(line.angle);
    const double px = 224 * (state.agent.x + 0.05 * c), py = 224 * (state.agent.y + 0.05 * s);
    for (int i = 0; i < 224; ++i) {
      for (int j = 0; j < 224; ++j) {
        const double u = (i + 0.5 - px) * c + (j + 0.5 - py) * s;
        const double v = -(i + 0.5 - px) * s + (j + 0.5 - py) * c;
        if (std::abs(u) < 1e-9 || std::abs(u - length) < 1e-9 || std::abs(std::abs(v) - 2) < 1e-9) continue;
        const bool inside = u >= 0 && u < length && v >= -2 && v < 2;
        ASSERT_EQ(PixelOf(pixels, 224, i, j) == kBlue, inside) << seed << " at " << i << ", " << j;
      }
    }
  }
}

TEST(Render, TheLineToTheGoldEndsAtItsRim) {
  int drawn = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const State state = BareStateOf(seed);
    const Line line = LineToGold(state);
    EXPECT_NEAR(line.extension * 0.1 + 0.065625, GoldDistance(state), 1e-12);
    const auto pixels = Draw({state, {.line = line}}, 224);
    const int blue = CountPixels(pixels, 224, kBlue);
    EXPECT_NEAR(blue, 4 * std::floor(22.4 * line.extension), 12);
    drawn += blue > 0;
  }
  EXPECT_GT(drawn, 95);
}

TEST(Render, WallsAtAnAngleEqualThePixelTest) {
  State state;
  state.walls.Add({0.4, 0.3, 0.5, 0.0625, 0.7});
  const auto pixels = Draw({state, {.agent = false}}, 224);
  const double c = std::cos(0.7), s = std::sin(0.7);
  for (int i = 0; i < 224; ++i) {
    for (int j = 0; j < 224; ++j) {
      const double dx = i + 0.5 - 0.4 * 224, dy = j + 0.5 - 0.3 * 224;
      const double u = dx * c + dy * s, v = -dx * s + dy * c;
      ASSERT_EQ(PixelOf(pixels, 224, i, j) == kBlack, u >= 0 && u < 112 && v >= 0 && v < 14);
    }
  }
}

TEST(Render, ABatchEqualsItsScenesOneByOne) {
  std::vector<Scene> scenes;
  for (std::uint64_t seed = 0; seed < 7; ++seed) scenes.push_back({FullStateOf(seed), {}});
  for (const int size : {128, 160, 224, 257}) {
    const std::size_t bytes = 3 * static_cast<std::size_t>(size * size);
    std::vector<std::uint8_t> batch(scenes.size() * bytes);
    Render(scenes, size, batch);
    for (std::size_t i = 0; i < scenes.size(); ++i) {
      const auto one = Draw(scenes[i], size);
      EXPECT_TRUE(std::equal(one.begin(), one.end(), batch.begin() + static_cast<std::ptrdiff_t>(i * bytes)));
    }
  }
}

TEST(Render, GoldHasPixelsFrom128OnAndSmallerImagesAreRefused) {
  const State state = BareStateOf(3);
  EXPECT_GT(CountPixels(Draw({state, {}}, 128), 128, kYellow), 0);
  std::vector<std::uint8_t> pixels(3 * 100 * 100);
  EXPECT_THROW(Render(Scene{state, {}}, 100, pixels), InputError);
}

}  // namespace
}  // namespace medley::world
