// What eight layers keep for their backward, against the closed form; memory.md has the table.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "tests/models.h"

namespace medley_signs {
namespace {

struct Shape {
  std::int64_t frames = 150;
  double dropout = 0;
  bool fused = false;
};

constexpr double kLayers = 8, kWidth = 108, kHeads = 9, kFfn = 512;

// Bytes of one row. Without dropout these are the constants of the published estimate; with it those of
// medley's masks of a byte a number: of the weights their mask and what is left of them, of the inner width
// its mask beside GELU's input and what is left, of each of the two sums its mask.
double ClosedForm(const Shape& shape) {
  const bool drops = shape.dropout > 0;
  const double positions = static_cast<double>(shape.frames) + 1;
  const double line = 4 * positions * kWidth, inner = 4 * positions * kFfn;
  const double weights = shape.fused ? 4 * kHeads * positions : 4 * kHeads * positions * positions;
  const double of_weights = shape.fused || !drops ? 1 : 2.25, of_inner = drops ? 2.25 : 2,
               of_sums = drops ? 0.5 : 0, of_input = drops ? 0.25 : 0;
  return kLayers * (8 * line + of_weights * weights + of_inner * inner + of_sums * line + 16 * positions) +
         (1 + of_input) * 4 * static_cast<double>(shape.frames) * kWidth + 8 * positions;
}

class Memory : public ::testing::Test {
 protected:
  static medley::check::ForwardBytes Measured(const Shape& shape, std::int64_t rows) {
    const Made<Bdslw> made(
        {{"dropout", shape.dropout}, {"attention", std::string(shape.fused ? "fused" : "eager")}});
    at::manual_seed(1);
    const at::Tensor poses = at::rand({rows, shape.frames, kFeatures});
    const at::Tensor lengths = at::full({rows}, shape.frames, at::kLong);
    return medley::check::MeasuredBytes(*made, Inputs(poses, lengths), {"logits"},
                                        {.rows = rows, .sizes = {{"frames", shape.frames}}});
  }
};

TEST_F(Memory, OfARowIsTheClosedForm) {
  for (const bool fused : {false, true}) {
    for (const double dropout : {0.0, 0.15}) {
      for (const std::int64_t frames : {50, 100, 150}) {
        const Shape shape{frames, dropout, fused};
        const auto held = static_cast<double>(Measured(shape, 4).held) / 4;
        EXPECT_NEAR(held / ClosedForm(shape), 1, 0.01)
            << frames << " frames, dropout " << dropout << (fused ? ", fused: " : ", eager: ") << held
            << " bytes";
        std::printf("%3lld frames, dropout %.2f, %s: %6.2f MB a row, closed form %6.2f\n",
                    static_cast<long long>(frames), dropout, fused ? "fused" : "eager", held / 1e6,
                    ClosedForm(shape) / 1e6);
      }
    }
  }
}

TEST_F(Memory, GrowsByTheSameBytesWithEveryRow) {
  for (const double dropout : {0.0, 0.15}) {
    std::vector<medley::check::ForwardBytes> bytes;
    for (const std::int64_t rows : {2, 3, 4, 5})
      bytes.push_back(Measured({.frames = 150, .dropout = dropout}, rows));
    for (std::size_t i = 2; i < bytes.size(); ++i) {
      EXPECT_EQ(bytes[i].held - bytes[i - 1].held, bytes[1].held - bytes[0].held) << dropout;
      EXPECT_EQ(bytes[i].peak - bytes[i - 1].peak, bytes[1].peak - bytes[0].peak) << dropout;
    }
  }
}

template <typename Net>
void ExpectFootprint(const std::vector<std::pair<std::string, medley::OptionValue>>& changes) {
  const Made<Net> made(changes);
  const at::Tensor poses = at::rand({3, 60, kFeatures}), lengths = at::full({3}, 60, at::kLong);
  for (const bool with_graph : {true, false}) {
    SCOPED_TRACE(std::string(Net::kSpec.name));
    const medley::ForwardShape shape{.rows = 3, .sizes = {{"frames", 60}}, .with_graph = with_graph};
    for (const std::string& finding :
         medley::check::Footprint(*made, Inputs(poses, lengths), {"logits"}, shape))
      ADD_FAILURE() << finding << (with_graph ? "" : " (without a graph)");
  }
}

TEST(Footprint, IsNeverBelowWhatAForwardTakesAndHardlyAbove) {
  for (const char* attention : {"fused", "eager"}) {
    for (const double dropout : {0.0, 0.1}) {
      SCOPED_TRACE(std::string(attention) + ", dropout " + std::to_string(dropout));
      ExpectFootprint<Bdslw>({{"attention", std::string(attention)}, {"dropout", dropout}});
      ExpectFootprint<Spoter>({{"attention", std::string(attention)}, {"dropout", dropout}});
    }
  }
}

}  // namespace
}  // namespace medley_signs
