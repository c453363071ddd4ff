#include <medley/memory/product_workspace.h>

#include <gtest/gtest.h>

#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <vector>

#include <medley/memory/attention_workspace.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/blocks/half_operators.h>

namespace medley {
namespace {

std::vector<Parameter> Matrices(at::ScalarType dtype) {
  InstallCpuAllocator();
  return {{"a", at::zeros({96, 40}, dtype)}, {"b", at::zeros({300, 96}, dtype)}};
}

TEST(CpuPeak, OfAScopeIsNobodyElses) {
  InstallCpuAllocator();
  ResetCpuPeak();
  const std::int64_t before = ReadCpuMemory().peak;
  {
    const CpuPeakScope own;
    at::empty({1 << 20}, at::kByte);
    EXPECT_EQ(ReadCpuMemory().peak - before, 1 << 20);
  }
  EXPECT_EQ(ReadCpuMemory().peak, before);
}

TEST(ProductWorkspace, IsOfHalfTypesAndNeverMoreThanOnAnyCpu) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
    const ProductWorkspace here = WorkspaceOf(Matrices(dtype)), most = LargestWorkspaceOf(Matrices(dtype));
    EXPECT_GE(most.forward, here.forward) << dtype;
    EXPECT_GE(most.backward, here.backward) << dtype;
    EXPECT_EQ(most.result_bytes, dtype == at::kFloat ? 0 : 4) << dtype;
    EXPECT_EQ(most.forward + most.backward > 0, dtype != at::kFloat) << dtype;
  }
}

TEST(ProductWorkspace, OfAProductOfWhichNothingIsSaidMayBeAllThatThePartHas) {
  const ProductWorkspace in_float{.dtype = at::kBFloat16, .forward = 10, .backward = 20, .result_bytes = 4};
  ForwardPart unknown{.kept = 600, .forward = 200, .backward = 300}, said = unknown;
  said.product = 50;
  in_float.AddTo(unknown);
  in_float.AddTo(said);
  EXPECT_EQ(unknown.forward, 200 + 10 + 4 * 400);
  EXPECT_EQ(unknown.backward, 300 + 20 + 4 * 150);
  EXPECT_EQ(said.forward, 200 + 10 + 4 * 50);
  EXPECT_EQ(said.backward, 300 + 20 + 4 * 50);
}

TEST(ProductWorkspace, IsTheLargerOfAProductsAndOfAttentions) {
  InstallCpuAllocator();
  const AttentionShape shape{
      .rows = 2, .heads = 3, .kv_heads = 3, .head_dim = 8, .queries = 40, .seen = 90, .later = 100};
  const AttentionWorkspace attention = WorkspaceOf(shape, at::kFloat);
  EXPECT_GT(attention.forward, 100);
  EXPECT_GT(attention.backward, 0);
  ForwardPart part{.forward = 7, .backward = 9, .product = 0, .attention = shape};
  ProductWorkspace().AddTo(part);
  EXPECT_EQ(part.forward, 7 + attention.forward - 100);
  EXPECT_EQ(part.backward, 9 + attention.backward);
  ForwardPart beside = part;
  ProductWorkspace{.forward = 1 << 30}.AddTo(beside);
  EXPECT_EQ(beside.forward, part.forward + (1 << 30));
}

// In pieces of as many rows as a tenth of a second takes: what many take is not below what is counted.
TEST(AttentionWorkspace, OfManyRowsIsNotBelowWhatTheyTake) {
  InstallCpuAllocator();
  for (const bool fused : {true, false}) {
    for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
      AttentionShape shape{
          .rows = 1, .heads = 4, .kv_heads = 4, .head_dim = 64, .queries = 200, .seen = 1100, .fused = fused};
      const AttentionWorkspace one = WorkspaceOf(shape, dtype);
      shape.rows = 9;
      const AttentionWorkspace many = WorkspaceOf(shape, dtype);
      EXPECT_GE(many.forward, one.forward) << fused << dtype;
      EXPECT_GE(many.backward, one.backward) << fused << dtype;
    }
  }
}

// Heads are run at most as wide as models have them: a million numbers a head, which a config may ask for by
// mistake, is counted as soon as any.
TEST(AttentionWorkspace, OfWideHeadsIsNotBelowWhatTheyTake) {
  InstallCpuAllocator();
  for (const std::int64_t dim : {300, 900}) {
    const at::Tensor q = at::zeros({2, 3, 70, dim});
    std::int64_t beside = 0;
    {
      const CpuPeakScope own;
      const auto results = at::_scaled_dot_product_flash_attention_for_cpu(q, q, q);
      beside = ReadCpuMemory().peak - ReadCpuMemory().now;
    }
    AttentionShape shape{.rows = 2, .heads = 3, .kv_heads = 3, .head_dim = dim, .queries = 70, .seen = 70};
    EXPECT_GE(WorkspaceOf(shape, at::kFloat).forward, beside) << dim;
    shape.head_dim = 1'000'000;
    EXPECT_GT(WorkspaceOf(shape, at::kFloat).forward, beside) << dim;
  }
}

// Of fp16 in float on the CPU, heads as long as they may be.
TEST(AttentionWorkspace, OfFp16IsWhatItsCopiesInFloatTake) {
  InstallCpuAllocator();
  const auto heads = [](std::int64_t count, std::int64_t positions) {
    return at::zeros({2, positions, count, 64}, at::kHalf).transpose(1, 2).set_requires_grad(true);
  };
  const at::Tensor q = heads(4, 70), k = heads(4, 90), v = heads(4, 90);
  const AttentionWorkspace counted = WorkspaceOf(
      {.rows = 2, .heads = 4, .kv_heads = 4, .head_dim = 64, .queries = 70, .seen = 90}, at::kHalf);
  const auto expect_near = [](std::int64_t expected, const auto& work) {
    const CpuPeakScope own;
    const auto results = work();
    const std::int64_t beside = ReadCpuMemory().peak - ReadCpuMemory().now;
    EXPECT_GE(expected, beside);
    EXPECT_LE(static_cast<double>(expected), 1.2 * static_cast<double>(beside));
  };
  expect_near(counted.forward, [&] { return HalfAttention(q, k, v, {}); });
  const at::Tensor out = HalfAttention(q, k, v, {}), gradient = at::zeros_like(out);
  expect_near(counted.backward, [&] { return torch::autograd::grad({out}, {q, k, v}, {gradient}); });
}

}  // namespace
}  // namespace medley
