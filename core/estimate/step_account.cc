#include <medley/estimate/step_account.h>

#include <utility>

namespace medley {

void StepAccount::BeginWithGradients(std::int64_t bytes) {
  all_made_ = true;
  now_.gradients += bytes;
  Touch(0);
}

StepAccount::Live StepAccount::Forward(ForwardPart part, bool with_graph) {
  Live live{.part = std::move(part), .dropped = false};
  live.dropped = with_graph && live.part.layer >= 0 && recomputed_.Has(live.part.layer);
  if (live.dropped) Touch(live.part.kept + live.part.forward);
  Hold(live, +1);
  if (!live.dropped) Touch(live.part.forward);
  return live;
}

void StepAccount::Backward(Graph graph) {
  std::map<std::string, int> left;
  for (const Live& live : graph) ++left[live.part.parameters];
  std::set<std::string> begun;
  for (; !graph.empty(); graph.pop_back()) {
    RunAgain(graph);
    const ForwardPart& part = graph.back().part;
    std::int64_t working = part.backward;
    if (begun.insert(part.parameters).second) {
      now_.gradients += part.gradients;
    } else {
      working += part.largest_gradient;
    }
    Touch(working);
    Hold(graph.back(), -1);
    const bool is_whole = --left[part.parameters] == 0;
    if (is_whole && (all_made_ || !made_.insert(part.parameters).second)) now_.gradients -= part.gradients;
  }
}

void StepAccount::Drop(const Graph& graph) {
  for (const Live& live : graph) Hold(live, -1);
}

// A layer that was dropped is there again as a whole when its last part goes backward.
void StepAccount::RunAgain(Graph& graph) {
  const ForwardPart last = graph.back().part;
  for (auto live = graph.rbegin(); live != graph.rend() && live->dropped; ++live) {
    if (live->part.layer != last.layer || live->part.image != last.image) break;
    Hold(*live, -1);
    live->dropped = false;
    Hold(*live, +1);
    Touch(live->part.forward);
  }
}

void StepAccount::Hold(const Live& live, std::int64_t sign) {
  if (live.dropped) {
    now_.activations += sign * live.part.layer_input;
    return;
  }
  now_.prefix += sign * live.part.prefix;
  now_.logits += sign * live.part.logits;
  now_.activations += sign * (live.part.kept - live.part.prefix - live.part.logits);
}

void StepAccount::Touch(std::int64_t working) {
  if (now_.total() + working <= peak_.total()) return;
  peak_ = now_;
  peak_.working = working;
}

}  // namespace medley
