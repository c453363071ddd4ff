#include <medley/contract/unlike_rows.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <exception>
#include <set>
#include <string_view>
#include <utility>

#include <medley/base/random.h>
#include <medley/step/sample_rows.h>

namespace medley {
namespace {

constexpr std::int64_t kRangeRows = 4, kRanges[] = {1'000, 10'000, 1'000'000};
constexpr std::size_t kSpread = 32;
constexpr std::size_t kLookedAt = 512;  // bytes at either end: a row may be large

std::uint64_t ContentOf(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.contiguous();
  const std::string_view all(static_cast<const char*>(plain.const_data_ptr()), plain.nbytes());
  const std::string_view end = all.size() <= kLookedAt ? all : all.substr(all.size() - kLookedAt);
  return CombineSeeds(CombineSeeds(HashName(all.substr(0, kLookedAt)), HashName(end)), all.size());
}

bool HasSameShape(const at::Tensor& one, const at::Tensor& other) {
  return one.scalar_type() == other.scalar_type() && one.dim() == other.dim() &&
         one.sizes().slice(1) == other.sizes().slice(1);
}

bool FitsBeside(const Batch& one, const Batch& other) {
  const auto same_names = [](const auto& a, const auto& b, const auto& same) {
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [&](const auto& x, const auto& y) {
             return x.first == y.first && same(x.second, y.second);
           });
  };
  const auto same_items = [](const RaggedColumn& a, const RaggedColumn& b) {
    return HasSameShape(a.values, b.values) && a.width == b.width && a.pad == b.pad;
  };
  return same_names(one.columns(), other.columns(), HasSameShape) &&
         same_names(one.ragged(), other.ragged(), same_items) &&
         same_names(one.items(), other.items(), HasSameShape);
}

// Rows that fit beside one another.
Batch JoinBatches(const std::vector<Batch>& rows) {
  Batch joined(rows.front().rows().Part(0, std::ssize(rows)));
  const auto all = [&](const auto& of) {
    std::vector<at::Tensor> tensors;
    for (const Batch& row : rows) tensors.push_back(of(row));
    return at::cat(tensors);
  };
  for (const auto& one : rows.front().columns()) {
    const std::string& name = one.first;
    joined.Add(name, all([&](const Batch& row) { return row.Column(name); }));
  }
  for (const auto& one : rows.front().ragged()) {
    const std::string& name = one.first;
    std::vector<std::int64_t> counts;
    for (const Batch& row : rows) counts.push_back(row.Ragged(name).offsets.back());
    at::Tensor values = all([&](const Batch& row) { return row.Ragged(name).values; });
    if (const RaggedColumn& column = one.second; column.is_padded()) {
      joined.AddPadded(name, std::move(values), counts, column.width, column.pad);
    } else {
      joined.AddRagged(name, std::move(values), counts);
    }
  }
  for (const auto& one : rows.front().items()) {
    const std::string& term = one.first;
    joined.SetItems(term, all([&](const Batch& row) { return row.items().find(term)->second; }));
  }
  return joined;
}

}  // namespace

RowContents ContentsOf(const Batch& one_row) {
  RowContents contents;
  for (const auto& [name, column] : one_row.columns()) contents["column " + name] = ContentOf(column);
  for (const auto& [name, column] : one_row.ragged()) contents["items " + name] = ContentOf(column.values);
  for (const auto& [term, items] : one_row.items()) contents["term " + term] = ContentOf(items);
  return contents;
}

UnlikeRows::UnlikeRows(const LoadedTask& task, const RowRange& from, std::vector<RowContents> first)
    : task_(&task), from_(from), rows_(std::move(first)) {
  for (std::int64_t row = 0; row < std::ssize(rows_); ++row) offsets_.push_back(row);
}

// A row that nobody has drawn yet may be wrong: its own draw will say so.
void UnlikeRows::SampleFurther() {
  if (std::exchange(is_sampled_, true)) return;
  for (const std::int64_t begin : kRanges) {
    for (std::int64_t row = begin; row < begin + kRangeRows; ++row) {
      try {
        rows_.push_back(ContentsOf(SampleRows(*task_, from_.Part(row, 1), at::kCPU)));
        offsets_.push_back(row);
      } catch (const c10::OutOfMemoryError&) {
        throw;
      } catch (const std::exception&) {
        break;
      }
    }
  }
}

bool UnlikeRows::IsUnlike(const std::string& name, std::int64_t row, std::int64_t other) const {
  const auto of = [&](std::int64_t place) {
    const RowContents& contents = rows_[static_cast<std::size_t>(place)];
    const auto found = contents.find(name);
    return found == contents.end() ? std::uint64_t{0} : found->second;
  };
  return of(row) != of(other);
}

std::vector<std::int64_t> UnlikeRows::Choose(std::int64_t base, std::int64_t looked, std::size_t most) {
  std::set<std::string> alike;
  for (const auto& [name, content] : rows_[static_cast<std::size_t>(base)]) alike.insert(name);
  const auto drop_shown_by = [&](std::int64_t row) {
    std::erase_if(alike, [&](const std::string& name) { return IsUnlike(name, base, row); });
  };
  for (std::int64_t row = base + 1; row < base + looked; ++row) drop_shown_by(row);
  std::vector<std::int64_t> chosen = {base};
  const auto add_from = [&](std::int64_t begin) {
    for (std::int64_t row = begin; row < std::ssize(rows_) && chosen.size() < most; ++row) {
      const auto shows = [&](const std::string& name) { return IsUnlike(name, base, row); };
      if (std::ranges::none_of(alike, shows)) continue;
      chosen.push_back(row);
      drop_shown_by(row);
    }
  };
  add_from(0);
  const std::int64_t known = std::ssize(rows_);
  if (!alike.empty()) SampleFurther(), add_from(known);
  return chosen;
}

std::vector<std::int64_t> UnlikeRows::Spread() {
  SampleFurther();
  std::vector<std::int64_t> places;
  const std::size_t further = std::size(kRanges) * kRangeRows;
  for (std::size_t row = 0; row < rows_.size() && places.size() < kSpread - further; ++row)
    places.push_back(static_cast<std::int64_t>(row));
  for (std::size_t row = places.size(); row < rows_.size(); ++row) {
    if (offsets_[row] >= kRanges[0]) places.push_back(static_cast<std::int64_t>(row));
  }
  return places;
}

Batch UnlikeRows::Sample(std::vector<std::int64_t>& places, at::Device device) const {
  std::vector<Batch> rows;
  std::erase_if(places, [&](std::int64_t place) {
    Batch row = SampleAlone(*task_, from_.Part(offsets_[static_cast<std::size_t>(place)], 1));
    if (!rows.empty() && !FitsBeside(rows.front(), row)) return true;
    rows.push_back(std::move(row));
    return false;
  });
  return ReadyFor(device, JoinBatches(rows));
}

std::vector<std::int64_t> UnlikeRows::Numbers(const std::vector<std::int64_t>& places) const {
  std::vector<std::int64_t> numbers;
  for (const std::int64_t place : places)
    numbers.push_back(from_.begin + offsets_[static_cast<std::size_t>(place)]);
  return numbers;
}

}  // namespace medley
