#include <medley/task/batch.h>

#include <ATen/EmptyTensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/sub.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/suggest.h>

namespace medley {
namespace {

at::Tensor IntTensor(const std::vector<std::int64_t>& values) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(values.size())}, at::kLong);
  std::copy(values.begin(), values.end(), tensor.mutable_data_ptr<std::int64_t>());
  return tensor;
}

// Room for integers in the memory that a column lies in: page-locked where that is, or its copy to a GPU
// would wait.
at::Tensor RoomBeside(const at::Tensor& column, std::int64_t items) {
  at::Allocator* const allocator = column.storage().allocator();
  if (allocator == nullptr || !column.is_cpu()) return at::empty({items}, column.options());
  return at::detail::empty_generic({items}, allocator, c10::DispatchKeySet(c10::DispatchKey::CPU),
                                   column.scalar_type(), std::nullopt);
}

RaggedColumn SliceRagged(const RaggedColumn& column, std::int64_t begin, std::int64_t count) {
  RaggedColumn slice;
  const std::int64_t first = column.offsets[begin];
  const std::int64_t items = column.offsets[begin + count] - first;
  slice.values = column.values.narrow(0, first, items);
  if (column.is_padded()) slice.place = column.place.narrow(0, first, items);
  slice.width = column.width, slice.pad = column.pad;
  slice.offsets.assign(column.offsets.begin() + begin, column.offsets.begin() + begin + count + 1);
  for (std::int64_t& offset : slice.offsets) offset -= first;
  slice.item_row = RoomBeside(column.item_row, items);
  at::sub_out(slice.item_row, column.item_row.narrow(0, first, items), begin);
  return slice;
}

RaggedColumn TakeRagged(const RaggedColumn& column, const std::vector<std::int64_t>& rows) {
  std::vector<std::int64_t> items, item_row;
  RaggedColumn taken;
  taken.offsets.push_back(0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<std::size_t>(rows[i]);
    for (std::int64_t item = column.offsets[row]; item < column.offsets[row + 1]; ++item)
      items.push_back(item);
    item_row.resize(items.size(), static_cast<std::int64_t>(i));
    taken.offsets.push_back(static_cast<std::int64_t>(items.size()));
  }
  const at::Tensor index = IntTensor(items).to(column.values.device());
  taken.values = column.values.index_select(0, index);
  if (column.is_padded()) taken.place = column.place.index_select(0, index);
  taken.width = column.width, taken.pad = column.pad;
  taken.item_row = IntTensor(item_row).to(column.item_row.device());
  return taken;
}

// What models compute a pad more for is little beside what a width that is a multiple saves them.
constexpr std::int64_t kWidthStep = 16;

// [rows, width] of the items. From numbers that the host knows: nobody waits for a GPU.
at::Tensor Padded(const RaggedColumn& column) {
  std::int64_t longest = 1;
  for (std::size_t row = 0; row + 1 < column.offsets.size(); ++row)
    longest = std::max(longest, column.offsets[row + 1] - column.offsets[row]);
  const std::int64_t rows = std::ssize(column.offsets) - 1;
  const std::int64_t width = std::min(column.width, (longest + kWidthStep - 1) / kWidthStep * kWidthStep);
  const at::Tensor padded =
      at::full({rows * width}, column.pad, at::TensorOptions(at::kLong).device(column.values.device()));
  if (column.values.numel() > 0)
    padded.index_copy_(0, column.item_row.mul(width).add_(column.place), column.values);
  return padded.view({rows, width});
}

bool IsIntegers(const at::Tensor& tensor) { return tensor.dim() == 1 && tensor.scalar_type() == at::kLong; }

// Applies a copy to tensors, and to those that lie side by side as the columns of one block (see
// Batch::Packed) once for all of them.
template <typename Copy>
class CopyTogether {
 public:
  explicit CopyTogether(const Copy& copy) : copy_(copy) {}

  at::Tensor operator()(const at::Tensor& tensor) const {
    if (!IsIntegers(tensor) || tensor.numel() == 0 || tensor.stride(0) < 2) return copy_(tensor);
    const std::int64_t width = tensor.stride(0), column = tensor.storage_offset() % width;
    const std::int64_t begin = tensor.storage_offset() - column, end = begin + width * tensor.numel();
    // A task's own column may be strided too.
    if (end * static_cast<std::int64_t>(sizeof(std::int64_t)) >
        static_cast<std::int64_t>(tensor.storage().nbytes()))
      return copy_(tensor);
    at::Tensor& block = blocks_[{tensor.storage().unsafeGetStorageImpl(), begin, end}];
    if (!block.defined()) block = copy_(tensor.as_strided({tensor.numel(), width}, {width, 1}, begin));
    return block.select(1, column);
  }

 private:
  using Place = std::tuple<const void*, std::int64_t, std::int64_t>;
  const Copy& copy_;
  mutable std::map<Place, at::Tensor> blocks_;
};

}  // namespace

at::Tensor ToDevice(const at::Tensor& on_host, at::Device device) {
  return device.is_cuda() ? on_host.pin_memory().to(device, /*non_blocking=*/true) : on_host.to(device);
}

