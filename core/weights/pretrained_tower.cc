#include <medley/weights/pretrained_tower.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include <medley/base/durable_file.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/base/utf8.h>
#include <medley/weights/pretrained_config.h>
#include <medley/weights/pretrained_keys.h>

namespace medley {
namespace {

using TowerPath = std::vector<std::string>;

constexpr const char *kVision = "vision_config", *kProcessorFile = "processor_config.json",
                     *kProcessor = "image_processor";

// What the classes of transformers 5.24 have where a config says nothing (models/*/configuration_*.py and
// image_processing_*.py).
struct TowerClass {
  std::string_view whole, vision;  // model_type
  TowerKind kind;
  std::int64_t patch;
  double epsilon;
  Activation activation;
  bool crops;
  std::array<double, 3> mean, deviation;
};
constexpr std::array<TowerClass, 2> kTowerClasses = {{{"clip",
                                                       "clip_vision_model",
                                                       TowerKind::kClip,
                                                       32,
                                                       1e-5,
                                                       Activation::kQuickGelu,
                                                       true,
                                                       {0.48145466, 0.4578275, 0.40821073},
                                                       {0.26862954, 0.26130258, 0.27577711}},
                                                      {"siglip",
                                                       "siglip_vision_model",
                                                       TowerKind::kSiglip,
                                                       16,
                                                       1e-6,
                                                       Activation::kTanhGelu,
                                                       false,
                                                       {0.5, 0.5, 0.5},
                                                       {0.5, 0.5, 0.5}}}};
constexpr std::int64_t kTowerWidth = 768, kTowerFfn = 3072, kTowerLayers = 12, kTowerHeads = 12,
                       kTowerSize = 224;
constexpr std::array<std::pair<std::string_view, Activation>, 5> kPublishedActivations = {
    {{"quick_gelu", Activation::kQuickGelu},
     {"gelu_pytorch_tanh", Activation::kTanhGelu},
     {"gelu_new", Activation::kTanhGelu},
     {"gelu", Activation::kGelu},
     {"relu", Activation::kRelu}}};
constexpr double kByteScale = 1.0 / 255;
// LLaVA's does what CLIP's does.
constexpr std::array<std::pair<std::string_view, TowerKind>, 5> kProcessors = {
    {{"CLIPImageProcessor", TowerKind::kClip},
     {"CLIPFeatureExtractor", TowerKind::kClip},
     {"LlavaImageProcessor", TowerKind::kClip},
     {"SiglipImageProcessor", TowerKind::kSiglip},
     {"SiglipFeatureExtractor", TowerKind::kSiglip}}};

std::string TypeIn(const ConfigFile& file, TowerPath path) {
  path.emplace_back("model_type");
  const JsonNode* type = file.Find(path);
  return type != nullptr && type->IsString() ? type->scalar.get<std::string>() : "";
}

std::string Quoted(const std::string& text) { return "'" + Printable(CutText(text, 64)) + "'"; }

Activation ActivationOf(KeyReader& keys, const char* key, Activation otherwise) {
  if (!keys.Has(key)) return otherwise;
  const std::string found = keys.Text(key, "");
  std::vector<std::string> known;
  for (const auto& [name, activation] : kPublishedActivations) {
    if (name == found) return activation;
    known.emplace_back(name);
  }
  keys.Fail(key, Quoted(found) + " is not supported; medley has " + JoinNames(known));
  return otherwise;
}

class TowerReader {
 public:
  TowerReader(ConfigFile& file, const std::vector<std::string>& ignored, KeysOf whose)
      : file_(file), ignored_(ignored), whose_(whose) {}

  // Null where the class is none of those that medley reads, which is reported.
  const TowerClass* Find() {
    const std::string type = TypeIn(file_, {});
    in_llava_ = type == kLlavaType;
    for (const TowerClass& of : kTowerClasses) {
      if (type == of.vision) return &of;
      if (type == of.whole) at_ = {kVision};
      const std::string inside = TypeIn(file_, {kVision});
      if (type == of.whole && (inside.empty() || inside == of.vision)) return &of;
      if (in_llava_ && inside == of.vision) return at_ = {kVision}, &of;
    }
    const bool is_inside = in_llava_ || !at_.empty();
    TowerPath path = is_inside ? TowerPath{kVision, "model_type"} : TowerPath{"model_type"};
    const std::string found = is_inside ? TypeIn(file_, {kVision}) : type;
    file_.FailAt(path, (found.empty() ? "not there" : Quoted(found) + " is not supported") +
                           "; medley reads the towers clip_vision_model and siglip_vision_model, alone, of "
                           "clip and siglip, and of llava");
    return nullptr;
  }

