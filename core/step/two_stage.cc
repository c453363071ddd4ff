#include <medley/step/two_stage.h>

#include <ATen/core/grad_mode.h>

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

}  // namespace

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

}  // namespace medley
