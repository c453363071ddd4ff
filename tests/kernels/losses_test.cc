#include <kernels/fused_testing.h>

#include <algorithm>
#include <limits>

namespace medley::kernels {
namespace {

constexpr double kNowhere = -std::numeric_limits<double>::infinity();

struct LossCase {
  Number type;
  std::int64_t items, vocabulary, at_once, pad;
  bool smooths, makes_shares;
};

// A case's logits, targets and what is to come of them, in double.
class LossesRun {
 public:
  LossesRun(const LossCase& given, std::mt19937& engine)
      : case_(given),
        logits_(given.type, given.items * given.vocabulary),
        smoothing_(Number::kFloat, given.items),
        highest_(Number::kFloat, given.items),
        others_(Number::kFloat, given.items),
        target_(Number::kFloat, given.items),
        all_(Number::kFloat, given.items),
        smaller_(Number::kFloat, given.items),
        losses_(Number::kFloat, given.items),
        log_sums_(Number::kFloat, given.items),
        sums_(Number::kFloat, given.items),
        at_target_(Number::kFloat, given.items) {
    logits_.Fill(engine, 4);
    for (std::int64_t item = 0; item < given.items; ++item) {
      targets_.push_back(Below(engine, given.vocabulary)),
          smoothing_.Set(item, 0.1 * static_cast<double>(item % 5));
      if (item % 7 == 0)
        logits_.Set(item * given.vocabulary + targets_.back(), 60);  // nothing but the target
    }
  }

  void Run() {
    for (std::int64_t first = 0; first < case_.vocabulary; first += case_.at_once) RunPiece(first);
    for (std::int64_t item = 0; item < case_.items; ++item) ExpectItem(item);
  }

  void RunBackward(bool is_weighted, bool in_place, std::mt19937& engine) {
    Buffer weights(Number::kFloat, case_.items);
    weights.Fill(engine, 1);
    for (std::int64_t item = 0; item < case_.items; ++item) log_sums_.Set(item, LogSum(item));
    for (std::int64_t first = 0; first < case_.vocabulary; first += case_.at_once) {
      const LogitsPiece piece = PieceFrom(first);
      Buffer logits(case_.type, case_.items * piece.stride), out(case_.type, case_.items * piece.stride);
      Copy(piece, logits);
      Buffer& to = in_place ? logits : out;
      const LossesBackwardCall call{.piece = piece,
                                    .logits = logits.data(),
                                    .log_sums = log_sums_.floats(),
                                    .gradient = is_weighted ? weights.floats() : nullptr,
                                    .out = to.data(),
                                    .out_stride = piece.stride};
      RunBothWays({&to}, [&] { return medley_kernels_losses_backward(call, nullptr); });
      for (std::int64_t item = 0; item < case_.items; ++item) {
        const double weight = is_weighted ? weights[item] : 1,
                     even = Smoothing(item) / static_cast<double>(case_.vocabulary);
        for (std::int64_t word = first; word < first + piece.words; ++word) {
          const double logit = Logit(item, word), share = std::exp(logit - log_sums_[item]);
          const double right = word == Target(item) ? 1 - Smoothing(item) : 0;
          to.Expect(
              item * piece.stride + word - first, weight * (share - even - right),
              std::abs(weight) * (share * (1 + std::abs(logit) + std::abs(log_sums_[item])) + even + right));
        }
      }
      to.ExpectNoOther();
    }
  }

 private:
  double Logit(std::int64_t item, std::int64_t word) const { return logits_[item * case_.vocabulary + word]; }
  std::int64_t Target(std::int64_t item) const { return targets_[static_cast<std::size_t>(item)]; }
  double Smoothing(std::int64_t item) const { return case_.smooths ? smoothing_[item] : 0; }
  double Highest(std::int64_t item, std::int64_t end) const {
    double highest = kNowhere;
    for (std::int64_t word = 0; word < end; ++word) highest = std::max(highest, Logit(item, word));
    return highest;
  }
  double LogSum(std::int64_t item) const {
    double sum = 0;
    const double highest = Highest(item, case_.vocabulary);
    for (std::int64_t word = 0; word < case_.vocabulary; ++word) sum += std::exp(Logit(item, word) - highest);
    return highest + std::log(sum);
  }

