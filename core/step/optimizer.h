#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <medley/cluster/gradient_exchange.h>
#include <medley/cluster/shard.h>
#include <medley/config/run_config.h>
#include <medley/model/model.h>
#include <medley/step/compact_moments.h>
#include <medley/step/compact_operators.h>
#include <medley/step/directions.h>
#include <medley/step/lent_weights.h>
#include <medley/step/master_weights.h>
#include <medley/step/moment_shards.h>
#include <medley/step/muon.h>
#include <medley/step/weight_trend.h>

namespace medley {

// Updates a model's parameters, in groups by name, each by its rule (RuleOf): AdamW (Loshchilov and Hutter
// 2019), whose moments may be in fewer bits than float's (MomentsOf), or Muon. All its memory is allocated
// when it is made: a step allocates no tensor on the CPU, so that running out of memory can never leave a
// half-updated model.
//
// A parameter without a gradient in a step is left alone (no decay; its moments, its count of updates, its
// average and its trend stay): the tasks of that step did not use it. Without a group's word, tensors of at
// most one dimension (norms, biases) do not decay. Frozen parameters get no gradient and have no state.
//
// Where the config divides AdamW's moments among the processes of a run, each of them has those of its part
// of the numbers, updates these, and gives them to the others: bit for bit what each would have updated for
// itself. All else is whole on each.
//
// Shares the parameters with the model; to be used on the trainer's thread.
class Optimizer {
 public:
  // Sets requires_grad and the type of the gradient of every parameter. InputError for groups and rules that
  // do not fit the model, see CheckGroups. Make it after the model is on its device and in its dtype;
  // `start`: see MasterWeights. `place`: of this process among those of the run.
  Optimizer(const Model& model, const OptimizerConfig& config, const std::vector<Parameter>& start = {},
            const ShardPlace& place = {});

  // How launches are made. A GPU waits for them, so there one kernel goes over all parameters: other sums,
  // with other rounding. Its norms take a few bytes for each parameter, before anything is updated.
  enum class Launches { kOneByOne, kTogether };
  Optimizer(const Model& model, const OptimizerConfig& config, Launches launches,
            const std::vector<Parameter>& start = {}, const ShardPlace& place = {});
  static Launches LaunchesFor(const Model& model);

  // Whether it has a part of the moments. Then Step is called by all processes, with the same gradients, and
  // what it updated goes through this exchange, which outlives it.
  bool is_divided() const { return is_divided_; }
  void SpreadBy(GradientExchange& exchange) { exchange_ = &exchange; }

  // Training begins with the weights as they are now, and so does their average.
  void Begin();
  // Clips the gradients to the norm, updates in place and drops the gradients. The learning rate is that of a
  // parameter without a scale of its own; below the config's the trend is off. Returns the norm of the whole
  // gradient before clipping; one that is not finite is a NotFiniteError that names the parameters. It comes,
  // as memory that runs out does, before anything is updated: parameters and state are then as they were.
  // After a PeerError the model is half updated.
  double Step(double learning_rate);
  // Sets moments, counts of updates and trends to what they were before the first step. The weights stay, and
  // so does their average.
  void Reset();
  // Whether an update would not fail for the gradients as they are now.
  bool GradientIsFinite();

