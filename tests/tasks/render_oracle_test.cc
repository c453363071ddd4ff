// Whole pictures against the oracle, byte for byte, and what drawing them costs in allocations.
#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include "tasks/world/control_scenes.h"
#include "tests/tasks/per_pixel_render.h"
#include "tests/tasks/world_testing.h"

namespace {

std::atomic<std::int64_t> allocations{0};

void* Allocate(std::size_t bytes) {
  ++allocations;
  if (void* block = std::malloc(bytes == 0 ? 1 : bytes)) return block;
  throw std::bad_alloc();
}

}  // namespace

// Every other form of new calls this one.
void* operator new(std::size_t bytes) { return Allocate(bytes); }
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }

namespace medley::world {
namespace {

constexpr int kSizes[] = {128, 144, 160, 224, 256};

std::vector<std::uint8_t> SlowDraw(const Scene& scene, int size) {
  std::vector<std::uint8_t> pixels(3 * static_cast<std::size_t>(size) * static_cast<std::size_t>(size));
  per_pixel::Render(scene, size, pixels);
  return pixels;
}

// Says where two pictures part instead of printing both.
::testing::AssertionResult SamePicture(const std::vector<std::uint8_t>& drawn,
                                       const std::vector<std::uint8_t>& oracle, int size) {
  int differ = 0, row = -1, column = -1;
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) {
      if (PixelOf(drawn, size, i, j) == PixelOf(oracle, size, i, j)) continue;
      if (differ++ == 0) row = i, column = j;
    }
  }
  if (differ == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << differ << " pixels of a " << size << " picture differ, first row "
                                       << row << ", column " << column;
}

void ExpectTheOraclesPicture(const Scene& scene, int size) {
  EXPECT_TRUE(SamePicture(Draw(scene, size), SlowDraw(scene, size), size));
}

TEST(RenderOracle, BareStatesAreEqual) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    for (const int size : kSizes) ExpectTheOraclesPicture({BareStateOf(seed), {}}, size);
  }
}

TEST(RenderOracle, FullStatesAreEqualAlsoAfterMoves) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    RowRandom random = RandomOf(seed);
    const State state = FullState(random);
    ExpectTheOraclesPicture({state, {}}, kSizes[seed % std::size(kSizes)]);
    ExpectTheOraclesPicture({Jitter(state, random), {}}, 224);
  }
}

TEST(RenderOracle, AllSixtyFacingsOfTheAgentAreEqual) {
  State state = BareStateOf(1);
  for (int turn = 0; turn < 60; ++turn) {
    SCOPED_TRACE(turn);
    state = Act(state, Action::kAnticlock).state;
    for (const int size : kSizes) ExpectTheOraclesPicture({state, {}}, size);
  }
}

TEST(RenderOracle, TheControlTasksPicturesAreEqual) {
  for (std::int64_t row = 0; row < 4 * kControlKinds; ++row) {
    SCOPED_TRACE(row);
    RowRandom random = RandomOf(static_cast<std::uint64_t>(row));
    ExpectTheOraclesPicture(ControlScene(row, random), kSizes[row % 5]);
  }
}

