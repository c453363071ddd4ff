#include <medley/model/blocks/dropout.h>

#include <ATen/Functions.h>

#include <string>

#include <medley/base/error.h>
#include <medley/model/blocks/dropout_mask.h>

namespace medley {
namespace {

[[noreturn]] void FailRows(std::int64_t expected, at::IntArrayRef sizes) {
  throw Error("dropout: expected a tensor of the forward's " + std::to_string(expected) + " rows, got " +
              c10::str(sizes) + "; where rows repeat or are ragged, say which row each index belongs to");
}

// Where looking at values waits for nobody.
void CheckRows(const at::Tensor& row, std::int64_t n, std::int64_t rows) {
  if (row.dim() != 1 || row.size(0) != n)
    throw Error("dropout: expected the rows of " + std::to_string(n) + " indices, got " +
                c10::str(row.sizes()));
  if (!row.is_cpu() || n == 0) return;
  if (at::diff(row).lt(0).any().item<bool>() || row[0].item<std::int64_t>() < 0 ||
      row[n - 1].item<std::int64_t>() >= rows) {
    throw Error("dropout: the rows of the indices must ascend, from 0 to " + std::to_string(rows - 1));
  }
}

}  // namespace

Dropout::Dropout(double p, std::string_view site, ForwardContext& context) : Dropout(p, "", site, context) {}

Dropout::Dropout(double p, const std::string& key, std::string_view site, ForwardContext& context) : p_(p) {
  if (!(p >= 0 && p < 1))
    throw Error("dropout at '" + std::string(site) + "': expected a probability in [0, 1), got " +
                std::to_string(p));
  if (p == 0) return;
  const RowRange rows = context.Rows();
  begin_ = rows.begin;
  rows_ = rows.count;
  if (rows_ > 0) seed_ = key.empty() ? context.Seed(site) : context.SeedOf(key, site);
}

at::Tensor Dropout::operator()(const at::Tensor& x) const { return drops() ? Apply(x, {}) : x; }

at::Tensor Dropout::operator()(const at::Tensor& x, const at::Tensor& row) const {
  return drops() ? Apply(x, row) : x;
}

at::Tensor Dropout::Apply(const at::Tensor& x, const at::Tensor& row) const {
  return at::where(Kept(x.sizes(), x.device(), row), x, 0).mul_(1 / (1 - p_));
}

at::Tensor Dropout::Kept(at::IntArrayRef sizes, at::Device device, const at::Tensor& row) const {
  if (sizes.empty() || (!row.defined() && sizes[0] != rows_)) FailRows(rows_, sizes);
  at::Tensor keys = RowKeys(seed_, begin_, rows_, device);
  if (row.defined()) {
    CheckRows(row, sizes[0], rows_);
    keys = CombineKeys(keys.index_select(0, row), ItemsInRows(row));
  }
  return RandomMask(keys, sizes, 1 - p_);
}

std::int64_t Dropout::WorkspaceBytes(std::int64_t lines, std::int64_t width, bool on_gpu) {
  constexpr std::int64_t kZeros = 16;  // at::where makes tensors of its scalar
  return kZeros +
         (on_gpu ? RandomMaskWorkspace(lines, width) : 0);  // on the CPU keys make way for the output
}

}  // namespace medley
