#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/random.h>
#include <medley/curriculum/mixer.h>

namespace medley::testing {

using Sizes = std::map<std::string, TaskSize>;

inline std::string Name(std::size_t i) { return "task" + std::to_string(i); }

// Tasks task0, task1, ... with these weights and rows.
inline Mixture MixtureOf(const std::vector<double>& weights, ShareUnit unit = ShareUnit::kRows,
                         DrawOrder order = DrawOrder::kDeficit) {
  Mixture mixture{.unit = unit, .order = order, .weights = {}};
  for (std::size_t i = 0; i < weights.size(); ++i) mixture.weights.emplace_back(Name(i), weights[i]);
  return mixture;
}

inline Sizes SizesOf(const std::vector<std::int64_t>& rows) {
  Sizes sizes;
  for (std::size_t i = 0; i < rows.size(); ++i) sizes[Name(i)] = {.rows = rows[i]};
  return sizes;
}

inline Draw DrawOne(Mixer& mixer) {
  const std::vector<Draw> draws = mixer.Peek(1);
  mixer.Commit(draws);
  return draws.front();
}

// A random mixture of at least five tasks: ties, extreme ratios and skewed batches are all common.
struct RandomMix {
  std::vector<double> weights;
  std::vector<std::int64_t> rows;

  explicit RandomMix(std::uint64_t seed) {
    RowRandom random(CombineSeeds(seed, 77));
    const auto n = static_cast<std::size_t>(5 + random.Below(28));
    const std::int64_t style = random.Below(4);
    for (std::size_t i = 0; i < n; ++i) {
      weights.push_back(style == 0   ? 1.0
                        : style == 1 ? static_cast<double>(1 + random.Below(10))
                        : style == 2 ? (random.Coin() ? 1000.0 : 1.0)
                                     : random.Uniform(0.001, 50.0));
      rows.push_back(random.Coin() ? 16 : 1 + random.Below(150));
    }
  }
};

// What was asked and delivered, followed with rational arithmetic of our own: no share of the mixer's is
// used.
class Ledger {
 public:
  explicit Ledger(const std::vector<double>& weights) : charged_(weights.size()) {
    double sum = 0;
    for (const double weight : weights) sum += weight;
    for (const double weight : weights) shares_.push_back(weight / sum);
  }
  void Add(const std::string& task, std::int64_t charge) {
    charged_[std::stoul(task.substr(4))] += charge;
    total_ += charge;
  }
  // Units that the task is behind its share; below 0: ahead.
  double Behind(std::size_t i) const {
    return shares_[i] * static_cast<double>(total_) - static_cast<double>(charged_[i]);
  }
  double share(std::size_t i) const { return shares_[i]; }
  std::int64_t charged(std::size_t i) const { return charged_[i]; }
  std::int64_t total() const { return total_; }
  std::size_t size() const { return shares_.size(); }

 private:
  std::vector<double> shares_;
  std::vector<std::int64_t> charged_;
  std::int64_t total_ = 0;
};

}  // namespace medley::testing
