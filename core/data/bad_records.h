#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <medley/base/error.h>

namespace medley {

// Records that are not well formed, of one file or of several: words about the first ones, and how many there
// are in all.
class BadRecords final : public InputError {
 public:
  BadRecords(std::vector<std::string> first, std::int64_t count);
  ~BadRecords() override;

  const std::vector<std::string>& first() const { return first_; }
  std::int64_t count() const { return count_; }

 private:
  std::vector<std::string> first_;
  std::int64_t count_;
};

// Collects them.
class RecordProblems {
 public:
  // "FILE:LINE:COLUMN: what is wrong"
  void Add(std::string problem);
  void Add(const BadRecords& of_a_file);
  // BadRecords, with the first twenty, where there were any.
  void Throw() const;

 private:
  std::vector<std::string> first_;
  std::int64_t count_ = 0;
};

}  // namespace medley