  LogitsPiece PieceFrom(std::int64_t first) {
    const std::int64_t words = std::min(case_.at_once, case_.vocabulary - first);
    return {.type = case_.type,
            .items = case_.items,
            .words = words,
            .stride = words + case_.pad,
            .first = first,
            .vocabulary = case_.vocabulary,
            .targets = targets_.data(),
            .smoothing = case_.smooths ? smoothing_.floats() : nullptr};
  }
  void Copy(const LogitsPiece& piece, Buffer& to) const {
    for (std::int64_t item = 0; item < case_.items; ++item) {
      for (std::int64_t word = 0; word < piece.words; ++word)
        to.Set(item * piece.stride + word, Logit(item, piece.first + word));
    }
  }

  void RunPiece(std::int64_t first) {
    const LogitsPiece piece = PieceFrom(first);
    Buffer logits(case_.type, case_.items * piece.stride);
    Copy(piece, logits);
    const std::vector<unsigned char> before = logits.bytes();
    const bool is_last = first + piece.words == case_.vocabulary, is_only = first == 0 && is_last;
    const auto kept = [&](Buffer& buffer) { return is_only ? nullptr : buffer.floats(); };
    const LossesCall call{.piece = piece,
                          .logits = logits.data(),
                          .is_first = first == 0,
                          .is_last = is_last,
                          .highest = kept(highest_),
                          .others = kept(others_),
                          .target = kept(target_),
                          .all = case_.smooths ? kept(all_) : nullptr,
                          .smaller = case_.makes_shares ? smaller_.floats() : nullptr,
                          .losses = losses_.floats(),
                          .log_sums = log_sums_.floats(),
                          .sums = sums_.floats(),
                          .at_target = at_target_.floats()};
    RunBothWays(
        {&logits, &highest_, &others_, &target_, &all_, &smaller_, &losses_, &log_sums_, &sums_, &at_target_},
        [&] { return medley_kernels_losses(call, nullptr); });
    if (!is_last) {
      EXPECT_TRUE(std::isnan(losses_[0]) && std::isnan(log_sums_[0]));
    }
    if (!case_.makes_shares) {
      EXPECT_EQ(logits.bytes(), before);
      return;
    }
    for (std::int64_t item = 0; item < case_.items; ++item) {
      const double highest = Highest(item, first + piece.words), earlier = Highest(item, first);
      smaller_.Expect(item, std::exp(earlier - highest), 1);
      for (std::int64_t word = first; word < first + piece.words; ++word) {
        const double share = word == Target(item) ? 0 : std::exp(Logit(item, word) - highest);
        logits.Expect(item * piece.stride + word - first, share, share * (1 + highest - Logit(item, word)));
      }
    }
    logits.ExpectNoOther();
  }

  void ExpectItem(std::int64_t item) {
    const double highest = Highest(item, case_.vocabulary), right = Logit(item, Target(item)),
                 even = Smoothing(item) / static_cast<double>(case_.vocabulary);
    double others = 0, all = 0, all_size = 0;
    for (std::int64_t word = 0; word < case_.vocabulary; ++word) {
      all += Logit(item, word), all_size += std::abs(Logit(item, word));
      if (word != Target(item)) others += std::exp(Logit(item, word) - highest);
    }
    const double sum = others + std::exp(right - highest), log_sum = highest + std::log(sum);
    if (case_.at_once < case_.vocabulary) {
      highest_.Expect(item, highest, 0), others_.Expect(item, others, others, 80),
          target_.Expect(item, right, 0);
      if (case_.smooths) all_.Expect(item, all, all_size);
    }
    sums_.Expect(item, sum, sum, 80), log_sums_.Expect(item, log_sum, 1 + std::abs(log_sum), 40);
    losses_.Expect(item, log_sum - right * (1 - Smoothing(item)) - all * even,
                   1 + std::abs(log_sum) + std::abs(right) + all_size * even, 40);
    at_target_.Expect(item, Smoothing(item) - others / sum, Smoothing(item) + others / sum, 80);
  }

