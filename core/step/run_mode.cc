#include <medley/step/run_mode.h>

#include <array>

#include <medley/step/two_stage.h>

namespace medley {
namespace {

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
