#include <medley/eval/held_out_loss.h>

#include <medley/step/passes/pass_runner.h>

namespace medley {

void HeldOutLoss::Add(const Batch& rows) {
  MicroBatch micro({.task = task_, .model = model_, .device = device_}, rows);
  for (const PassInfo& pass : task_.variant().passes) {
    for (const auto& [term, sum] : micro.RunPass(pass)) sums_[term] += sum.item<double>();
    micro.PassDone(pass);
  }
  for (const TermInfo& term : task_.variant().terms) counts_[term.name] += rows.ItemCount(term.name);
}

double HeldOutLoss::Value(const Execution& plan) const {
  double loss = 0;
  for (const TermInfo& term : task_.variant().terms) {
    const auto count = counts_.find(term.name);
    if (count == counts_.end() || count->second == 0) continue;
    loss += TermWeight(plan, term) * sums_.at(term.name) / static_cast<double>(count->second);
  }
  return loss;
}

}  // namespace medley
