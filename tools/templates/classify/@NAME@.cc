#include <medley/model/parameter_model.h>
#include <medley/task/drivers/classify_task.h>
#include <medley/task/drivers/labels.h>
#include <medley/task/plugin.h>

#include <ATen/ops/zeros.h>

constexpr int kFrames = 24, kValues = 2, kClasses = 3;

// Two linear maps over all of a series.
class @CLASS@Net final : public medley::ParameterModel {
 public:
  static constexpr medley::ModelSpec kSpec{
      .name = "@NAME@_net",
      .summary = "classifies series of one length",
      .fields = {medley::IntegerField("classes", kClasses, 2, 1000, "Classes"),
                 medley::IntegerField("width", 32, 1, 4096, "Width between the two maps")},
      .sizes = {{.name = "frames", .help = "Points in time"}},
      .inputs = {{.name = "series", .dimensions = {"rows", "frames", "2"}}},
      .outputs = {{.name = "logits", .dimensions = {"rows", "classes"}}}};
  explicit @CLASS@Net(const medley::ModelContext& context)
      : ParameterModel(kSpec, context),
        in_(set(), "in", std::int64_t{kFrames} * kValues, context.config.Integer("width"), true),
        out_(set(), "out", context.config.Integer("width"), context.config.Integer("classes"), true) {}

  medley::ModelOutputs Forward(const medley::ModelInputs& inputs, const medley::WantedOutputs&,
                               medley::ForwardContext&) const override {
    const at::Tensor x = medley::InputNamed(inputs, "series").flatten(1).to(medley::FloatTypeOf(*this));
    return {{"logits", out_(in_(x).relu())}};
  }

 private:
  medley::Linear in_, out_;
};

// Noisy series that fall, stay or rise.
class @CLASS@ final : public medley::ClassifyTask {
 public:
  static constexpr medley::TaskSpec kSpec =
      medley::ClassifySpec("@NAME@", "say whether a series falls, stays or rises",
                           {.inputs = {"series"}, .classes = kClasses, .sizes = {{"frames", kFrames}}});
  explicit @CLASS@(const medley::TaskContext& context) : ClassifyTask(context, kSpec) {}

 private:
  medley::Classified Draw(medley::Row& row) const override {
    const int label = medley::BalancedLabel(row.number, kClasses);
    at::Tensor series = at::zeros({kFrames, kValues});
    auto* value = series.mutable_data_ptr<float>();
    for (int frame = 0; frame < kFrames; ++frame) {
      const double trend = (label - 1) * (frame - kFrames / 2) / (0.5 * kFrames);
      for (int i = 0; i < kValues; ++i) *value++ = static_cast<float>(trend + row.random.Uniform(-1, 1));
    }
    return {.inputs = {series}, .label = label};
  }
};

MEDLEY_PLUGIN(@CLASS@, @CLASS@Net)
