// Losses over a vocabulary whose logits are never all there, against those of plain operators.

#include <gtest/gtest.h>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/blocks/item_losses.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <ostream>
#include <vector>

namespace medley {
namespace {

constexpr std::int64_t kWords = 97, kWidth = 12;

struct LossForm {
  std::int64_t items = 40;
  std::int64_t items_in_bytes = 4;  // whose logits the limit has room for
  bool trains_head = false, changes = false, smooths = false;
  at::ScalarType dtype = at::kDouble;
};

std::ostream& operator<<(std::ostream& out, const LossForm& form) {
  return out << form.items << " items, room for " << form.items_in_bytes
             << (form.trains_head ? ", trained" : "") << (form.changes ? ", changes" : "")
             << (form.smooths ? ", smoothing" : "") << ", " << form.dtype;
}

struct Made {
  at::Tensor losses, hidden, table, changes;  // gradients, where there are any
};

// Whose items have unlike weights, and twice the same word.
class LossExample {
 public:
  explicit LossExample(const LossForm& form) : form_(form) {
    at::Generator generator = at::detail::createCPUGenerator(3);
    const auto random = [&](at::IntArrayRef shape) {
      return at::randn(shape, generator, at::dtype(at::kDouble)).to(form.dtype);
    };
    hidden_ = random({form.items, kWidth}).mul_(2).set_requires_grad(true);
    table_ = random({kWords, kWidth}).mul_(0.5).set_requires_grad(form.trains_head);
    changes_ = random({3, kWidth}).mul_(0.3).set_requires_grad(true);
    ids_ = at::tensor(std::vector<std::int64_t>{0, 41, kWords - 1}, at::kLong);
    const at::ScalarType wide = form.dtype == at::kDouble ? at::kDouble : at::kFloat;
    weights_ = at::rand({form.items}, generator, at::dtype(at::kDouble)).to(wide).sub_(0.2);
    targets_.words = at::randint(0, kWords, {form.items}, generator, at::dtype(at::kLong));
    targets_.words[1] = targets_.words[0] = 41;
    if (form.smooths) targets_.smoothing = at::rand({form.items}, generator, at::dtype(at::kDouble)).to(wide);
  }

  at::Tensor Plain() const {
    at::Tensor logits = at::linear(hidden_, table_).to(weights_.scalar_type());
    if (form_.changes) logits.index_add_(1, ids_, at::linear(hidden_, changes_).to(logits.scalar_type()));
    return LossesOfLogits(logits, targets_);
  }
  at::Tensor Cut() const {
    LossHead head{.table = table_,
                  .ids = {},
                  .changes = {},
                  .bytes = form_.items_in_bytes * LossPieces::ItemBytes(kWords)};
    if (form_.changes) head.ids = ids_, head.changes = changes_;
    return PiecewiseLosses(hidden_, targets_, head);
  }
  // Twice, as terms that go back one by one.
  Made Of(const at::Tensor& losses) const {
    for (const at::Tensor& leaf : {hidden_, table_, changes_}) leaf.mutable_grad() = at::Tensor();
    const at::Tensor weighted = losses * weights_;
    const std::int64_t half = form_.items / 2;
    torch::autograd::backward({weighted.narrow(0, 0, half).sum()}, {}, /*retain_graph=*/true);
    torch::autograd::backward({weighted.narrow(0, half, form_.items - half).sum()});
    return {losses.detach(), hidden_.grad(), table_.grad(), changes_.grad()};
  }

