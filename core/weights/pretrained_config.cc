#include <medley/weights/pretrained_config.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>
#include <system_error>
#include <utility>

#include <medley/base/durable_file.h>
#include <medley/base/files.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/base/utf8.h>
#include <medley/weights/peft_config.h>
#include <medley/weights/pretrained_keys.h>

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

std::string Supported() {
  std::vector<std::string> names;
  for (const Architecture& architecture : kArchitectures) names.emplace_back(architecture.name);
  return "medley reads " + JoinNames(names) + ", and the languages of LLaVAs of these";
}

// Classes with other heads have the same model_type.
const Architecture* FindArchitecture(ConfigFile& file, const Path& at) {
  const auto inside = [&](std::initializer_list<const char*> keys) {
    Path path = at;
    path.insert(path.end(), keys.begin(), keys.end());
    return path;
  };
  const auto named = [&](const Path& path, std::string_view Architecture::*name) -> const Architecture* {
    const JsonNode* node = file.Find(path);
    const bool is_text = node != nullptr && node->IsString();
    const std::string found = is_text ? node->scalar.get<std::string>() : "";
    for (const Architecture& architecture : kArchitectures) {
      if (architecture.*name == found) return &architecture;
    }
    const std::string what = is_text           ? "'" + Printable(CutText(found, 64)) + "' is not supported"
                             : node == nullptr ? "not there"
                                               : "expected a text, found " + Describe(*node);
    file.FailAt(path, what + "; " + Supported());
    return nullptr;
  };
  const Architecture* of_type = named(inside({"model_type"}), &Architecture::type);
  const JsonNode* classes = file.Find(inside({"architectures"}));
  if (of_type == nullptr || classes == nullptr || !classes->IsArray()) return of_type;
  const Architecture* of_class = named(inside({"architectures", "0"}), &Architecture::name);
  if (of_class != nullptr && of_class != of_type) {
    file.FailAt(inside({"architectures", "0"}), "expected " + std::string(of_type->name) +
                                                    " of the model_type " + std::string(of_type->type) +
                                                    ", found " + std::string(of_class->name));
  }
  return of_class == of_type ? of_type : nullptr;
}

// Special tokens, one or several each. Below 0 there is none.
void CheckTokenIds(ConfigFile& file, const JsonNode* object, std::int64_t rows,
                   const std::vector<std::string>& ignored_keys) {
  const auto check = [&](const JsonNode& id, const std::string& key) {
    if (!id.scalar.is_number() || id.scalar.get<double>() < static_cast<double>(rows)) return;
    file.Fail(id.at, key,
              "expected an id below " + std::to_string(rows) + ", the rows of the embedding (vocab_size in " +
                  kPretrainedConfigFile + "), found " + Describe(id));
  };
  if (object == nullptr) return;
  for (const JsonMember& member : object->members) {
    const bool is_ignored = std::ranges::find(ignored_keys, member.key) != ignored_keys.end();
    if (!member.key.ends_with("_token_id") || is_ignored) continue;
    check(member.value, member.key);
    for (const JsonNode& id : member.value.elements) check(id, member.key);
  }
}

bool IsLlava(const ConfigFile& file) {
  const JsonNode* type = file.Find({"model_type"});
  return type != nullptr && type->IsString() && type->scalar.get<std::string>() == kLlavaType;
}

class PretrainedConfigReader {
 public:
  // `at`: where the language's object is in the file.
  PretrainedConfigReader(ConfigFile& file, Path at, const std::vector<std::string>& ignored_keys,
                         KeysOf whose)
      : file_(file),
        at_(std::move(at)),
        whose_(whose),
        ignored_keys_(ignored_keys),
        keys_(file, at_, PretrainedKeys(), ignored_keys, whose) {}

