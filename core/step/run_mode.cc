#include <medley/step/run_mode.h>

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

namespace medley {
namespace {

// A pass without a gradient is over where it ran.
void RunOnce(MicroBatch& micro, const PassInfo& pass, Roots& roots) {
  roots.Add(micro.RunPass(pass), pass);
  micro.PassDone(pass);
}

// Everything that hands something on, and what has no gradient: that runs here alone.
void MakeCarries(MicroBatch& micro, const VariantInfo& variant, Roots& roots) {
  const at::NoGradGuard no_graph;
  std::vector<const PassInfo*> makers;
  for (const PassInfo& pass : variant.passes) {
    if (!pass.HasGradient() || !pass.carries.empty() || !pass.keeps.empty()) makers.push_back(&pass);
  }
  micro.BeginStage(makers);
  for (const PassInfo* pass : makers) {
    if (!pass->HasGradient()) {
      RunOnce(micro, *pass, roots);
      continue;
    }
    micro.RunPass(*pass);
    micro.PassDone(*pass);
  }
}

// Readers add up their gradients in the leaf, the last one first: the order of the joint backward.
void HandOutAsLeaves(MicroBatch& micro, const VariantInfo& variant) {
  for (const PassInfo& pass : variant.passes) {
    for (const std::string& carry : pass.carries) {
      at::Tensor leaf = micro.TakeCarry(carry).detach();
      if (leaf.is_floating_point()) leaf.set_requires_grad(true);
      micro.HandCarry(carry, std::move(leaf));
    }
  }
}

// The gradient of a micro-batch whose passes carry something, with one pass's graph alive at a time. First
// the passes that make carries, without graphs; of these only the carries are kept. Then every pass from the
// last to the first, with its graph and with the carries as leaves: what a pass made goes backward from its
// terms and from the gradients that all later readers left in its carries. What has no gradient runs in the
// first stage alone, and what was kept there stays. Exact, and one more forward of each pass with a gradient
// that hands something on.
void RunTwoStage(MicroBatch& micro, const VariantInfo& variant, Roots& roots) {
  MakeCarries(micro, variant, roots);
  HandOutAsLeaves(micro, variant);
  std::vector<const PassInfo*> learning;
  for (const PassInfo& pass : variant.passes) {
    if (pass.HasGradient()) learning.push_back(&pass);
  }
  micro.BeginStage(learning);  // an encoding of the first stage has no graph
  for (auto next = learning.rbegin(); next != learning.rend(); ++next) {
    const PassInfo& pass = **next;
    std::map<std::string, at::Tensor> gradients;  // of the carries, whose readers are all done
    for (const std::string& carry : pass.carries) gradients[carry] = micro.TakeCarry(carry).grad();
    roots.Add(micro.RunPass(pass), pass);
    for (auto& [carry, gradient] : gradients) roots.Add(micro.TakeCarry(carry), std::move(gradient));
    roots.Backward();
    micro.PassDone(pass);
  }
  micro.Flush();
}

void RunJoint(MicroBatch& micro, const VariantInfo& variant, Roots& roots) {
  for (const PassInfo& pass : variant.passes)
    pass.HasGradient() ? roots.Add(micro.RunPass(pass), pass) : RunOnce(micro, pass, roots);
  micro.ReleaseEncodings();
  roots.Backward();
}

// From the last pass to the first, as the engine goes through the joint graph; where a pass waits for what
// another one keeps, from the first to the last. Gradients equal the joint ones to rounding, not bit for bit:
// joint passes share keys and values too.
void RunSequential(MicroBatch& micro, const VariantInfo& variant, Roots& roots) {
  std::vector<const PassInfo*> order;
  for (const PassInfo& pass : variant.passes) order.push_back(&pass);
  if (!variant.Keeps()) std::ranges::reverse(order);
  for (const PassInfo* pass : order) {
    roots.Add(micro.RunPass(*pass), *pass);
    roots.Backward();
    micro.PassDone(*pass);
  }
  micro.Flush();
}

// In the order of kModes.
constexpr std::array kRuns = {&RunJoint, &RunSequential, &RunTwoStage};
static_assert(kRuns.size() == kModes.size());

}  // namespace

void RunMode(Mode mode, MicroBatch& micro, const VariantInfo& variant, Roots& roots) {
  kRuns.at(static_cast<std::size_t>(mode))(micro, variant, roots);
}

}  // namespace medley
