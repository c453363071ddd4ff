#include <ATen/core/Tensor.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/empty.h>

#include <medley/model/float_type.h>
#include <medley/update/rule.h>

namespace medley {
namespace {

// Gradient descent with momentum (Polyak 1964; buffer <- momentum buffer + gradient, as PyTorch's), by
// libtorch's fused kernel. Decoupled weight decay, as the other rules have.
class Sgd : public UpdateRule {
 public:
  explicit Sgd(const OptimizerConfig& config) : momentum_(config.momentum) {}

  std::string name() const override { return "sgd"; }
  std::vector<StateTensor> State() const override { return {{kBuffer}}; }

  void MakeScratch(std::int64_t /*largest*/, const at::TensorOptions& masters) override {
    kept_ = at::empty({}, masters);
  }

  void Update(UpdatedGroup& group, const Rates& rates) override {
    if (group.lists.empty()) group.lists = ListsOf(group.parameters);
    const auto &weights = group.lists[0], &buffers = group.lists[1];
    if (weights.empty()) return;
    if (rates.weight_decay > 0)
      at::_foreach_mul_(weights, kept_.fill_(1 - rates.learning_rate * rates.weight_decay));
    at::_fused_sgd_(weights, GradientsOf(group), buffers, /*weight_decay=*/0, momentum_, rates.learning_rate,
                    /*dampening=*/0, /*nesterov=*/false, /*maximize=*/false, /*is_first_step=*/false);
  }

  // The buffer is 1 / (1 - momentum) times a decaying mean.
  GradientMeans Read(const std::string& parameter, const SavedTensors& saved) const override {
    return {.mean = saved.at(parameter + kBuffer).mul(1 - momentum_)};
  }
  bool Write(const std::string& parameter, const GradientMeans& means, SavedTensors& saved) const override {
    saved[parameter + kBuffer] = means.mean.to(AtLeastFloat(means.mean.scalar_type())).div(1 - momentum_);
    return true;
  }

 private:
  static constexpr const char* kBuffer = ".momentum_buffer";

  std::vector<std::vector<at::Tensor>> ListsOf(const std::vector<Updated>& parameters) const {
    std::vector<at::Tensor> weights, buffers;
    for (const Updated& updated : parameters) {
      if (updated.weights.numel() == 0) continue;
      weights.push_back(updated.weights);
      if (momentum_ != 0) buffers.push_back(updated.state->front());  // else the kernel refuses them
    }
    return {weights, buffers};
  }

  const double momentum_;
  at::Tensor kept_;  // a scalar: a number would be allocated at each use
};

}  // namespace

std::unique_ptr<UpdateRule> MakeSgd(const OptimizerConfig& config, const Parameter& /*parameter*/) {
  return std::make_unique<Sgd>(config);
}

}  // namespace medley
