#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <medley/model/blocks/footprint.h>
#include <medley/model/blocks/language.h>
#include <medley/model/blocks/language_spec.h>
#include <medley/model/blocks/reply.h>
#include <medley/model/blocks/tower.h>
#include <medley/model/blocks/tower_spec.h>
#include <medley/model/blocks/transformer_layer.h>
#include <medley/model/parameter_model.h>

namespace medley_volumes {

// Cuts a scan into blocks that touch, as a convolution with kernel = stride does, projects each, and adds
// where it stood.
class Patches {
 public:
  struct Setting {
    std::int64_t side = 0, patch = 0;   // voxels a side; `patch` divides `side`
    std::int64_t frames = 1, step = 1;  // of time, likewise
    std::int64_t width = 0;

    std::int64_t tokens() const { return (side / patch) * (side / patch) * (side / patch) * (frames / step); }
    std::int64_t features() const { return patch * patch * patch * step; }
    std::int64_t voxels() const { return side * side * side * frames; }
  };
  Patches(medley::ParameterSet& set, const std::string& name, const Setting& setting);

  // [n, (frames,) side, side, side] -> [n, tokens, width], in the order of time, then of the axes
  at::Tensor operator()(const at::Tensor& scans) const;
  // [n, ...] -> [n, tokens, features]
  at::Tensor Cut(const at::Tensor& scans) const;
  const Setting& setting() const { return setting_; }

 private:
  Setting setting_;
  medley::Linear project_;
  at::Tensor positions_;
};

// A language model that reads scans among its words: each is cut into patches, goes through a small vision
// tower and a projector of two layers, and stands where the words leave room for it. Sources for facts: the
// published LLaVA and its variants for scans.
class Volumes final : public medley::ParameterModel {
 public:
  static constexpr medley::ModelSpec kSpec = [] {
    using medley::IntegerField;
    medley::ModelSpec spec{
        .name = "volumes",
        .summary = "a language model that reads 3-D scans, and series of them, among its words",
        .groups = {{"volume", "3-D scans"},
                   {"series", "Scans over time, of a lower resolution"},
                   {"tower", "Attention over the patches of one scan"},
                   {"language", "The text decoder, as Qwen3, Qwen2 or Llama"}}};
    spec.fields = {
        IntegerField("volume.size", 24, 1, 1024, "Voxels a side"),
        IntegerField("volume.patch", 8, 1, 1024, "Voxels a side of one patch"),
        IntegerField("series.size", 12, 1, 1024, "Voxels a side"),
        IntegerField("series.patch", 6, 1, 1024, "Voxels a side of one patch"),
        IntegerField("series.frames", 12, 1, 4096, "Scans of a series"),
        IntegerField("series.step", 3, 1, 4096, "Scans of one patch"),
        IntegerField("tower.width", 64, 1, 65536, "Width of a layer"),
        IntegerField("tower.layers", 2, 0, 1024, "Layers"),
        IntegerField("tower.heads", 4, 1, 1024, "Heads; they divide the width"),
        IntegerField("tower.ffn", 128, 1, 1 << 20, "Inner width of a feed-forward network"),
        IntegerField("language.hidden", 96, 1, 1 << 20, "Width of the residual stream"),
        IntegerField("language.layers", 4, 1, 1024, "Decoder layers"),
        IntegerField("language.heads", 4, 1, 1024, "Query heads"),
        IntegerField("language.kv_heads", 2, 1, 1024, "Key and value heads; divides heads"),
        IntegerField("language.head_dim", 24, 2, 4096, "Width of one head; even, for rotary positions"),
        IntegerField("language.ffn", 256, 1, 1 << 20, "Width of the SwiGLU"),
        IntegerField("language.vocabulary", 0, 0, 1 << 24,
                     "Rows of the embedding table; 0: the tokenizer's size"),
        IntegerField("language.positions", 512, 1, 1 << 20, "Most tokens of a row, those of scans included"),
        medley::NumberField("language.rms_epsilon", 1e-6, 0, 1, "Epsilon of every RMSNorm", true),
        medley::NumberField("language.rope_base", 1e6, 1, 1e12, "Base of the rotary frequencies", true),
        medley::SwitchField("language.tied", true, "The embedding table is the output projection, too"),
        medley::WordField("attention", {"fused", "eager"}, "eager keeps the weights of all layers")};
    for (const medley::ModelField& field : medley::kLanguageForms) spec.fields.Add(field);
    for (const medley::ModelField& field : medley::kTowerLayerForms) spec.fields.Add(field);
    spec.pretrained = {.group = "language", .root = "language."};
    spec.tower = {.group = "tower", .root = "vision_tower.", .layers_only = true};
    spec.rules = {{.field = "volume.size", .multiple_of = "volume.patch"},
                  {.field = "series.size", .multiple_of = "series.patch"},
                  {.field = "series.frames", .multiple_of = "series.step"},
                  {.field = "tower.heads", .divides = "tower.width"},
                  {.field = "language.kv_heads", .divides = "language.heads"},
                  {.field = "language.head_dim", .multiple = 2, .why = "rotary positions turn pairs"}};
    spec.sizes = {{.name = "volumes", .help = "3-D scans", .ragged = true},
                  {.name = "series", .help = "Scans over time", .ragged = true},
                  {.name = "text_width",
                   .help = "Tokens of the longest row, with those of scans",
                   .lengths = "lengths"},
                  {.name = "supervised", .help = "Tokens that are learned", .ragged = true}};
    spec.inputs = {{.name = "volumes",
                    .dimensions = {"volumes", "volume.size", "volume.size", "volume.size"},
                    .help = "Of all rows behind one another"},
                   {.name = "volume_at",
                    .dtype = "int64",
                    .dimensions = {"volumes"},
                    .help = "Where the first token of each stands: row * text_width + position"},
                   {.name = "series",
                    .dimensions = {"series", "series.frames", "series.size", "series.size", "series.size"},
                    .help = "Of all rows behind one another"},
                   {.name = "series_at", .dtype = "int64", .dimensions = {"series"}, .help = "Likewise"},
                   {.name = "tokens",
                    .dtype = "int64",
                    .dimensions = {"rows", "text_width"},
                    .help = "With room for the scans, padded at the end"},
                   {.name = "lengths", .dtype = "int64", .dimensions = {"rows"}, .help = "1 to text_width"},
                   {.name = "supervised",
                    .dtype = "int64",
                    .dimensions = {"supervised"},
                    .help = "The learned tokens: row * text_width + position, none of them a row's first"}};
    spec.outputs = {
        {.name = "logits", .dimensions = {"supervised", "vocabulary"}, .help = "Of the learned tokens"},
        {.name = "targets", .dtype = "int64", .dimensions = {"supervised"}, .help = "Those tokens"}};
    spec.tokenizer = true;
    return spec;
  }();
  explicit Volumes(const medley::ModelContext& context);

