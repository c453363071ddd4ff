#include <gtest/gtest.h>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/model/blocks/dropout.h>
#include <medley/model/blocks/dropout_mask.h>
#include <medley/step/passes/saved_variables.h>
#include <medley/testing/training_context.h>

#include "tests/words.h"

namespace medley {
namespace {

using check::TrainingContext;
using test::MessageOf;

at::Tensor KeptOf(double p, std::int64_t begin, at::IntArrayRef sizes, const std::string& site = "site",
                  const std::string& pass = "pass") {
  TrainingContext context(begin, sizes[0], pass);
  return Dropout(p, site, context).Kept(sizes, at::kCPU);
}

// Six standard deviations of so many coins: a chance of 2e-9.
double Bound(double numbers, double p) { return 6 * std::sqrt(numbers * p * (1 - p)); }

TEST(Dropout, DropsAsManyAsItIsTold) {
  for (const double p : {0.01, 0.1, 0.3, 0.5, 0.9}) {
    for (const std::vector<std::int64_t>& sizes :
         std::vector<std::vector<std::int64_t>>{{50, 200, 64}, {4, 8, 100, 100}, {20000, 7}, {100000}}) {
      const at::Tensor kept = KeptOf(p, 12345, sizes);
      const auto numbers = static_cast<double>(kept.numel());
      const auto count = static_cast<double>(kept.sum().item<std::int64_t>());
      EXPECT_NEAR(count, numbers * (1 - p), Bound(numbers, p)) << p << ", " << sizes.size() << " dims";
    }
  }
}

// Of two masks that have nothing to do with each other, so many numbers agree.
void ExpectIndependent(const at::Tensor& a, const at::Tensor& b, double p, const std::string& what) {
  const double agree = p * p + (1 - p) * (1 - p);
  const auto numbers = static_cast<double>(a.numel());
  EXPECT_NEAR(static_cast<double>(a.eq(b).sum().item<std::int64_t>()), numbers * agree, Bound(numbers, agree))
      << what;
}

TEST(Dropout, MasksOfRowsSitesPassesAndPlacesHaveNothingInCommon) {
  for (const double p : {0.1, 0.5}) {
    const std::vector<std::int64_t> sizes{16, 32, 64};
    const at::Tensor kept = KeptOf(p, 0, sizes);
    ExpectIndependent(kept, KeptOf(p, 16, sizes), p, "the next draw");
    ExpectIndependent(kept, KeptOf(p, 0, sizes, "site 2"), p, "another layer");
    ExpectIndependent(kept, KeptOf(p, 0, sizes, "site", "other"), p, "another pass");
    for (int dim = 0; dim < 3; ++dim) {
      for (const int by : {1, 2, 5})
        ExpectIndependent(kept, kept.roll(by, dim), p, "shifted " + std::to_string(dim));
    }
    ExpectIndependent(kept.select(0, 3).contiguous(), KeptOf(p, 3, {1, 64, 32})[0].t(), p, "turned");
  }
}

TEST(Dropout, ARowHasItsMaskInAnyBatchAndWhateverThePadding) {
  const at::Tensor kept = KeptOf(0.3, 40, {10, 3, 5, 8});
  EXPECT_TRUE(KeptOf(0.3, 44, {2, 3, 5, 8}).equal(kept.narrow(0, 4, 2)));
  const at::Tensor padded = KeptOf(0.3, 40, {10, 4, 9, 21});
  EXPECT_TRUE(padded.narrow(1, 0, 3).narrow(2, 0, 5).narrow(3, 0, 8).equal(kept));
}

TEST(Dropout, RaggedItemsAreCountedInTheirRow) {
  TrainingContext all(7, 4), last(9, 2);
  const at::Tensor rows = at::tensor({0, 0, 1, 3, 3, 3}, at::kLong);
  const at::Tensor kept = Dropout(0.3, "site", all).Kept({6, 500}, at::kCPU, rows);
  const at::Tensor of_last =
      Dropout(0.3, "site", last).Kept({3, 500}, at::kCPU, at::tensor({1, 1, 1}, at::kLong));
  EXPECT_TRUE(kept.narrow(0, 3, 3).equal(of_last));
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < i; ++j)
      ExpectIndependent(kept[i], kept[j], 0.3, std::to_string(i) + ", " + std::to_string(j));
  }
}

