#pragma once

#include <string_view>
#include <vector>

#include <medley/model/blocks/footprint.h>
#include <medley/model/parameter_model.h>

#include "network/network.h"

namespace medley_signs {

// What both models are: two of one network with other defaults. Sources for facts: the published code of
// SPOTER and of its variant for BdSLW60.
class SignModel : public medley::ParameterModel {
 public:
  medley::ModelOutputs Forward(const medley::ModelInputs& inputs, const medley::WantedOutputs& wanted,
                               medley::ForwardContext& context) const final;
  std::vector<medley::ForwardPart> Footprint(const medley::ForwardShape& shape) const final;

 protected:
  SignModel(const medley::ModelSpec& spec, const medley::ModelContext& context, const NetworkSetting& setting)
      : ParameterModel(spec, context), network_(set(), setting) {}

 private:
  Network network_;
};

constexpr medley::ModelSpec SignModelSpec(std::string_view name, std::string_view summary) {
  return {.name = name,
          .summary = summary,
          .sizes = {{.name = "frames", .help = "Frames of the longest clip", .lengths = "lengths"}},
          .inputs = {{.name = "poses",
                      .dimensions = {"rows", "frames", "108"},
                      .help = "x and y of 54 joints, padded at the end"},
                     {.name = "lengths",
                      .dtype = "int64",
                      .dimensions = {"rows"},
                      .help = "Frames of a clip, 1 to frames"}},
          .outputs = {{.name = "logits", .dimensions = {"rows", "classes"}}}};
}

// An encoder over the frames and a decoder that asks them with one query.
class Spoter final : public SignModel {
 public:
  static constexpr medley::ModelSpec kSpec = [] {
    medley::ModelSpec spec = SignModelSpec("spoter", "signs from poses: encoder, class query, decoder");
    spec.fields = {medley::IntegerField("classes", 64, 2, 100000, "Signs"),
                   medley::IntegerField("longest", 150, 1, 100000, "Frames that have a position"),
                   medley::IntegerField("encoder_layers", 6, 1, 100, "Layers over the frames"),
                   medley::IntegerField("decoder_layers", 6, 1, 100, "Layers of the query"),
                   medley::IntegerField("heads", 9, 1, 108, "Heads of the attention; they divide 108"),
                   medley::IntegerField("ffn", 2048, 1, 100000, "Inner width of a feed-forward network"),
                   medley::NumberField("dropout", 0.1, 0, 0.9, "Probability that a number is dropped"),
                   medley::WordField("activation", {"relu", "gelu"}, "Inside a feed-forward network"),
                   medley::WordField("positions", {"shared", "frame", "none"},
                                     "Added to frames; shared, as published, leaves their order unseen"),
                   medley::WordField("attention", {"fused", "eager"},
                                     "eager keeps the weights, and drops some of them")};
    return spec;
  }();
  explicit Spoter(const medley::ModelContext& context);
};

// An encoder over a class token and the frames.
class Bdslw final : public SignModel {
 public:
  static constexpr medley::ModelSpec kSpec = [] {
    medley::ModelSpec spec = SignModelSpec("bdslw", "signs from poses: encoder, class token");
    spec.fields = {
        medley::IntegerField("classes", 60, 2, 100000, "Signs"),
        medley::IntegerField("longest", 150, 1, 100000, "Frames that have a position"),
        medley::IntegerField("encoder_layers", 8, 1, 100, "Layers over token and frames"),
        medley::IntegerField("width", 108, 2, 4096, "Width of a layer"),
        medley::IntegerField("heads", 9, 1, 4096, "Heads of the attention"),
        medley::IntegerField("ffn", 512, 1, 100000, "Inner width of a feed-forward network"),
        medley::NumberField("dropout", 0.15, 0, 0.9, "Probability that a number is dropped"),
        medley::WordField("activation", {"gelu", "relu"}, "Inside a feed-forward network"),
        medley::WordField("positions", {"frame", "none"}, "Added to frames; none leaves their order unseen"),
        medley::WordField("attention", {"fused", "eager"},
                          "eager keeps the weights, and drops some of them")};
    spec.rules = {{.field = "width", .multiple_of = "heads"}};
    return spec;
  }();
  explicit Bdslw(const medley::ModelContext& context);
};

}  // namespace medley_signs
