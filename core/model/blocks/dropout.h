#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

#include <medley/model/model.h>

namespace medley {

// Dropout at one site of a forward: each number becomes 0 with probability p, and is divided by 1 - p else.
// Nothing is dropped outside of training, where a context has no rows.
//
// What is kept is a function of run seed, task, pass (or shared encoding), site, row, item in the row and the
// coordinates of the number; no generator is touched. So it is the same in every mode, micro-batch and
// padding, and when a layer runs again. For the backward a mask of 1 byte a number is saved, and neither
// input nor output. Costs about 1 ns a number on one CPU core; on a GPU some 15 small kernels for a million
// numbers.
//
// Made where the context may be asked, in front of Layer, and handed to the layer's function by value.
class Dropout {
 public:
  // Returns what it is given, like p = 0.
  Dropout() = default;
  // `site`: once in a forward ("encoder 3 ffn"). p in [0, 1), else an Error.
  Dropout(double p, std::string_view site, ForwardContext& context);
  // The same at a site of the encoding with that key: one mask for all passes that see it.
  Dropout(double p, const std::string& key, std::string_view site, ForwardContext& context);

  bool drops() const { return rows_ > 0; }

  // x [rows, ...], the rows of the forward.
  at::Tensor operator()(const at::Tensor& x) const;
  // x [n, ...], where x[i] belongs to row `row[i]` of the forward. row [n] int64 on x's device, ascending:
  // the first of its row that is there is item 0.
  at::Tensor operator()(const at::Tensor& x, const at::Tensor& row) const;

  // The mask, bool, for an x of these sizes; `row`: as above, or undefined.
  at::Tensor Kept(at::IntArrayRef sizes, at::Device device, const at::Tensor& row = {}) const;

  // Bytes beside input and output that it takes, at most, to drop numbers of `lines` x `width`, the last
  // dimension; the mask is not counted.
  static std::int64_t WorkspaceBytes(std::int64_t lines, std::int64_t width, bool on_gpu);

 private:
  at::Tensor Apply(const at::Tensor& x, const at::Tensor& row) const;

  double p_ = 0;
  std::uint64_t seed_ = 0;
  std::int64_t begin_ = 0, rows_ = 0;  // without rows nothing is dropped
};

}  // namespace medley
