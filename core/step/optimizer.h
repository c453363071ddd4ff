#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include <medley/config/run_config.h>
#include <medley/model/model.h>

namespace medley {

// What training updates: the trained weights in float at least. A model that computes in a half type gets
// them rounded, for a small update would be lost in such a weight. Where a parameter is in float or double it
// is its own master, and nothing is kept twice; so is one that is not trained.
class MasterWeights {
 public:
  // Makes masters of parameters whose requires_grad says whether they are trained. `start`: by name, what
  // masters begin with instead of the rounded values; taken over where it lies on the parameter's device.
  MasterWeights(const std::vector<Parameter>& parameters, const std::vector<Parameter>& start);

  // The master of each parameter, under its name: what a checkpoint keeps. After writing to them call Round.
  const std::vector<Parameter>& list() const { return masters_; }
  // Bytes beside the parameters.
  std::int64_t bytes() const;

  // The masters' values into their parameters. Allocates nothing.
  void Round() const;

 private:
  std::vector<Parameter> masters_;
  std::vector<at::Tensor> rounded_, wide_;  // parameters, and the masters that they have
};

// AdamW (Loshchilov and Hutter 2019) over a model's parameters, in groups by name. All its memory is
// allocated when it is made: a step allocates no tensor on the CPU, so that running out of memory can never
// leave a half-updated model.
//
// A parameter without a gradient in a step is left alone (no decay, its moments and its count of updates
// stay): the tasks of that step did not use it. Without a group's word, tensors of at most one dimension
// (norms, biases) do not decay. Frozen parameters get no gradient and have no state. Shares the parameters
// with the model; to be used on the trainer's thread.
class AdamW {
 public:
  // Sets requires_grad and the type of the gradient of every parameter. InputError for a group that matches
  // no parameter. Make it after the model is on its device and in its dtype; `start`: see MasterWeights.
  AdamW(const Model& model, const OptimizerConfig& config, const std::vector<Parameter>& start = {});

  // How launches are made. A GPU waits for them, so there one kernel goes over all parameters: other sums,
  // with other rounding. Its norms take a few bytes for each parameter, before anything is updated.
  enum class Launches { kOneByOne, kTogether };
  AdamW(const Model& model, const OptimizerConfig& config, Launches launches,
        const std::vector<Parameter>& start = {});
  static Launches LaunchesFor(const Model& model);

  // Clips the gradients to the norm, updates in place and drops the gradients. The learning rate is that of a
  // parameter without a scale of its own. Returns the norm of the whole gradient before clipping; one that is
  // not finite is a NotFiniteError that names the parameters. It comes, as memory that runs out does, before
  // anything is updated: parameters and state are then as they were.
  double Step(double learning_rate);

  // Sets moments and counts of updates to what they were before the first step. The weights stay.
  void Reset();

  const MasterWeights& weights() const { return weights_; }
  // The state of each trained parameter: "<parameter>.exp_avg", "<parameter>.exp_avg_sq" (shapes of the
  // parameter) and "<parameter>.step" (updates so far, float32 scalar); the tensors themselves, so writing to
  // them loads it.
  std::vector<Parameter> State() const;
  // Bytes of it and of the masters.
  std::int64_t StateBytes() const;

 private:
  struct Slot {
    std::string name, former_name;
    at::Tensor parameter, master, exp_avg, exp_avg_sq, updates;
    at::Tensor norm;  // a place in norms_
    std::size_t group = 0;
  };
  struct Group {
    double learning_rate_scale = 1;
    double weight_decay = 0;
  };
  void AddSlot(const Parameter& parameter, const at::Tensor& master, double learning_rate_scale,
               double weight_decay);
  double GradientNorm();
  void ReadNormsOneByOne();
  void ReadNormsTogether();
  double NormOf(std::size_t slot) const;  // of this step's gradient, 0 without one
  void Clip(double norm);
  void Update(const Group& group, std::size_t number, double learning_rate);
  [[noreturn]] void FailNotFinite() const;

  OptimizerConfig config_;
  bool together_ = false;
  MasterWeights weights_;
  std::vector<Slot> slots_;
  std::vector<Group> groups_;
  at::Tensor norms_;  // [slots], on the device
  at::Tensor norms_on_host_;
  at::Tensor clip_factor_, one_;  // scalars on the device: a number would be allocated at each use
};

}  // namespace medley
