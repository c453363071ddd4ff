#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <medley/cluster/gradient_exchange.h>
#include <medley/cluster/shard.h>
#include <medley/model/model.h>
#include <medley/update/directions.h>
#include <medley/update/follower.h>
#include <medley/update/master_weights.h>
#include <medley/update/rule.h>
#include <medley/update/shards.h>

namespace medley {

// Updates a model's parameters, in groups by name, each by its rule (RuleOf). All its memory is allocated
// when it is made: a step allocates no tensor on the CPU, so that running out of memory can never leave a
// half-updated model.
//
// A parameter without a gradient in a step is left alone (no decay; its rule's state, its average and its
// trend stay): the tasks of that step did not use it. Without a group's word, tensors of at most one
// dimension (norms, biases) do not decay. Frozen parameters get no gradient and have no state.
//
// Where the config divides the rules' state among the processes of a run, each of them has that of its part
// of the numbers, updates these, and gives them to the others: bit for bit what each would have updated for
// itself. All else is whole on each.
//
// Shares the parameters with the model; to be used on the trainer's thread.
class Optimizer {
 public:
  // How gradients' norms are read. A GPU waits for launches, so there one kernel goes over all: other sums,
  // with other rounding. It takes a few bytes for each parameter, before anything is updated.
  enum class Launches { kOneByOne, kTogether };
  static Launches LaunchesFor(const Model& model);
  // Sets requires_grad and the type of the gradient of every parameter. InputError for groups and rules that
  // do not fit the model, see CheckGroups. Make it after the model is on its device and in its dtype;
  // `start`: see MasterWeights. `place`: of this process among those of the run.
  Optimizer(const Model& model, const OptimizerConfig& config, const std::vector<Parameter>& start = {},
            const ShardPlace& place = {}, std::optional<Launches> launches = {});

  // Whether it has a part of the state. Then Step is called by all processes, with the same gradients, and
  // what it updated goes through this exchange, which outlives it.
  bool is_divided() const { return shards_.any(); }
  void SpreadBy(GradientExchange& exchange) { exchange_ = &exchange; }

  // Training begins with the weights as they are now, and so does their average.
  void Begin();
  // Where a device is waited for, the norms of the gradients as they are now, [numbers] in double there, for
  // who reads other numbers of it, so that it is waited for once; undefined elsewhere. Handed over as read,
  // the next Step takes them: they must still be those of the gradients.
  at::Tensor AskNorms();
  void TakeNorms(const at::Tensor& read);
  // Clips the gradients to the norm, updates in place and drops the gradients. The learning rate is that of a
  // parameter without a scale of its own; below the config's the trend is off. Returns the norm of the whole
  // gradient before clipping; one that is not finite is a NotFiniteError that names the parameters. It comes,
  // as memory that runs out does, before anything is updated: parameters and state are then as they were.
  // After a PeerError the model is half updated.
  double Step(double learning_rate);
  // What gradients are a multiple of, from now on: a power of two, by which Step divides them.
  void TakeLossScale(double scale) { loss_scale_ = scale; }
  // Sets the rules' state and trends to what they were before the first step. The weights stay, and so does
  // their average.
  void Reset();
  // Whether an update would not fail for the gradients as they are now.
  bool GradientIsFinite();

  const MasterWeights& weights() const { return weights_; }
  // As long as that lives, the model has the averages of its weights; without an average nothing changes.
  LentWeights ReadAverages() const;
  // Where the weights may be going; null where the config asks for no such buffers.
  Directions* directions() { return directions_; }
  // What rules and followers keep of each trained parameter, as "<parameter>.exp_avg". The tensors
  // themselves, so writing to them loads it. Of state that is divided it has what all processes have: Parts
  // are those that this process has.
  std::vector<Parameter> State() const;
  std::vector<TensorPart> Parts() const;
  // Of such a state, by name, as a checkpoint has it: brings what another rule kept into the form in which it
  // is kept here, and leaves of what is divided this process's part. Says in words what was converted. An
  // InputError names a tensor that does not belong to its others.
  std::vector<std::string> ConvertState(SavedTensors& saved) const;
  // Bytes of all that this process has of it, of the masters and of what rules and directions compute in.
  std::int64_t StateBytes() const;

 private:
  struct Slot {
    std::string name, former_name;
    std::size_t number = 0;  // among the model's parameters
    UpdateRule* rule = nullptr;
    at::Tensor parameter, master;
    std::vector<at::Tensor> state{};  // of its rule, as that lists it: of what is divided this process's part
    at::Tensor norm{};                // a place in norms_
    bool has_gradient() const { return parameter.grad().defined(); }
  };
  struct Group {
    UpdateRule* rule = nullptr;
    double learning_rate_scale = 1, weight_decay = 0;
    std::vector<std::size_t> slots{};
  };
  void AddSlot(std::size_t number, const Parameter& parameter, const at::Tensor& master);
  UpdateRule& RuleFor(const Parameter& parameter);
  void MakeFollowers();
  void MakeScratch();
  double GradientNorm();
  void ReadNormsOneByOne();
  double NormOf(std::size_t slot) const;  // of this step's gradient, 0 without one
  [[noreturn]] void FailNotFinite() const;
  void LineUpGradients();
  struct Lists {
    std::vector<UpdatedGroup> groups{};  // as groups_
    std::vector<std::size_t> touched{};  // slots
  };
  at::Tensor RoundedOf(const Slot& slot) const;  // undefined where the model has the master itself
  Lists MakeLists(const std::vector<bool>& has_gradient) const;
  Lists& ListsOfNow();  // with the gradients of now
  double Clip(double norm, const Lists& lists);
  void Spread();

  OptimizerConfig config_;
  bool together_ = false;
  GradientExchange* exchange_ = nullptr;
  MasterWeights weights_;
  Shards shards_;
  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<UpdateRule>> rules_;
  std::vector<Group> groups_;
  std::map<std::vector<bool>, Lists> lists_;  // by which slots have a gradient: tasks differ in it
  std::vector<std::unique_ptr<Follower>> followers_;
  double loss_scale_ = 1;
  const WeightAverage* average_ = nullptr;  // among the followers, as
  Directions* directions_ = nullptr;
  std::int64_t scratch_bytes_ = 0;
  at::Tensor norms_;  // [slots], on the device
  at::Tensor norms_on_host_;
  std::vector<std::size_t> asked_;  // whose gradients AskNorms found
  bool norms_taken_ = false;        // for the gradients as they are now
  at::Tensor clip_factor_;          // a scalar on the device: a number would be allocated at each use
};

}  // namespace medley
