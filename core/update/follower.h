#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include <medley/config/optimizer_config.h>

namespace medley {

// An update of some of the weights.
struct Touched {
  std::vector<std::size_t> weights{};  // their places in the list of all; the others stay as they are
  double learning_rate = 0;
};

// Buffers beside the weights that are trained, in their shapes and types, which follow them through each
// update. Made once; an update allocates nothing.
class Follower {
 public:
  // Buffers of zeros; `endings`: what their names in a checkpoint end in, behind the weight's.
  Follower(std::vector<std::string> endings, std::vector<at::Tensor> weights);
  virtual ~Follower() = default;

  // Training begins with the weights as they are now.
  virtual void Begin() {}
  // The updates so far are forgotten, not the weights.
  virtual void Reset();
  // Before and after an update.
  virtual void Leave(const Touched& /*touched*/) {}
  virtual void Arrive(const Touched& touched) = 0;

  const std::vector<std::string>& endings() const { return endings_; }
  // In the order of the weights; `kind`: in that of the endings.
  const std::vector<at::Tensor>& buffers(std::size_t kind = 0) const { return buffers_[kind]; }

 protected:
  const std::vector<at::Tensor>& weights() const { return weights_; }
  static std::vector<at::Tensor> Some(const std::vector<at::Tensor>& all, const Touched& touched);

 private:
  std::vector<std::string> endings_;
  std::vector<at::Tensor> weights_;
  std::vector<std::vector<at::Tensor>> buffers_;  // by kind
};

// What the name of a weight's average ends in.
inline constexpr const char* kAverageOf = ".average";

// The weights' moving average: decay average + (1 - decay) weights.
class WeightAverage : public Follower {
 public:
  WeightAverage(double decay, std::vector<at::Tensor> weights);

  void Begin() override;
  void Reset() override {}
  void Arrive(const Touched& touched) override;

 private:
  double decay_;
};

// EMA-Nesterov (2026, arXiv 2605.25395) behind an update instead of before a forward, for nobody knows before
// which parameters a step touches:
//   trend   <- gamma trend + (1 - gamma) (update + beta trend)
//   weights <- weights + beta trend
// so the displacement that is smoothed has the shift in it which the gradient was taken with, and weights
// that drift steadily move 1 / (1 - beta) times as fast. While the learning rate is below its full height it
// is off, and beta is 0: the trend follows all the same.
class WeightTrend : public Follower {
 public:
  WeightTrend(const TrendConfig& config, double full_rate, std::vector<at::Tensor> weights);

  void Leave(const Touched& touched) override;
  void Arrive(const Touched& touched) override;

 private:
  TrendConfig config_;
  double full_rate_;
  at::Tensor kept_;  // a scalar: a number would be allocated at each use
};

}  // namespace medley