  TowerConfig Read(const TowerClass& of) {
    TowerConfig tower = ReadAt(at_, of);
    ReadOuter(tower, of);
    return tower;
  }
  bool in_llava() const { return in_llava_; }

 private:
  TowerConfig ReadAt(const TowerPath& at, const TowerClass& of) {
    KeyReader keys(file_, at, TowerKeys(), ignored_, whose_);
    TowerConfig tower{.kind = of.kind,
                      .size = keys.Integer("image_size").value_or(kTowerSize),
                      .patch = keys.Integer("patch_size").value_or(of.patch),
                      .width = keys.Integer("hidden_size").value_or(kTowerWidth),
                      .layers = keys.Integer("num_hidden_layers").value_or(kTowerLayers),
                      .heads = keys.Integer("num_attention_heads").value_or(kTowerHeads),
                      .ffn = keys.Integer("intermediate_size").value_or(kTowerFfn),
                      .epsilon = keys.Number("layer_norm_eps").value_or(of.epsilon),
                      .activation = ActivationOf(keys, "hidden_act", of.activation),
                      .mean = of.mean,
                      .deviation = of.deviation,
                      .rule = {.resizes = true}};
    if (of.crops) tower.rule.shortest_edge = tower.size;
    if (const auto channels = keys.Integer("num_channels"); channels.value_or(3) != 3)
      keys.Fail("num_channels", "medley's pictures have 3 colours, found " + std::to_string(*channels));
    if (tower.patch > tower.size)
      keys.Fail("patch_size", "expected at most image_size (" + std::to_string(tower.size) + "), found " +
                                  std::to_string(tower.patch));
    if (tower.width % tower.heads != 0)
      keys.Fail("num_attention_heads", "expected a divisor of hidden_size (" + std::to_string(tower.width) +
                                           "), found " + std::to_string(tower.heads));
    return tower;
  }

  void ReadOuter(TowerConfig& tower, const TowerClass& of) {
    if (in_llava_) return ReadLlava(tower);
    if (!at_.empty()) ReadTwoTowers(tower, of);
    // As LLaVA takes the state of each.
    if (tower.kind == TowerKind::kClip) --tower.layers;
    if (tower.layers >= 1) return;
    TowerPath layers = at_;
    layers.emplace_back("num_hidden_layers");
    file_.FailAt(layers, "expected 2 or more: the last one is left out, as LLaVA does it");
  }

  // Older files have the tower a second time, which transformers lays over the first.
  void ReadTwoTowers(const TowerConfig& tower, const TowerClass& of) {
    const KeyReader keys(file_, {}, TwoTowersKeys(), ignored_, whose_);
    const TowerPath second = {"vision_config_dict"};
    const JsonNode* over = file_.Find(second);
    if (over == nullptr || !over->IsObject() || ReadAt(second, of) == tower) return;
    file_.FailAt(second,
                 "it is another tower than vision_config, over which transformers lays it; "
                 "expected the same, or none");
  }

  void ReadLlava(TowerConfig& tower) {
    KeyReader keys(file_, {}, LlavaKeys(), ignored_, whose_);
    const bool is_clip = tower.kind == TowerKind::kClip;
    tower.projector = ActivationOf(keys, "projector_hidden_act", Activation::kGelu);
    tower.image_token =
        keys.Integer("image_token_index").value_or(keys.Integer("image_token_id").value_or(32000));
    if (!keys.Switch("multimodal_projector_bias", true))
      keys.Fail("multimodal_projector_bias", "medley's projectors have biases");
    const std::int64_t whole = tower.layers, state = keys.Integer("vision_feature_layer").value_or(-2);
    tower.layers = state < 0 ? whole + 1 + state : state;
    if (tower.layers < 1 || tower.layers > whole)
      keys.Fail("vision_feature_layer", "expected a state behind one of the tower's " +
                                            std::to_string(whole) + " layers (1 to " + std::to_string(whole) +
                                            ", or " + std::to_string(-whole) + " to -1), found " +
                                            std::to_string(state));
    const std::string strategy = keys.Text("vision_feature_select_strategy", "default"),
                      expected = is_clip ? "default" : "full";
    if (strategy != expected)
      keys.Fail("vision_feature_select_strategy",
                "expected " + expected + ", found " + Quoted(strategy) +
                    (is_clip ? ": medley takes the vectors of a CLIP's patches, and not that of the whole "
                               "picture"
                             : ": a SigLIP has no vector of the whole picture that could be left out"));
  }

