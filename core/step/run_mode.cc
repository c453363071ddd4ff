#include <medley/step/run_mode.h>

#include <ATen/core/grad_mode.h>

#include <array>
#include <map>
#include <string>
#include <vector>

namespace medley {
namespace {

void MakeCarries(MicroBatch& micro, const VariantInfo& variant) {
  const at::NoGradGuard no_graph;
  std::vector<const PassInfo*> makers;
  for (const PassInfo& pass : variant.passes) {
    if (!pass.carries.empty()) makers.push_back(&pass);
  }
  micro.BeginStage(makers);
  for (const PassInfo* pass : makers) {
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
// terms and from the gradients that all later readers left in its carries. Exact, and one more forward of
// each pass that makes a carry.
void RunTwoStage(MicroBatch& micro, const VariantInfo& variant, Roots& roots) {
  MakeCarries(micro, variant);
  HandOutAsLeaves(micro, variant);
  std::vector<const PassInfo*> all;
  for (const PassInfo& pass : variant.passes) all.push_back(&pass);
  micro.BeginStage(all);  // an encoding of the first stage has no graph
  for (auto pass = variant.passes.rbegin(); pass != variant.passes.rend(); ++pass) {
    std::map<std::string, at::Tensor> gradients;  // of the carries, whose readers are all done
    for (const std::string& carry : pass->carries) gradients[carry] = micro.TakeCarry(carry).grad();
    roots.Add(micro.RunPass(*pass));
    for (auto& [carry, gradient] : gradients) roots.Add(micro.TakeCarry(carry), std::move(gradient));
    roots.Backward();
    micro.PassDone(*pass);
  }
  micro.Flush();
}

void RunJoint(MicroBatch& micro, const VariantInfo& variant, Roots& roots) {
  for (const PassInfo& pass : variant.passes) roots.Add(micro.RunPass(pass));
  micro.ReleaseEncodings();
  roots.Backward();
}

// From the last pass to the first, as the engine goes through the joint graph. Gradients equal the joint ones
// to rounding, not bit for bit: joint passes share keys and values too.
void RunSequential(MicroBatch& micro, const VariantInfo& variant, Roots& roots) {
  for (auto pass = variant.passes.rbegin(); pass != variant.passes.rend(); ++pass) {
    roots.Add(micro.RunPass(*pass));
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
