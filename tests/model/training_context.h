#pragma once

#include <medley/base/random.h>
#include <medley/model/model.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace medley::test {

// Rows of a draw as the executor has them, without one.
class TrainingContext : public ForwardContext {
 public:
  explicit TrainingContext(std::int64_t begin, std::int64_t count, std::string pass = "pass")
      : begin_(begin), count_(count), pass_(std::move(pass)) {}
  std::uint64_t Seed(std::string_view site) override {
    ++seeds;
    return CombineSeeds(HashName(pass_), HashName(site));
  }
  RowRange Rows() const override { return {.seed = 1, .begin = begin_, .count = count_}; }

  int seeds = 0;

 private:
  std::int64_t begin_, count_;
  std::string pass_;
};

}  // namespace medley::test
