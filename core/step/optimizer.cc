#include <medley/step/optimizer.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <medley/base/error.h>
#include <medley/model/float_type.h>
#include <medley/model/parameter_bytes.h>
#include <medley/step/compact_kernels.h>
#include <medley/step/moments_conversion.h>
#include <medley/step/not_finite.h>
#include <medley/step/parameter_groups.h>

namespace medley {
namespace {

// Gradients of a half type are summed in float: over micro-batches, draws and passes.
const std::vector<Parameter>& SetTrained(const Model& model, const OptimizerConfig& config) {
  CheckGroups(model, config);
  for (const Parameter& parameter : model.parameters()) {
    at::Tensor tensor = parameter.tensor;
    tensor.set_requires_grad(IsTrained(config, parameter));
    tensor.set_grad_dtype(AtLeastFloat(tensor.scalar_type()));
  }
  return model.parameters();
}

}  // namespace

Optimizer::Optimizer(const Model& model, const OptimizerConfig& config, const std::vector<Parameter>& start,
                     const ShardPlace& place)
    : Optimizer(model, config, LaunchesFor(model), start, place) {}

Optimizer::Optimizer(const Model& model, const OptimizerConfig& config, Launches launches,
                     const std::vector<Parameter>& start, const ShardPlace& place)
    : config_(config),
      together_(launches == Launches::kTogether),
      place_(place),
      weights_(SetTrained(model, config), start) {
  std::vector<std::vector<NumberRange>> ranges = Divide(model);
  for (std::size_t i = 0; i < model.parameters().size(); ++i) {
    const Parameter& parameter = model.parameters()[i];
    if (IsTrained(config, parameter)) AddSlot(parameter, weights_.list()[i].tensor, std::move(ranges[i]));
  }
  if (slots_.empty())
    throw InputError("optimizer.groups: every parameter is frozen; nothing would be trained");
  MakeScratch(model);
  for (std::size_t i = 0; i < slots_.size(); ++i)
    slots_[i].norm = norms_.select(0, static_cast<std::int64_t>(i));
  if (config_.keeps_line) MakeDirections();
}

void Optimizer::MakeScratch(const Model& model) {
  const at::TensorOptions options = slots_.front().master.options().requires_grad(false);
  norms_ = at::zeros({static_cast<std::int64_t>(slots_.size())}, options);
  norms_on_host_ = at::empty_like(norms_, at::TensorOptions().device(at::kCPU));
  clip_factor_ = at::zeros({}, options);
  one_ = at::ones({}, options.dtype(at::kFloat));
  if (config_.trend) trend_.emplace(*config_.trend, options);
  const bool is_compact =
      std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.compact.has_value(); });
  if (is_compact && CompactOperators::IsFor(options.device())) {
    operators_.emplace(config_.moments, options.device());
    scratch_bytes_ += CompactOperators::BytesFor(config_.moments);
  }
  const std::int64_t largest = LargestOfMuon(config_, model);
  if (largest == 0) return;
  muon_.emplace(largest, options);
  scratch_bytes_ += Muon::BytesFor(largest, norms_.scalar_type());
}

void Optimizer::MakeDirections() {
  if (config_.average <= 0) throw Error("directions need an average of the weights");
  std::vector<Directions::Weight> weights;
  for (const Slot& slot : slots_)
    weights.push_back({slot.parameter, slot.master, slot.average, slot.line, slot.last_step});
  directions_.emplace(std::move(weights), weights_);
  scratch_bytes_ += directions_->scratch_bytes();
}

Optimizer::Launches Optimizer::LaunchesFor(const Model& model) {
  const auto& parameters = model.parameters();
  const bool on_gpu = !parameters.empty() && parameters.front().tensor.is_cuda();
  return on_gpu ? Launches::kTogether : Launches::kOneByOne;
}

