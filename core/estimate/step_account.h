#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <medley/config/mode.h>
#include <medley/model/model.h>
#include <medley/report/memory_ledger.h>

namespace medley {

// Keeps count of a step's bytes, part by part, as the executor and the engine would. One step each; the calls
// come in the order of its moments.
class StepAccount {
 public:
  // A part whose backward is still to come.
  struct Live {
    ForwardPart part;
    bool dropped = false;  // its layer is run again for the backward
  };
  using Graph = std::vector<Live>;

  StepAccount(const MemoryLedger& floor, const RecomputedLayers& recomputed)
      : recomputed_(recomputed), now_(floor), peak_(floor) {}

  // Everything that is trained has a gradient already, so many bytes together.
  void BeginWithGradients(std::int64_t bytes);

  // A part of a forward that keeps its graph, or with_graph false its output.
  Live Forward(ForwardPart part, bool with_graph);
  // Goes through the graph from the last part to the first. Gradients of one set of parameters come together
  // in a buffer, from the first part of this backward that uses it to the last; then they are the gradient,
  // or are added to the one that is there.
  void Backward(Graph graph);
  // A graph that nobody goes back through.
  void Drop(const Graph& graph);

  // Bytes that are there from now on; below 0: no longer.
  void AddInputs(std::int64_t bytes) { now_.inputs += bytes; }
  void AddActivations(std::int64_t bytes) { now_.activations += bytes; }
  // Counts that so much more is alive for a moment.
  void Touch(std::int64_t working);

  // The widest moment so far, with what worked in it.
  const MemoryLedger& peak() const { return peak_; }

 private:
  void Hold(const Live& live, std::int64_t sign);
  void RunAgain(Graph& graph);

  RecomputedLayers recomputed_;
  bool all_made_ = false;
  std::set<std::string> made_;  // parameters that have a gradient, where not all have
  MemoryLedger now_, peak_;
};

}  // namespace medley
