#include "model/volumes.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include <medley/base/error.h>
#include <medley/model/language_fields.h>
#include <medley/model/tower_fields.h>

namespace medley_volumes {
namespace {

using medley::ModelConfig;
using medley::ModelInputs;

Patches::Setting VolumeSetting(const ModelConfig& config) {
  return {.side = config.Integer("volume.size"),
          .patch = config.Integer("volume.patch"),
          .width = config.Integer("tower.width")};
}

Patches::Setting SeriesSetting(const ModelConfig& config) {
  return {.side = config.Integer("series.size"),
          .patch = config.Integer("series.patch"),
          .frames = config.Integer("series.frames"),
          .step = config.Integer("series.step"),
          .width = config.Integer("tower.width")};
}

medley::AttentionKind KindOf(const ModelConfig& config) {
  return config.Word("attention") == "eager" ? medley::AttentionKind::kEager : medley::AttentionKind::kFused;
}

medley::TransformerLayer::Setting TowerSetting(const ModelConfig& config) {
  return {.width = config.Integer("tower.width"),
          .heads = config.Integer("tower.heads"),
          .ffn = config.Integer("tower.ffn"),
          .pre_norm = true,
          .activation = medley::Activation::kGelu,
          .attention = KindOf(config)};
}

medley::LanguageConfig LanguageSetting(const ModelConfig& config) {
  medley::LanguageConfig language = medley::LanguageOf(config, "language");
  language.attention = KindOf(config);
  return language;
}

std::int64_t VocabularyOf(const medley::ModelContext& context) {
  const std::int64_t size = context.tokenizer().size(),
                     rows = medley::TableRows(LanguageSetting(context.config), size);
  if (rows < size)
    throw medley::InputError("language.vocabulary is " + std::to_string(rows) + ", the tokenizer has " +
                             std::to_string(size) + " tokens; set it to 0 for the tokenizer's size");
  return rows;
}

std::vector<medley::TransformerLayer> TowerOf(medley::ParameterSet& set, const ModelConfig& config) {
  std::vector<medley::TransformerLayer> layers;
  if (medley::TowerLayersOf(config, "tower").any()) return layers;
  for (std::int64_t i = 0; i < config.Integer("tower.layers"); ++i)
    layers.emplace_back(set, "tower." + std::to_string(i), TowerSetting(config));
  return layers;
}

// The layers of a published tower, where there are some.
std::optional<medley::TowerLayers> PublishedOf(medley::ParameterSet& set, const medley::TowerConfig& config) {
  if (!config.any()) return std::nullopt;
  set.BeginBase("");
  medley::TowerLayers layers(set, config, std::string(Volumes::kSpec.tower.root));
  set.EndBase(/*last=*/false);
  return layers;
}

// A scan's features begin as long as a word's vector.
double FeatureGain(const ModelConfig& config) {
  return 2 / std::sqrt(static_cast<double>(config.Integer("language.hidden")));
}

std::int64_t Largest(const at::Tensor& x) { return x.numel() > 0 ? x.max().item<std::int64_t>() : 0; }

// Places row * width + position, once only `kept` columns are left.
at::Tensor Moved(const at::Tensor& places, std::int64_t width, std::int64_t kept) {
  if (kept == width) return places;
  return at::floor_divide(places, width).mul(kept).add(at::remainder(places, width));
}

}  // namespace

std::int64_t VolumeTokens(const ModelConfig& config) { return VolumeSetting(config).tokens(); }
std::int64_t SeriesTokens(const ModelConfig& config) { return SeriesSetting(config).tokens(); }

Volumes::Volumes(const medley::ModelContext& context)
    : ParameterModel(kSpec, context),
      tower_setting_(TowerSetting(context.config)),
      language_config_(LanguageSetting(context.config)),
      vocabulary_(VocabularyOf(context)),
      words_{.count = context.tokenizer().size(), .eos = context.tokenizer().eos()},
      volume_(set(), "patches.volume", VolumeSetting(context.config)),
      series_(set(), "patches.series", SeriesSetting(context.config)),
      tower_(TowerOf(set(), context.config)),
      published_config_(medley::TowerLayersOf(context.config, "tower")),
      published_(PublishedOf(set(), published_config_)),
      tower_norm_(set(), "tower_norm", tower_setting_.width),
      project_in_(set(), "projector.0", tower_setting_.width, language_config_.hidden, true),
      project_out_(set(), "projector.1", language_config_.hidden, language_config_.hidden, true,
                   FeatureGain(context.config)),
      language_(set(), language_config_, vocabulary_, context.config.Integer("language.positions"),
                "language.") {
  set().Hidden("projector.");
  if (!context.device.is_cpu()) To(context.device, at::kFloat);
}

at::Tensor Volumes::Encode(const Patches& patches, const at::Tensor& scans,
                           medley::ForwardContext& context) const {
  at::Tensor x = patches(scans.to(medley::FloatTypeOf(*this)));
  for (std::size_t i = 0; i < tower_.size(); ++i)
    x = context.Layer("tower", static_cast<int>(i), x,
                      [layer = tower_[i]](const at::Tensor& in) { return layer(in); });
  if (published_) x = (*published_)(std::move(x), context);
  return project_out_(at::gelu(project_in_(tower_norm_(x))));
}

std::vector<Volumes::Shown> Volumes::ScansOf(const ModelInputs& inputs) const {
  std::vector<Shown> scans;
  for (const auto& [patches, kind, at] :
       {std::tuple{&volume_, "volumes", "volume_at"}, std::tuple{&series_, "series", "series_at"}}) {
    const at::Tensor& shown = medley::InputNamed(inputs, kind);
    if (shown.size(0) > 0) scans.push_back({patches, shown, medley::InputNamed(inputs, at)});
  }
  return scans;
}

Volumes::Reading Volumes::Read(const ModelInputs& inputs) const {
  Reading in;
  in.tokens = medley::InputNamed(inputs, "tokens");
  in.supervised = medley::InputNamed(inputs, "supervised");
  in.targets = in.tokens.flatten().index_select(0, in.supervised);
  const std::int64_t width = in.tokens.size(1);
  in.scans = ScansOf(inputs);
  std::int64_t kept = width;
  if (in.tokens.device().is_cpu()) {  // on a GPU the question would be a wait
    kept = std::max<std::int64_t>(1, Largest(at::remainder(in.supervised, width)));
    for (const Shown& shown : in.scans)
      kept = std::max(kept, Largest(at::remainder(shown.at, width)) + shown.patches->setting().tokens());
  }
  if (kept > language_.positions())
    throw medley::Error("rows of " + std::to_string(kept) + " tokens, of which the model knows " +
                        std::to_string(language_.positions()) + "; set its language.positions");
  in.tokens = in.tokens.narrow(1, 0, kept);
  in.sources = Moved(in.supervised.sub(1), width, kept);
  for (Shown& shown : in.scans) shown.at = Moved(shown.at, width, kept);
  return in;
}

at::Tensor Volumes::Spliced(const Reading& in, medley::ForwardContext& context) const {
  std::vector<at::Tensor> places, features;
  for (const auto& [patches, scans, at] : in.scans) {
    const at::Tensor along = at::arange(patches->setting().tokens(), at.options());
    places.push_back(at.unsqueeze(1).add(along).flatten());
    features.push_back(Encode(*patches, scans, context).flatten(0, 1));
  }
  const at::Tensor words = language_.Embed(in.tokens);
  if (places.empty()) return words;
  const bool alone = places.size() == 1;
  const at::Tensor place = alone ? places[0] : at::cat(places),
                   shown = alone ? features[0] : at::cat(features);
  return words.flatten(0, 1).index_put({place}, shown).view(words.sizes());  // keeps the places alone
}

medley::ModelOutputs Volumes::Forward(const ModelInputs& inputs, const medley::WantedOutputs&,
                                      medley::ForwardContext& context) const {
  const Reading in = Read(inputs);
  medley::TextInput text;
  text.selected = in.sources;
  const at::Tensor hidden = language_.Hidden(Spliced(in, context), text, context);
  return {{"logits", language_.Logits(hidden)}, {"targets", in.targets}};
}

Volumes::Reading Volumes::ReadPrompts(const ModelInputs& prompt, std::int64_t longest) const {
  Reading in;
  in.tokens = medley::InputNamed(prompt, "tokens");
  in.scans = ScansOf(prompt);
  for (Shown& shown : in.scans) shown.at = Moved(shown.at, in.tokens.size(1), longest);
  in.tokens = in.tokens.narrow(1, 0, longest);
  return in;
}

medley::Generated Volumes::Generate(const ModelInputs& prompt, const medley::GenerateOptions& options,
                                    medley::ForwardContext& context) const {
  const at::NoGradGuard no_grad;
  if (options.decode_image) throw medley::InputError("the model volumes draws no pictures");
  if (!std::ranges::any_of(prompt, [](const auto& input) { return input.name == "volumes"; }))
    throw medley::InputError(
        "the model volumes is asked by a task, which says where scans stand among the words; leave out "
        "--plain");
  medley::PromptStates prompts{
      .states = {}, .lengths = medley::InputNamed(prompt, "lengths").to(at::kCPU), .seen = {}};
  const std::int64_t longest = Largest(prompts.lengths);
  prompts.room = longest;
  for (std::int64_t row = 0; row < prompts.lengths.numel(); ++row) {
    const auto length = prompts.lengths[row].item<std::int64_t>();
    const auto place = static_cast<std::size_t>(row);
    const std::int64_t most = place < options.most.size()
                                  ? std::min(options.most[place], options.max_new_tokens)
                                  : options.max_new_tokens;
    prompts.room = std::max(prompts.room, length + most);
    if (length + most > language_.positions())
      throw medley::InputError(
          "the prompt has " + std::to_string(length) + " tokens, with those of scans, and " +
          std::to_string(most) + " new tokens may follow; the model has " +
          std::to_string(language_.positions()) + " positions. Ask for fewer tokens, or shorten the prompt");
  }
  prompts.states = Spliced(ReadPrompts(prompt, longest), context);
  return medley::WriteReplies(language_, std::move(prompts), words_, options);
}

void Volumes::To(at::Device device, at::ScalarType dtype) {
  ParameterModel::To(device, dtype);
  language_.To(device, dtype);
}

}  // namespace medley_volumes