Optimizer::Group Optimizer::GroupFor(const Parameter& parameter) const {
  const ParameterGroup* group = GroupOf(config_, parameter);
  const double default_decay = parameter.tensor.dim() <= 1 ? 0.0 : config_.weight_decay;
  return {.rule = RuleOf(config_, parameter),
          .learning_rate_scale = group != nullptr ? group->learning_rate_scale : 1.0,
          .weight_decay = group != nullptr && group->weight_decay >= 0 ? group->weight_decay : default_decay};
}

// Of each of the model's parameters every process's numbers; none where they are not divided.
std::vector<std::vector<NumberRange>> Optimizer::Divide(const Model& model) {
  std::vector<std::vector<NumberRange>> ranges(model.parameters().size());
  for (std::int64_t rank = 0; rank < place_.ranks; ++rank) {
    const auto numbers = DividedNumbers(config_, model.parameters(), {rank, place_.ranks});
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i]) ranges[i].push_back(*numbers[i]);
      is_divided_ = is_divided_ || numbers[i].has_value();
    }
  }
  return ranges;
}

// Of a tensor in the shape of the parameter the part whose moments are here.
at::Tensor Optimizer::OwnOf(const Slot& slot, const at::Tensor& whole) {
  return slot.own ? whole.view({-1}).narrow(0, slot.own->begin, slot.own->size()) : whole;
}

// Whether this process updates any of it in this step.
bool Optimizer::HasWork(const Slot& slot) {
  return slot.parameter.grad().defined() && (!slot.own || slot.own->size() > 0);
}

void Optimizer::AddSlot(const Parameter& parameter, const at::Tensor& master,
                        std::vector<NumberRange> ranges) {
  const Group group = GroupFor(parameter);
  auto found = std::find(groups_.begin(), groups_.end(), group);
  if (found == groups_.end()) found = groups_.insert(found, group);
  const at::Tensor detached = master.detach();
  Slot slot{.name = parameter.name,
            .former_name = parameter.former_name,
            .parameter = parameter.tensor,
            .master = master,
            .group = static_cast<std::size_t>(found - groups_.begin()),
            .ranges = std::move(ranges)};
  if (!slot.ranges.empty()) slot.own = slot.ranges[static_cast<std::size_t>(place_.rank)];
  if (group.rule == UpdateRule::kMuon) {
    slot.momentum = at::zeros_like(detached);
  } else {
    AddMoments(parameter, detached, slot);
  }
  if (config_.average > 0) slot.average = detached.clone();
  if (config_.trend) slot.trend = at::zeros_like(detached);
  if (config_.keeps_line) slot.line = at::zeros_like(detached);
  if (config_.keeps_last_step) slot.last_step = at::zeros_like(detached);
  slots_.push_back(std::move(slot));
}

void Optimizer::AddMoments(const Parameter& parameter, const at::Tensor& master, Slot& slot) const {
  const MomentsKind kind = MomentsOf(config_, parameter);
  const at::TensorOptions counts = master.options().dtype(at::kFloat);
  const at::Tensor own = OwnOf(slot, master);
  if (kind == MomentsKind::kFloat) {
    slot.exp_avg = at::zeros_like(own);
    slot.exp_avg_sq = at::zeros_like(own);
    slot.updates = at::zeros({}, counts);
  } else {
    slot.compact.emplace(kind, own, parameter.name);
    slot.updates = at::zeros({}, counts.device(at::kCPU));  // its rates are computed here
  }
}

void Optimizer::Begin() {
  const at::NoGradGuard no_gradients;
  for (Slot& slot : slots_) {
    if (slot.average.defined()) slot.average.copy_(slot.master);
  }
}

