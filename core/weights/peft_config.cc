#include <medley/weights/peft_config.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>
#include <string_view>

#include <medley/base/error.h>
#include <medley/base/full_match.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/base/utf8.h>
#include <medley/config/config_file.h>

namespace medley {
namespace {

using Names = std::vector<std::string>;

constexpr double kPeftRank = 8, kPeftAlpha = 8;
constexpr double kMostRank = 1 << 16, kMostAlpha = 1e6, kMostToken = 1 << 24, kMostLayer = 1 << 16;

// Those that say how the adapters began, where they came from or what they run on.
constexpr std::array<std::string_view, 16> kIgnored = {"task_type",
                                                       "auto_mapping",
                                                       "base_model_name_or_path",
                                                       "revision",
                                                       "inference_mode",
                                                       "peft_version",
                                                       "lora_dropout",
                                                       "loftq_config",
                                                       "eva_config",
                                                       "corda_config",
                                                       "lora_ga_config",
                                                       "megatron_core",
                                                       "qalora_group_size",
                                                       "runtime_config",
                                                       "ensure_weight_tying",
                                                       "comment"};

// As good as absent: null, false, "" and what is empty.
bool IsNothing(const JsonNode& node) {
  if (node.IsObject() || node.IsArray()) return node.members.empty() && node.elements.empty();
  if (node.IsString()) return node.scalar.get_ref<const std::string&>().empty();
  return node.scalar.is_null() || node.scalar == false;
}

std::string Escaped(const std::string& name) {
  std::string text;
  for (const char c : name) {
    if (std::string_view("\\^$.[]|()?*+{}-#").find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  return text;
}

// "(?:a|b)"
template <typename Word>
std::string AnyOf(const Names& names, const Word& word) {
  std::string text = "(?:";
  for (const std::string& name : names) text += (text.size() > 3 ? "|" : "") + word(name);
  return text + ")";
}
std::string AnyName(const Names& names) { return AnyOf(names, Escaped); }

class PeftConfigReader {
 public:
  explicit PeftConfigReader(ConfigFile& file) : file_(file) {}

  PeftConfig Read() {
    PeftConfig config;
    CheckKind();
    config.lora.rank = static_cast<std::int64_t>(Number("r", kPeftRank, kMostRank, /*whole=*/true));
    config.lora.alpha = Number("lora_alpha", kPeftAlpha, kMostAlpha, /*whole=*/false);
    config.lora.rslora = Switch("use_rslora");
    CheckPattern("rank_pattern", "r", static_cast<double>(config.lora.rank));
    CheckPattern("alpha_pattern", "lora_alpha", config.lora.alpha);
    config.lora.targets = Targets();
    ReadTokens(config);
    CheckRest();
    return config;
  }

 private:
  // Null where it is absent or nothing.
  const JsonNode* Find(const char* key) const {
    const JsonNode* node = file_.Find({key});
    return node == nullptr || IsNothing(*node) ? nullptr : node;
  }
  void Refuse(const JsonNode& node, const std::string& path, const std::string& expected) {
    file_.Fail(node.at, path, "expected " + expected + ", found " + Describe(node));
  }

  // Above 0. Null is none, and no default.
  double Number(const char* key, double otherwise, double most, bool whole) {
    const JsonNode* node = file_.Find({key});
    if (node == nullptr) return otherwise;
    const double number = node->scalar.is_number() ? node->scalar.get<double>() : 0;
    if (number > 0 && number <= most && (!whole || node->scalar.is_number_integer())) return number;
    Refuse(*node, key, whole ? "a whole number above 0" : "a number above 0");
    return otherwise;
  }
  bool Switch(const char* key) {
    const JsonNode* node = file_.Find({key});
    if (node == nullptr) return false;
    if (!node->scalar.is_boolean()) Refuse(*node, key, "true or false");
    return node->scalar == true;
  }
  Names Texts(const JsonNode& node, const std::string& path) {
    Names texts;
    if (node.IsString()) return {node.scalar.get<std::string>()};
    if (!node.IsArray()) Refuse(node, path, "a text or an array of texts");
    for (const JsonNode& element : node.elements) {
      if (!element.IsString()) Refuse(element, path, "a text");
      if (element.IsString()) texts.push_back(element.scalar.get<std::string>());
    }
    return texts;
  }
  std::vector<std::int64_t> Integers(const JsonNode& node, const std::string& path, double most) {
    std::vector<std::int64_t> integers;
    const auto add = [&](const JsonNode& element) {
      const bool good = element.scalar.is_number_integer() && element.scalar.get<double>() >= 0 &&
                        element.scalar.get<double>() <= most;
      if (!good) return Refuse(element, path, "a whole number that is not below 0");
      integers.push_back(element.scalar.get<std::int64_t>());
    };
    if (!node.IsArray()) add(node);
    for (const JsonNode& element : node.elements) add(element);
    return integers;
  }

  void CheckKind() {
    const JsonNode* type = Find("peft_type");
    const bool is_text = type != nullptr && type->IsString();
    if (!is_text || type->scalar != "LORA")
      file_.FailAt({"peft_type"}, (is_text ? "'" + Printable(CutText(type->scalar.get<std::string>(), 64)) +
                                                 "' is not supported"
                                           : std::string("missing")) +
                                      "; medley reads \"LORA\"");
    const JsonNode* bias = file_.Find({"bias"});
    if (bias != nullptr && bias->scalar != "none")
      Refuse(*bias, "bias", "\"none\": medley trains no biases beside adapters");
    const JsonNode* init = Find("init_lora_weights");
    if (init == nullptr || init->scalar.is_boolean()) return;
    static const std::set<std::string> kBeginnings = {"gaussian", "orthogonal", "eva", "mica"};
    if (!init->IsString() || kBeginnings.count(init->scalar.get<std::string>()) == 0)
      Refuse(*init, "init_lora_weights",
             "true, false, \"gaussian\", \"orthogonal\", \"eva\" or \"mica\"; with others the adapters "
             "belong to "
             "a changed base");
  }

  // Of some modules another number, unless it is the same.
  void CheckPattern(const char* key, const char* of_all, double number) {
    const JsonNode* node = Find(key);
    if (node == nullptr) return;
    const auto is_same = [&](const JsonMember& member) { return member.value.scalar == number; };
    if (!node->IsObject() || !std::ranges::all_of(node->members, is_same))
      file_.Fail(
          node->at, key,
          std::string("is not supported: all of medley's adapters have the same; expected null, {}, or "
                      "what ") +
              of_all + " says");
  }

  NamesOrPattern Targets() {
    const JsonNode* node = Find("target_modules");
    if (node == nullptr) {
      file_.FailAt({"target_modules"}, "missing; expected the modules that have an adapter");
      return {};
    }
    NamesOrPattern targets{.names = Texts(*node, "target_modules"), .pattern = {}};
    if (node->IsString()) {
      std::string word = targets.names.front();
      std::transform(word.begin(), word.end(), word.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      targets = {.names = {}, .pattern = word == kAllLinear ? word : targets.names.front()};
    }
    targets = Narrowed(std::move(targets));
    try {
      if (!targets.pattern.empty()) FullMatch(targets.pattern);
    } catch (const InputError& error) {
      file_.FailAt({"target_modules"}, error.what());
    }
    return targets;
  }

  // Some layers of them only, and without those that are excluded: as one regular expression.
  NamesOrPattern Narrowed(NamesOrPattern targets) {
    const JsonNode *layers = Find("layers_to_transform"), *excluded = Find("exclude_modules");
    if (layers == nullptr && excluded == nullptr) return targets;
    if (layers != nullptr && !targets.pattern.empty()) {
      Refuse(*layers, "layers_to_transform", "none with target_modules in one text");
      return targets;
    }
    std::string pattern = targets.pattern == kAllLinear ? ".*" : targets.pattern;
    if (layers != nullptr)
      pattern = AnyName(targets.names) + "|" + InLayers(*layers) + ".*\\." + AnyName(targets.names);
    else if (pattern.empty())
      pattern = "(?:.*\\.)?" + AnyName(targets.names);
    if (excluded != nullptr) {
      const Names names = Texts(*excluded, "exclude_modules");
      const std::string out =
          excluded->IsString() ? "(?:" + names.front() + ")" : "(?:.*\\.)?" + AnyName(names);
      pattern = "(?!" + out + "\\z)(?:" + pattern + ")";
    }
    return {.names = {}, .pattern = pattern};
  }
  std::string InLayers(const JsonNode& layers) {
    Names numbers;
    for (const std::int64_t layer : Integers(layers, "layers_to_transform", kMostLayer))
      numbers.push_back(std::to_string(layer));
    const JsonNode* pattern = Find("layers_pattern");
    const std::string list = pattern == nullptr ? "[^.]*"
                                                : AnyOf(Texts(*pattern, "layers_pattern"),
                                                        [](const std::string& name) { return name; });
    return "(?=(?:.*?\\.)?" + list + "\\." + AnyName(numbers) + "\\.)";
  }

  // A list is of the embedding table.
  void ReadTokens(PeftConfig& config) {
    const char* key = "trainable_token_indices";
    const JsonNode* node = Find(key);
    if (node == nullptr) return;
    if (!node->IsObject()) config.embedding_tokens = Integers(*node, key, kMostToken);
    for (const JsonMember& member : node->members) {
      const bool embedding = member.key == "embed_tokens" || member.key == "model.embed_tokens";
      if (!embedding && member.key != "lm_head") {
        file_.Fail(member.at, JoinPath(key, CutText(member.key, 64)),
                   "is not supported; expected \"embed_tokens\" or \"lm_head\"");
        continue;
      }
      (embedding ? config.embedding_tokens : config.head_tokens) = Integers(member.value, key, kMostToken);
    }
    for (const auto* tokens : {&config.embedding_tokens, &config.head_tokens}) CheckUnique(*tokens);
    const bool both = !config.embedding_tokens.empty() && !config.head_tokens.empty();
    config.lora.tokens = config.embedding_tokens.empty() ? config.head_tokens : config.embedding_tokens;
    std::ranges::sort(config.lora.tokens);
    std::vector<std::int64_t> of_head = config.head_tokens;
    std::ranges::sort(of_head);
    if (both && config.lora.tokens != of_head)
      file_.FailAt(
          {key}, "names other tokens for lm_head than for embed_tokens; medley trains the same rows of both");
  }
  void CheckUnique(std::vector<std::int64_t> tokens) {
    std::ranges::sort(tokens);
    const auto twice = std::ranges::adjacent_find(tokens);
    if (twice != tokens.end())
      file_.FailAt({"trainable_token_indices"}, "names the token " + std::to_string(*twice) + " twice");
  }

  // What is not looked at must not be lost.
  void CheckRest() {
    static const std::set<std::string_view> kRead = {"peft_type",
                                                     "bias",
                                                     "init_lora_weights",
                                                     "target_modules",
                                                     "layers_to_transform",
                                                     "layers_pattern",
                                                     "exclude_modules",
                                                     "trainable_token_indices",
                                                     "rank_pattern",
                                                     "alpha_pattern",
                                                     "r",
                                                     "lora_alpha",
                                                     "use_rslora"};
    for (const JsonMember& member : file_.root()->members) {
      if (kRead.count(member.key) > 0 || IsNothing(member.value)) continue;
      if (std::ranges::find(kIgnored, member.key) != kIgnored.end()) continue;
      file_.Fail(member.at, CutText(member.key, 64),
                 "is not supported: medley's adapters are plain LoRA; expected null, or nothing");
    }
  }

  ConfigFile& file_;
};

}  // namespace

PeftConfig ReadPeftConfig(const std::filesystem::path& directory) {
  Diagnostics diagnostics;
  ConfigFile file(directory / kPeftConfigFile, diagnostics);
  if (file.root() != nullptr && !file.root()->IsObject())
    file.Fail(file.root()->at, "", "expected an object, found " + Describe(*file.root()));
  diagnostics.Throw();
  PeftConfig config = PeftConfigReader(file).Read();
  diagnostics.Throw();
  config.lora.pretrained = directory;
  return config;
}

}  // namespace medley
