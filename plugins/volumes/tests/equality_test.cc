// The gradient of a window of rows is the same however it is cut into micro-batches, as the loss is the sum
// over its tokens over their number; a mean of the micro-batches' means is another one.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <torch/csrc/autograd/autograd.h>

#include <string>

#include <medley/task/losses.h>
#include <medley/testing/gradients.h>

#include "tests/models.h"

namespace medley_volumes {
namespace {

constexpr std::int64_t kRows = 16;

// Answers of 1 to 8 words and 1 to 4 scans.
std::vector<Conversation> Uneven() {
  return Rows(kRows, [](medley::Row& row) {
    const Geometry geometry{8, 4, 4};
    if (row.number % 3 == 0) return SingleExample(row, geometry);
    if (row.number % 3 == 1) return MultimodalExample(row, geometry, 0.5);
    return CompareExample(row, geometry, 3, false);
  });
}

enum class Mean { kOfTheWindow, kOfMicroBatches };

medley::check::Gradient GradientOf(const Made& made, std::int64_t micro_rows, Mean mean) {
  const medley::Batch window = made.BatchOf(Uneven());
  medley::ClearGradients(*made);
  for (std::int64_t begin = 0; begin < kRows; begin += micro_rows) {
    const medley::Batch part = window.Slice(begin, micro_rows);
    const medley::ModelOutputs outputs = Ask(*made, part);
    const at::Tensor sum = medley::SumCrossEntropy(outputs.at("logits"), outputs.at("targets"));
    const double count = mean == Mean::kOfTheWindow
                             ? static_cast<double>(window.ItemCount("reply"))
                             : static_cast<double>(part.ItemCount("reply") * (kRows / micro_rows));
    sum.div(count).backward();
  }
  return medley::check::TakeGradient(*made);
}

double Moved(at::ScalarType type, std::int64_t micro_rows, Mean mean) {
  const Made made;
  made->To(at::kCPU, type);
  return medley::check::Distance(GradientOf(made, micro_rows, mean), GradientOf(made, kRows, mean));
}

TEST(Equality, EveryMicroBatchGivesTheGradientOfTheWindow) {
  for (const std::int64_t micro_rows : {8, 4, 2, 1}) {
    EXPECT_LE(Moved(at::kDouble, micro_rows, Mean::kOfTheWindow), 1e-12) << micro_rows;
    EXPECT_LE(Moved(at::kFloat, micro_rows, Mean::kOfTheWindow), 5e-6) << micro_rows;
  }
}

TEST(Equality, TheMeanOfMicroBatchesMeansIsAnotherGradient) {
  for (const std::int64_t micro_rows : {8, 4, 2}) {
    const double moved = Moved(at::kDouble, micro_rows, Mean::kOfMicroBatches);
    EXPECT_GT(moved, 1e-3) << micro_rows;
    std::printf("micro-batches of %lld rows: %.1e\n", static_cast<long long>(micro_rows), moved);
  }
}

}  // namespace
}  // namespace medley_volumes