double Optimizer::Step(double learning_rate) {
  if (is_divided_ && exchange_ == nullptr) throw Error("a divided optimizer needs an exchange");
  const at::NoGradGuard no_gradients;
  const double norm = GradientNorm();
  if (!std::isfinite(norm)) FailNotFinite();
  LineUpGradients();
  Clip(norm);
  if (directions_) directions_->Leave();
  const Touched touched = TouchedNow();
  const bool follows = !touched.masters.empty(), shifts = learning_rate >= config_.learning_rate;
  if (follows && trend_) trend_->Leave(touched.masters, touched.trends, shifts);
  for (std::size_t group = 0; group < groups_.size(); ++group) Update(group, learning_rate);
  if (is_divided_) Spread();
  if (follows && trend_) trend_->Arrive(touched.masters, touched.trends, shifts);
  if (follows && config_.average > 0)
    at::_foreach_lerp_(touched.averages, touched.masters, 1 - config_.average);
  if (directions_) directions_->Arrive();
  weights_.Round();
  for (Slot& slot : slots_) slot.parameter.mutable_grad().reset();
  return norm;
}

Optimizer::Touched Optimizer::TouchedNow() const {
  Touched touched;
  if (!trend_ && config_.average <= 0) return touched;  // nobody follows
  for (const Slot& slot : slots_) {
    if (!slot.parameter.grad().defined()) continue;
    touched.masters.push_back(slot.master);
    if (slot.average.defined()) touched.averages.push_back(slot.average);
    if (slot.trend.defined()) touched.trends.push_back(slot.trend);
  }
  return touched;
}

void Optimizer::Reset() {
  const at::NoGradGuard no_gradients;
  for (Slot& slot : slots_) {
    if (slot.compact) slot.compact->Reset();
    for (at::Tensor* state : {&slot.exp_avg, &slot.exp_avg_sq, &slot.updates, &slot.momentum, &slot.trend,
                              &slot.line, &slot.last_step}) {
      if (state->defined()) state->zero_();
    }
  }
}

LentWeights Optimizer::ReadAverages() const {
  LentWeights lent(weights_);
  for (const Slot& slot : slots_) {
    if (slot.average.defined()) lent.Lend(slot.parameter, slot.average);
  }
  return lent;
}

bool Optimizer::GradientIsFinite() {
  const at::NoGradGuard no_gradients;
  return std::isfinite(GradientNorm());
}

double Optimizer::GradientNorm() {
  together_ ? ReadNormsTogether() : ReadNormsOneByOne();
  double squares = 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) squares += NormOf(i) * NormOf(i);
  return std::sqrt(squares);
}

void Optimizer::ReadNormsOneByOne() {
  norms_.zero_();
  for (Slot& slot : slots_) {
    const at::Tensor& gradient = slot.parameter.grad();
    if (gradient.defined()) at::linalg_vector_norm_out(slot.norm, gradient, 2);
  }
  norms_on_host_.copy_(norms_);  // the one wait for the device
}

void Optimizer::ReadNormsTogether() {
  norms_on_host_.zero_();
  std::vector<at::Tensor> gradients, places;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].parameter.grad().defined()) continue;
    gradients.push_back(slots_[i].parameter.grad());
    places.push_back(norms_on_host_.select(0, static_cast<std::int64_t>(i)));
  }
  if (gradients.empty()) return;
  const at::Tensor norms = at::stack(at::_foreach_norm(gradients, 2)).to(at::kCPU);  // the one wait
  for (std::size_t i = 0; i < places.size(); ++i)
    places[i].copy_(norms.select(0, static_cast<std::int64_t>(i)));
}

double Optimizer::NormOf(std::size_t slot) const {
  return norms_on_host_.scalar_type() == at::kDouble ? norms_on_host_.const_data_ptr<double>()[slot]
                                                     : norms_on_host_.const_data_ptr<float>()[slot];
}

// As moments of fewer bits, and of a part, read them: in the order of the weights. They are nearly always.
void Optimizer::LineUpGradients() {
  for (Slot& slot : slots_) {
    at::Tensor& gradient = slot.parameter.mutable_grad();
    const bool is_read_so = slot.compact || slot.own;
    if (is_read_so && gradient.defined() && !gradient.is_contiguous()) gradient = gradient.contiguous();
  }
}