  ConfigFile& file_;
  const std::vector<std::string>& ignored_;
  KeysOf whose_;
  TowerPath at_;
  bool in_llava_ = false;
};

// How pictures are prepared, by the names of transformers' image processors.
class PreprocessorReader {
 public:
  PreprocessorReader(ConfigFile& file, TowerPath at, const std::vector<std::string>& ignored, KeysOf whose)
      : file_(file), at_(std::move(at)), keys_(file, at_, PreprocessorKeys(), ignored, whose) {}

  void Read(TowerConfig& tower) {
    for (const char* key : {"feature_extractor_type", "image_processor_type"}) ReadClass(key, tower);
    for (const char* step : {"do_resize", "do_rescale", "do_normalize"}) {
      if (!keys_.Switch(step, true)) keys_.Fail(step, "expected true: medley always does it");
    }
    if (keys_.Switch("do_pad")) keys_.Fail("do_pad", "expected false: medley pads no pictures");
    const double scale = keys_.Number("rescale_factor").value_or(kByteScale);
    if (std::abs(scale * 255 - 1) > 1e-6)
      keys_.Fail("rescale_factor", "expected 1/255: medley's pictures are in [0, 1]");
    ReadResampling(tower);
    ReadThree("image_mean", tower.mean);
    ReadThree("image_std", tower.deviation);
    for (const double deviation : tower.deviation) {
      if (deviation <= 0) keys_.Fail("image_std", "expected numbers above 0");
    }
    ReadSize(tower);
  }

 private:
  // Whose defaults hold where the file says nothing.
  void ReadClass(const char* key, TowerConfig& tower) {
    if (!keys_.Has(key) || keys_.IsNull(key)) return;
    const std::string found = keys_.Text(key, "");
    std::string_view name = found;
    for (const std::string_view form : {"Fast", "Pil"}) {
      if (name.ends_with(form)) name.remove_suffix(form.size());
    }
    for (const auto& [known, kind] : kProcessors) {
      if (name != known) continue;
      const TowerClass& of = *std::ranges::find(kTowerClasses, kind, &TowerClass::kind);
      tower.mean = of.mean;
      tower.deviation = of.deviation;
      tower.rule.shortest_edge = of.crops ? tower.size : 0;
      return;
    }
    keys_.Fail(key, Quoted(found) +
                        " is not supported; medley prepares pictures as CLIPImageProcessor, "
                        "SiglipImageProcessor and LlavaImageProcessor do");
  }

  void ReadResampling(TowerConfig& tower) {
    const std::int64_t resample = keys_.Integer("resample").value_or(3);
    if (resample != 2 && resample != 3)
      keys_.Fail("resample", "expected 2 (bilinear) or 3 (bicubic), found " + std::to_string(resample));
    tower.rule.resampling =
        resample == 2 ? PictureRule::Resampling::kBilinear : PictureRule::Resampling::kBicubic;
  }

  void ReadThree(const char* key, std::array<double, 3>& values) {
    const JsonNode* list = keys_.Find(key);
    if (list == nullptr) return;
    bool good = list->elements.size() == values.size();
    for (std::size_t i = 0; good && i < values.size(); ++i) {
      good = list->elements[i].scalar.is_number();
      if (good) values.at(i) = list->elements[i].scalar.get<double>();
    }
    if (!good) keys_.Fail(key, "expected three numbers, of red, green and blue");
  }

  const JsonNode* Inside(std::initializer_list<const char*> keys) const {
    TowerPath path = at_;
    path.insert(path.end(), keys.begin(), keys.end());
    return file_.Find(path);
  }
  static std::optional<std::int64_t> WholeNumber(const JsonNode* node) {
    if (node == nullptr || !node->scalar.is_number_integer()) return std::nullopt;
    return node->scalar.get<std::int64_t>();
  }
  // A number, or both sides; nothing where it is neither.
  std::optional<std::pair<std::int64_t, std::int64_t>> Sides(const char* key) const {
    if (const auto side = WholeNumber(Inside({key}))) return std::pair(*side, *side);
    const auto height = WholeNumber(Inside({key, "height"})), width = WholeNumber(Inside({key, "width"}));
    if (height && width) return std::pair(*height, *width);
    return std::nullopt;
  }

  void Expect(const char* key, const TowerConfig& tower) {
    const auto sides = Sides(key);
    if (sides == std::pair(tower.size, tower.size)) return;
    keys_.Fail(key,
               "expected " + std::to_string(tower.size) + " pixels a side, as " + kPretrainedConfigFile +
                   " says of the tower (image_size)" +
                   (sides ? ", found " + std::to_string(sides->first) + " x " + std::to_string(sides->second)
                          : ": height and width"));
  }

