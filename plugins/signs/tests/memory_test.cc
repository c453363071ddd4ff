// What eight layers keep for their backward, against the closed form; memory.md has the table.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <medley/task/losses.h>

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
  static Made<Bdslw> ModelOf(const Shape& shape) {
    return Made<Bdslw>(
        {{"dropout", shape.dropout}, {"attention", std::string(shape.fused ? "fused" : "eager")}});
  }
  static medley::ModelInputs ClipsOf(const Shape& shape, std::int64_t rows) {
    at::manual_seed(1);
    return Inputs(at::rand({rows, shape.frames, kFeatures}), at::full({rows}, shape.frames, at::kLong));
  }

  static medley::check::ForwardBytes Measured(const Shape& shape, std::int64_t rows) {
    const Made<Bdslw> made = ModelOf(shape);
    return medley::check::MeasuredBytes(*made, ClipsOf(shape, rows), {"logits"},
                                        {.rows = rows, .sizes = {{"frames", shape.frames}}});
  }
  // Of a forward and its backward for each micro-batch, above the model with its gradients and the clips.
  static std::int64_t StepPeak(const Shape& shape, std::int64_t rows, std::int64_t micro_rows) {
    const Made<Bdslw> made = ModelOf(shape);
    const medley::ModelInputs clips = ClipsOf(shape, micro_rows);
    const at::Tensor labels = at::zeros({micro_rows}, at::kLong);
    const auto step = [&] {
      for (std::int64_t begin = 0; begin < rows; begin += micro_rows) {
        medley::check::TrainingContext context(begin, micro_rows);
        const medley::ModelOutputs outputs = made->Forward(clips, {"logits"}, context);
        medley::SumCrossEntropy(outputs.at("logits"), labels).backward();
      }
    };
    step();  // which makes the gradients
    return medley::check::PeakBytes(step);
  }
  static std::int64_t InferencePeak(const Shape& shape, std::int64_t rows) {
    const Made<Bdslw> made = ModelOf(shape);
    const medley::ModelInputs clips = ClipsOf(shape, rows);
    const at::NoGradGuard no_grad;
    medley::ForwardContext context;
    return medley::check::PeakBytes([&] { made->Forward(clips, {"logits"}, context); });
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

// Each of eight layers, with clips of 150 frames: with and without dropout, eager and fused.
class EachAttention : public Memory, public ::testing::WithParamInterface<Shape> {};
INSTANTIATE_TEST_SUITE_P(Shapes, EachAttention,
                         ::testing::Values(Shape{150, 0, false}, Shape{150, 0.15, false}, Shape{150, 0, true},
                                           Shape{150, 0.15, true}),
                         [](const ::testing::TestParamInfo<Shape>& info) {
                           return std::string(info.param.fused ? "Fused" : "Eager") +
                                  (info.param.dropout > 0 ? "WithDropout" : "");
                         });

TEST_P(EachAttention, AForwardGrowsByTheSameBytesWithEveryRow) {
  std::vector<medley::check::ForwardBytes> bytes;
  for (const std::int64_t rows : {2, 3, 4, 5}) bytes.push_back(Measured(GetParam(), rows));
  for (std::size_t i = 2; i < bytes.size(); ++i) {
    EXPECT_EQ(bytes[i].held - bytes[i - 1].held, bytes[1].held - bytes[0].held);
    EXPECT_EQ(bytes[i].peak - bytes[i - 1].peak, bytes[1].peak - bytes[0].peak);
  }
}

TEST_P(EachAttention, AStepGrowsByTheSameBytesWithEveryRow) {
  std::vector<std::int64_t> peaks;
  for (const std::int64_t rows : {2, 3, 4, 5}) peaks.push_back(StepPeak(GetParam(), rows, rows));
  for (std::size_t i = 2; i < peaks.size(); ++i) EXPECT_EQ(peaks[i] - peaks[i - 1], peaks[1] - peaks[0]);
}

// The model as it is trained, of clips of 150 frames.
TEST_F(Memory, HalvesOfAWindowTakeLittleMoreThanHalfAndAnInferenceLessThanATenth) {
  for (const bool fused : {false, true}) {
    const Shape shape{150, 0.15, fused};
    const auto whole = static_cast<double>(StepPeak(shape, 16, 16)),
               halves = static_cast<double>(StepPeak(shape, 16, 8)),
               inference = static_cast<double>(InferencePeak(shape, 16));
    EXPECT_LT(halves / whole, 0.55) << fused;
    EXPECT_LT(inference / whole, 0.1) << fused;
    std::printf("%s, 16 rows: %.1f MB above the model; of 8 and 8 %.1f MB; an inference %.1f MB\n",
                fused ? "fused" : "eager", whole / 1e6, halves / 1e6, inference / 1e6);
  }
}

template <typename Net>
void ExpectFootprint(const std::vector<std::pair<std::string, medley::OptionValue>>& changes,
                     at::ScalarType type) {
  const Made<Net> made(changes);
  made->To(at::kCPU, type);
  const at::Tensor poses = at::rand({3, 60, kFeatures}), lengths = at::full({3}, 60, at::kLong);
  for (const bool with_graph : {true, false}) {
    SCOPED_TRACE(std::string(Net::kSpec.name) + " in " + c10::toString(type));
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
      for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
        ExpectFootprint<Bdslw>({{"attention", std::string(attention)}, {"dropout", dropout}}, type);
        ExpectFootprint<Spoter>({{"attention", std::string(attention)}, {"dropout", dropout}}, type);
      }
    }
  }
}

}  // namespace
}  // namespace medley_signs