void Optimizer::Clip(double norm) {
  clip_scale_ = 1;
  if (config_.clip_norm <= 0 || norm <= config_.clip_norm) return;
  clip_scale_ = config_.clip_norm / norm;
  clip_factor_.fill_(config_.clip_norm / norm);
  // A tensor, not a number: mul_ would allocate one for it.
  std::vector<at::Tensor> gradients;
  for (Slot& slot : slots_) {
    if (!slot.compact && HasWork(slot)) gradients.push_back(OwnOf(slot, slot.parameter.grad()));
  }
  if (together_ && !gradients.empty()) return at::_foreach_mul_(gradients, clip_factor_);
  for (at::Tensor& gradient : gradients) gradient.mul_(clip_factor_);
}

void Optimizer::Update(std::size_t group, double learning_rate) {
  if (groups_[group].rule == UpdateRule::kMuon) return UpdateByMuon(group, learning_rate);
  UpdateByAdamW(group, learning_rate);
  UpdateCompact(group, learning_rate);
}

void Optimizer::UpdateCompact(std::size_t group, double learning_rate) {
  const CompactRates rates{.learning_rate = learning_rate * groups_[group].learning_rate_scale,
                           .beta1 = config_.beta1,
                           .beta2 = config_.beta2,
                           .epsilon = config_.epsilon,
                           .weight_decay = groups_[group].weight_decay,
                           .clip_scale = clip_scale_};
  std::vector<CompactUpdate> updates;
  for (Slot& slot : slots_) {
    if (slot.group != group || !slot.compact || !slot.parameter.grad().defined()) continue;
    const float count = *slot.updates.mutable_data_ptr<float>() += 1;
    if (!HasWork(slot)) continue;
    updates.push_back({OwnOf(slot, slot.master), OwnOf(slot, slot.parameter.grad()), *slot.compact,
                       slot.compact->RatesFor(rates, count), slot.own ? slot.own->begin : 0});
  }
  if (norms_.is_cpu()) return UpdateOnCpu(updates);
  for (const CompactUpdate& update : updates)
    operators_ ? operators_->Update(update) : UpdateByKernel(update);
}

void Optimizer::UpdateByMuon(std::size_t group, double learning_rate) {
  const Muon::Rates rates{.learning_rate = learning_rate * groups_[group].learning_rate_scale,
                          .weight_decay = groups_[group].weight_decay,
                          .momentum = config_.momentum};
  for (const Slot& slot : slots_) {
    if (slot.group == group && slot.parameter.grad().defined())
      muon_->Update(slot.master, slot.parameter.grad(), slot.momentum, rates);
  }
}

void Optimizer::UpdateByAdamW(std::size_t group, double learning_rate) {
  std::vector<at::Tensor> masters, gradients, exp_avgs, exp_avg_sqs, updates, counts;
  for (Slot& slot : slots_) {
    if (slot.group != group || slot.compact || !slot.parameter.grad().defined()) continue;
    counts.push_back(slot.updates);
    if (!HasWork(slot)) continue;
    masters.push_back(OwnOf(slot, slot.master));
    gradients.push_back(OwnOf(slot, slot.parameter.grad()));
    exp_avgs.push_back(slot.exp_avg);
    exp_avg_sqs.push_back(slot.exp_avg_sq);
    updates.push_back(slot.updates);
  }
  if (counts.empty()) return;
  // The kernel reads them, it does not count. All processes count alike.
  if (together_) {
    at::_foreach_add_(counts, one_);
  } else {
    for (at::Tensor& count : counts) count.add_(one_);
  }
  if (masters.empty()) return;
  at::_fused_adamw_(masters, gradients, exp_avgs, exp_avg_sqs, /*max_exp_avg_sqs=*/{}, updates,
                    learning_rate * groups_[group].learning_rate_scale, config_.beta1, config_.beta2,
                    groups_[group].weight_decay, config_.epsilon, /*amsgrad=*/false, /*maximize=*/false);
}