void Batch::Add(std::string name, at::Tensor column) {
  if (HasColumn(name)) throw Error("the batch already has a column '" + name + "'");
  if (!column.defined() || column.dim() < 1 || column.size(0) != size()) {
    const std::string got = column.defined() ? c10::str(column.sizes()) : "an undefined tensor";
    throw Error("column '" + name + "' must have " + std::to_string(size()) + " rows first, got " + got);
  }
  columns_.emplace(std::move(name), std::move(column));
}

void Batch::AddRagged(std::string name, const std::vector<std::vector<std::int64_t>>& values_by_row) {
  std::vector<std::int64_t> values, counts;
  for (const std::vector<std::int64_t>& of_row : values_by_row) {
    values.insert(values.end(), of_row.begin(), of_row.end());
    counts.push_back(std::ssize(of_row));
  }
  AddRagged(std::move(name), IntTensor(values), counts);
}

void Batch::AddRagged(std::string name, at::Tensor values, const std::vector<std::int64_t>& counts) {
  if (HasColumn(name)) throw Error("the batch already has a column '" + name + "'");
  if (std::ssize(counts) != size()) {
    throw Error("ragged column '" + name + "' must have " + std::to_string(size()) + " rows, got " +
                std::to_string(counts.size()));
  }
  std::vector<std::int64_t> item_row;
  RaggedColumn column;
  column.offsets.push_back(0);
  for (std::size_t row = 0; row < counts.size(); ++row) {
    if (counts[row] < 0) throw Error("ragged column '" + name + "' has a row of fewer than 0 items");
    item_row.resize(item_row.size() + static_cast<std::size_t>(counts[row]), static_cast<std::int64_t>(row));
    column.offsets.push_back(std::ssize(item_row));
  }
  if (!values.defined() || values.dim() < 1 || values.size(0) != std::ssize(item_row)) {
    throw Error("ragged column '" + name + "' must have its " + std::to_string(item_row.size()) +
                " items first, got " + (values.defined() ? c10::str(values.sizes()) : "an undefined tensor"));
  }
  column.values = std::move(values);
  column.item_row = IntTensor(item_row);
  ragged_.emplace(std::move(name), std::move(column));
}

void Batch::AddPadded(std::string name, const std::vector<std::vector<std::int64_t>>& values_by_row,
                      std::int64_t width, std::int64_t pad) {
  std::vector<std::int64_t> values, counts;
  for (const std::vector<std::int64_t>& of_row : values_by_row) {
    values.insert(values.end(), of_row.begin(), of_row.end());
    counts.push_back(std::ssize(of_row));
  }
  AddPadded(std::move(name), IntTensor(values), counts, width, pad);
}

void Batch::AddPadded(std::string name, at::Tensor values, const std::vector<std::int64_t>& counts,
                      std::int64_t width, std::int64_t pad) {
  if (width < 1) throw Error("padded column '" + name + "': expected a width of 1 or more");
  std::vector<std::int64_t> places;
  for (std::size_t row = 0; row < counts.size(); ++row) {
    if (counts[row] > width) {
      throw Error("padded column '" + name + "' has " + std::to_string(counts[row]) + " items in row " +
                  std::to_string(rows_.begin + static_cast<std::int64_t>(row)) + ", its width is " +
                  std::to_string(width));
    }
    for (std::int64_t place = 0; place < counts[row]; ++place) places.push_back(place);
  }
  if (values.defined() && !IsIntegers(values))
    throw Error("padded column '" + name + "' must have integers, [items] int64");
  AddRagged(name, std::move(values), counts);
  RaggedColumn& column = ragged_.find(name)->second;
  column.place = IntTensor(places);
  column.width = width, column.pad = pad;
}

void Batch::SetItems(std::string term, at::Tensor items) {
  if (!items.defined() || items.dim() != 1 || items.size(0) != size() || items.scalar_type() != at::kLong ||
      !items.device().is_cpu()) {
    throw Error("the items of term '" + term + "' must be [" + std::to_string(size()) +
                "] int64 on the host");
  }
  if (!items_.emplace(term, std::move(items)).second) {
    throw Error("the items of term '" + term + "' are set twice");
  }
}

void Batch::CountEach(std::string term) {
  SetItems(std::move(term), IntTensor(std::vector<std::int64_t>(static_cast<std::size_t>(size()), 1)));
}

const at::Tensor& Batch::Column(std::string_view name) const {
  const auto found = columns_.find(name);
  if (found != columns_.end()) return found->second;
  if (const auto ragged = ragged_.find(name); ragged != ragged_.end() && ragged->second.is_padded())
    throw Error("the column '" + std::string(name) +
                "' is padded where the batch is moved: ask for it behind To(device), or for Ragged here");
  throw Error("the batch has no column '" + std::string(name) + "'; its columns: " + Listed(columns_));
}

const RaggedColumn& Batch::Ragged(std::string_view name) const {
  const auto found = ragged_.find(name);
  if (found != ragged_.end()) return found->second;
  throw Error("the batch has no ragged column '" + std::string(name) +
              "'; its ragged columns: " + Listed(ragged_));
}