 private:
  LossForm form_;
  at::Tensor hidden_, table_, changes_, ids_, weights_;
  LossTargets targets_;
};

double Difference(const at::Tensor& a, const at::Tensor& b) {
  EXPECT_EQ(a.defined(), b.defined());
  if (!a.defined() || !b.defined()) return 0;
  EXPECT_EQ(a.scalar_type(), b.scalar_type());
  const at::Tensor x = a.to(at::kDouble), y = b.to(at::kDouble);
  return ((x - y).norm() / y.norm().clamp_min(1e-300)).item<double>();
}

template <typename Check>
void ForAllForms(at::ScalarType dtype, const Check& check) {
  for (const std::int64_t items : {40, 41}) {
    for (const std::int64_t room : {1, 4, 39}) {
      for (const int bits : {0, 1, 2, 3, 4, 5, 6, 7}) {
        const LossForm form{.items = items,
                            .items_in_bytes = room,
                            .trains_head = (bits & 1) != 0,
                            .changes = (bits & 2) != 0,
                            .smooths = (bits & 4) != 0,
                            .dtype = dtype};
        SCOPED_TRACE(::testing::Message() << form);
        check(form);
      }
    }
  }
}

TEST(ItemLosses, PiecesEqualPlainOperatorsInFloat64) {
  ForAllForms(at::kDouble, [](const LossForm& form) {
    const LossExample example(form);
    const Made plain = example.Of(example.Plain()), cut = example.Of(example.Cut());
    EXPECT_LT(Difference(cut.losses, plain.losses), 1e-12);
    EXPECT_LT(Difference(cut.hidden, plain.hidden), 1e-12);
    EXPECT_LT(Difference(cut.table, plain.table), 1e-12);
    EXPECT_LT(Difference(cut.changes, plain.changes), 1e-12);
  });
}

TEST(ItemLosses, PiecesOfHalfTypesAreInFloatBehindTheProducts) {
  ForAllForms(at::kBFloat16, [](const LossForm& form) {
    const LossExample example(form);
    const Made plain = example.Of(example.Plain()), cut = example.Of(example.Cut());
    EXPECT_EQ(cut.losses.scalar_type(), at::kFloat);
    EXPECT_LT(Difference(cut.losses, plain.losses), 1e-5);
    EXPECT_LT(Difference(cut.hidden, plain.hidden), 8e-3);
    EXPECT_LT(Difference(cut.table, plain.table), 8e-3);
    EXPECT_LT(Difference(cut.changes, plain.changes), 1.2e-2);
  });
}

TEST(ItemLosses, WithoutAGraphAreTheSameBits) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    ForAllForms(dtype, [](const LossForm& form) {
      const LossExample example(form);
      const at::Tensor with = example.Cut();
      const at::NoGradGuard no_graph;
      const at::Tensor without = example.Cut();
      EXPECT_FALSE(without.requires_grad());
      EXPECT_TRUE(without.equal(with.detach()));
    });
  }
}

// A step's bytes beside its hidden states, their gradient and that of the head.
std::int64_t BytesBeside(std::int64_t items, bool trains_head, at::ScalarType dtype) {
  constexpr std::int64_t kMany = 4096, kWide = 64;
  const at::Tensor hidden = at::rand({items, kWide}).to(dtype).set_requires_grad(true);
  const at::Tensor table = at::rand({kMany, kWide}).to(dtype).set_requires_grad(trains_head);
  table.set_grad_dtype(at::kFloat);
  const LossTargets targets{.words = at::randint(0, kMany, {items}, at::kLong), .smoothing = {}};
  const std::int64_t before = ReadCpuMemory().now;
  ResetCpuPeak();
  const LossHead head{.table = table, .ids = {}, .changes = {}, .bytes = 8 * LossPieces::ItemBytes(kMany)};
  torch::autograd::backward({PiecewiseLosses(hidden, targets, head).sum()});
  const auto states = static_cast<std::int64_t>(hidden.nbytes());
  const std::int64_t of_head = trains_head ? 4 * kMany * kWide : 0;
  // What waits, and what it becomes; of a half type in float, and then in its own. Weighted states.
  const std::int64_t of_states =
      2 * states + (dtype == at::kBFloat16 ? 2 * states : 0) + (trains_head ? states : 0);
  return ReadCpuMemory().peak - before - of_head - of_states;
}

TEST(ItemLosses, TakeNoMoreBytesForMoreItems) {
  constexpr std::int64_t kItems = 512;
  InstallCpuAllocator();
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    for (const bool trains_head : {false, true}) {
      const std::int64_t few = BytesBeside(64, trains_head, dtype),
                         many = BytesBeside(kItems, trains_head, dtype);
      // Indices and losses: 16 numbers of each item.
      EXPECT_LE(many, std::max<std::int64_t>(few, 8 * LossPieces::ItemBytes(4096)) + 64 * kItems)
          << dtype << trains_head;
      EXPECT_LT(many, kItems * 4096 * 4 / 4) << dtype << trains_head;  // a quarter of the logits
    }
  }
}

}  // namespace
}  // namespace medley
