#include <kernels/fused_testing.h>

namespace medley::kernels {
namespace {

struct Case {
  Number type, weight_type;
  LineShape shape;
  bool is_normed = true, is_turned = true;
  bool has_row_turns = false, has_head_turns = false;  // a turn for each row, for each head
  bool is_transposed = false;                          // y and its gradient [rows, heads, positions, dim]
  std::int64_t pad = 0, misaligned = 0;

  bool is_summed() const { return is_normed && pad != 3; }  // the weight's gradient
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << "type " << static_cast<int>(c.type) << ", weight " << static_cast<int>(c.weight_type) << ", ["
             << c.shape.rows << ", " << c.shape.positions << ", " << c.shape.heads << ", " << c.shape.dim
             << "], norm " << c.is_normed << ", turns " << c.is_turned << c.has_row_turns << c.has_head_turns
             << ", transposed " << c.is_transposed << ", pad " << c.pad << ", misaligned " << c.misaligned;
}

constexpr double kEpsilon = 1e-5;

// What a case's call is given and gives, and the same in double.
class Norm {
 public:
  Norm(const Case& given, std::mt19937& engine)
      : case_(given),
        dim_(given.shape.dim),
        lines_(given.shape.Lines()),
        x_strides_(Straight()),
        y_strides_(given.is_transposed ? Transposed() : Straight()),
        turn_strides_{given.has_row_turns ? given.shape.positions * TurnHeads() * dim_ : 0,
                      TurnHeads() * dim_, given.has_head_turns ? dim_ : 0},
        x_(given.type, Size(), given.misaligned),
        weight_(given.weight_type, dim_),
        cos_(Number::kFloat,
             (given.has_row_turns ? given.shape.rows : 1) * given.shape.positions * TurnHeads() * dim_),
        sin_(Number::kFloat, cos_.size()),
        gradient_(given.type, Size()) {
    x_.Fill(engine, 1, 0.3), weight_.Fill(engine, 0.2, 1), gradient_.Fill(engine, 0.1);
    cos_.Fill(engine, 0.7), sin_.Fill(engine, 0.7);
  }

  void Run() {
    Buffer y(case_.type, Size()), scale(Number::kFloat, lines_),
        x_gradient(case_.type, Size(), case_.misaligned), weight_gradient(Number::kFloat, dim_),
        partials(Number::kFloat, NormPartials(case_.shape));
    const Turns turns{.cos = case_.is_turned ? cos_.floats() : nullptr,
                      .sin = case_.is_turned ? sin_.floats() : nullptr,
                      .strides = turn_strides_};
    void* const weight = case_.is_normed ? weight_.data() : nullptr;
    const NormCall forward{.type = case_.type,
                           .weight_type = case_.weight_type,
                           .shape = case_.shape,
                           .x = x_.data(),
                           .x_strides = x_strides_,
                           .weight = weight,
                           .epsilon = kEpsilon,
                           .turns = turns,
                           .y = y.data(),
                           .y_strides = y_strides_,
                           .scale = scale.floats()};
    RunBothWays({&y, &scale}, [&] { return medley_kernels_norm(forward, nullptr); });
    std::vector<std::uint32_t> counters(kNormCounters);
    const NormBackwardCall backward{.type = case_.type,
                                    .weight_type = case_.weight_type,
                                    .shape = case_.shape,
                                    .gradient = gradient_.data(),
                                    .gradient_strides = y_strides_,
                                    .x = x_.data(),
                                    .x_strides = x_strides_,
                                    .weight = weight,
                                    .scale = scale.floats(),
                                    .turns = turns,
                                    .x_gradient = x_gradient.data(),
                                    .x_gradient_strides = x_strides_,
                                    .weight_gradient = case_.is_summed() ? weight_gradient.floats() : nullptr,
                                    .partials = partials.floats(),
                                    .counters = counters.data()};
    RunBothWays({&x_gradient, &weight_gradient},
                [&] { return medley_kernels_norm_backward(backward, nullptr); });
    EXPECT_EQ(counters, std::vector<std::uint32_t>(kNormCounters));
    if (case_.is_summed()) ExpectAdded(backward, weight_gradient);
    Expect(y, scale, x_gradient, weight_gradient);
    if (!case_.is_transposed && case_.misaligned == 0) ExpectInPlace(forward, y, backward, x_gradient);
  }

 private:
  std::int64_t TurnHeads() const { return case_.has_head_turns ? case_.shape.heads : 1; }
  LineStrides Straight() const {
    const std::int64_t of_position = case_.shape.heads * dim_ + case_.pad;
    return {case_.shape.positions * of_position, of_position, dim_};
  }
  LineStrides Transposed() const {
    const std::int64_t of_head = case_.shape.positions * dim_ + case_.pad;
    return {case_.shape.heads * of_head, dim_, of_head};
  }
  std::int64_t Size() const { return case_.shape.rows * std::max(Straight().row, Transposed().row); }

