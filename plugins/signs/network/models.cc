#include "network/models.h"

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <string>

namespace medley_signs {
namespace {

// What both have.
NetworkSetting SettingOf(const medley::ModelConfig& config) {
  const std::string& positions = config.Word("positions");
  return {.classes = config.Integer("classes"),
          .longest = config.Integer("longest"),
          .heads = config.Integer("heads"),
          .ffn = config.Integer("ffn"),
          .encoder_layers = config.Integer("encoder_layers"),
          .dropout = config.Number("dropout"),
          .activation =
              config.Word("activation") == "relu" ? medley::Activation::kRelu : medley::Activation::kGelu,
          .attention = config.Word("attention") == "eager" ? medley::AttentionKind::kEager
                                                           : medley::AttentionKind::kFused,
          .positions = positions == "shared"  ? Positions::kShared
                       : positions == "frame" ? Positions::kFrame
                                              : Positions::kNone};
}

NetworkSetting SpoterSetting(const medley::ModelConfig& config) {
  NetworkSetting setting = SettingOf(config);
  setting.decoder_layers = config.Integer("decoder_layers");
  return setting;
}

NetworkSetting BdslwSetting(const medley::ModelConfig& config) {
  NetworkSetting setting = SettingOf(config);
  setting.width = config.Integer("width");
  return setting;
}

}  // namespace

Spoter::Spoter(const medley::ModelContext& context)
    : SignModel(kSpec, context, SpoterSetting(context.config)) {}
Bdslw::Bdslw(const medley::ModelContext& context) : SignModel(kSpec, context, BdslwSetting(context.config)) {}

medley::ModelOutputs SignModel::Forward(const medley::ModelInputs& inputs, const medley::WantedOutputs&,
                                        medley::ForwardContext& context) const {
  const at::Tensor& lengths = medley::InputNamed(inputs, "lengths");
  const at::Tensor poses = medley::InputNamed(inputs, "poses").to(medley::FloatTypeOf(*this));
  return {{"logits", network_(poses, lengths, context)}};
}

std::vector<medley::ForwardPart> SignModel::Footprint(const medley::ForwardShape& shape) const {
  std::vector<medley::ForwardPart> parts =
      network_.Footprint(shape, static_cast<std::int64_t>(c10::elementSize(medley::FloatTypeOf(*this))));
  medley::InBytes(parts, parameters());
  return parts;
}

}  // namespace medley_signs