  PretrainedConfig Read(const Architecture& architecture) {
    const std::int64_t hidden = keys_.Integer("hidden_size").value_or(kHidden),
                       heads = keys_.Integer("num_attention_heads").value_or(kHeads);
    PretrainedConfig config{
        .architecture = std::string(architecture.name),
        .language = {.hidden = hidden,
                     .layers = keys_.Integer("num_hidden_layers").value_or(kLayers),
                     .heads = heads,
                     .kv_heads = keys_.Integer("num_key_value_heads").value_or(KvHeads(architecture, heads)),
                     .head_dim = HeadDim(architecture, hidden, heads),
                     .ffn = keys_.Integer("intermediate_size").value_or(architecture.ffn),
                     .vocabulary = keys_.Integer("vocab_size").value_or(architecture.vocabulary),
                     .rms_epsilon = keys_.Number("rms_norm_eps").value_or(kRmsEpsilon),
                     .tied = keys_.Switch("tie_word_embeddings"),
                     .qk_norm = architecture.qk_norm},
        .positions = keys_.Integer("max_position_embeddings").value_or(architecture.positions)};
    if (architecture.type == "qwen2")  // whose class has no such field
      config.language.attention_bias = AttentionBias::kQkv;
    else if (keys_.Switch("attention_bias"))
      config.language.attention_bias = AttentionBias::kQkvo;
    CheckHeads(architecture, config.language);
    ReadRope(config);
    CheckLayers(config.language.layers);
    CheckActivation();
    if (whose_ == KeysOf::kUser)
      CheckTokenIds(file_, file_.Find(at_), config.language.vocabulary, ignored_keys_);
    return config;
  }

 private:
  // Null stands for the number of heads, whatever the class's default.
  std::int64_t KvHeads(const Architecture& architecture, std::int64_t heads) const {
    const bool is_null = keys_.IsNull("num_key_value_heads");
    return !is_null && architecture.kv_heads > 0 ? architecture.kv_heads : heads;
  }

  // Null stands for the width by the heads, and only where the class's default does.
  std::int64_t HeadDim(const Architecture& architecture, std::int64_t hidden, std::int64_t heads) {
    const auto given = keys_.Integer("head_dim");
    if (given) return *given;
    if (architecture.head_dim == 0) return std::max<std::int64_t>(hidden / heads, 1);
    if (keys_.IsNull("head_dim") && whose_ == KeysOf::kUser)
      keys_.Fail("head_dim",
                 "expected a whole number, found null; " + std::string(architecture.name) + " needs it");
    return architecture.head_dim;
  }

  void CheckHeads(const Architecture& architecture, const LanguageConfig& language) {
    if (language.heads % language.kv_heads == 0) return;
    const char* key = "num_key_value_heads";
    const std::string source =
        keys_.Has(key) ? "" : ", which " + std::string(architecture.name) + " has where nothing is said";
    keys_.Fail(key, "expected a divisor of num_attention_heads (" + std::to_string(language.heads) +
                        "), found " + std::to_string(language.kv_heads) + source);
  }

  // transformers 5 calls it rope_parameters; where the older name is there, too, that one counts.
  void ReadRope(PretrainedConfig& config) {
    const JsonNode* older = keys_.Find("rope_scaling");
    const std::string key = older != nullptr && !older->members.empty() ? "rope_scaling" : "rope_parameters";
    Path place = at_;
    place.push_back(key);
    KeyReader rope(file_, std::move(place), RopeKeys(), {}, whose_);
    const double base = keys_.Number("rope_theta").value_or(kRopeBase);
    config.language.rope_base = rope.Number("rope_theta").value_or(base);
    RefusePartial(keys_), RefusePartial(rope);
    const std::string type = rope.Text("rope_type", rope.Text("type", "default"));
    if (type == "llama3") return ReadLlamaRope(rope, config);
    if (type != "default")
      rope.Fail("", "the rope type '" + Printable(CutText(type, 64)) +
                        "' is not supported; medley has default and llama3");
  }

  void ReadLlamaRope(KeyReader& rope, PretrainedConfig& config) {
    RopeScaling& scaling = config.language.rope_scaling;
    const auto number = [&](const char* name, double& value) {
      if (!rope.IsThere(name)) rope.Fail("", std::string("has no ") + name + "; llama3 needs it");
      value = rope.Number(name).value_or(value);
    };
    number("factor", scaling.factor);
    number("low_freq_factor", scaling.low_freq_factor);
    number("high_freq_factor", scaling.high_freq_factor);
    if (scaling.high_freq_factor <= scaling.low_freq_factor)
      rope.Fail("high_freq_factor", "expected more than low_freq_factor");
    const char* positions = "original_max_position_embeddings";
    const auto outside = keys_.Integer(positions), inside = rope.Integer(positions);
    scaling.original_positions = outside ? *outside : inside.value_or(config.positions);
    if (scaling.factor == 1) scaling = {};  // whatever the others say
  }

  static void RefusePartial(KeyReader& keys) {
    const char* key = "partial_rotary_factor";
    if (keys.Number(key).value_or(1) != 1)
      keys.Fail(key, "partial rotary positions are not supported: medley turns all of a head");
  }

