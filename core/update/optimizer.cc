#include <medley/update/optimizer.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <medley/base/error.h>
#include <medley/model/parameter_bytes.h>
#include <medley/update/parameter_groups.h>

namespace medley {
namespace {

const std::vector<Parameter>& TrainedParameters(const Model& model, const OptimizerConfig& config) {
  SetTrained(model, config);
  return model.parameters();
}

std::string WithEnding(const std::string& name, const std::string& ending) {
  return name.empty() ? "" : name + ending;
}

}  // namespace

Optimizer::Optimizer(const Model& model, const OptimizerConfig& config, const std::vector<Parameter>& start,
                     const ShardPlace& place, std::optional<Launches> launches)
    : config_(config),
      together_(launches.value_or(LaunchesFor(model)) == Launches::kTogether),
      weights_(TrainedParameters(model, config), start),
      shards_(config, model.parameters(), place) {
  for (std::size_t i = 0; i < model.parameters().size(); ++i) {
    const Parameter& parameter = model.parameters()[i];
    if (IsTrained(config, parameter)) AddSlot(i, parameter, weights_.list()[i].tensor);
  }
  if (slots_.empty())
    throw InputError("optimizer.groups: every parameter is frozen; nothing would be trained");
  MakeFollowers();
  MakeScratch();
}

Optimizer::Launches Optimizer::LaunchesFor(const Model& model) {
  const auto& parameters = model.parameters();
  const bool on_gpu = !parameters.empty() && parameters.front().tensor.is_cuda();
  return on_gpu ? Launches::kTogether : Launches::kOneByOne;
}

// The one of this name that is there already, or a new one.
UpdateRule& Optimizer::RuleFor(const Parameter& parameter) {
  std::unique_ptr<UpdateRule> rule = RuleOf(config_, parameter);
  for (const auto& known : rules_) {
    if (known->name() == rule->name()) return *known;
  }
  return *rules_.emplace_back(std::move(rule));
}

void Optimizer::AddSlot(std::size_t number, const Parameter& parameter, const at::Tensor& master) {
  UpdateRule& rule = RuleFor(parameter);
  const ParameterGroup* named = GroupOf(config_, parameter);
  const double scale = named != nullptr ? named->learning_rate_scale : 1,
               default_decay = parameter.tensor.dim() <= 1 ? 0 : config_.weight_decay,
               decay = named != nullptr && named->weight_decay >= 0 ? named->weight_decay : default_decay;
  auto group = std::find_if(groups_.begin(), groups_.end(), [&](const Group& known) {
    return known.rule == &rule && known.learning_rate_scale == scale && known.weight_decay == decay;
  });
  if (group == groups_.end()) group = groups_.insert(group, {&rule, scale, decay});
  group->slots.push_back(slots_.size());
  Slot slot{parameter.name, parameter.former_name, number, &rule, parameter.tensor, master};
  const at::Tensor own = shards_.OwnOf(number, master.detach());
  for (const StateTensor& tensor : rule.State()) slot.state.push_back(tensor.Zeros(own));
  slots_.push_back(std::move(slot));
}

void Optimizer::MakeFollowers() {
  std::vector<at::Tensor> weights, parameters;
  for (const Slot& slot : slots_) {
    weights.push_back(slot.master.detach());
    parameters.push_back(slot.parameter);
  }
  if (config_.trend)
    followers_.push_back(std::make_unique<WeightTrend>(*config_.trend, config_.learning_rate, weights));
  if (config_.average > 0) {
    auto average = std::make_unique<WeightAverage>(config_.average, weights);
    average_ = average.get();
    followers_.push_back(std::move(average));
  }
  if (!config_.keeps_line) return;
  if (average_ == nullptr) throw Error("directions need an average of the weights");
  auto directions = std::make_unique<Directions>(std::move(parameters), std::move(weights), *average_,
                                                 config_.keeps_last_step, weights_);
  directions_ = directions.get();
  scratch_bytes_ += directions_->scratch_bytes();
  followers_.push_back(std::move(directions));
}

void Optimizer::MakeScratch() {
  const at::TensorOptions options = slots_.front().master.options().requires_grad(false);
  norms_ = at::zeros({static_cast<std::int64_t>(slots_.size())}, options);
  norms_on_host_ = at::empty_like(norms_, at::TensorOptions().device(at::kCPU));
  clip_factor_ = at::zeros({}, options);
  for (std::size_t i = 0; i < slots_.size(); ++i)
    slots_[i].norm = norms_.select(0, static_cast<std::int64_t>(i));
  for (const auto& rule : rules_) {
    std::int64_t largest = 0;
    for (const Slot& slot : slots_)
      largest = std::max(largest, slot.rule == rule.get() ? slot.master.numel() : 0);
    rule->MakeScratch(largest, options);
    scratch_bytes_ += rule->ScratchBytes(largest, options);
  }
}

void Optimizer::Begin() {
  const at::NoGradGuard no_gradients;
  for (const auto& follower : followers_) follower->Begin();
}

double Optimizer::Step(double learning_rate) {
  if (is_divided() && exchange_ == nullptr) throw Error("a divided optimizer needs an exchange");
  const at::NoGradGuard no_gradients;
  const double norm = GradientNorm() / loss_scale_;
  norms_taken_ = false;
  if (!std::isfinite(norm)) FailNotFinite();
  LineUpGradients();
  Lists& lists = ListsOfNow();
  const double scale = Clip(norm, lists);
  const Touched touched{.weights = lists.touched, .learning_rate = learning_rate};
  for (const auto& follower : followers_) follower->Leave(touched);
  bool rounded = !config_.trend && !is_divided();  // which write after it
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    if (lists.groups[i].parameters.empty()) continue;
    rounded = rounded && group.rule->Rounds();
    group.rule->Update(lists.groups[i], {.learning_rate = learning_rate * group.learning_rate_scale,
                                         .weight_decay = group.weight_decay,
                                         .gradient_scale = group.rule->ScalesGradients() ? scale : 1});
  }
  if (is_divided()) Spread();
  for (const auto& follower : followers_) follower->Arrive(touched);
  if (!rounded) weights_.Round();
  for (UpdatedGroup& group : lists.groups) {
    for (Updated& updated : group.parameters) updated.gradients.reset();
  }
  for (Slot& slot : slots_) slot.parameter.mutable_grad().reset();
  return norm;
}

