#include <ATen/core/Tensor.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <array>
#include <optional>

#include <medley/base/error.h>
#include <medley/base/random.h>
#include <medley/model/blocks/fused.h>
#include <medley/model/float_type.h>
#include <medley/model/gpu_kernels.h>
#include <medley/update/compact_operators.h>
#include <medley/update/compact_update.h>
#include <medley/update/rule.h>

namespace medley {
namespace {

constexpr const char *kMeans = ".exp_avg", *kSquares = ".exp_avg_sq", *kUpdates = ".step";
constexpr const char *kMeanScales = ".exp_avg_scale", *kSquareScales = ".exp_avg_sq_scale";
constexpr std::int64_t kLeastCompact = 4096;  // numbers of the smallest tensor that has fewer bits

// Loshchilov and Hutter 2019, by libtorch's fused kernel.
class AdamW : public UpdateRule {
 public:
  explicit AdamW(const OptimizerConfig& config) : config_(config) {}

  std::string name() const override { return "adamw"; }
  std::vector<StateTensor> State() const override {
    return {{kMeans}, {kSquares}, {kUpdates, at::kFloat, 0}};
  }

  void MakeScratch(std::int64_t /*largest*/, const at::TensorOptions& masters) override {
    one_ = at::ones({}, masters.dtype(at::kFloat));
    if (masters.device().is_cuda() && masters.dtype() == at::kFloat)
      factors_ = at::ones({2}, masters.dtype(at::kFloat));
  }
  bool ScalesGradients() const override { return IsByKernel(); }
  bool Rounds() const override { return IsByKernel(); }

  // The kernel reads the counts, it does not count. All processes count alike.
  void Update(UpdatedGroup& group, const Rates& rates) override {
    if (group.lists.empty()) group.lists = ListsOf(group.parameters);
    const auto &all_counts = group.lists[0], &weights = group.lists[1], &means = group.lists[2],
               &squares = group.lists[3], &counts = group.lists[4];
    at::_foreach_add_(all_counts, one_);
    if (weights.empty()) return;
    if (IsByKernel()) return UpdateFused(group, rates);
    at::_fused_adamw_(weights, GradientsOf(group), means, squares, /*max_exp_avg_sqs=*/{}, counts,
                      rates.learning_rate, config_.beta1, config_.beta2, rates.weight_decay, config_.epsilon,
                      /*amsgrad=*/false, /*maximize=*/false);
  }

  GradientMeans Read(const std::string& parameter, const SavedTensors& saved) const override {
    return {saved.at(parameter + kMeans), saved.at(parameter + kSquares), saved.at(parameter + kUpdates)};
  }
  bool Write(const std::string& parameter, const GradientMeans& means, SavedTensors& saved) const override {
    if (!means.squares.defined()) return false;
    saved[parameter + kMeans] = means.mean;
    saved[parameter + kSquares] = means.squares;
    saved[parameter + kUpdates] = means.updates;
    return true;
  }

 protected:
  const OptimizerConfig config_;

 private:
  static std::vector<std::vector<at::Tensor>> ListsOf(const std::vector<Updated>& parameters) {
    std::vector<at::Tensor> weights, means, squares, counts, all_counts;
    for (const Updated& updated : parameters) {
      all_counts.push_back(updated.state->at(2));
      if (updated.weights.numel() == 0) continue;
      weights.push_back(updated.weights);
      means.push_back(updated.state->at(0)), squares.push_back(updated.state->at(1));
      counts.push_back(updated.state->at(2));
    }
    return {all_counts, weights, means, squares, counts};
  }

  bool IsByKernel() const { return factors_.defined() && IsFused(FusedKernel::kAdamW, factors_); }
  // Clips and rounds in the same pass. The kernel reads its factors there, so that a graph may hold it.
  void UpdateFused(const UpdatedGroup& group, const Rates& rates) {
    AdamWLists lists{.weights = group.lists[1],
                     .gradients = GradientsOf(group),
                     .means = group.lists[2],
                     .squares = group.lists[3],
                     .halves = {},
                     .counts = group.lists[4]};
    for (const Updated& updated : group.parameters) {
      if (updated.weights.numel() > 0) lists.halves.push_back(updated.rounded);
    }
    const auto factor = [&](std::int64_t place, double value) {
      at::Tensor at = factors_[place];
      if (factors_now_.at(static_cast<std::size_t>(place)) != value) at.fill_(value);
      factors_now_.at(static_cast<std::size_t>(place)) = value;
      return at;
    };
    FusedAdamW(lists,
               {.learning_rate = factor(0, rates.learning_rate),
                .gradient_scale = rates.gradient_scale == 1 ? at::Tensor() : factor(1, rates.gradient_scale),
                .beta1 = config_.beta1,
                .beta2 = config_.beta2,
                .epsilon = config_.epsilon,
                .weight_decay = rates.weight_decay});
  }