  // Both sides at once; or the shorter one, and then the middle. A number alone is the shorter one, as all
  // these classes have it.
  void ReadSize(TowerConfig& tower) {
    const bool crops =
        keys_.IsNull("do_center_crop") ? false : keys_.Switch("do_center_crop", tower.rule.shortest_edge > 0);
    auto edge = WholeNumber(Inside({"size", "shortest_edge"}));
    if (!keys_.Switch("default_to_square") && !edge) edge = WholeNumber(Inside({"size"}));
    if (!crops) {
      if (edge)
        keys_.Fail(
            "size",
            "a picture whose shorter side alone is given (shortest_edge, or a number) needs do_center_crop: "
            "medley's are square");
      else if (Inside({"size"}) != nullptr)
        Expect("size", tower);
      tower.rule.shortest_edge = 0;
      return;
    }
    if (Inside({"crop_size"}) != nullptr) Expect("crop_size", tower);
    if (!edge && Inside({"size"}) != nullptr) {  // what is cut out is all of it
      Expect("size", tower);
      tower.rule.shortest_edge = 0;
      return;
    }
    tower.rule.shortest_edge = edge.value_or(tower.size);
    if (tower.rule.shortest_edge < 1 || tower.rule.shortest_edge > kMostEdge)
      keys_.Fail("size", "expected a shortest edge of 1 to " + std::to_string(kMostEdge) + ", found " +
                             std::to_string(tower.rule.shortest_edge));
  }

  static constexpr std::int64_t kMostEdge = 1 << 16;  // as tower.shortest_edge has it
  ConfigFile& file_;
  TowerPath at_;
  KeyReader keys_;
};

bool IsInTowerFolder(const std::filesystem::path& file) {
  return TypeOf(file) != std::filesystem::file_type::not_found;
}

// The name of the file that was there; "": none was.
std::string ReadPreprocessor(const std::filesystem::path& directory, const std::vector<std::string>& ignored,
                             KeysOf whose, Diagnostics& diagnostics, TowerConfig& tower) {
  for (const auto& [name, at] :
       {std::pair(kPreprocessorFile, TowerPath{}), std::pair(kProcessorFile, TowerPath{kProcessor})}) {
    if (!IsInTowerFolder(directory / name)) continue;
    ConfigFile file(directory / name, diagnostics);
    const JsonNode* object = file.root() == nullptr ? nullptr : file.Find(at);
    if (file.root() == nullptr) return name;  // reported
    if (object == nullptr && !at.empty()) continue;
    if (!object->IsObject()) {
      file.Fail(object->at, "", "expected an object, found " + Describe(*object));
      return name;
    }
    PreprocessorReader(file, at, ignored, whose).Read(tower);
    return name;
  }
  return "";
}

}  // namespace

bool SaysItHasATower(const std::filesystem::path& directory) {
  Diagnostics nobody;  // hears what is wrong
  const ConfigFile file(directory / kPretrainedConfigFile, nobody);
  if (file.root() == nullptr || !file.root()->IsObject()) return false;
  const std::string type = TypeIn(file, {});
  return type == kLlavaType || std::ranges::any_of(kTowerClasses, [&](const TowerClass& of) {
           return type == of.whole || type == of.vision;
         });
}

std::filesystem::path RuleFileIn(const std::filesystem::path& directory) {
  for (const char* name : {kPreprocessorFile, kProcessorFile}) {
    if (IsInTowerFolder(directory / name)) return directory / name;
  }
  return {};
}

PretrainedTower ReadPretrainedTower(const std::filesystem::path& directory,
                                    const std::vector<std::string>& ignored_keys, KeysOf whose) {
  Diagnostics diagnostics;
  ConfigFile file(directory / kPretrainedConfigFile, diagnostics);
  if (file.root() != nullptr && !file.root()->IsObject())
    file.Fail(file.root()->at, "", "expected an object, found " + Describe(*file.root()));
  diagnostics.Throw();
  TowerReader reader(file, ignored_keys, whose);
  const TowerClass* of = reader.Find();
  diagnostics.Throw();  // alone: the keys of another one say nothing
  PretrainedTower read{.tower = reader.Read(*of), .in_llava = reader.in_llava()};
  read.rule_file = ReadPreprocessor(directory, ignored_keys, whose, diagnostics, read.tower);
  diagnostics.Throw();
  return read;
}

}  // namespace medley