  medley::ModelOutputs Forward(const medley::ModelInputs& inputs, const medley::WantedOutputs& wanted,
                               medley::ForwardContext& context) const override;
  // Scans are encoded once, and keys and values of the text are kept while it grows.
  medley::Generated Generate(const medley::ModelInputs& prompt, const medley::GenerateOptions& options,
                             medley::ForwardContext& context) const override;
  std::vector<medley::ForwardPart> Footprint(const medley::ForwardShape& shape) const override;
  std::int64_t vocabulary() const override { return vocabulary_; }
  std::int64_t TableBytes() const override { return language_.TableBytes(); }
  medley::KernelShapes Kernels() const override { return language_.Kernels(); }
  void To(at::Device device, at::ScalarType dtype) override;

  const Patches& volume_patches() const { return volume_; }
  const Patches& series_patches() const { return series_; }

 private:
  // The scans of one kind in a forward.
  struct Shown {
    const Patches* patches;
    at::Tensor scans, at;  // [n, ...]; [n] flat places of their first tokens
  };
  // A forward's inputs; on the CPU without the columns that nothing learned sees.
  struct Reading {
    at::Tensor tokens, supervised, targets, sources;  // sources: flat places that the targets are told from
    std::vector<Shown> scans;
  };
  Reading Read(const medley::ModelInputs& inputs) const;
  // Of prompts, of which nothing is learned, up to the longest's end.
  Reading ReadPrompts(const medley::ModelInputs& prompt, std::int64_t longest) const;
  std::vector<Shown> ScansOf(const medley::ModelInputs& inputs) const;
  // [n, ...] -> [n, tokens, hidden]
  at::Tensor Encode(const Patches& patches, const at::Tensor& scans, medley::ForwardContext& context) const;
  // Words with the scans in their places: [rows, width, hidden].
  at::Tensor Spliced(const Reading& in, medley::ForwardContext& context) const;
  std::int64_t NumberBytes() const;  // of the parameters' type
  void AddScanParts(std::vector<medley::ForwardPart>& parts, const Patches& patches, const std::string& name,
                    std::int64_t scans, const medley::ForwardShape& shape) const;

  medley::TransformerLayer::Setting tower_setting_;
  medley::LanguageConfig language_config_;
  std::int64_t vocabulary_;
  medley::ReplyWords words_;
  Patches volume_, series_;
  std::vector<medley::TransformerLayer> tower_;
  medley::TowerConfig published_config_;
  std::optional<medley::TowerLayers> published_;  // in place of the tower's own layers
  medley::LayerNorm tower_norm_;
  medley::Linear project_in_, project_out_;
  medley::Language language_;
};

// How many positions a scan of each kind takes in a model of this config.
std::int64_t VolumeTokens(const medley::ModelConfig& config);
std::int64_t SeriesTokens(const medley::ModelConfig& config);

}  // namespace medley_volumes
