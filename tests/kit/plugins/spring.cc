// A damped oscillation: its numbers, its class, and a model with a head for each.
#include <medley/model/mlp_model.h>
#include <medley/task/drivers/classify_task.h>
#include <medley/task/drivers/labels.h>
#include <medley/task/drivers/regress_task.h>
#include <medley/task/plugin.h>
#include <medley/task/tensors.h>

using namespace medley;

constexpr int kSamples = 32, kClasses = 3;

class SpringNet final : public MlpModel {
 public:
  static constexpr ModelSpec kSpec = MlpSpec(
      "spring_net", "an MLP over a series: numbers and classes",
      {{.name = "series", .dimensions = {"rows", "32"}}},
      {{.name = "values", .dimensions = {"rows", "2"}}, {.name = "logits", .dimensions = {"rows", "3"}}});
  explicit SpringNet(const ModelContext& context) : MlpModel(kSpec, context) {}
};

// With noise; `damping` and `frequency` in [0, 1).
at::Tensor Series(RowRandom& random, double damping, double frequency) {
  const at::Tensor t = at::arange(kSamples, at::kFloat) / kSamples;
  return (t * (-2 * damping)).exp() * (t * (2 + 8 * frequency)).cos() +
         RandomNumbers(random, {kSamples}, -0.05, 0.05);
}

class Spring final : public RegressTask {
 public:
  static constexpr TaskSpec kSpec =
      RegressSpec("spring", "say damping and frequency of an oscillation", {.inputs = {"series"}});
  explicit Spring(const TaskContext& context) : RegressTask(context, kSpec) {}

 private:
  Regressed Draw(Row& row) const override {
    const double damping = row.random.Uniform();
    const double frequency = row.random.Uniform();
    return {.inputs = {Series(row.random, damping, frequency)}, .targets = {damping, frequency}};
  }
  std::string NameOf(std::int64_t target) const override { return target == 0 ? "damping" : "frequency"; }
};

class SpringClass final : public ClassifyTask {
 public:
  static constexpr TaskSpec kSpec = ClassifySpec("spring_class", "say whether it is slow, middling or fast",
                                                 {.inputs = {"series"}, .classes = kClasses});
  explicit SpringClass(const TaskContext& context) : ClassifyTask(context, kSpec) {}

 private:
  Classified Draw(Row& row) const override {
    const int label = BalancedLabel(row.number, kClasses);
    const double damping = row.random.Uniform();
    const double frequency = (label + row.random.Uniform()) / kClasses;
    return {.inputs = {Series(row.random, damping, frequency)}, .label = label};
  }
};

MEDLEY_PLUGIN(Spring, SpringClass, SpringNet)