at::Tensor Optimizer::RoundedOf(const Slot& slot) const {
  const bool is_own = slot.parameter.scalar_type() == slot.master.scalar_type();
  return is_own || shards_.IsDivided(slot.number) ? at::Tensor() : slot.parameter.detach();
}

Optimizer::Lists Optimizer::MakeLists(const std::vector<bool>& has_gradient) const {
  Lists lists;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (has_gradient[i]) lists.touched.push_back(i);
  }
  for (const Group& group : groups_) {
    std::vector<Updated>& updated = lists.groups.emplace_back().parameters;
    for (const std::size_t i : group.slots) {
      const Slot& slot = slots_[i];
      if (!has_gradient[i]) continue;
      updated.push_back({.name = slot.name,
                         .weights = shards_.OwnOf(slot.number, slot.master),
                         .rounded = RoundedOf(slot),
                         .state = &slot.state,
                         .place = shards_.IsDivided(slot.number) ? shards_.Own(slot.number).begin : 0});
    }
  }
  return lists;
}

Optimizer::Lists& Optimizer::ListsOfNow() {
  constexpr std::size_t kMost = 64;  // sets of tasks in one step can be many
  std::vector<bool> has_gradient;
  for (const Slot& slot : slots_) has_gradient.push_back(slot.has_gradient());
  auto found = lists_.find(has_gradient);
  if (found == lists_.end()) {
    if (lists_.size() == kMost) lists_.clear();
    found = lists_.emplace(has_gradient, MakeLists(has_gradient)).first;
  }
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    auto updated = found->second.groups[group].parameters.begin();
    for (const std::size_t i : groups_[group].slots) {
      if (has_gradient[i])
        (updated++)->gradients = shards_.OwnOf(slots_[i].number, slots_[i].parameter.grad());
    }
  }
  return found->second;
}

void Optimizer::Reset() {
  const at::NoGradGuard no_gradients;
  for (const Slot& slot : slots_) {
    for (const at::Tensor& state : slot.state) state.zero_();
  }
  for (const auto& follower : followers_) follower->Reset();
}

LentWeights Optimizer::ReadAverages() const {
  LentWeights lent(weights_);
  for (std::size_t i = 0; average_ != nullptr && i < slots_.size(); ++i)
    lent.Lend(slots_[i].parameter, average_->buffers()[i]);
  return lent;
}

bool Optimizer::GradientIsFinite() {
  const at::NoGradGuard no_gradients;
  return std::isfinite(GradientNorm());
}

double Optimizer::GradientNorm() {
  if (!norms_taken_) {
    together_ ? TakeNorms(AskNorms()) : ReadNormsOneByOne();
    norms_taken_ = false;  // the next time they may be others
  }
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

at::Tensor Optimizer::AskNorms() {
  const at::NoGradGuard no_gradients;
  norms_taken_ = false;
  asked_.clear();
  if (!together_) return {};
  std::vector<at::Tensor> gradients;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const at::Tensor& gradient = slots_[i].parameter.grad();
    if (!gradient.defined()) continue;
    gradients.push_back(gradient);
    asked_.push_back(i);
  }
  return gradients.empty() ? at::Tensor() : at::stack(at::_foreach_norm(gradients, 2, at::kDouble));
}

void Optimizer::TakeNorms(const at::Tensor& read) {
  norms_on_host_.zero_();
  const at::Tensor on_host = asked_.empty() ? at::Tensor() : read.cpu();  // where nobody read it, the wait
  const auto put = [&]<typename Number>(Number* norms) {
    for (std::size_t i = 0; i < asked_.size(); ++i)
      norms[asked_[i]] = static_cast<Number>(on_host.const_data_ptr<double>()[i]);
  };
  norms_on_host_.scalar_type() == at::kDouble ? put(norms_on_host_.mutable_data_ptr<double>())
                                              : put(norms_on_host_.mutable_data_ptr<float>());
  norms_taken_ = together_;
}