  at::Tensor one_;      // a scalar on the device: a number would be allocated at each use
  at::Tensor factors_;  // rate and gradient scale, of a kernel
  std::array<double, 2> factors_now_ = {1, 1};  // what is in it
};

at::Tensor Decoded(const std::string& codes_name, const std::string& scales_name, kernels::Map map,
                   const SavedTensors& saved) {
  const auto found = saved.find(scales_name);
  if (found == saved.end())
    throw InputError(codes_name + " is in eight bits, and there is no " + scales_name);
  const at::Tensor &codes = saved.at(codes_name), &scales = found->second;
  const std::int64_t blocks = kernels::BlocksOf(codes.numel());
  if (scales.scalar_type() != at::kFloat || scales.sizes() != at::IntArrayRef{blocks})
    throw InputError(c10::str(scales_name, " is ", scales.scalar_type(), " ", scales.sizes(), ", and the ",
                              codes.numel(), " codes of ", codes_name, " need Float [", blocks,
                              "]: a scale for each block of 256. The file is damaged; resume from another "
                              "checkpoint"));
  at::Tensor values = at::empty(codes.sizes(), at::kFloat);
  kernels::Decode(map, codes.contiguous().const_data_ptr<std::uint8_t>(),
                  scales.contiguous().const_data_ptr<float>(), codes.numel(),
                  values.mutable_data_ptr<float>());
  return values;
}

void Encode(const at::Tensor& values, kernels::Map map, at::Tensor& codes, at::Tensor& scales) {
  const at::Tensor exact = values.to(at::kFloat).contiguous();
  codes = at::empty(exact.sizes(), at::kByte);
  scales = at::empty({kernels::BlocksOf(exact.numel())}, at::kFloat);
  kernels::Encode(map, exact.const_data_ptr<float>(), exact.numel(), codes.mutable_data_ptr<std::uint8_t>(),
                  scales.mutable_data_ptr<float>());
}

// The same with its two moments in fewer bits (update/compact_update.h).
class CompactAdamW : public AdamW {
 public:
  explicit CompactAdamW(const OptimizerConfig& config)
      : AdamW(config), is_8bit_(config.moments == MomentsKind::k8Bit) {}

  std::string name() const override { return "adamw in " + EnumName(config_.moments); }
  std::vector<StateTensor> State() const override {
    const StateTensor updates{kUpdates, at::kFloat, 0, /*on_host=*/true};  // rates are computed there
    if (!is_8bit_) return {{kMeans, at::kBFloat16}, {kSquares, at::kBFloat16}, updates};
    return {{kMeans, at::kByte},
            {kMeanScales, at::kFloat, kernels::kBlock},
            {kSquares, at::kByte},
            {kSquareScales, at::kFloat, kernels::kBlock},
            updates};
  }

  std::string Words(at::Device device) const override {
    if (!CompactOperators::IsFor(device)) return "";
    return "optimizer.moments: on " + device.str() +
           " operators of libtorch update moments of fewer bits, one after the other: the slow way. They "
           "save the bytes all the same. There is no kernel: " +
           KernelsProblem(device);
  }
  std::int64_t ScratchBytes(std::int64_t /*largest*/, const at::TensorOptions& masters) const override {
    return CompactOperators::IsFor(masters.device()) ? CompactOperators::BytesFor(config_.moments) : 0;
  }
  void MakeScratch(std::int64_t /*largest*/, const at::TensorOptions& masters) override {
    if (CompactOperators::IsFor(masters.device())) operators_.emplace(config_.moments, masters.device());
  }

  bool ScalesGradients() const override { return true; }
  bool Rounds() const override { return false; }
  void Update(UpdatedGroup& group, const Rates& rates) override {
    std::vector<CompactUpdate> updates;
    for (const Updated& updated : group.parameters) {
      const float count = *updated.state->back().mutable_data_ptr<float>() += 1;
      if (updated.weights.numel() > 0) updates.push_back(UpdateOf(updated, rates, count));
    }
    if (updates.empty()) return;
    if (updates.front().weights.is_cpu()) return UpdateOnCpu(updates);
    for (const CompactUpdate& update : updates)
      operators_ ? operators_->Update(update) : UpdateByKernel(update);
  }

  GradientMeans Read(const std::string& parameter, const SavedTensors& saved) const override {
    GradientMeans means = AdamW::Read(parameter, saved);
    if (!is_8bit_) return means;
    means.mean = Decoded(parameter + kMeans, parameter + kMeanScales, kernels::Map::kSigned, saved);
    means.squares = Decoded(parameter + kSquares, parameter + kSquareScales, kernels::Map::kUnsigned, saved);
    return means;
  }
  // Who reads the file rounds them to bf16.
  bool Write(const std::string& parameter, const GradientMeans& means, SavedTensors& saved) const override {
    if (!AdamW::Write(parameter, means, saved) || !is_8bit_) return means.squares.defined();
    Encode(means.mean, kernels::Map::kSigned, saved[parameter + kMeans], saved[parameter + kMeanScales]);
    Encode(means.squares, kernels::Map::kUnsigned, saved[parameter + kSquares],
           saved[parameter + kSquareScales]);
    return true;
  }

 private:
  CompactUpdate UpdateOf(const Updated& updated, const Rates& rates, double count) const {
    const std::vector<at::Tensor>& state = *updated.state;
    CompactUpdate update{.kind = config_.moments,
                         .weights = updated.weights,
                         .gradients = updated.gradients,
                         .means = state[0],
                         .squares = state[is_8bit_ ? 2 : 1],
                         .rates = CompactRates(config_, rates.learning_rate, rates.weight_decay,
                                               rates.gradient_scale, count, HashName(updated.name)),
                         .place = updated.place};
    if (is_8bit_) update.mean_scales = state[1], update.square_scales = state[3];
    return update;
  }

  const bool is_8bit_;
  std::optional<CompactOperators> operators_;
};

}  // namespace

std::unique_ptr<UpdateRule> MakeAdamW(const OptimizerConfig& config, const Parameter& parameter) {
  const at::Tensor& tensor = parameter.tensor;
  const bool fits = AtLeastFloat(tensor.scalar_type()) == at::kFloat && tensor.numel() >= kLeastCompact &&
                    tensor.is_contiguous();
  if (fits && config.moments != MomentsKind::kFloat) return std::make_unique<CompactAdamW>(config);
  return std::make_unique<AdamW>(config);
}

}  // namespace medley
