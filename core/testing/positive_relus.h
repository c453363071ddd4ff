#pragma once

#include <cstdint>

namespace medley::check {

// Counts the ReLUs with a positive input in the backwards that this thread runs while it lives. In a backward
// each ReLU comes once, in whatever mode and however the rows are cut. One at a time.
class PositiveRelus {
 public:
  PositiveRelus();
  ~PositiveRelus();
  PositiveRelus(const PositiveRelus&) = delete;
  PositiveRelus& operator=(const PositiveRelus&) = delete;

  std::int64_t count() const;

 private:
  bool was_included_;
};

}  // namespace medley::check
