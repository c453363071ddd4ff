#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <medley/config/mode.h>
#include <medley/model/model.h>
#include <medley/model/model_config.h>
#include <medley/task/batch.h>

// Checks for the tests of a plugin: its tasks and models against what they promise. Link medley::testing.
// Each check returns what it found as sentences, so that any test framework, or none, can use them:
//
//   #include <medley/testing/checks.h>
//
//   int main() {
//     const medley::check::Bench bench("run.json", {"build/minimal.so"});
//     return medley::check::Report(medley::check::All(bench.Task("minimal"), bench.model()));
//   }
namespace medley {

class LoadedTask;

namespace check {

// One sentence for each thing that is wrong; none: nothing is.
using Findings = std::vector<std::string>;

// A model, fresh from the config's seed, and the tasks, as a run config puts them together; for the CPU. Make
// it before the program's first tensor: bytes are counted from then on.
class Bench {
 public:
  // `plugins`: files or directories, searched first; `overrides`: "seed=3". Throws an InputError with every
  // mistake of the files.
  explicit Bench(const std::filesystem::path& run_config,
                 const std::vector<std::filesystem::path>& plugins = {},
                 const std::vector<std::string>& overrides = {});
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  // Loads its plugin on first use. An Error where there is no such task.
  LoadedTask& Task(std::string_view name) const;
  Model& model() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// What a model's file with these values says, and the defaults of the spec for all else: for a model without
// a run config, `Made<Net> net({{"layers", 2.0}})` (testing/made_model.h).
ModelConfig ConfigOf(const ModelSpec& spec,
                     const std::vector<std::pair<std::string, OptionValue>>& values = {});

// Rows of the task, as its own stream has them.
Batch Sample(const LoadedTask& task, const RowRange& rows);

// The task does what its spec says: passes, terms, items, constants, pictures, carries; what it does depends
// on its rows alone; and what it makes of several rows is the sum of what it makes of each, to a
// hundred-thousandth, and changes with the model's outputs as its gradient says. As a run's first draw checks
// it, with more rows. `not_judged`: gets what of the losses could not be looked at (a term that is not finite
// of outputs that were made up, passes that do not run on them, rows that are all alike), a sentence's part
// each; null: nobody asks.
Findings Contract(LoadedTask& task, const Model& model, std::vector<std::string>* not_judged = nullptr);

struct GradientSetting {
  std::int64_t rows = 5;                          // of a draw
  std::vector<Mode> modes{};                      // none: all that are legal
  std::vector<std::int64_t> micro_rows{0, 1, 2};  // of a forward; 0: all
  // Beside none: layers that are run again.
  std::vector<RecomputedLayers> recomputed{1, {2, 3}};
  bool in_float = true;                            // beside float64
  std::vector<std::string>* not_judged = nullptr;  // as Contract's
};
// Every legal mode and micro-batch gives the gradient of joint: in float64 to 1e-12 of its norm, in float to
// 5e-6; layers that are run again give the same bits as those that are kept; and the gradient is how the loss
// changes along a direction of the parameters, but for terms that say stops_gradient. The model is left in
// the type that it had. Float columns and constants come in float64 there; what a pass computes in float all
// the same agrees to 2^-20, which passes, and `not_judged` says so.
//
// A ReLU whose input is a rounding error away from 0 may fall on either side of its kink, which moves a float
// gradient by up to 1e-4 and is no mistake. So float is judged by rows for which every ReLU falls where it
// does in double; up to four draws are tried.
Findings Gradients(LoadedTask& task, Model& model, const GradientSetting& setting = {});

// A model that has learned nothing scores not clearly above the chance that the spec names, and every row has
// a score and the draw a loss. Clearly: by more than the 95 % interval, with the model's own start and four
// others (each parameter's values in another order).
Findings Score(LoadedTask& task, const Model& model, std::int64_t rows = 64);

// Contract, Gradients where that finds nothing, Footprint where the model has one, and Score. What one of
// them throws is a finding, and the others go on.
Findings All(LoadedTask& task, Model& model, std::vector<std::string>* not_judged = nullptr);

// A model without a task does what tasks rely on, on inputs that are made up from its spec (floats of N(0,
// 1), integers below what the spec says). In float64: a row is the same alone, beside others and beside a
// longer one, and the same again after other rows; every number is finite; the outputs' gradient reaches
// every parameter that is not frozen, and is how they change. No generator is moved, no memory kept from one
// call to the next, and no forward takes more than the footprint says. `not_judged`: as Contract's; a spec
// that does not say enough to make inputs is named there. `config`: the model's. The model is left in the
// type that it had.
Findings ModelContract(Model& model, const ModelConfig& config,
                       std::vector<std::string>* not_judged = nullptr);

// The most bytes that tensors take while fn runs, beyond those that are there when it begins; counted where a
// model was made after Bench or ConfigOf.
std::int64_t PeakBytes(const std::function<void()>& fn);

// Bytes of a forward beside its inputs and the parameters: that it holds until its backward, and at its
// widest.
struct ForwardBytes {
  std::int64_t held = 0, peak = 0;
};
// As they were counted, under the same condition; and as Model::Footprint has them.
ForwardBytes MeasuredBytes(const Model& model, const ModelInputs& inputs, const WantedOutputs& wanted,
                           const ForwardShape& shape);
ForwardBytes FootprintBytes(const Model& model, const ForwardShape& shape);
// The footprint of a forward with these inputs, which are of that shape, is never below what is measured, and
// what is held not above `most` times that.
Findings Footprint(const Model& model, const ModelInputs& inputs, const WantedOutputs& wanted,
                   const ForwardShape& shape, double most = 1.05);

// The same for the forward of each pass of the task, of four rows that are as long as can be, and within 10
// %; nothing where the model has no footprint.
Findings Footprint(LoadedTask& task, const Model& model);

// Says the findings on standard error, a line each; a test's exit code: 0 where there are none.
int Report(const Findings& findings);

}  // namespace check
}  // namespace medley