// What a GPU computes.
TEST(Dropout, LibtorchsOperatorsMakeTheSameBits) {
  const at::Tensor keys = RowKeys(~std::uint64_t{77}, 1000, 40);
  // As a GPU makes them.
  EXPECT_TRUE(keys.equal(CombineKeys(at::full({40}, ~std::int64_t{77}, at::kLong), at::arange(1000, 1040))));
  for (const std::vector<std::int64_t>& sizes : std::vector<std::vector<std::int64_t>>{
           {40}, {40, 64}, {40, 30, 128}, {40, 2, 3, 17}, {40, 0, 5}, {3, 400, 1024}, {2, 1100000}}) {
    for (const double kept : {1e-12, 0.9, 1 - 1e-12}) {
      const at::Tensor of_rows = keys.narrow(0, 0, sizes[0]);
      EXPECT_TRUE(RandomMaskByOperators(of_rows, sizes, kept).equal(RandomMask(of_rows, sizes, kept)))
          << sizes.size() << " dims, " << kept;
    }
  }
  const at::Tensor numbers = at::tensor({0, 1, 1 << 30}, at::kLong), of_keys = keys.narrow(0, 0, 3);
  const at::Tensor combined = CombineKeys(of_keys, numbers);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(static_cast<std::uint64_t>(combined[i].item<std::int64_t>()),
              CombineSeeds(static_cast<std::uint64_t>(of_keys[i].item<std::int64_t>()),
                           static_cast<std::uint64_t>(numbers[i].item<std::int64_t>())));
  }
}

TEST(Dropout, KeepsTheMeanAndHandsTheGradientOfWhatItKept) {
  TrainingContext context(0, 8);
  const Dropout drop(0.3, "site", context);
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const at::Tensor x = at::ones({8, 50, 60}, dtype).set_requires_grad(true);
    const at::Tensor y = drop(x);
    EXPECT_EQ(y.scalar_type(), dtype);
    EXPECT_TRUE(y.ne(0).equal(drop.Kept(x.sizes(), at::kCPU)));
    EXPECT_NEAR(y.mean(at::kDouble).item<double>(), 1, Bound(24000, 0.3) / 24000 / 0.7 + 0.004);
    EXPECT_TRUE(torch::autograd::grad({y.sum()}, {x})[0].equal(y));
  }
}

TEST(Dropout, SavesOneByteANumberAndNeitherInputNorOutput) {
  InstallSavedVariableHooks();
  TrainingContext context(0, 8);
  const at::Tensor x = at::ones({8, 50, 60}).set_requires_grad(true);
  const CountSavedBytes saved;
  const at::Tensor y = Dropout(0.3, "site", context)(x * 2);
  EXPECT_EQ(saved.bytes(), x.numel());
}

TEST(Dropout, ThatDropsNothingReturnsItsInputAndAsksNobody) {
  const at::Tensor x = at::ones({3, 4});
  TrainingContext training(0, 3);
  ForwardContext evaluation;
  EXPECT_TRUE(Dropout()(x).is_same(x));
  EXPECT_TRUE(Dropout(0, "site", training)(x).is_same(x));
  EXPECT_EQ(training.seeds, 0);
  const Dropout drop(0.5, "site", evaluation);
  EXPECT_FALSE(drop.drops());
  EXPECT_TRUE(drop(x).is_same(x));
}

TEST(Dropout, LeavesLibtorchsGeneratorAlone) {
  const at::Tensor before = at::globalContext().defaultGenerator(at::kCPU).get_state();
  KeptOf(0.5, 0, {10, 10});
  EXPECT_TRUE(at::globalContext().defaultGenerator(at::kCPU).get_state().equal(before));
}

TEST(Dropout, NamesWhatItCannotDo) {
  TrainingContext context(0, 3);
  EXPECT_NE(MessageOf([&] { Dropout(1, "encoder", context); }).find("dropout at 'encoder'"),
            std::string::npos);
  EXPECT_NE(MessageOf([&] { Dropout(-0.1, "encoder", context); }), "");
  const Dropout drop(0.5, "site", context);
  EXPECT_NE(MessageOf([&] { drop(at::ones({6, 4})); }).find("3 rows, got [6, 4]"), std::string::npos);
  const auto rows = [&](const std::vector<std::int64_t>& of) {
    drop(at::ones({3, 4}), at::tensor(of, at::kLong));
  };
  EXPECT_EQ(MessageOf([&] { rows({0, 2, 2}); }), "");
  EXPECT_NE(MessageOf([&] { rows({0, 2, 1}); }).find("must ascend, from 0 to 2"), std::string::npos);
  EXPECT_NE(MessageOf([&] { rows({0, 1, 3}); }), "");
  EXPECT_NE(MessageOf([&] { rows({0, 1}); }).find("rows of 3 indices"), std::string::npos);
}

}  // namespace
}  // namespace medley
