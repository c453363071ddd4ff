#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <medley/report/screen.h>

namespace medley {

// Shown as a space.
inline constexpr const char* kNoBreak = "\u00a0";

// A table for people, in plain text: the first columns, which hold words, flush left, the others flush right.
//
// Where it is wider than the screen its header is broken at spaces, then the column that may be broken, then
// columns go, and a line below names them. The first two never go: without what a row is of, and of what its
// numbers are, the others are numbers without a name.
class Table {
 public:
  explicit Table(std::vector<std::string> header, std::size_t words = 1);
  // The columns of least use, that of the very least first: they go where there is no room. Names of the
  // header, none of its first two.
  Table& Spares(const std::vector<std::string>& columns);
  // The column whose words may stand in several lines, flush left; not where a kNoBreak joins them.
  Table& Breaks(const std::string& column);
  // The same, but only where all spare columns are gone: for a table that is a line a row while it can be.
  Table& BreaksLast(const std::string& column);
  // Adds a row with as many cells as the header has.
  void Add(std::vector<std::string> row);
  // No line is longer than `columns`, unless what may not go is.
  std::string ToText(std::size_t columns = ScreenColumns()) const;

 private:
  using Row = std::vector<std::string>;
  using Widths = std::vector<std::size_t>;  // by column, of those that are shown

  std::size_t PlaceOf(const std::string& column) const;
  std::size_t FitWidths(const std::vector<std::size_t>& shown, std::size_t columns, bool may_break,
                        Widths& widths) const;
  std::string RowText(const Row& row, const std::vector<std::size_t>& shown, const Widths& widths) const;

  std::size_t words_;
  std::vector<std::size_t> spares_;
  std::size_t broken_;  // the column; as many as there are: none
  bool breaks_last_ = false;
  std::vector<Row> rows_;
};

// "46 MiB (4.5 %)": bytes, and the part of a whole that they are.
std::string FormatBytesOf(std::int64_t bytes, std::int64_t whole);
// Four significant digits, and from 10,000 on all before the point; "-" for NaN.
std::string FormatNumber(double value);
// "12.3 %"
std::string FormatShare(double fraction);

}  // namespace medley
