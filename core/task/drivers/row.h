#pragma once

#include <cstdint>

#include <medley/base/rows.h>

namespace medley {

// The row that a driver asks its task for: all that it may be made from.
struct Row {
  const RowRange& range;  // that it is drawn in: its seed, and what an ItemStream wants
  std::int64_t number;    // range.begin <= number < range.begin + range.count
  RowRandom random;       // of this row alone; to be drawn from as often as need be

  Row(const RowRange& range, std::int64_t number, std::uint64_t stream = 0)
      : range(range), number(number), random(range.Random(number, stream)) {}

  std::int64_t index() const { return number - range.begin; }  // its place in the batch
  Split split() const { return range.split; }
  bool is_held_out() const { return range.split == Split::kHeldOut; }
  // Whether the row is to be as long as it can be; the drivers see to it themselves where it is about words.
  bool longest() const { return range.longest; }
};

// Calls fn(Row&) for each row of the range, in order.
template <typename Fn>
void ForEachRow(const RowRange& rows, Fn fn, std::uint64_t stream = 0) {
  for (std::int64_t number = rows.begin; number < rows.begin + rows.count; ++number) {
    Row row(rows, number, stream);
    fn(row);
  }
}

}  // namespace medley