at::Tensor Batch::Picture(std::string_view name, at::ScalarType dtype) const {
  const at::Tensor& bytes = Column(name);
  if (bytes.scalar_type() != at::kByte) {
    throw Error("column '" + std::string(name) + "' is no picture: expected bytes, got " +
                c10::toString(bytes.scalar_type()));
  }
  return bytes.to(dtype).div_(255);
}

std::int64_t Batch::ItemCount(std::string_view term) const {
  const auto found = items_.find(term);
  if (found == items_.end()) return 0;
  // Not at::sum: data threads slice and count many small batches, and a dispatch costs more than the loop.
  const at::Tensor items = found->second.contiguous();
  const std::int64_t* values = items.const_data_ptr<std::int64_t>();
  std::int64_t count = 0;
  for (std::int64_t row = 0; row < items.numel(); ++row) count += values[row];
  return count;
}

bool Batch::HasColumn(std::string_view name) const {
  return columns_.find(name) != columns_.end() || ragged_.find(name) != ragged_.end();
}

Batch Batch::Slice(std::int64_t begin, std::int64_t count) const {
  if (begin < 0 || count < 0 || begin > size() || count > size() - begin) {
    throw Error("rows " + std::to_string(begin) + ".." + std::to_string(begin + count) +
                " are not within the " + std::to_string(size()) + " rows of the batch");
  }
  Batch slice(rows_.Part(begin, count));
  for (const auto& [name, column] : columns_) slice.columns_.emplace(name, column.narrow(0, begin, count));
  for (const auto& [name, column] : ragged_) slice.ragged_.emplace(name, SliceRagged(column, begin, count));
  for (const auto& [term, items] : items_) slice.items_.emplace(term, items.narrow(0, begin, count));
  return slice;
}

Batch Batch::Take(const std::vector<std::int64_t>& rows) const {
  for (const std::int64_t row : rows) {
    if (row < 0 || row >= size()) {
      throw Error("row " + std::to_string(row) + " is not within the " + std::to_string(size()) +
                  " rows of the batch");
    }
  }
  Batch taken(rows_.Part(0, static_cast<std::int64_t>(rows.size())));
  const at::Tensor index = IntTensor(rows);
  for (const auto& [name, column] : columns_)
    taken.columns_.emplace(name, column.index_select(0, index.to(column.device())));
  for (const auto& [name, column] : ragged_) taken.ragged_.emplace(name, TakeRagged(column, rows));
  for (const auto& [term, items] : items_) taken.items_.emplace(term, items.index_select(0, index));
  return taken;
}

template <typename Move>
Batch Batch::Moved(const Move& move) const {
  Batch moved(rows_);
  for (const auto& [name, column] : columns_) moved.columns_.emplace(name, move(column));
  for (const auto& [name, column] : ragged_) {
    moved.ragged_.emplace(name, RaggedColumn{.values = move(column.values),
                                             .offsets = column.offsets,
                                             .item_row = move(column.item_row),
                                             .place = column.is_padded() ? move(column.place) : at::Tensor(),
                                             .width = column.width,
                                             .pad = column.pad});
  }
  moved.items_ = items_;  // counted on the host
  return moved;
}

Batch Batch::To(at::Device device) const {
  const auto copy = [&](const at::Tensor& t) { return t.to(device, /*non_blocking=*/device.is_cuda()); };
  Batch moved = device.is_cpu() ? Moved(copy) : Moved(CopyTogether(copy));
  std::erase_if(moved.ragged_, [&](const auto& ragged) {
    const auto& [name, column] = ragged;
    if (column.is_padded()) moved.columns_.emplace(name, Padded(column));
    return column.is_padded();
  });
  return moved;
}

Batch Batch::InDouble() const {
  return Moved([](const at::Tensor& t) { return t.is_floating_point() ? t.to(at::kDouble) : t; });
}

Batch Batch::Packed() const {
  Batch packed = *this;
  std::vector<at::Tensor> columns;
  for (const auto& [name, column] : columns_) {
    if (IsIntegers(column)) columns.push_back(column);
  }
  if (columns.size() > 1) {
    const at::Tensor block = at::stack(columns, 1);
    std::int64_t next = 0;
    for (auto& [name, column] : packed.columns_) {
      if (IsIntegers(column)) column = block.select(1, next++);
    }
  }
  for (auto& [name, column] : packed.ragged_) {
    if (!IsIntegers(column.values)) continue;
    std::vector<at::Tensor> of_items{column.values, column.item_row};
    if (column.is_padded()) of_items.push_back(column.place);
    const at::Tensor block = at::stack(of_items, 1);
    column.values = block.select(1, 0);
    column.item_row = block.select(1, 1);
    if (column.is_padded()) column.place = block.select(1, 2);
  }
  return packed;
}

Batch Batch::Pinned() const {
  const auto pin = [](const at::Tensor& t) { return t.contiguous().pin_memory(); };
  return Packed().Moved(CopyTogether(pin));
}

}  // namespace medley
