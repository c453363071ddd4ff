#include <medley/model/tower_fields.h>

#include <algorithm>
#include <array>
#include <string_view>

#include <medley/base/error.h>

namespace medley {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"none", "clip", "siglip"};
constexpr std::array<std::string_view, 4> kActivations = {"relu", "gelu", "gelu_tanh", "quick_gelu"};
constexpr std::array<const char*, 3> kColours = {"red", "green", "blue"};
constexpr const char *kCubic = "bicubic", *kLinear = "bilinear", *kCrop = "crop", *kSquash = "squash";

template <typename Enum, std::size_t kCount>
Enum ValueOf(const std::array<std::string_view, kCount>& words, const std::string& word) {
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) throw Error("'" + word + "' is no value of a tower's field");
  return static_cast<Enum>(found - words.begin());
}

}  // namespace

TowerConfig TowerLayersOf(const ModelConfig& config, const std::string& group) {
  const auto field = [&](const std::string& name) { return group + "." + name; };
  TowerConfig tower;
  tower.kind = ValueOf<TowerKind>(kKinds, config.Word(field("kind")));
  if (!tower.any()) return tower;
  tower.width = config.Integer(field("width")), tower.layers = config.Integer(field("layers"));
  tower.heads = config.Integer(field("heads")), tower.ffn = config.Integer(field("ffn"));
  tower.epsilon = config.Number(field("epsilon"));
  tower.activation = ValueOf<Activation>(kActivations, config.Word(field("activation")));
  return tower;
}

TowerConfig TowerOf(const ModelConfig& config, const std::string& group, const std::string& size,
                    const std::string& patch) {
  const auto field = [&](const std::string& name) { return group + "." + name; };
  TowerConfig tower = TowerLayersOf(config, group);
  if (!tower.any()) return tower;
  tower.size = config.Integer(size), tower.patch = config.Integer(patch);
  for (std::size_t i = 0; i < kColours.size(); ++i) {
    tower.mean.at(i) = config.Number(field(std::string("mean_") + kColours.at(i)));
    tower.deviation.at(i) = config.Number(field(std::string("deviation_") + kColours.at(i)));
  }
  const bool crops = config.Word(field("fit")) == kCrop;
  tower.rule = {.resizes = true,
                .resampling = config.Word(field("resampling")) == kCubic ? PictureRule::Resampling::kBicubic
                                                                         : PictureRule::Resampling::kBilinear,
                .shortest_edge = 0};
  if (crops) {
    const std::int64_t edge = config.Integer(field("shortest_edge"));
    tower.rule.shortest_edge = edge > 0 ? edge : tower.size;
  }
  tower.projector = ValueOf<Activation>(kActivations, config.Word(field("projector")));
  tower.image_token = config.Integer(field("image_token"));
  return tower;
}

TowerConfig TowerOf(const ModelConfig& config, const ModelInfo& info) {
  if (info.tower.empty()) return {};
  if (info.tower.layers_only) return TowerLayersOf(config, info.tower.group);
  return TowerOf(config, info.tower.group, info.pictures.size, info.pictures.patch);
}

OptionValues FieldsOf(const TowerConfig& tower) {
  const auto number = [](std::int64_t integer) { return static_cast<double>(integer); };
  const bool crops = tower.rule.shortest_edge > 0,
             cubic = tower.rule.resampling == PictureRule::Resampling::kBicubic;
  OptionValues values = {{"kind", WordOf(tower.kind)},
                         {"width", number(tower.width)},
                         {"layers", number(tower.layers)},
                         {"heads", number(tower.heads)},
                         {"ffn", number(tower.ffn)},
                         {"epsilon", tower.epsilon},
                         {"activation", WordOf(tower.activation)},
                         {"resampling", std::string(cubic ? kCubic : kLinear)},
                         {"fit", std::string(crops ? kCrop : kSquash)},
                         {"shortest_edge", number(tower.rule.shortest_edge)},
                         {"projector", WordOf(tower.projector)},
                         {"image_token", number(tower.image_token)}};
  for (std::size_t i = 0; i < kColours.size(); ++i) {
    values[std::string("mean_") + kColours.at(i)] = tower.mean.at(i);
    values[std::string("deviation_") + kColours.at(i)] = tower.deviation.at(i);
  }
  return values;
}

std::string WordOf(TowerKind kind) { return std::string(kKinds.at(static_cast<std::size_t>(kind))); }
std::string WordOf(Activation activation) {
  return std::string(kActivations.at(static_cast<std::size_t>(activation)));
}

}  // namespace medley
