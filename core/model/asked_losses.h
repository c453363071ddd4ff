#pragma once

#include <string_view>

#include <medley/model/model.h>

namespace medley {

// "losses", which a task may ask of every model that has them or has "logits" [items, classes] and "targets"
// [items]: cross-entropies [items]. A model that declares them may keep what they are made of out of memory.
inline constexpr std::string_view kLosses = "losses", kLogits = "logits", kTargets = "targets";

// What a model is asked for where a task asks for this.
class AskedLosses {
 public:
  // `of_logits`: also of a model that has losses, where it has logits too: for who wants to look at these.
  AskedLosses(const ModelSpec& spec, const WantedOutputs& wanted, bool of_logits = false);

  // To be asked of the model.
  const WantedOutputs& wanted() const { return wanted_; }
  // Adds the losses, where the model was not asked for them, with the graph of its logits. An input
  // "smoothing" [items] spreads so much of each target evenly over all classes.
  void AddTo(ModelOutputs& outputs, const ModelInputs& inputs) const;

 private:
  WantedOutputs wanted_;
  bool makes_ = false;
};

// Whether losses are made of all logits at once, as the model has none of its own.
bool MakesLossesOfLogits(const ModelSpec& spec);

}  // namespace medley