  static std::int64_t At(const LineStrides& strides, std::int64_t row, std::int64_t position,
                         std::int64_t head) {
    return row * strides.row + position * strides.position + head * strides.head;
  }

  // Where an output is its input, the bits are the same.
  void ExpectInPlace(NormCall forward, const Buffer& y, NormBackwardCall backward, const Buffer& x_gradient) {
    Buffer x(case_.type, Size()), gradient(case_.type, Size());
    x.Restore(x_.bytes()), gradient.Restore(gradient_.bytes());
    forward.x = forward.y = x.data();
    backward.gradient = backward.x_gradient = gradient.data();
    EXPECT_STREQ(medley_kernels_norm(forward, nullptr), nullptr);
    EXPECT_STREQ(medley_kernels_norm_backward(backward, nullptr), nullptr);
    for (std::int64_t i = 0; i < Size(); ++i) {
      if (std::isnan(y[i])) continue;  // between lines
      ASSERT_EQ(x[i], y[i]) << i;
      ASSERT_EQ(gradient[i], x_gradient[i]) << i;
    }
  }

  // Added to what there is, it is what it is when written.
  void ExpectAdded(NormBackwardCall backward, const Buffer& weight_gradient) {
    Buffer sum(Number::kFloat, dim_), x_gradient(case_.type, Size(), case_.misaligned);
    for (std::int64_t i = 0; i < dim_; ++i) sum.floats()[i] = static_cast<float>(i) - 3;
    backward.weight_gradient = sum.floats(), backward.x_gradient = x_gradient.data(), backward.adds = true;
    EXPECT_STREQ(medley_kernels_norm_backward(backward, nullptr), nullptr);
    for (std::int64_t i = 0; i < dim_; ++i)
      EXPECT_EQ(sum.floats()[i], static_cast<float>(i) - 3 + static_cast<float>(weight_gradient[i]));
  }

  // Line by line as NormLine and NormLineBackward (core/model/blocks/half_norm.cc) have it.
  void Expect(Buffer& y, Buffer& scale, Buffer& x_gradient, Buffer& weight_gradient) {
    std::vector<double> of_weight(static_cast<std::size_t>(dim_)), weight_sizes(of_weight.size());
    std::int64_t line = 0;
    for (std::int64_t row = 0; row < case_.shape.rows; ++row) {
      for (std::int64_t position = 0; position < case_.shape.positions; ++position) {
        for (std::int64_t head = 0; head < case_.shape.heads; ++head, ++line)
          ExpectLine(line, row, position, head, y, scale, x_gradient, of_weight, weight_sizes);
      }
    }
    for (std::int64_t i = 0; case_.is_summed() && i < dim_; ++i)
      weight_gradient.Expect(i, of_weight[static_cast<std::size_t>(i)],
                             weight_sizes[static_cast<std::size_t>(i)], 64);
    y.ExpectNoOther(), scale.ExpectNoOther(), x_gradient.ExpectNoOther(), weight_gradient.ExpectNoOther();
  }

  void ExpectLine(std::int64_t line, std::int64_t row, std::int64_t position, std::int64_t head, Buffer& y,
                  Buffer& scale, Buffer& x_gradient, std::vector<double>& of_weight,
                  std::vector<double>& weight_sizes) {
    const std::int64_t x_at = At(x_strides_, row, position, head), y_at = At(y_strides_, row, position, head),
                       turn_at = At(turn_strides_, row, position, head);
    const auto x = [&](std::int64_t i) { return x_[x_at + i]; };
    const auto other = [&](std::int64_t i) { return (i + dim_ / 2) % dim_; };
    const auto weight = [&](std::int64_t i) { return case_.is_normed ? weight_[i] : 1; };
    double squares = 0;
    for (std::int64_t i = 0; i < dim_; ++i) squares += x(i) * x(i);
    const double root = case_.is_normed ? 1 / std::sqrt(squares / static_cast<double>(dim_) + kEpsilon) : 1;
    if (case_.is_normed) scale.Expect(line, root, root);
    const auto normed = [&](std::int64_t i) { return x(i) * root * weight(i); };
    double mean = 0, mean_size = 0;
    std::vector<double> turned(static_cast<std::size_t>(dim_)), sizes(turned.size());
    for (std::int64_t i = 0; i < dim_; ++i) {
      const auto place = static_cast<std::size_t>(i);
      const auto gradient = [&](std::int64_t at) { return gradient_[y_at + at]; };
      turned[place] = gradient(i), sizes[place] = std::abs(gradient(i));
      double value = normed(i), size = std::abs(value);
      if (case_.is_turned) {
        const double cos = cos_[turn_at + i], sin = sin_[turn_at + i], others_sin = sin_[turn_at + other(i)];
        value = normed(i) * cos + normed(other(i)) * sin;
        size = std::abs(normed(i) * cos) + std::abs(normed(other(i)) * sin);
        turned[place] = gradient(i) * cos + gradient(other(i)) * others_sin;
        sizes[place] = std::abs(gradient(i) * cos) + std::abs(gradient(other(i)) * others_sin);
      }
      y.Expect(y_at + i, value, size);
      mean += turned[place] * weight(i) * x(i) * root / static_cast<double>(dim_);
      mean_size += std::abs(sizes[place] * weight(i) * x(i) * root) / static_cast<double>(dim_);
      of_weight[place] += turned[place] * x(i) * root;
      weight_sizes[place] += std::abs(sizes[place] * x(i) * root);
    }
    if (!case_.is_normed) mean = mean_size = 0;
    for (std::int64_t i = 0; i < dim_; ++i) {
      const auto place = static_cast<std::size_t>(i);
      x_gradient.Expect(x_at + i, root * (turned[place] * weight(i) - x(i) * root * mean),
                        root * (std::abs(sizes[place] * weight(i)) + std::abs(x(i) * root * mean_size)));
    }
  }

