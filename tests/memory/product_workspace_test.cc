#include <medley/memory/product_workspace.h>

#include <gtest/gtest.h>

#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <vector>

#include <medley/memory/attention_workspace.h>
#include <medley/memory/cpu_allocator.h>

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

}  // namespace
}  // namespace medley