void Optimizer::Spread() {
  std::vector<GradientExchange::Owned> parts;
  for (const Slot& slot : slots_) {
    if (!slot.own || !slot.parameter.grad().defined()) continue;
    const at::Tensor flat = slot.master.view({-1});
    for (std::size_t rank = 0; rank < slot.ranges.size(); ++rank) {
      const NumberRange& range = slot.ranges[rank];
      if (range.size() > 0)
        parts.push_back({flat.narrow(0, range.begin, range.size()), static_cast<std::int64_t>(rank)});
    }
  }
  exchange_->Spread(parts);
}

void Optimizer::FailNotFinite() const {
  std::string names;
  int more = 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (std::isfinite(NormOf(i))) continue;
    const Slot& slot = slots_[i];
    if (names.size() < 200) {
      names += (names.empty() ? "" : ", ") + slot.name;
    } else {
      ++more;
    }
  }
  if (more > 0) names += " and " + std::to_string(more) + " more";
  throw NotFiniteError("the gradient of " + names + " is not finite; nothing was updated");
}

std::vector<Parameter> Optimizer::State() const {
  std::vector<Parameter> state;
  for (const Slot& slot : slots_) {
    const auto add = [&](const std::string& part, const at::Tensor& tensor) {
      if (!tensor.defined()) return;
      state.push_back({slot.name + part, tensor, slot.former_name.empty() ? "" : slot.former_name + part});
    };
    if (slot.compact && !slot.own) {
      add(kMeans, slot.compact->means), add(kMeanScales, slot.compact->mean_scales);
      add(kSquares, slot.compact->squares), add(kSquareScales, slot.compact->square_scales);
    }
    if (!slot.own) add(kMeans, slot.exp_avg), add(kSquares, slot.exp_avg_sq);
    add(".step", slot.updates);
    add(".momentum", slot.momentum), add(kAverageOf, slot.average), add(".trend", slot.trend);
    add(".line", slot.line), add(".last_step", slot.last_step);
  }
  return state;
}

std::vector<TensorPart> Optimizer::Parts() const {
  std::vector<TensorPart> parts;
  for (const Slot& slot : slots_) {
    if (!slot.own || slot.own->size() == 0) continue;
    const auto add = [&](const std::string& part, const at::Tensor& tensor, std::int64_t begin) {
      if (!tensor.defined()) return;
      parts.push_back(
          {{slot.name + part, tensor, slot.former_name.empty() ? "" : slot.former_name + part}, begin});
    };
    const std::int64_t begin = slot.own->begin, block = begin / kernels::kBlock;
    if (slot.compact) {
      add(kMeans, slot.compact->means, begin), add(kMeanScales, slot.compact->mean_scales, block);
      add(kSquares, slot.compact->squares, begin), add(kSquareScales, slot.compact->square_scales, block);
    }
    add(kMeans, slot.exp_avg, begin), add(kSquares, slot.exp_avg_sq, begin);
  }
  return parts;
}

std::vector<std::string> Optimizer::ConvertState(std::map<std::string, at::Tensor>& saved) const {
  std::vector<KeptMoments> kept;
  for (const Slot& slot : slots_) {
    if (slot.momentum.defined()) continue;
    if (slot.own) TakePart({slot.name, slot.parameter, slot.former_name}, *slot.own, saved);
    if (slot.own && slot.own->size() == 0) continue;
    kept.push_back({slot.name, slot.former_name, slot.compact ? slot.compact->kind : MomentsKind::kFloat,
                    (slot.compact ? slot.compact->means : slot.exp_avg).sizes()});
  }
  return ConvertMoments(kept, saved);
}

std::int64_t Optimizer::StateBytes() const {
  std::vector<Parameter> state = State();
  for (const TensorPart& part : Parts()) state.push_back(part.tensor);
  return weights_.bytes() + ParameterBytes(state) + scratch_bytes_;
}

}  // namespace medley
