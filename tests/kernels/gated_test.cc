#include <kernels/fused_testing.h>

namespace medley::kernels {
namespace {

struct GatedCase {
  Number type;
  std::int64_t rows, width, pad;
  bool is_packed;  // gate and up of a row side by side, and their gradients
};

void RunGated(const GatedCase& given, std::mt19937& engine) {
  SCOPED_TRACE(::testing::Message() << "type " << static_cast<int>(given.type) << ", " << given.rows << " x "
                                    << given.width << ", pad " << given.pad << ", packed "
                                    << given.is_packed);
  const std::int64_t width = given.width, stride = (given.is_packed ? 2 * width : width) + given.pad,
                     y_stride = width + given.pad, up_at = given.is_packed ? width : given.rows * stride,
                     size = given.rows * stride * (given.is_packed ? 1 : 2);
  Buffer both(given.type, size), gradients(given.type, size), y(given.type, given.rows * y_stride),
      gradient(given.type, given.rows * y_stride);
  both.Fill(engine, 3), gradient.Fill(engine, 1);
  const auto at = [&](Buffer& buffer, std::int64_t place) -> void* {
    return static_cast<char*>(buffer.data()) + static_cast<std::size_t>(place) * BytesOf(given.type);
  };
  const GatedCall forward{.type = given.type,
                          .rows = given.rows,
                          .width = width,
                          .gate = both.data(),
                          .up = at(both, up_at),
                          .gate_stride = stride,
                          .up_stride = stride,
                          .y = y.data(),
                          .y_stride = y_stride};
  RunBothWays({&y}, [&] { return medley_kernels_gated(forward, nullptr); });
  const GatedBackwardCall backward{.type = given.type,
                                   .rows = given.rows,
                                   .width = width,
                                   .gradient = gradient.data(),
                                   .gate = both.data(),
                                   .up = at(both, up_at),
                                   .gradient_stride = y_stride,
                                   .gate_stride = stride,
                                   .up_stride = stride,
                                   .gate_gradient = gradients.data(),
                                   .up_gradient = at(gradients, up_at),
                                   .gate_gradient_stride = stride,
                                   .up_gradient_stride = stride};
  RunBothWays({&gradients}, [&] { return medley_kernels_gated_backward(backward, nullptr); });
  for (std::int64_t row = 0; row < given.rows; ++row) {
    for (std::int64_t i = row * stride; i < row * stride + width; ++i) {
      const std::int64_t of_y = row * y_stride + i - row * stride;
      const double gate = both[i], up = both[up_at + i], share = 1 / (1 + std::exp(-gate)),
                   from = gradient[of_y];
      y.Expect(of_y, gate * share * up, std::abs(gate * share * up) * (1 + std::abs(gate)));
      gradients.Expect(i, from * up * share * (1 + gate * (1 - share)),
                       std::abs(from * up * share) * (1 + std::abs(gate)));
      gradients.Expect(up_at + i, from * gate * share, std::abs(from * gate * share) * (1 + std::abs(gate)));
    }
  }
  y.ExpectNoOther(), gradients.ExpectNoOther();
}

TEST(GatedKernel, IsWhatFloat64MakesOfIt) {
  std::mt19937 engine(1);
  constexpr std::int64_t kWidths[] = {1, 4, 20, 100, 128, 1000, 1025}, kRows[] = {1, 3, 33},
                         kPads[] = {0, 8, 1};
  for (int i = 0; i < 150; ++i) {
    RunGated({.type = OneOf(engine, kNumberTypes),
              .rows = OneOf(engine, kRows),
              .width = OneOf(engine, kWidths),
              .pad = OneOf(engine, kPads),
              .is_packed = Below(engine, 2) == 1},
             engine);
  }
}

TEST(GatedKernel, IsClosedWhereTheGateIsFarBelowZero) {
  Buffer gate(Number::kFloat, 3), up(Number::kFloat, 3), y(Number::kFloat, 3), to_gate(Number::kFloat, 3),
      to_up(Number::kFloat, 3);
  for (int i = 0; i < 3; ++i) gate.Set(i, i == 0 ? -1e30 : i == 1 ? -200 : 200), up.Set(i, 2);
  const GatedCall forward{.type = Number::kFloat,
                          .rows = 1,
                          .width = 3,
                          .gate = gate.data(),
                          .up = up.data(),
                          .gate_stride = 3,
                          .up_stride = 3,
                          .y = y.data(),
                          .y_stride = 3};
  EXPECT_STREQ(medley_kernels_gated(forward, nullptr), nullptr);
  const GatedBackwardCall backward{.type = Number::kFloat,
                                   .rows = 1,
                                   .width = 3,
                                   .gradient = up.data(),
                                   .gate = gate.data(),
                                   .up = up.data(),
                                   .gradient_stride = 3,
                                   .gate_stride = 3,
                                   .up_stride = 3,
                                   .gate_gradient = to_gate.data(),
                                   .up_gradient = to_up.data(),
                                   .gate_gradient_stride = 3,
                                   .up_gradient_stride = 3};
  EXPECT_STREQ(medley_kernels_gated_backward(backward, nullptr), nullptr);
  for (Buffer* const output : {&y, &to_gate, &to_up}) {
    EXPECT_EQ((*output)[0], 0);
    EXPECT_NEAR((*output)[1], 0, 1e-30);
  }
  EXPECT_EQ(y[2], 400);
  EXPECT_EQ(to_gate[2], 4);
  EXPECT_EQ(to_up[2], 400);
}

}  // namespace
}  // namespace medley::kernels
