#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <optional>

#include <medley/base/error.h>
#include <medley/base/random.h>
#include <medley/update/compact_kernels.h>
#include <medley/update/compact_operators.h>
#include <medley/update/compact_update.h>
#include <medley/update/rule.h>

namespace medley {
namespace {

constexpr const char *kMeans = ".exp_avg", *kSquares = ".exp_avg_sq", *kUpdates = ".step";
constexpr const char *kMeanScales = ".exp_avg_scale", *kSquareScales = ".exp_avg_sq_scale";

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

class CompactAdamW : public UpdateRule {
 public:
  explicit CompactAdamW(const OptimizerConfig& config)
      : config_(config), is_8bit_(config.moments == MomentsKind::k8Bit) {}

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
           CompactKernelsProblem(device);
  }
  std::int64_t ScratchBytes(std::int64_t /*largest*/, const at::TensorOptions& masters) const override {
    return CompactOperators::IsFor(masters.device()) ? CompactOperators::BytesFor(config_.moments) : 0;
  }
  void MakeScratch(std::int64_t /*largest*/, const at::TensorOptions& masters) override {
    if (CompactOperators::IsFor(masters.device())) operators_.emplace(config_.moments, masters.device());
  }

  bool ScalesGradients() const override { return true; }
  void Update(const std::vector<Updated>& parameters, const Rates& rates) override {
    std::vector<CompactUpdate> updates;
    for (const Updated& updated : parameters) {
      const float count = *updated.state->back().mutable_data_ptr<float>() += 1;
      if (updated.weights.numel() > 0) updates.push_back(UpdateOf(updated, rates, count));
    }
    if (updates.empty()) return;
    if (updates.front().weights.is_cpu()) return UpdateOnCpu(updates);
    for (const CompactUpdate& update : updates)
      operators_ ? operators_->Update(update) : UpdateByKernel(update);
  }

  GradientMeans Read(const std::string& parameter, const SavedTensors& saved) const override {
    const std::string means = parameter + kMeans, squares = parameter + kSquares;
    const at::Tensor& updates = saved.at(parameter + kUpdates);
    if (!is_8bit_) return {saved.at(means), saved.at(squares), updates};
    return {Decoded(means, parameter + kMeanScales, kernels::Map::kSigned, saved),
            Decoded(squares, parameter + kSquareScales, kernels::Map::kUnsigned, saved), updates};
  }
  bool Write(const std::string& parameter, const GradientMeans& means, SavedTensors& saved) const override {
    if (!means.squares.defined()) return false;
    saved[parameter + kUpdates] = means.updates;
    at::Tensor &mean = saved[parameter + kMeans], &squares = saved[parameter + kSquares];
    mean = means.mean, squares = means.squares;  // who reads the file rounds them to bf16
    if (!is_8bit_) return true;
    Encode(means.mean, kernels::Map::kSigned, mean, saved[parameter + kMeanScales]);
    Encode(means.squares, kernels::Map::kUnsigned, squares, saved[parameter + kSquareScales]);
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

  const OptimizerConfig config_;
  const bool is_8bit_;
  std::optional<CompactOperators> operators_;
};

}  // namespace

std::unique_ptr<UpdateRule> MakeCompactAdamW(const OptimizerConfig& config) {
  return std::make_unique<CompactAdamW>(config);
}

}  // namespace medley
