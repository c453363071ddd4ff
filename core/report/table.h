#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace medley {

// A table for people, in plain text: the first columns, which hold words, flush left, the others flush right.
class Table {
 public:
  explicit Table(std::vector<std::string> header, std::size_t words = 1);
  // Adds a row with as many cells as the header has.
  void Add(std::vector<std::string> row);
  std::string ToText() const;

 private:
  std::size_t words_;
  std::vector<std::vector<std::string>> rows_;
};

// "1.5 MiB"
std::string FormatBytes(double bytes);
// "1:02:03" or "4:05"
std::string FormatSeconds(double seconds);
// Four significant digits; "-" for NaN.
std::string FormatNumber(double value);
// "12.3 %"
std::string FormatShare(double fraction);

}  // namespace medley
