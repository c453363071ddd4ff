#include <medley/model/mlp_model.h>
#include <medley/task/drivers/regress_task.h>
#include <medley/task/plugin.h>
#include <medley/task/tensors.h>

constexpr int kFrames = 24;

// Layers over all of a series. Another model: medley new --kind model shows one.
class @CLASS@Net final : public medley::MlpModel {
 public:
  static constexpr medley::ModelSpec kSpec =
      medley::MlpSpec("@NAME@_net", "an MLP over series", {{.name = "series", .dimensions = {"rows", "24"}}},
                      {{.name = "values", .dimensions = {"rows", "2"}}});
  explicit @CLASS@Net(const medley::ModelContext& context) : MlpModel(kSpec, context) {}
};

// A noisy line: where it begins, and how steep it is.
class @CLASS@ final : public medley::RegressTask {
 public:
  static constexpr medley::TaskSpec kSpec =
      medley::RegressSpec("@NAME@", "say where a line begins and how steep it is", {.inputs = {"series"}});
  explicit @CLASS@(const medley::TaskContext& context) : RegressTask(context, kSpec) {}

 private:
  medley::Regressed Draw(medley::Row& row) const override {
    const double begin = row.random.Uniform(-1, 1);
    const double slope = row.random.Uniform(-1, 1);
    const at::Tensor frames = at::arange(kFrames, at::kFloat) / kFrames;
    const at::Tensor noise = medley::RandomNumbers(row.random, {kFrames}, -0.5, 0.5);
    return {.inputs = {begin + slope * frames + noise}, .targets = {begin, slope}};
  }
  std::string NameOf(std::int64_t target) const override { return target == 0 ? "begin" : "slope"; }
};

MEDLEY_PLUGIN(@CLASS@, @CLASS@Net)
