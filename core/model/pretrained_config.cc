#include <medley/model/pretrained_config.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/suggest.h>
#include <medley/base/utf8.h>
#include <medley/config/field.h>

namespace medley {
namespace {

using Path = std::vector<std::string>;

// What the classes of transformers 5.24 differ in (models/*/configuration_*.py). Heads of 0: those of the
// queries; a head_dim of 0: the width by the heads.
struct Architecture {
  std::string_view type, name;
  bool qk_norm;
  std::int64_t vocabulary, ffn, kv_heads, head_dim, positions;
};
constexpr std::array<Architecture, 3> kArchitectures = {
    {{"qwen3", "Qwen3ForCausalLM", true, 151936, 22016, 32, 128, 32768},
     {"qwen2", "Qwen2ForCausalLM", false, 151936, 22016, 32, 0, 32768},
     {"llama", "LlamaForCausalLM", false, 32000, 11008, 0, 0, 2048}}};
constexpr std::int64_t kHidden = 4096, kLayers = 32, kHeads = 32;
constexpr double kRmsEpsilon = 1e-6, kRopeBase = 1e4;
constexpr std::int64_t kMaxWindowLayers = 28;

constexpr double kMostWidth = 1 << 24, kMostLayers = 1024, kMostPositions = 1 << 30, kMostNumber = 1e12;

std::string Supported() {
  std::vector<std::string> names;
  for (const Architecture& architecture : kArchitectures) names.emplace_back(architecture.name);
  return "medley reads " + JoinNames(names);
}

class PretrainedConfigReader {
 public:
  explicit PretrainedConfigReader(ConfigFile& file) : file_(file) {}

  PretrainedConfig Read() {
    const Architecture* architecture = FindArchitecture();
    if (architecture == nullptr) return {};
    const std::int64_t hidden = Integer("hidden_size", kHidden, kMostWidth),
                       heads = Integer("num_attention_heads", kHeads, kMostLayers);
    // Null stands for the number of heads, whatever the class's default.
    const bool is_absent = file_.Find({"num_key_value_heads"}) == nullptr;
    const std::int64_t kv_heads = is_absent && architecture->kv_heads > 0 ? architecture->kv_heads : heads,
                       head_dim = architecture->head_dim > 0 ? architecture->head_dim
                                                             : std::max<std::int64_t>(hidden / heads, 1);
    PretrainedConfig config{
        .architecture = std::string(architecture->name),
        .language = {.hidden = hidden,
                     .layers = Integer("num_hidden_layers", kLayers, kMostLayers),
                     .heads = heads,
                     .kv_heads = Integer("num_key_value_heads", kv_heads, kMostLayers),
                     .head_dim = Integer("head_dim", head_dim, kMostWidth),
                     .ffn = Integer("intermediate_size", architecture->ffn, kMostWidth),
                     .vocabulary = Integer("vocab_size", architecture->vocabulary, kMostWidth),
                     .rms_epsilon = Number({"rms_norm_eps"}, kRmsEpsilon, 1),
                     .tied = Switch("tie_word_embeddings"),
                     .qk_norm = architecture->qk_norm},
        .positions = Integer("max_position_embeddings", architecture->positions, kMostPositions)};
    const bool has_bias = Switch("attention_bias");
    if (architecture->type == "qwen2")  // whose class has no such field
      config.language.attention_bias = AttentionBias::kQkv;
    else if (has_bias)
      config.language.attention_bias = AttentionBias::kQkvo;
    ReadRope(config);
    CheckLayers(config.language.layers);
    CheckRest();
    return config;
  }

 private:
  // Null where it is absent or null.
  const JsonNode* Find(const Path& path) const {
    const JsonNode* node = file_.Find(path);
    return node == nullptr || node->type == nlohmann::json::value_t::null ? nullptr : node;
  }

  void Refuse(const Path& path, const std::string& expected) {
    file_.FailAt(path, "expected " + expected + ", found " + Describe(*Find(path)));
  }

