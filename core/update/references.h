#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <medley/config/references_config.h>
#include <medley/model/model.h>
#include <medley/update/master_weights.h>
#include <medley/update/rule.h>

namespace medley {

// Makes a run's model once more, on the CPU, with parameters that have neither values nor memory.
using FurtherModel = std::function<std::unique_ptr<Model>()>;

// What the name of a weight in the average that is the reference `name` begins its ending with.
inline constexpr const char* kReferenceOf = ".reference.";

// Further weights of a run, which passes ask in the place of the model's own: "start", as training found
// them; averages that follow them; another run's. None has a gradient. Each is a second model, of which what
// training leaves alone is the model's own tensors; only the rest takes memory, and the model's tables.
//
// On the trainer's thread. Order: Take for each of another run, Begin or Restore, then Updated after each
// step.
class References {
 public:
  // Keeps the first two, of which the masters are what averages follow, null where nothing is trained from
  // here on; the model is on its device and in its type. `trained`: names of parameters; `asked`: the
  // references that passes ask, of which the config has all but "start". Where something is trained they have
  // the model's present values until Begin.
  // `fixed`: whether "start" is made now, or comes with Restore.
  enum class Fixed { kNow, kLater };
  References(const Model& model, const MasterWeights* masters, std::set<std::string> trained,
             const ReferencesConfig& config, const std::set<std::string>& asked, const FurtherModel& make,
             Fixed fixed = Fixed::kNow);

  // An Error lists those that are there.
  const Model& Of(std::string_view name) const;
  bool Has(std::string_view name) const { return references_.count(std::string(name)) > 0; }
  std::vector<std::string> names() const;

  // Another run's: `weights` on the CPU, by name, one for each parameter of a model without adapters. Those
  // that are the model's own to the byte are shared with it.
  void Take(const std::string& name, const std::vector<Parameter>& weights, const FurtherModel& plain);
  // Before step 1, when the model has the weights that training begins with.
  void Begin();
  // After an optimizer step was taken: `step` of `steps`, counted from 1.
  void Updated(std::int64_t step, std::int64_t steps);

  // What is no average is kept in a file, for it follows from nothing that a checkpoint holds: what of it is
  // not the model's own.
  std::vector<std::string> fixed() const;
  std::vector<Parameter> Kept(const std::string& name) const;
  // Out of such a file; `plain`: see Take. What it lacks is the model's own: an InputError where that is
  // trained.
  void Restore(const std::string& name, const SavedTensors& saved, const FurtherModel& plain);
  // It cannot be had, and Of says why.
  void Lack(const std::string& name, std::string why) { references_.at(name).why_not = std::move(why); }

  // The averages in float, as "<parameter>.reference.<name>". The tensors themselves, so writing to them
  // loads them; Round then.
  std::vector<Parameter> State() const;
  void Round();

  // Of all that the model does not have itself, its tables once more included.
  std::int64_t Bytes() const;
  // A line for each: "start: 577 KiB beside the model, 1.1 MiB of its parameters shared".
  std::vector<std::string> Words() const;

 private:
  struct Reference {
    ReferenceConfig config{};  // of "start" the default
    std::string why_not{};     // it is not there
    std::unique_ptr<Model> model{};
    std::vector<std::size_t> own{};     // places of its parameters that are not the model's
    std::vector<at::Tensor> average{};  // of these, in float; those themselves where they are float
  };
  const Reference& Find(std::string_view name) const;
  Reference Make(const FurtherModel& make, const std::function<at::Tensor(const Parameter&)>& value) const;
  at::Tensor ModelsOwn(const std::string& parameter) const;
  bool IsTrained(const std::string& parameter) const;
  at::Tensor MasterOf(const std::string& parameter) const;
  std::int64_t BytesOf(const Reference& reference) const;

  const Model& model_;
  const MasterWeights* masters_;
  std::set<std::string> trained_;
  std::map<std::string, std::size_t> places_;  // of the model's parameters, by name
  std::map<std::string, Reference> references_;
};

// Bytes of them where nothing is made so far, at most: another run's may share what is frozen.
std::int64_t ReferenceBytes(const Model& model, const std::set<std::string>& trained,
                            const ReferencesConfig& config, const std::set<std::string>& asked);

}  // namespace medley