  // As the classes decide which layers see a part of the text only.
  void CheckLayers(std::int64_t layers) {
    const std::string refusal =
        "sliding attention is not supported: every layer of medley sees the whole text";
    const JsonNode* types = keys_.Find("layer_types");
    if (types == nullptr) {
      const bool has_window = !keys_.IsNull("sliding_window");
      const bool all_full = keys_.Integer("max_window_layers").value_or(kMaxWindowLayers) >= layers;
      if (keys_.Switch("use_sliding_window") && has_window && !all_full)
        keys_.Fail("use_sliding_window", refusal);
      return;
    }
    if (std::ssize(types->elements) != layers && whose_ == KeysOf::kUser)
      keys_.Fail("layer_types", "expected one for each of the " + std::to_string(layers) + " layers, found " +
                                    std::to_string(types->elements.size()));
    for (const JsonNode& type : types->elements) {
      if (type.IsString() && type.scalar.get<std::string>() == "full_attention") continue;
      return file_.Fail(type.at, "layer_types", refusal + " (\"full_attention\"); found " + Describe(type));
    }
  }

  void CheckActivation() {
    const std::string activation = keys_.Text("hidden_act", "silu");
    if (activation != "silu" && activation != "swish")
      keys_.Fail("hidden_act",
                 "'" + Printable(CutText(activation, 64)) + "' is not supported; medley has silu");
  }

  ConfigFile& file_;
  Path at_;
  KeysOf whose_;
  const std::vector<std::string>& ignored_keys_;
  KeyReader keys_;
};

namespace fs = std::filesystem;

// quantize_config.json, quant_config.json, hf_quant_config.json and the like: every tool has its own.
bool IsOfQuantization(const fs::path& file) {
  return file.extension() == ".json" && file.filename().string().find("quant") != std::string::npos;
}

}  // namespace

PretrainedConfig ReadPretrainedConfig(const std::filesystem::path& directory,
                                      const std::vector<std::string>& ignored_keys, KeysOf whose) {
  Diagnostics diagnostics;
  ConfigFile file(directory / kPretrainedConfigFile, diagnostics);
  if (file.root() != nullptr && !file.root()->IsObject())
    file.Fail(file.root()->at, "", "expected an object, found " + Describe(*file.root()));
  diagnostics.Throw();
  const bool in_llava = IsLlava(file);
  const Path at = in_llava ? Path{"text_config"} : Path{};
  const Architecture* architecture = FindArchitecture(file, at);
  diagnostics.Throw();  // alone: the keys of another one say nothing
  PretrainedConfig config = PretrainedConfigReader(file, at, ignored_keys, whose).Read(*architecture);
  config.in_llava = in_llava;
  if (in_llava) {
    const KeyReader keys(file, {}, LlavaKeys(), ignored_keys, whose);
    // Either says it for both.
    config.language.tied = config.language.tied || keys.Switch("tie_word_embeddings");
    if (whose == KeysOf::kUser) CheckTokenIds(file, file.root(), config.language.vocabulary, ignored_keys);
  }
  if (const fs::path generation = directory / kGenerationConfigFile;
      whose == KeysOf::kUser && TypeOf(generation) != fs::file_type::not_found) {
    Diagnostics ignored;  // nothing else is read of it
    const std::string text = ConfigFile(generation, ignored).text();
    ConfigFile generated(generation, text, ignored.empty() ? diagnostics : ignored);
    CheckTokenIds(generated, generated.root(), config.language.vocabulary, ignored_keys);
  }
  diagnostics.Throw();
  return config;
}

std::vector<std::string> FolderProblems(const fs::path& directory, const fs::path& adapters) {
  std::vector<std::string> problems;
  const std::string folder = DisplayPath(directory);
  std::error_code ignored;
  const bool are_applied = !adapters.empty() && fs::equivalent(directory, adapters, ignored);
  if (TypeOf(directory / kPeftConfigFile) != fs::file_type::not_found && !are_applied)
    problems.push_back(folder + " has " + kPeftConfigFile +
                       ": other software adds those adapters to its weights. To begin with both, give the "
                       "run config \"lora\": {\"pretrained\": \"" +
                       folder + "\"}; to train the weights alone, move " + kPeftConfigFile + " and " +
                       kPeftWeightsFile + " elsewhere");
  for (const fs::path& file : ListDirectory(directory)) {
    if (IsOfQuantization(file))
      problems.push_back(folder + " has " + file.filename().string() +
                         ": quantized weights are not supported, medley reads fp32, fp16 and bf16. Take the "
                         "folder that is not quantized, or, where the weights are plain, move that file "
                         "elsewhere");
  }
  return problems;
}

}  // namespace medley
