#include <medley/cluster/gradient_exchange.h>

#include <ATen/ATen.h>

#include "tests/cluster/threads_as_ranks.h"

namespace medley {
namespace {

using test::AsRanks;

at::Tensor MadeParameter(at::IntArrayRef shape, at::ScalarType type = at::kFloat) {
  at::Tensor tensor = at::zeros(shape, type).set_requires_grad(true);
  tensor.set_grad_dtype(type == at::kDouble ? at::kDouble : at::kFloat);
  return tensor;
}

std::vector<std::int64_t> Union(ProcessGroup& group, const std::vector<std::int64_t>& own) {
  at::Tensor mine = at::tensor(own), all = at::zeros({group.size() * mine.numel()}, at::kLong);
  group.AllGather(all, mine);
  std::vector<std::int64_t> used(own.size());
  for (std::int64_t i = 0; i < all.numel(); ++i)
    used[static_cast<std::size_t>(i % mine.numel())] |= all[i].item<std::int64_t>();
  return used;
}

// Two heads, a task each on a process: what DistributedDataParallel would halve.
TEST(GradientExchange, AGradientOfOneProcessIsNotDividedByTheirNumber) {
  AsRanks(2, [](ProcessGroup& group) {
    std::vector<at::Tensor> parameters = {MadeParameter({3}), MadeParameter({1}), MadeParameter({1}),
                                          MadeParameter({2})};
    const auto own = static_cast<std::size_t>(1 + group.rank());  // its task's head
    parameters[0].mutable_grad() = at::full({3}, 1.0 + static_cast<double>(group.rank()));
    parameters[own].mutable_grad() = at::ones({1});
    GradientExchange exchange(group, parameters);
    const auto used = Union(group, exchange.Used());
    exchange.Prepare(used);
    exchange.Sum(used);
    EXPECT_TRUE(at::equal(parameters[0].grad(), at::full({3}, 3.0)));
    for (const std::size_t head : {1, 2}) EXPECT_TRUE(at::equal(parameters[head].grad(), at::ones({1})));
    EXPECT_FALSE(parameters[3].grad().defined()) << "nobody used it";
    EXPECT_EQ(exchange.summed_bytes(), 5 * 4);
  });
}

TEST(GradientExchange, ABufferSmallerThanATensorGivesTheSame) {
  for (const std::int64_t bytes : {4, 20, 64, 1 << 20}) {
    AsRanks(3, [&](ProcessGroup& group) {
      std::vector<at::Tensor> parameters;
      at::Tensor expected;
      for (const std::int64_t size : {7, 1, 16, 0, 9}) {
        parameters.push_back(MadeParameter({size}));
        parameters.back().mutable_grad() =
            at::arange(size).to(at::kFloat) * static_cast<double>(1 + group.rank());
      }
      parameters.push_back(MadeParameter({4, 5}, at::kDouble));
      parameters.back().mutable_grad() = at::arange(20).to(at::kDouble).reshape({5, 4}).t();
      GradientExchange exchange(group, parameters, bytes);
      EXPECT_LE(exchange.buffer_bytes(), std::max<std::int64_t>(12, 2 * bytes));
      exchange.Prepare(exchange.Used());
      exchange.Sum(exchange.Used());
      for (std::size_t i = 0; i + 1 < parameters.size(); ++i)
        EXPECT_TRUE(at::equal(parameters[i].grad(), at::arange(parameters[i].numel()).to(at::kFloat) * 6));
      EXPECT_TRUE(
          at::equal(parameters.back().grad(), 3 * at::arange(20).to(at::kDouble).reshape({5, 4}).t()));
    });
  }
}

TEST(GradientExchange, KnowsMoreParametersThanANumberHasBits) {
  AsRanks(2, [](ProcessGroup& group) {
    std::vector<at::Tensor> parameters;
    for (std::int64_t i = 0; i < 200; ++i) {
      parameters.push_back(MadeParameter({1}));
      if (i % 3 == group.rank()) parameters.back().mutable_grad() = at::full({1}, static_cast<double>(i));
    }
    GradientExchange exchange(group, parameters);
    const auto used = Union(group, exchange.Used());
    exchange.Prepare(used);
    exchange.Sum(used);
    for (std::int64_t i = 0; i < 200; ++i) {
      const at::Tensor& gradient = parameters[static_cast<std::size_t>(i)].grad();
      ASSERT_EQ(gradient.defined(), i % 3 != 2) << i;
      if (!gradient.defined()) continue;
      EXPECT_EQ(gradient.item<double>(), static_cast<double>(i));
    }
  });
}

}  // namespace
}  // namespace medley
