#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <medley/base/random.h>
#include <medley/model/model.h>

namespace medley::check {

// A forward in training, without an executor: it has rows, so that a model drops what it drops there.
class TrainingContext : public ForwardContext {
 public:
  TrainingContext(std::int64_t begin, std::int64_t count, std::string pass = "pass")
      : begin_(begin), count_(count), pass_(std::move(pass)) {}

  std::uint64_t Seed(std::string_view site) override {
    ++seeds;
    return CombineSeeds(HashName(pass_), HashName(site));
  }
  RowRange Rows() const override { return {.seed = 1, .begin = begin_, .count = count_}; }

  int seeds = 0;  // that were asked for

 private:
  std::int64_t begin_, count_;
  std::string pass_;
};

}  // namespace medley::check