  Case case_;
  std::int64_t dim_, lines_;
  LineStrides x_strides_, y_strides_, turn_strides_;
  Buffer x_, weight_, cos_, sin_, gradient_;
};

void RunNorm(const Case& given, unsigned seed) {
  SCOPED_TRACE(::testing::Message() << given);
  std::mt19937 engine(seed);
  Norm(given, engine).Run();
}

TEST(NormKernel, OfEveryWidthIsWhatFloat64MakesOfIt) {
  for (const std::int64_t dim : {1, 2, 4, 16, 20, 64, 100, 128, 1000, 1024, 1025, 3000, 8192}) {
    for (const Number type : kNumberTypes) {
      const std::int64_t lines = dim >= 1000 ? 7 : 33;
      RunNorm({.type = type, .weight_type = type, .shape = {1, lines, 1, dim}, .is_turned = false}, 1);
    }
  }
}

TEST(NormKernel, OfManyLinesSumsTheWeightsGradientOverAllBlocks) {
  for (const auto& [lines, dim] :
       {std::pair{1, 20}, {3, 64}, {1000, 20}, {500, 64}, {60, 1001}, {60, 2500}}) {
    for (const Number type : kNumberTypes) {
      RunNorm({.type = type,
               .weight_type = Number::kFloat,
               .shape = {1, lines, 1, dim},
               .is_turned = dim % 2 == 0},
              2);
    }
  }
}

TEST(NormKernel, WithTurnsOfAnyKindAndStridesIsWhatFloat64MakesOfIt) {
  std::mt19937 engine(4);
  constexpr std::int64_t kWidths[] = {2, 16, 20, 64, 100, 128, 256}, kPads[] = {0, 8, 3};
  for (unsigned seed = 0; seed < 150; ++seed) {
    const auto flip = [&] { return Below(engine, 2) == 1; };
    Case given{
        .type = OneOf(engine, kNumberTypes),
        .weight_type = OneOf(engine, kNumberTypes),
        .shape = {1 + Below(engine, 3), 1 + Below(engine, 9), 1 + Below(engine, 5), OneOf(engine, kWidths)},
        .is_normed = flip(),
        .is_turned = flip(),
        .has_row_turns = flip(),
        .has_head_turns = flip(),
        .is_transposed = flip(),
        .pad = OneOf(engine, kPads),
        .misaligned = Below(engine, 4) == 0};
    RunNorm(given, seed);
  }
}

TEST(NormKernel, OfNoLinesHasAGradientOfZeros) {
  Buffer weight_gradient(Number::kFloat, 1025), partials(Number::kFloat, NormPartials({0, 1, 1, 1025})),
      weight(Number::kFloat, 1025);
  std::vector<std::uint32_t> counters(kNormCounters);
  const NormBackwardCall call{.type = Number::kFloat,
                              .weight_type = Number::kFloat,
                              .shape = {0, 1, 1, 1025},
                              .gradient = nullptr,
                              .gradient_strides = {},
                              .x = nullptr,
                              .x_strides = {},
                              .weight = weight.data(),
                              .scale = nullptr,
                              .turns = {},
                              .x_gradient = nullptr,
                              .x_gradient_strides = {},
                              .weight_gradient = weight_gradient.floats(),
                              .partials = partials.floats(),
                              .counters = counters.data()};
  EXPECT_STREQ(medley_kernels_norm_backward(call, nullptr), nullptr);
  for (std::int64_t i = 0; i < 1025; ++i) EXPECT_EQ(weight_gradient[i], 0);
}

TEST(NormKernel, SaysWhatItCannotTurn) {
  const NormCall call{.type = Number::kFloat,
                      .weight_type = Number::kFloat,
                      .shape = {1, 1, 1, 3},
                      .x = nullptr,
                      .x_strides = {},
                      .weight = nullptr,
                      .epsilon = 0,
                      .turns = {reinterpret_cast<const float*>(16), nullptr, {}},
                      .y = nullptr,
                      .y_strides = {},
                      .scale = nullptr};
  EXPECT_STREQ(medley_kernels_norm(call, nullptr), "norm: lines of an odd width have no halves to turn");
}

}  // namespace
}  // namespace medley::kernels