  std::int64_t Integer(const char* key, std::int64_t otherwise, double most) {
    const double number = Number({key}, static_cast<double>(otherwise), most, /*whole=*/true);
    return static_cast<std::int64_t>(number);
  }

  // Above 0.
  double Number(const Path& path, double otherwise, double most, bool whole = false) {
    const JsonNode* node = Find(path);
    if (node == nullptr) return otherwise;
    const double number = node->scalar.is_number() ? node->scalar.get<double>() : 0;
    if (number > 0 && number <= most && (!whole || number == std::floor(number))) return number;
    const Field bounds{.low = whole ? 1.0 : 0.0, .high = most, .above_low = !whole};
    Refuse(path, std::string(whole ? "a whole number " : "a number ") + BoundsInWords(bounds));
    return otherwise;
  }

  bool Switch(const char* key) {
    const JsonNode* node = Find({key});
    if (node == nullptr) return false;
    if (!node->scalar.is_boolean()) Refuse({key}, "true or false");
    return node->scalar.is_boolean() && node->scalar.get<bool>();
  }

  std::string Text(const Path& path, const std::string& otherwise) {
    const JsonNode* node = Find(path);
    if (node == nullptr) return otherwise;
    if (!node->IsString()) Refuse(path, "a text");
    return node->IsString() ? node->scalar.get<std::string>() : otherwise;
  }

  // Classes with other heads have the same model_type.
  const Architecture* FindArchitecture() {
    const auto named = [&](const Path& path, std::string_view Architecture::*name) -> const Architecture* {
      const std::string found = Text(path, "");
      for (const Architecture& architecture : kArchitectures) {
        if (architecture.*name == found) return &architecture;
      }
      file_.FailAt(path, (found.empty() ? "not there" : "'" + CutText(found, 64) + "' is not supported") +
                             "; " + Supported());
      return nullptr;
    };
    const Architecture* of_type = named({"model_type"}, &Architecture::type);
    if (of_type == nullptr || Find({"architectures"}) == nullptr) return of_type;
    const Architecture* of_class = named({"architectures", "0"}, &Architecture::name);
    if (of_class != nullptr && of_class != of_type) {
      file_.FailAt({"architectures", "0"}, "expected " + std::string(of_type->name) + " of the model_type " +
                                               std::string(of_type->type) + ", found " +
                                               std::string(of_class->name));
    }
    return of_class == of_type ? of_type : nullptr;
  }

  // transformers 5 calls it rope_parameters; where the older name is there, too, that one counts.
  void ReadRope(PretrainedConfig& config) {
    const JsonNode* older = Find({"rope_scaling"});
    const bool counts = older != nullptr && !(older->IsObject() && older->members.empty());
    const std::string key = counts ? "rope_scaling" : "rope_parameters";
    const double base = Number({"rope_theta"}, kRopeBase, kMostNumber);
    config.language.rope_base = Number({key, "rope_theta"}, base, kMostNumber);
    RefusePartial({"partial_rotary_factor"}), RefusePartial({key, "partial_rotary_factor"});
    const JsonNode* rope = Find({key});
    if (rope == nullptr) return;
    if (!rope->IsObject()) return Refuse({key}, "an object");
    CheckRopeKeys(key, *rope);
    const std::string type = Text({key, "rope_type"}, Text({key, "type"}, "default"));
    if (type == "llama3") return ReadLlamaRope(key, config);
    if (type != "default")
      file_.FailAt(
          {key}, "the rope type '" + CutText(type, 64) + "' is not supported; medley has default and llama3");
  }