// Whatever a scene can say: parts left out, lines, close-ups, walls at an angle, things across a wall, across
// the border and outside.
Scene AnyScene(RowRandom& random) {
  Scene scene{random.Coin() ? FullState(random) : BareState(random), {}};
  State& state = scene.state;
  if (random.Coin()) state.agent = {random.Uniform(-0.1, 1.1), random.Uniform(-0.1, 1.1)};
  if (state.gold.size() == 1 && random.Coin()) state.gold.Add({random.Uniform(), random.Uniform()});
  if (random.Below(4) == 0) state.agent_radius = random.Uniform(0.01, 0.2);
  for (std::int64_t more = random.Below(3); more > 0 && state.walls.size() < state.walls.capacity(); --more) {
    state.walls.Add({random.Uniform(-0.2, 1), random.Uniform(-0.2, 1), random.Uniform(0, 0.8),
                     random.Uniform(0, 0.2), random.Coin() ? random.Uniform(0, 2 * kPi) : kPi / 2});
  }
  scene.options.agent = random.Below(5) != 0;
  scene.options.gold = random.Below(5) != 0;
  scene.options.walls = random.Below(5) != 0;
  if (random.Coin()) scene.options.line = Line{random.Uniform(0, 2 * kPi), random.Uniform(0, 4)};
  if (random.Below(8) == 0) {  // pixel centres exactly on the line's border
    state.agent = {0.5, 0.5};
    scene.options.line = Line{0, random.Uniform(0, 4)};
  }
  if (random.Coin()) scene.options.zoom = Zoom{random.Uniform(1, 10), {random.Uniform(), random.Uniform()}};
  return scene;
}

TEST(RenderOracle, AnySceneIsEqual) {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    RowRandom random = RandomOf(seed);
    const Scene scene = AnyScene(random);
    const int size = seed % 7 == 0 ? 129 + static_cast<int>(seed % 64) : kSizes[seed % std::size(kSizes)];
    ExpectTheOraclesPicture(scene, size);
  }
}

TEST(RenderOracle, EveryByteOfABatchIsWrittenAndNoneBeside) {
  std::vector<Scene> scenes;
  RowRandom random = RandomOf(5);
  for (int i = 0; i < 12; ++i) scenes.push_back(AnyScene(random));
  const std::size_t bytes = std::size_t{3} * 160 * 160, margin = 64;
  for (const std::uint8_t dirt : {0x5a, 0xa5}) {
    std::vector<std::uint8_t> buffer(scenes.size() * bytes + 2 * margin, dirt);
    Render(scenes, 160, std::span(buffer).subspan(margin, scenes.size() * bytes));
    for (std::size_t i = 0; i < scenes.size(); ++i) {
      const auto first = buffer.begin() + static_cast<std::ptrdiff_t>(margin + i * bytes);
      EXPECT_TRUE(
          SamePicture({first, first + static_cast<std::ptrdiff_t>(bytes)}, SlowDraw(scenes[i], 160), 160))
          << i;
    }
    const auto is_dirt = [dirt](std::uint8_t byte) { return byte == dirt; };
    EXPECT_TRUE(std::all_of(buffer.begin(), buffer.begin() + margin, is_dirt));
    EXPECT_TRUE(std::all_of(buffer.end() - margin, buffer.end(), is_dirt));
  }
}

TEST(RenderOracle, ThreadsMayShareABatch) {
  std::vector<Scene> scenes;
  RowRandom random = RandomOf(6);
  for (int i = 0; i < 90; ++i) scenes.push_back(AnyScene(random));
  const std::size_t bytes = std::size_t{3} * 128 * 128;
  std::vector<std::uint8_t> one(scenes.size() * bytes), shared(scenes.size() * bytes);
  Render(scenes, 128, one);
  std::vector<std::thread> threads;
  for (std::size_t part = 0; part < scenes.size(); part += 30) {
    threads.emplace_back([&, part] {
      Render(std::span(scenes).subspan(part, 30), 128, std::span(shared).subspan(part * bytes, 30 * bytes));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(one == shared);
}

TEST(RenderOracle, RenderingABatchAllocatesNothing) {
  std::vector<Scene> scenes;
  RowRandom random = RandomOf(9);
  for (int i = 0; i < 64; ++i) scenes.push_back(AnyScene(random));
  std::vector<std::uint8_t> pixels(scenes.size() * 3 * 224 * 224);
  std::int64_t before = allocations;
  Render(scenes, 224, pixels);
  EXPECT_EQ(allocations - before, 0);

  before = allocations;  // the count counts
  SlowDraw(scenes[0], 224);
  EXPECT_GT(allocations - before, 1);
}

}  // namespace
}  // namespace medley::world
