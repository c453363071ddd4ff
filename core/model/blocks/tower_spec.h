#pragma once

#include <array>

#include <medley/model/model_spec.h>

namespace medley {

// Of a group "tower" that describes the layers of a VisionTower, beside width, layers, heads and ffn.
inline constexpr std::array<ModelField, 3> kTowerLayerForms = {
    WordField(
        "tower.kind", {"none", "clip", "siglip"},
        "Layers as those of a published vision tower, which may come from a folder; none: the model's own"),
    NumberField("tower.epsilon", 1e-5, 0, 1, "Epsilon of the norms of published layers", /*above_low=*/true),
    WordField("tower.activation", {"quick_gelu", "gelu_tanh", "gelu", "relu"},
              "Of published layers' feed-forward networks: x * sigmoid(1.702 x) as CLIP, GELU by tanh as "
              "SigLIP")};

// Fields of a group "tower": kTowerFields.
inline constexpr std::array<ModelField, 18> kTowerForms = {
    WordField("tower.kind", {"none", "clip", "siglip"},
              "A vision tower in place of the model's own image encoder: CLIP's has a vector of the whole "
              "picture beside its patches, and a norm in front of its layers"),
    IntegerField("tower.width", 64, 1, 1 << 20, "Width of its layers"),
    IntegerField("tower.layers", 2, 1, 1024,
                 "Layers that run; a published folder may have further ones, which are not read"),
    IntegerField("tower.heads", 4, 1, 1024, "Attention heads; divides tower.width"),
    IntegerField("tower.ffn", 128, 1, 1 << 20, "Inner width of its feed-forward networks"),
    NumberField("tower.epsilon", 1e-5, 0, 1, "Epsilon of every norm", /*above_low=*/true),
    WordField("tower.activation", {"quick_gelu", "gelu_tanh", "gelu", "relu"},
              "Of its feed-forward networks: x * sigmoid(1.702 x) as CLIP, GELU by tanh as SigLIP"),
    NumberField("tower.mean_red", 0.5, -1000, 1000, "Taken from red in [0, 1]"),
    NumberField("tower.mean_green", 0.5, -1000, 1000, "Taken from green"),
    NumberField("tower.mean_blue", 0.5, -1000, 1000, "Taken from blue"),
    NumberField("tower.deviation_red", 0.5, 0, 1000, "By which red is divided then", true),
    NumberField("tower.deviation_green", 0.5, 0, 1000, "By which green is divided then", true),
    NumberField("tower.deviation_blue", 0.5, 0, 1000, "By which blue is divided then", true),
    WordField("tower.resampling", {"bicubic", "bilinear"}, "How pictures of other sizes are resized"),
    WordField("tower.fit", {"squash", "crop"},
              "squash: both sides become the model's at once; crop: the shorter side becomes "
              "tower.shortest_edge, and the middle is cut out"),
    IntegerField("tower.shortest_edge", 0, 0, 1 << 16,
                 "Pixels of the shorter side before the middle is cut out; 0: the model's size"),
    WordField("tower.projector", {"gelu", "gelu_tanh", "quick_gelu", "relu"},
              "Activation between the two maps from the tower's width to the language's"),
    IntegerField("tower.image_token", 0, 0, 1 << 24,
                 "Id of the token that stands for a picture in a text, which its vectors replace; 0: "
                 "pictures stand in front of the text")};

}  // namespace medley