double Optimizer::NormOf(std::size_t slot) const {
  return norms_on_host_.scalar_type() == at::kDouble ? norms_on_host_.const_data_ptr<double>()[slot]
                                                     : norms_on_host_.const_data_ptr<float>()[slot];
}

void Optimizer::FailNotFinite() const {
  std::string names;
  int more = 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (std::isfinite(NormOf(i))) continue;
    if (names.size() < 200) {
      names += (names.empty() ? "" : ", ") + slots_[i].name;
    } else {
      ++more;
    }
  }
  if (more > 0) names += " and " + std::to_string(more) + " more";
  throw NotFiniteError("the gradient of " + names + " is not finite; nothing was updated");
}

// Into the order of their weights, in which they nearly always are.
void Optimizer::LineUpGradients() {
  for (Slot& slot : slots_) {
    at::Tensor& gradient = slot.parameter.mutable_grad();
    if (gradient.defined() && slot.master.is_contiguous()) gradient = gradient.contiguous();
  }
}

// Clips, and takes the loss scale off, the gradients whose rules do not; what the others are to be multiplied
// with.
double Optimizer::Clip(double norm, const Lists& lists) {
  const bool clips = config_.clip_norm > 0 && norm > config_.clip_norm;
  const double factor = (clips ? config_.clip_norm / norm : 1) / loss_scale_;
  if (factor == 1) return 1;
  std::vector<at::Tensor> gradients;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i].rule->ScalesGradients()) continue;
    for (const at::Tensor& one : GradientsOf(lists.groups[i])) gradients.push_back(one);
  }
  // A tensor, not a number: mul_ would allocate one for it.
  if (!gradients.empty()) at::_foreach_mul_(gradients, clip_factor_.fill_(factor));
  return factor;
}

void Optimizer::Spread() {
  std::vector<GradientExchange::Owned> parts;
  for (const Slot& slot : slots_) {
    if (shards_.IsDivided(slot.number) && slot.parameter.grad().defined())
      shards_.AddParts(slot.number, slot.master, parts);
  }
  exchange_->Spread(parts);
}

std::vector<Parameter> Optimizer::State() const {
  std::vector<Parameter> state;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    const auto add = [&](const std::string& ending, const at::Tensor& tensor) {
      state.push_back({slot.name + ending, tensor, WithEnding(slot.former_name, ending)});
    };
    const std::vector<StateTensor> tensors = slot.rule->State();
    for (std::size_t j = 0; j < tensors.size(); ++j) {
      if (tensors[j].each == 0 || !shards_.IsDivided(slot.number)) add(tensors[j].ending, slot.state[j]);
    }
    for (const auto& follower : followers_) {
      for (std::size_t kind = 0; kind < follower->endings().size(); ++kind)
        add(follower->endings()[kind], follower->buffers(kind)[i]);
    }
  }
  return state;
}

std::vector<TensorPart> Optimizer::Parts() const {
  std::vector<TensorPart> parts;
  for (const Slot& slot : slots_) {
    if (!shards_.IsDivided(slot.number) || shards_.OwnNumbers(slot.number) == 0) continue;
    const std::vector<StateTensor> tensors = slot.rule->State();
    for (std::size_t j = 0; j < tensors.size(); ++j) {
      const auto& [ending, type, each, on_host] = tensors[j];
      if (each == 0) continue;
      parts.push_back({{slot.name + ending, slot.state[j], WithEnding(slot.former_name, ending)},
                       shards_.Own(slot.number).begin / each});
    }
  }
  return parts;
}

std::vector<std::string> Optimizer::ConvertState(SavedTensors& saved) const {
  std::map<std::pair<std::string, std::string>, std::pair<int, bool>>
      converted;  // how many, and whether anew
  for (const Slot& slot : slots_) {
    const Parameter parameter{.name = slot.name, .tensor = slot.parameter, .former_name = slot.former_name};
    if (shards_.OwnNumbers(slot.number) == 0) {
      KeepShared(config_, *slot.rule, parameter, saved);
      continue;
    }
    if (shards_.IsDivided(slot.number)) TakePartOf(config_, parameter, shards_.Own(slot.number), saved);
    const Converted state =
        medley::ConvertState(config_, *slot.rule, parameter, slot.state.front().sizes(), saved);
    if (state.from.empty()) continue;
    auto& [count, begins_anew] = converted[{state.from, slot.rule->name()}];
    ++count, begins_anew = state.begins_anew;
  }
  std::vector<std::string> words;
  for (const auto& [rules, state] : converted)
    words.push_back("optimizer: the state of " + std::to_string(state.first) + " tensors was of " +
                    rules.first +
                    (state.second ? ", which does not say what " + rules.second + " needs: theirs begins anew"
                                  : ", and is converted into that of " + rules.second));
  return words;
}

std::int64_t Optimizer::StateBytes() const {
  std::vector<Parameter> state = State();
  for (const TensorPart& part : Parts()) state.push_back(part.tensor);
  return weights_.bytes() + ParameterBytes(state) + scratch_bytes_;
}

}  // namespace medley
