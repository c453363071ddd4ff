#include <nlohmann/json.hpp>

#include <medley/weights/pretrained_config.h>
#include <medley/weights/pretrained_tower.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

const char* ActivationName(Activation activation) {
  switch (activation) {
    case Activation::kRelu:
      return "relu";
    case Activation::kGelu:
      return "gelu";
    case Activation::kTanhGelu:
      return "gelu_pytorch_tanh";
    case Activation::kQuickGelu:
      return "quick_gelu";
  }
  return "";
}

ordered_json VisionConfig(const TowerConfig& tower) {
  const bool is_clip = tower.kind == TowerKind::kClip;
  ordered_json json = {{"model_type", is_clip ? "clip_vision_model" : "siglip_vision_model"},
                       {"hidden_size", tower.width},
                       {"intermediate_size", tower.ffn},
                       {"num_hidden_layers", tower.layers},
                       {"num_attention_heads", tower.heads},
                       {"num_channels", 3},
                       {"image_size", tower.size},
                       {"patch_size", tower.patch},
                       {"hidden_act", ActivationName(tower.activation)},
                       {"layer_norm_eps", tower.epsilon},
                       {"attention_dropout", 0.0}};
  if (!is_clip) json["vision_use_head"] = false;
  return json;
}

ordered_json BothSides(std::int64_t size) { return {{"height", size}, {"width", size}}; }

}  // namespace

ordered_json LlavaJson(const TowerConfig& tower, ordered_json text, const std::string& dtype) {
  text.erase("dtype"), text.erase("torch_dtype");
  const bool tied = text.value("tie_word_embeddings", false);
  return {{"architectures", {"LlavaForConditionalGeneration"}},
          {"model_type", kLlavaType},
          {"image_token_index", tower.image_token},
          {"image_seq_length", tower.patches()},
          {"projector_hidden_act", ActivationName(tower.projector)},
          {"multimodal_projector_bias", true},
          {"vision_feature_layer", -1},
          {"vision_feature_select_strategy", tower.kind == TowerKind::kClip ? "default" : "full"},
          {"tie_word_embeddings", tied},
          {"text_config", std::move(text)},
          {"vision_config", VisionConfig(tower)},
          {"dtype", dtype},
          {"torch_dtype", dtype}};
}

ordered_json PreprocessorJson(const TowerConfig& tower) {
  const bool crops = tower.rule.shortest_edge > 0,
             is_cubic = tower.rule.resampling == PictureRule::Resampling::kBicubic;
  ordered_json json = {
      {"image_processor_type",
       tower.kind == TowerKind::kClip ? "CLIPImageProcessor" : "SiglipImageProcessor"},
      {"processor_class", "LlavaProcessor"},
      {"do_convert_rgb", true},
      {"do_resize", true},
      {"size", crops ? ordered_json{{"shortest_edge", tower.rule.shortest_edge}} : BothSides(tower.size)},
      {"resample", is_cubic ? 3 : 2},
      {"do_center_crop", crops},
      {"do_rescale", true},
      {"rescale_factor", 1.0 / 255},
      {"do_normalize", true},
      {"image_mean", tower.mean},
      {"image_std", tower.deviation}};
  if (crops) json["crop_size"] = BothSides(tower.size);
  return json;
}

}  // namespace medley
