#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <medley/base/rows.h>

namespace medley {

// A column whose rows have different numbers of items.
struct RaggedColumn {
  at::Tensor values;                  // [items, ...]
  std::vector<std::int64_t> offsets;  // rows + 1, on the host
  at::Tensor item_row;                // [items] int64: the row of each item, counted from the slice's first
  // Of a padded column (Batch::AddPadded), else 0 and undefined: the place of each item in its row, [items]
  // int64, the most items of a row, and what stands behind them.
  at::Tensor place{};
  std::int64_t width = 0, pad = 0;

  bool is_padded() const { return width > 0; }
};

// Copies a tensor from the host to where the model is; from page-locked memory while a GPU computes on.
at::Tensor ToDevice(const at::Tensor& on_host, at::Device device);

// The examples of a draw. Made by a task on the CPU, sliced there, then moved.
class Batch {
 public:
  explicit Batch(RowRange rows) : rows_(rows) {}

  const RowRange& rows() const { return rows_; }
  std::int64_t size() const { return rows_.count; }

  // Columns have rows first. A name that is already there is an error.
  void Add(std::string name, at::Tensor column);
  // `values_by_row` are the items of each row, integers; see RaggedColumn.
  void AddRagged(std::string name, const std::vector<std::vector<std::int64_t>>& values_by_row);
  // Any tensor: `values` [items, ...] of the first row, then of the second, and so on; `counts`: items of
  // each.
  void AddRagged(std::string name, at::Tensor values, const std::vector<std::int64_t>& counts);
  // Integers of each row, at most `width`: ragged on the host, and where the batch is moved the column
  // [rows, longest of the slice, up to a multiple of 16 or `width`], with `pad` behind them. A row asked for
  // as long as can be (RowRange::longest) must have `width` of them: memory is planned by such rows.
  void AddPadded(std::string name, const std::vector<std::vector<std::int64_t>>& values_by_row,
                 std::int64_t width, std::int64_t pad);
  // The same of `values` [items] int64 of the first row, then of the second, and so on; `counts`: of each.
  void AddPadded(std::string name, at::Tensor values, const std::vector<std::int64_t>& counts,
                 std::int64_t width, std::int64_t pad);
  // How many items of a term each row has; counts must be known before any forward. [rows] int64, on the
  // host.
  void SetItems(std::string term, at::Tensor items);
  void CountEach(std::string term);  // one item a row

  // Errors name the column and list those that are there.
  const at::Tensor& Column(std::string_view name) const;
  const RaggedColumn& Ragged(std::string_view name) const;
  // A byte column as floats in [0, 1]; a column of another type is an error.
  at::Tensor Picture(std::string_view name, at::ScalarType dtype) const;
  std::int64_t ItemCount(std::string_view term) const;  // over all rows; 0 for a term without a column
  bool HasColumn(std::string_view name) const;

  const std::map<std::string, at::Tensor, std::less<>>& columns() const { return columns_; }
  const std::map<std::string, RaggedColumn, std::less<>>& ragged() const { return ragged_; }
  const std::map<std::string, at::Tensor, std::less<>>& items() const { return items_; }

  // Rows [begin, begin + count), counted from this batch's first. Columns are views.
  Batch Slice(std::int64_t begin, std::int64_t count) const;
  // Copies of these rows in this order, each as often as it is named; they are numbered from this batch's
  // first on.
  Batch Take(const std::vector<std::int64_t>& rows) const;
  // Padded columns become columns.
  Batch To(at::Device device) const;
  // The same with floats as float64: for who looks closer than a float tells.
  Batch InDouble() const;
  // The same with all integers of a row side by side, of which To copies a block at once rather than a
  // handful of numbers many times.
  Batch Packed() const;
  // Packed, in page-locked memory, from which To(a CUDA device) copies while the device computes. Needs CUDA.
  Batch Pinned() const;

 private:
  template <typename Move>
  Batch Moved(const Move& move) const;

  RowRange rows_;
  std::map<std::string, at::Tensor, std::less<>> columns_;
  std::map<std::string, RaggedColumn, std::less<>> ragged_;
  std::map<std::string, at::Tensor, std::less<>> items_;
};

}  // namespace medley