  void ReadLlamaRope(const std::string& key, PretrainedConfig& config) {
    RopeScaling& scaling = config.language.rope_scaling;
    const auto number = [&](const char* name, double& value) {
      if (Find({key, name}) == nullptr)
        file_.FailAt({key}, std::string("has no ") + name + "; llama3 needs it");
      value = Number({key, name}, value, kMostNumber);
    };
    number("factor", scaling.factor);
    number("low_freq_factor", scaling.low_freq_factor);
    number("high_freq_factor", scaling.high_freq_factor);
    if (scaling.high_freq_factor <= scaling.low_freq_factor)
      file_.FailAt({key, "high_freq_factor"}, "expected more than low_freq_factor");
    const std::int64_t whole = Integer("original_max_position_embeddings", config.positions, kMostPositions);
    const double inside =
        Number({key, "original_max_position_embeddings"}, static_cast<double>(whole), kMostPositions, true);
    const bool outside = Find({"original_max_position_embeddings"}) != nullptr;
    scaling.original_positions = outside ? whole : static_cast<std::int64_t>(inside);
    if (scaling.factor == 1) scaling = {};  // whatever the others say
  }

  // What is not looked at must not be lost.
  void CheckRopeKeys(const std::string& key, const JsonNode& rope) {
    static constexpr std::array<std::string_view, 8> kKnown = {"rope_theta",
                                                               "rope_type",
                                                               "type",
                                                               "partial_rotary_factor",
                                                               "factor",
                                                               "low_freq_factor",
                                                               "high_freq_factor",
                                                               "original_max_position_embeddings"};
    for (const JsonMember& member : rope.members) {
      if (std::find(kKnown.begin(), kKnown.end(), member.key) == kKnown.end())
        file_.Fail(member.at, JoinPath(key, CutText(member.key, 64)), "is not supported");
    }
  }

  void RefusePartial(const Path& path) {
    if (Number(path, 1, kMostNumber) != 1)
      file_.FailAt(path, "partial rotary positions are not supported: medley turns all of a head");
  }

  // As the classes decide which layers see a part of the text only.
  void CheckLayers(std::int64_t layers) {
    const std::string refusal =
        "sliding attention is not supported: every layer of medley sees the whole text";
    const JsonNode* types = Find({"layer_types"});
    if (types == nullptr) {
      const JsonNode* window = file_.Find({"sliding_window"});
      const bool has_window = window == nullptr || window == Find({"sliding_window"});  // null: none
      const JsonNode* first = Find({"max_window_layers"});
      const std::int64_t full = first != nullptr && first->scalar.is_number_integer()
                                    ? first->scalar.get<std::int64_t>()
                                    : kMaxWindowLayers;
      if (Switch("use_sliding_window") && has_window && full < layers)
        file_.FailAt({"use_sliding_window"}, refusal);
      return;
    }
    if (!types->IsArray()) return Refuse({"layer_types"}, "an array");
    for (const JsonNode& type : types->elements) {
      if (type.IsString() && type.scalar.get<std::string>() == "full_attention") continue;
      return file_.Fail(type.at, "layer_types", refusal + " (\"full_attention\"); found " + Describe(type));
    }
  }

  void CheckRest() {
    const std::string activation = Text({"hidden_act"}, "silu");
    if (activation != "silu" && activation != "swish")
      file_.FailAt({"hidden_act"}, "'" + CutText(activation, 64) + "' is not supported; medley has silu");
    if (Switch("mlp_bias"))
      file_.FailAt({"mlp_bias"}, "is not supported: medley's feed-forward networks have no biases");
    if (const JsonNode* dropout = Find({"attention_dropout"});
        dropout != nullptr && !(dropout->scalar.is_number() && dropout->scalar.get<double>() == 0))
      file_.FailAt({"attention_dropout"}, "is not supported; expected 0");
    if (Find({"quantization_config"}) != nullptr)
      file_.FailAt({"quantization_config"}, "is not supported: medley reads weights of fp32, fp16 and bf16");
  }

  ConfigFile& file_;
};

}  // namespace

PretrainedConfig ReadPretrainedConfig(const std::filesystem::path& directory) {
  Diagnostics diagnostics;
  ConfigFile file(directory / kPretrainedConfigFile, diagnostics);
  if (file.root() != nullptr && !file.root()->IsObject())
    file.Fail(file.root()->at, "", "expected an object, found " + Describe(*file.root()));
  diagnostics.Throw();
  PretrainedConfig config = PretrainedConfigReader(file).Read();
  diagnostics.Throw();
  return config;
}

}  // namespace medley
