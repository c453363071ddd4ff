#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <medley/cluster/shard.h>
#include <medley/config/optimizer_config.h>
#include <medley/model/model.h>

namespace medley {

// A tensor that a rule keeps of each of its parameters, of zeros before the first update.
struct StateTensor {
  std::string ending;                    // of its name in a checkpoint, behind the parameter's: ".exp_avg"
  std::optional<at::ScalarType> type{};  // none: the master's
  std::int64_t each = 1;                 // numbers of the parameter that share one of its own; 0: all do
  bool on_host = false;

  std::int64_t Numbers(std::int64_t numbers) const;  // for so many of the parameter's
  at::Tensor Zeros(const at::Tensor& master) const;  // for these
};

// A parameter in one update: the numbers that this process updates, of a divided parameter as a line.
struct Updated {
  std::string_view name;
  at::Tensor weights{}, gradients{};
  at::Tensor rounded{};  // whole, where the model computes with the weights in a half type
  const std::vector<at::Tensor>* state = nullptr;  // in the order of State()
  std::int64_t place = 0;                          // of the first number in the whole parameter
};

// Those of a group, in every update that touches just these, with what their rule keeps for it: on a GPU the
// host's time for a step is the step's.
struct UpdatedGroup {
  std::vector<Updated> parameters{};
  std::vector<std::vector<at::Tensor>> lists{};  // the rule's, for operators that go over many tensors
};
// The gradients of those that this process has numbers of.
std::vector<at::Tensor> GradientsOf(const UpdatedGroup& group);

// Of all parameters of a group in one update.
struct Rates {
  double learning_rate = 0, weight_decay = 0;
  double gradient_scale = 1;  // what gradients are still to be multiplied with, where the rule does that
};

// What the state of any rule says of the gradients so far, and another rule may begin with.
struct GradientMeans {
  at::Tensor mean{};                // decaying, of the gradients
  at::Tensor squares{}, updates{};  // likewise of their squares, and how many; undefined: it does not say
};

// What a file of a checkpoint has, by name.
using SavedTensors = std::map<std::string, at::Tensor>;

// How parameters are updated. Made for a parameter, it takes no memory until MakeScratch, so that plan and
// estimate ask it for bytes as the optimizer does. Parameters whose rules have one name share the first one.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;

  virtual std::string name() const = 0;  // "adamw in 8bit"
  virtual std::vector<StateTensor> State() const = 0;
  // Bytes of that for so many numbers, whose masters have this type.
  std::int64_t StateBytes(std::int64_t numbers, at::ScalarType master) const;

  // Whether parameters have it whose group names no rule, where the optimizer's name is this rule's.
  virtual bool TakesUnasked(const Parameter& /*parameter*/) const { return true; }
  // Why it does not update this parameter; "": it does.
  virtual std::string Refuses(const Parameter& /*parameter*/) const { return ""; }
  // Why a part of a parameter cannot be updated without the rest; "": it can.
  virtual std::string WhyWhole() const { return ""; }
  // What is to be said of it before a run begins; "": nothing.
  virtual std::string Words(at::Device /*device*/) const { return ""; }

  // Of what it computes in, made once, for parameters of up to so many numbers; `masters`: their options.
  virtual std::int64_t ScratchBytes(std::int64_t /*largest*/, const at::TensorOptions& /*masters*/) const {
    return 0;
  }
  virtual void MakeScratch(std::int64_t /*largest*/, const at::TensorOptions& /*masters*/) {}

  // Whether it scales gradients where it reads them; else they come scaled.
  virtual bool ScalesGradients() const { return false; }
  // Whether it rounds the weights that it updates, too.
  virtual bool Rounds() const { return false; }
  // Allocates no tensor on the CPU. A parameter of which this process has no numbers is counted alone.
  virtual void Update(UpdatedGroup& group, const Rates& rates) = 0;

  // Of a parameter's saved state, by names that begin so. An InputError names a tensor that is damaged.
  virtual GradientMeans Read(const std::string& parameter, const SavedTensors& saved) const = 0;
  // The state that goes on from these. False, and writes none, where they lack what it needs.
  virtual bool Write(const std::string& parameter, const GradientMeans& means, SavedTensors& saved) const = 0;
};

using RuleMaker = std::unique_ptr<UpdateRule>(const OptimizerConfig& config, const Parameter& parameter);
RuleMaker MakeAdamW, MakeMuon, MakeSgd;
// By RuleName.
inline constexpr std::array<RuleMaker*, 3> kRules = {MakeAdamW, MakeMuon, MakeSgd};
static_assert(kRules.size() == EnumNames<RuleName>::kNames.size());
std::unique_ptr<UpdateRule> MakeRule(RuleName name, const OptimizerConfig& config,
                                     const Parameter& parameter);

// Leaves of a parameter's saved state, of whichever rule, what belongs to these of its numbers, each tensor
// as a line. One that has another number of numbers is left as it is, for who loads it to name.
void TakePartOf(const OptimizerConfig& config, const Parameter& parameter, const NumberRange& part,
                SavedTensors& saved);
// Of a parameter of which this process keeps no numbers: leaves what `rule` keeps on all processes alike,
// from 0 where another rule kept none.
void KeepShared(const OptimizerConfig& config, const UpdateRule& rule, const Parameter& parameter,
                SavedTensors& saved);
// Brings a parameter's saved state into the one that `rule` keeps, from whichever rule saved it; `shape`:
// that the rule's first tensor has here. Says which rule that was; "": it is as it should be, or of none that
// is known.
struct Converted {
  std::string from;
  bool begins_anew = false;  // as that rule did not say what this one needs
};
Converted ConvertState(const OptimizerConfig& config, const UpdateRule& rule, const Parameter& parameter,
                       at::IntArrayRef shape, SavedTensors& saved);

}  // namespace medley
