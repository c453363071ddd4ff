#include <ATen/core/Tensor.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/ones.h>

#include <medley/model/float_type.h>
#include <medley/update/rule.h>

namespace medley {
namespace {

// Loshchilov and Hutter 2019, by libtorch's fused kernel.
class AdamW : public UpdateRule {
 public:
  explicit AdamW(const OptimizerConfig& config) : config_(config) {}

  std::string name() const override { return "adamw"; }
  std::vector<StateTensor> State() const override {
    return {{".exp_avg"}, {".exp_avg_sq"}, {".step", at::kFloat, 0}};
  }

  void MakeScratch(std::int64_t /*largest*/, const at::TensorOptions& masters) override {
    one_ = at::ones({}, masters.dtype(at::kFloat));
  }

  // The kernel reads the counts, it does not count. All processes count alike.
  void Update(const std::vector<Updated>& parameters, const Rates& rates) override {
    std::vector<at::Tensor> weights, gradients, means, squares, counts, all_counts;
    for (const Updated& updated : parameters) {
      all_counts.push_back(updated.state->at(2));
      if (updated.weights.numel() == 0) continue;
      weights.push_back(updated.weights), gradients.push_back(updated.gradients);
      means.push_back(updated.state->at(0)), squares.push_back(updated.state->at(1));
      counts.push_back(updated.state->at(2));
    }
    at::_foreach_add_(all_counts, one_);
    if (weights.empty()) return;
    at::_fused_adamw_(weights, gradients, means, squares, /*max_exp_avg_sqs=*/{}, counts, rates.learning_rate,
                      config_.beta1, config_.beta2, rates.weight_decay, config_.epsilon, /*amsgrad=*/false,
                      /*maximize=*/false);
  }

  GradientMeans Read(const std::string& parameter, const SavedTensors& saved) const override {
    return {saved.at(parameter + ".exp_avg"), saved.at(parameter + ".exp_avg_sq"),
            saved.at(parameter + ".step")};
  }
  bool Write(const std::string& parameter, const GradientMeans& means, SavedTensors& saved) const override {
    if (!means.squares.defined()) return false;
    saved[parameter + ".exp_avg"] = means.mean;
    saved[parameter + ".exp_avg_sq"] = means.squares;
    saved[parameter + ".step"] = means.updates;
    return true;
  }

 private:
  const OptimizerConfig config_;
  at::Tensor one_;  // a scalar on the device: a number would be allocated at each use
};

}  // namespace

std::unique_ptr<UpdateRule> MakeAdamW(const OptimizerConfig& config, const Parameter& parameter) {
  const at::Tensor& tensor = parameter.tensor;
  const bool fits = AtLeastFloat(tensor.scalar_type()) == at::kFloat && tensor.numel() >= kLeastCompact &&
                    tensor.is_contiguous();
  if (fits && config.moments != MomentsKind::kFloat) return MakeCompactAdamW(config);
  return std::make_unique<AdamW>(config);
}

}  // namespace medley