  LossCase case_;
  Buffer logits_, smoothing_, highest_, others_, target_, all_, smaller_, losses_, log_sums_, sums_,
      at_target_;
  std::vector<std::int64_t> targets_;
};

LossCase AnyCase(std::mt19937& engine) {
  constexpr std::int64_t kItems[] = {1, 3, 33}, kVocabulary[] = {1, 4, 20, 128, 1000, 1025},
                         kPads[] = {0, 8, 3};
  const std::int64_t vocabulary = OneOf(engine, kVocabulary), kAtOnce[] = {vocabulary, 8, 100, 512};
  LossCase given{.type = OneOf(engine, kNumberTypes),
                 .items = OneOf(engine, kItems),
                 .vocabulary = vocabulary,
                 .at_once = std::min(vocabulary, OneOf(engine, kAtOnce)),
                 .pad = OneOf(engine, kPads),
                 .smooths = Below(engine, 2) == 1,
                 .makes_shares = Below(engine, 2) == 1};
  return given;
}

::testing::Message Words(const LossCase& given) {
  return ::testing::Message() << "type " << static_cast<int>(given.type) << ", " << given.items << " items, "
                              << given.at_once << " of " << given.vocabulary << " words, pad " << given.pad
                              << ", smooths " << given.smooths << ", shares " << given.makes_shares;
}

TEST(LossesKernel, PieceByPieceOrAtOnceIsWhatFloat64MakesOfIt) {
  std::mt19937 engine(1);
  for (int i = 0; i < 60; ++i) {
    const LossCase given = AnyCase(engine);
    SCOPED_TRACE(Words(given));
    LossesRun(given, engine).Run();
  }
  for (const Number type : kNumberTypes)
    LossesRun({.type = type,
               .items = 3,
               .vocabulary = 20000,
               .at_once = 20000,
               .pad = 0,
               .smooths = true,
               .makes_shares = false},
              engine)
        .Run();
}

TEST(LossesKernel, BackwardIsWhatFloat64MakesOfIt) {
  std::mt19937 engine(2);
  for (int i = 0; i < 60; ++i) {
    const LossCase given = AnyCase(engine);
    SCOPED_TRACE(Words(given));
    LossesRun(given, engine).RunBackward(i % 2 == 0, i % 3 == 0, engine);
  }
}

// Logits of four words; the target is the second. Two pieces.
double LossOf(std::vector<double> logits) {
  Buffer all(Number::kFloat, 4), highest(Number::kFloat, 1), others(Number::kFloat, 1),
      target(Number::kFloat, 1), loss(Number::kFloat, 1);
  for (std::int64_t i = 0; i < 4; ++i) all.Set(i, logits[static_cast<std::size_t>(i)]);
  const std::int64_t word = 1;
  for (const bool is_last : {false, true}) {
    const LossesCall call{.piece = {.type = Number::kFloat,
                                    .items = 1,
                                    .words = 2,
                                    .stride = 2,
                                    .first = is_last ? 2 : 0,
                                    .vocabulary = 4,
                                    .targets = &word,
                                    .smoothing = nullptr},
                          .logits = all.floats() + (is_last ? 2 : 0),
                          .is_first = !is_last,
                          .is_last = is_last,
                          .highest = highest.floats(),
                          .others = others.floats(),
                          .target = target.floats(),
                          .all = nullptr,
                          .smaller = nullptr,
                          .losses = loss.floats(),
                          .log_sums = nullptr,
                          .sums = nullptr,
                          .at_target = nullptr};
    EXPECT_STREQ(medley_kernels_losses(call, nullptr), nullptr);
  }
  return loss[0];
}

TEST(LossesKernel, NeitherHidesWhatIsNotFiniteNorMakesIt) {
  const double far = 1e5, not_a_number = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NEAR(LossOf({1, 1, 1, 1}), std::log(4), 1e-6);
  EXPECT_NEAR(LossOf({kNowhere, 2, kNowhere, kNowhere}), 0, 1e-6);
  EXPECT_NEAR(LossOf({kNowhere, -far, far, 0}), 2 * far, 1);
  EXPECT_EQ(LossOf({0, kNowhere, 0, 0}), std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < 4; ++i) {
    std::vector<double> logits(4, 1);
    logits[i] = not_a_number;
    EXPECT_TRUE(std::isnan(LossOf(logits))) << i;
    logits[i] = -kNowhere;
    EXPECT_FALSE(std::isfinite(LossOf(logits))) << i;
  }
}

}  // namespace
}  // namespace medley::kernels
