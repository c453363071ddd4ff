#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <medley/config/mode.h>
#include <medley/model/model.h>
#include <medley/plugin/loaded_task.h>
#include <medley/step/passes/saved_variables.h>
#include <medley/step/passes/shared_encodings.h>
#include <medley/step/step_observer.h>
#include <medley/task/pass_images.h>

namespace medley {

class References;  // update/references.h

// What a pass did, for the comparison with its spec.
struct PassRecord {
  std::uint64_t first_node = 0, end_node = 0;  // autograd sequence numbers of the nodes that it made
  std::vector<std::string> images;  // keys of the pictures that the model got, in order; "": not by name
  std::set<std::string> inputs, outputs;  // of the model
  std::set<std::string> constants;
  std::set<std::string> carries_read;
  ForwardSizes sizes{};     // the most that a forward had
  std::int64_t tokens = 0;  // handed in, pads among them
  int forwards = 0;
  int layers = 0;  // of the deepest stack
  // What the model gave, with its graph, where it is asked for before the pass runs.
  bool keeps_outputs = false;
  std::map<std::string, at::Tensor> made{};
  // The tokens of text that were learned, [items] int64, and the row of each; undefined where there are none.
  bool keeps_learned = false;
  at::Tensor learned{}, learned_rows{};
};

// One micro-batch of a draw while its passes run: the rows on the device, and what lives between passes
// (carries, shared encodings). Nothing of it outlives the object. Its task and model outlive it. To be used
// on one thread; after an exception it can only be let go of.
class MicroBatch {
 public:
  struct Setting {
    LoadedTask& task;
    const Model& model;
    at::Device device;
    Way way = {.mode = Mode::kJoint};
    StepObserver* observer = nullptr;        // null: nobody is told
    const References* references = nullptr;  // null: each is the model itself
  };
  MicroBatch(const Setting& setting, const Batch& rows);
  ~MicroBatch();
  MicroBatch(const MicroBatch&) = delete;
  MicroBatch& operator=(const MicroBatch&) = delete;

  // Runs a pass of the variant; the graph is kept or not as the thread's grad mode says, and never of a pass
  // without a gradient. What it keeps for later passes stays as it is where it is there already. An Error
  // names task and pass.
  Sums RunPass(const PassInfo& pass, PassRecord* record = nullptr);
  // The backward of this pass is over and it will not run again: frees what no other pass reads.
  void PassDone(const PassInfo& pass);
  // The backward of all passes is over: sends back what shared encodings still hold.
  void Flush();
  // All passes have run, and none has gone back.
  void ReleaseEncodings() { encodings_.Release(); }

  // Begins a stretch in which these passes run, each once: encodings are shared among them and with none
  // before.
  void BeginStage(const std::vector<const PassInfo*>& passes);
  // Hands later passes this as the carry, or as what was kept.
  void HandCarry(const std::string& name, at::Tensor value) { images_.Carry(name, std::move(value)); }
  // Takes the carry away, so that its pass may make it again; undefined where there is none.
  at::Tensor TakeCarry(const std::string& name) { return images_.TakeCarry(name); }

  const PassImages::Tensors& carries() const { return images_.carries(); }
  const SharedEncodings& encodings() const { return encodings_; }

 private:
  friend class RunningPass;

  Setting setting_;
  Batch batch_;
  SharedEncodings encodings_;
  PassImages images_;
};

}  // namespace medley