  const MasterWeights& weights() const { return weights_; }
  // As long as that lives, the model has the averages of its weights; without an average nothing changes.
  LentWeights ReadAverages() const;
  // Where the weights may be going; null where the config asks for no such buffers.
  Directions* directions() { return directions_ ? &*directions_ : nullptr; }
  // The state of each trained parameter. Of AdamW "<parameter>.exp_avg", "<parameter>.exp_avg_sq" and
  // "<parameter>.step" (updates so far, float32 scalar), of Muon "<parameter>.momentum", and where they are
  // kept "<parameter>.average", "<parameter>.trend", "<parameter>.line" and "<parameter>.last_step"; in the
  // shape of the parameter, all others than ".step". Of moments in eight bits the first two are codes, and
  // "<parameter>.exp_avg_scale" and "<parameter>.exp_avg_sq_scale" their blocks' scales. The tensors
  // themselves, so writing to them loads it. Of moments that are divided it has none: Parts are those that
  // this process has.
  std::vector<Parameter> State() const;
  std::vector<TensorPart> Parts() const;
  // Of such a state, by name, as a checkpoint has it: brings moments that are kept otherwise there into the
  // form in which they are kept here, and leaves of those that are divided this process's part. Says in words
  // what was converted. An InputError names a tensor whose codes and scales do not belong together.
  std::vector<std::string> ConvertState(std::map<std::string, at::Tensor>& saved) const;
  // Bytes of all that this process has of it, of the masters and of what Muon, directions and moments of
  // fewer bits compute in.
  std::int64_t StateBytes() const;

 private:
  struct Slot {
    std::string name, former_name;
    at::Tensor parameter, master;
    at::Tensor exp_avg{}, exp_avg_sq{}, updates{};  // of AdamW
    std::optional<CompactMoments> compact{};        // in place of the first two, and `updates` on the CPU
    at::Tensor momentum{};                          // of Muon
    at::Tensor average{}, trend{};                  // undefined where none is kept, as
    at::Tensor line{}, last_step{};                 // of directions
    at::Tensor norm{};                              // a place in norms_
    std::size_t group = 0;
    // Whose numbers are whose, by rank, and this process's; none: of a tensor that is not divided.
    std::vector<NumberRange> ranges{};
    std::optional<NumberRange> own{};
  };
  struct Group {
    UpdateRule rule = UpdateRule::kAdamW;
    double learning_rate_scale = 1;
    double weight_decay = 0;

    bool operator==(const Group&) const = default;
  };
  // Of the slots with a gradient.
  struct Touched {
    std::vector<at::Tensor> masters, averages, trends;
  };
  Group GroupFor(const Parameter& parameter) const;
  void AddSlot(const Parameter& parameter, const at::Tensor& master, std::vector<NumberRange> ranges);
  std::vector<std::vector<NumberRange>> Divide(const Model& model);
  static at::Tensor OwnOf(const Slot& slot, const at::Tensor& whole);
  static bool HasWork(const Slot& slot);
  void Spread();
  void MakeScratch(const Model& model);
  void MakeDirections();
  double GradientNorm();
  void ReadNormsOneByOne();
  void ReadNormsTogether();
  double NormOf(std::size_t slot) const;  // of this step's gradient, 0 without one
  void Clip(double norm);
  void LineUpGradients();
  void AddMoments(const Parameter& parameter, const at::Tensor& master, Slot& slot) const;
  Touched TouchedNow() const;
  void Update(std::size_t group, double learning_rate);
  void UpdateByAdamW(std::size_t group, double learning_rate);
  void UpdateCompact(std::size_t group, double learning_rate);
  void UpdateByMuon(std::size_t group, double learning_rate);
  [[noreturn]] void FailNotFinite() const;

  OptimizerConfig config_;
  bool together_ = false;
  ShardPlace place_;
  bool is_divided_ = false;
  GradientExchange* exchange_ = nullptr;
  MasterWeights weights_;
  std::vector<Slot> slots_;
  std::vector<Group> groups_;
  std::optional<Muon> muon_;
  std::optional<CompactOperators> operators_;
  double clip_scale_ = 1;  // of this step's gradients that are scaled where they are read
  std::optional<WeightTrend> trend_;
  std::optional<Directions> directions_;
  std::int64_t scratch_bytes_ = 0;
  at::Tensor norms_;  // [slots], on the device
  at::Tensor norms_on_host_;
  at::Tensor clip_factor_, one_;  // scalars on the device: a number would be allocated at each use
};

}  // namespace medley
