#include <medley/model/parameter_set.h>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include <medley/base/error.h>
#include <medley/base/random.h>
#include <medley/model/float_type.h>
#include <medley/model/lora_targets.h>
#include <medley/model/products.h>

namespace medley {

std::string ParameterSet::FormerName(const std::string& name) const {
  for (const auto& [now, before] : renamed_) {
    if (name.starts_with(now)) return before + name.substr(now.size());
  }
  return "";
}

template <typename Fill>
at::Tensor ParameterSet::Add(const std::string& name, at::IntArrayRef shape, const Fill& fill) {
  // Filled on the CPU whatever the device, so that a run starts from the same weights everywhere.
  const auto options = at::device(device_.is_meta() ? device_ : at::Device(at::kCPU)).dtype(at::kFloat);
  const bool given = given_.count(name) > 0;
  const at::ScalarType type = freezes_ ? adapters_.base : at::kFloat;
  at::Tensor value = given ? at::zeros({}, options.dtype(type)).expand(shape) : at::empty(shape, options);
  if (!device_.is_meta() && !given) fill(value);
  value = value.to(device_, type);
  value.set_requires_grad(!freezes_);
  list_.push_back({name, value, FormerName(name), freezes_});
  return value;
}

template <typename Fill>
at::Tensor ParameterSet::AddRandom(const std::string& name, at::IntArrayRef shape, const Fill& fill) {
  return Add(name, shape, [&](at::Tensor& value) {
    const std::string former = FormerName(name);
    const std::uint64_t seed = CombineSeeds(seed_, HashName(former.empty() ? name : former));
    fill(value, at::detail::createCPUGenerator(seed));
  });
}

at::Tensor ParameterSet::Normal(const std::string& name, at::IntArrayRef shape, double deviation) {
  return AddRandom(name, shape, [&](at::Tensor& value, const at::Generator& generator) {
    value.normal_(0, deviation, generator);
  });
}

at::Tensor ParameterSet::Uniform(const std::string& name, at::IntArrayRef shape, double low, double high) {
  return AddRandom(name, shape, [&](at::Tensor& value, const at::Generator& generator) {
    value.uniform_(low, high, generator);
  });
}

at::Tensor ParameterSet::Constant(const std::string& name, at::IntArrayRef shape, double value) {
  return Add(name, shape, [&](at::Tensor& values) { values.fill_(value); });
}

void ParameterSet::CopyStart(const std::string& from, const std::string& to) {
  const at::NoGradGuard no_grad;
  bool any = false;
  for (const Parameter& copy : list_) {
    if (!copy.name.starts_with(to)) continue;
    any = true;
    const std::string name = from + copy.name.substr(to.size());
    const auto start = std::ranges::find(list_, name, &Parameter::name);
    if (start == list_.end() || start->tensor.sizes() != copy.tensor.sizes())
      throw Error("the parameter '" + copy.name + "' cannot start as '" + name +
                  "': there is none of its shape");
    if (given_.count(copy.name) + given_.count(name) == 0) copy.tensor.detach().copy_(start->tensor);
  }
  if (!any) throw Error("no parameter's name begins with '" + to + "', to start as those of '" + from + "'");
}

void ParameterSet::Hidden(const std::string& begin) {
  bool any = false;
  for (Parameter& parameter : list_) {
    if (!parameter.name.starts_with(begin) || parameter.tensor.dim() < 2 || IsAdapter(parameter.name))
      continue;
    any = parameter.hidden = true;
  }
  if (!any) throw Error("no matrix's name begins with '" + begin + "', to be one of a hidden layer");
}

void ParameterSet::BeginBase(const std::string& root) {
  if (!adapters_.any()) return;
  if (!targets_) targets_ = std::make_shared<LoraTargets>(adapters_.lora);
  root_ = root;
  freezes_ = in_base_ = true;
}

void ParameterSet::EndBase(bool last) {
  if (!targets_) return;
  freezes_ = in_base_ = false;
  if (!last) return;
  targets_->Check();
  targets_.reset();
}

ParameterSet::Adapter ParameterSet::MakeAdapter(const std::string& map, std::int64_t in, std::int64_t out) {
  const std::int64_t rank = adapters_.lora.rank;
  if (!in_base_ || !targets_->Take(map.substr(root_.size()), in, out)) return {};
  freezes_ = false;
  const double bound = 1 / std::sqrt(static_cast<double>(in));  // as PEFT's
  Adapter adapter{.a = Uniform(map + kLoraA, {rank, in}, -bound, bound),
                  .b = Constant(map + kLoraB, {out, rank}, 0),
                  .scale = adapters_.scale()};
  freezes_ = true;
  return adapter;
}

void ParameterSet::To(at::Device device, at::ScalarType dtype) {
  at::NoGradGuard no_grad;
  device_ = device;
  for (Parameter& parameter : list_) {
    parameter.tensor.mutable_grad().reset();
    parameter.tensor.set_data(parameter.tensor.detach().to(device, dtype));
    parameter.tensor.set_grad_dtype(AtLeastFloat(dtype));
  }
}

Linear::Linear(ParameterSet& set, const std::string& name, std::int64_t in, std::int64_t out, bool bias,
               double gain)
    : weight_(set.Normal(name + ".weight", {out, in}, gain / std::sqrt(static_cast<double>(in)))) {
  if (bias) bias_ = set.Constant(name + ".bias", {out}, 0);
  adapter_ = set.MakeAdapter(name, in, out);
}

at::Tensor Linear::Plain(const at::Tensor& x) const { return LinearProduct(x, weight_, bias_); }

at::Tensor Linear::operator()(const at::Tensor& x, const at::Tensor& dropped) const {
  if (!adapter_.a.defined()) return Plain(x);
  const auto lines = [](const at::Tensor& of) { return of.reshape({-1, of.size(-1)}); };
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.back() = weight_.size(0);
  // Added in place, and of lines: a view would be copied on the way back.
  at::Tensor y = Plain(lines(x));
  AddMatrixProduct(y, LinearProduct(lines(dropped), adapter_.a), adapter_.b.t(), adapter_.scale);
  return y.view(shape);
}

std::vector<at::Tensor> Linear::Together(const at::Tensor& x, const std::vector<const Linear*>& maps) {
  std::vector<LinearWeights> weights;
  for (const Linear* map : maps) {
    if (!x.is_cuda() || map->adapter_.a.defined()) return {};
    weights.push_back({.weight = map->weight_, .bias = map->bias_});
  }
  return LinearProducts(x, weights);
}

LayerNorm::LayerNorm(ParameterSet& set, const std::string& name, std::int64_t dim, double epsilon)
    : weight_(set.Constant(name + ".weight", {dim}, 1)),
      bias_(set.Constant(name + ".bias", {dim}, 0)),
      epsilon_(epsilon) {}

at::Tensor LayerNorm::operator()(const at::Tensor& x) const {
  // On the CPU the kernel keeps statistics in the type of the weights, on a GPU in float.
  const at::ScalarType wide = AtLeastFloat(x.scalar_type());
  if (!x.is_cpu() || wide == x.scalar_type())
    return at::layer_norm(x, {weight_.size(0)}, weight_, bias_, epsilon_);
  return at::layer_norm(x, {weight_.size(0)}, weight_.to(wide), bias_.to(wide), epsilon_);
}

}  // namespace medley
