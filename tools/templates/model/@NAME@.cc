#include <medley/model/blocks/transformer_layer.h>
#include <medley/model/parameter_model.h>
#include <medley/task/drivers/classify_task.h>
#include <medley/task/drivers/labels.h>
#include <medley/task/plugin.h>

#include <ATen/ops/zeros.h>

#include <string>
#include <vector>

constexpr int kFrames = 24, kValues = 2, kClasses = 3;

// A small transformer over the points of a series, and the mean of what it makes of them.
class @CLASS@Net final : public medley::ParameterModel {
 public:
  static constexpr medley::ModelSpec kSpec{
      .name = "@NAME@_net",
      .summary = "a transformer over series",
      .groups = {{"body", "The layers"}},
      .fields = {medley::IntegerField("classes", kClasses, 2, 1000, "Classes"),
                 medley::IntegerField("body.layers", 2, 1, 100, "Layers"),
                 medley::IntegerField("body.width", 32, 1, 4096, "Width of a point; a multiple of heads"),
                 medley::IntegerField("body.heads", 4, 1, 64, "Heads of the attention"),
                 medley::NumberField("body.dropout", 0, 0, 0.9, "Probability that a number is dropped")},
      .rules = {{.field = "body.width", .multiple_of = "body.heads"}},
      .sizes = {{.name = "frames", .help = "Points in time"}},
      .inputs = {{.name = "series", .dimensions = {"rows", "frames", "2"}}},
      .outputs = {{.name = "logits", .dimensions = {"rows", "classes"}}}};
  explicit @CLASS@Net(const medley::ModelContext& context) : ParameterModel(kSpec, context) {
    const auto width = context.config.Integer("body.width");
    in_ = medley::Linear(set(), "in", kValues, width, true);
    places_ = set().Normal("places", {kFrames, width}, 0.5);
    for (std::int64_t i = 0; i < context.config.Integer("body.layers"); ++i) {
      layers_.emplace_back(set(), "body." + std::to_string(i),
                           medley::TransformerLayer::Setting{.width = width,
                                                             .heads = context.config.Integer("body.heads"),
                                                             .ffn = 2 * width,
                                                             .pre_norm = true,
                                                             .dropout = context.config.Number("body.dropout")});
    }
    out_ = medley::Linear(set(), "out", width, context.config.Integer("classes"), true);
  }

  medley::ModelOutputs Forward(const medley::ModelInputs& inputs, const medley::WantedOutputs&,
                               medley::ForwardContext& context) const override {
    const at::Tensor series = medley::InputNamed(inputs, "series").to(medley::FloatTypeOf(*this));
    at::Tensor x = in_(series).add(places_.narrow(0, 0, series.size(1)));
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const auto drops = layers_[i].DropsOf("body " + std::to_string(i), context);
      // What runs here may be run again for the backward, so it owns what it uses.
      x = context.Layer("body", static_cast<int>(i), x,
                        [layer = layers_[i], drops](const at::Tensor& in) { return layer(in, drops); });
    }
    return {{"logits", out_(x.mean(1))}};
  }

 private:
  medley::Linear in_, out_;
  at::Tensor places_;
  std::vector<medley::TransformerLayer> layers_;
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
