#include <medley/weights/model_config_file.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/printable.h>
#include <medley/config/field_reader.h>
#include <medley/config/field_writer.h>
#include <medley/model/language_fields.h>
#include <medley/model/tower_fields.h>
#include <medley/weights/pretrained_config.h>
#include <medley/weights/pretrained_keys.h>
#include <medley/weights/pretrained_tower.h>

namespace medley {
namespace {

constexpr std::string_view kIgnoredKeys = "ignored_keys";

// The fields of one group, or those of none, for FieldReader, FieldDumper and SchemaWriter.
struct GroupValues {
  const ModelInfo* info = nullptr;
  std::string group{};
  ModelConfig* config = nullptr;
};

struct FileValues : GroupValues {};

// "layers" of "encoder.layers" in the group "encoder"; "" where the field is not in it.
std::string_view NameIn(const std::string& group, std::string_view field) {
  const std::size_t dot = field.find('.');
  if (group.empty()) return dot == std::string_view::npos ? field : std::string_view();
  return dot != std::string_view::npos && field.substr(0, dot) == group ? field.substr(dot + 1)
                                                                        : std::string_view();
}

// `visit` may replace the value, which is taken over.
template <typename Visitor>
void VisitField(Visitor& visit, const FieldInfo& info, std::string_view name, ModelConfig& config) {
  Field field{.name = name, .help = info.help};
  if (info.kind == FieldKind::kInteger || info.kind == FieldKind::kNumber)
    field.low = info.low, field.high = info.high, field.above_low = info.above_low;
  const auto through = [&](auto value) {
    visit(value, field);
    if constexpr (std::is_same_v<decltype(value), std::int64_t>)
      config.Set(info.name, static_cast<double>(value));
    else
      config.Set(info.name, std::move(value));
  };
  switch (info.kind) {
    case FieldKind::kInteger:
      return through(config.Integer(info.name));
    case FieldKind::kNumber:
      return through(config.Number(info.name));
    case FieldKind::kSwitch:
      return through(config.Switch(info.name));
    case FieldKind::kWord:
      field.allowed.assign(info.words.begin(), info.words.end());
      return through(std::string(config.Word(info.name)));
  }
}

template <typename Visitor>
void VisitPretrainedTower(Visitor& visit, ModelConfig& config) {
  std::optional<std::filesystem::path> directory;
  if (!config.pretrained_tower().empty()) directory = config.pretrained_tower();
  visit(directory, {.name = "pretrained",
                    .help = "A Hugging Face folder of a CLIP, a SigLIP or a LLaVA: what its config.json and "
                            "its preprocessor_config.json say need not stand here, and a run begins with "
                            "its tower's weights, and of a LLaVA with its projector's",
                    .path = PathKind::kDirectory});
  if (directory) config.SetPretrainedTower(*directory);
  std::optional<std::vector<std::string>> ignored;
  if (!config.tower_ignored_keys().empty()) ignored = config.tower_ignored_keys();
  visit(ignored, {.name = kIgnoredKeys,
                  .help = "Keys of these two files that medley does not know and need not, as they change "
                          "nothing of what the model sees"});
  if (ignored) config.SetTowerIgnoredKeys(*ignored);
}

template <typename Visitor>
void VisitPretrained(Visitor& visit, ModelConfig& config) {
  std::optional<std::filesystem::path> directory;
  if (!config.pretrained().empty()) directory = config.pretrained();
  visit(directory, {.name = "pretrained",
                    .help = "A Hugging Face folder: what its config.json says need not stand here, and a run "
                            "begins with its weights",
                    .path = PathKind::kDirectory});
  if (directory) config.SetPretrained(*directory);
  std::optional<std::vector<std::string>> ignored;
  if (!config.ignored_keys().empty()) ignored = config.ignored_keys();
  visit(ignored, {.name = kIgnoredKeys,
                  .help = "Keys of that folder's config.json that medley does not know and need not, as they "
                          "change nothing of what the model computes"});
  if (ignored) config.SetIgnoredKeys(*ignored);
}

template <typename Visitor>
void Fields(Visitor& visit, GroupValues& values) {
  if (values.info == nullptr) return;  // nobody's defaults
  if (!values.group.empty() && values.group == values.info->pretrained.group)
    VisitPretrained(visit, *values.config);
  if (!values.group.empty() && values.group == values.info->tower.group)
    VisitPretrainedTower(visit, *values.config);
  for (const FieldInfo& field : values.info->fields) {
    if (const std::string_view name = NameIn(values.group, field.name); !name.empty())
      VisitField(visit, field, name, *values.config);
  }
}

template <typename Visitor>
void Fields(Visitor& visit, FileValues& values) {
  if (values.info == nullptr) return;
  visit.Constant({.name = "kind", .help = "Which model this config is for", .required = true},
                 values.info->name);
  Fields(visit, static_cast<GroupValues&>(values));
  for (const GroupInfo& group : values.info->groups) {
    GroupValues inside{values.info, group.name, values.config};
    visit(inside, {.name = group.name, .help = group.help, .omit_default = true});
  }
}

std::string Text(std::int64_t number) { return std::to_string(number); }

// "" where the rule holds.
std::string ProblemOf(const RuleInfo& rule, const ModelConfig& config) {
  if (!rule.where.empty() && config.Integer(rule.where) == 0) return "";
  const std::int64_t value = config.Integer(rule.field);
  const std::string found = (rule.why.empty() ? "" : ", as " + rule.why) + "; found " + Text(value);
  if (!rule.divides.empty()) {
    const std::int64_t whole = config.Integer(rule.divides);
    if (value > 0 && whole % value == 0) return "";
    return "expected a divisor of " + rule.divides + " (" + Text(whole) + ")" + found;
  }
  const std::int64_t part = rule.multiple > 0 ? rule.multiple : config.Integer(rule.multiple_of);
  if (part > 0 && value % part == 0) return "";
  if (part <= 0) return "expected a multiple of " + rule.multiple_of + ", which is " + Text(part) + found;
  const std::int64_t below = value / part * part;
  const std::string name = rule.multiple > 0 ? Text(part) : rule.multiple_of + " (" + Text(part) + ")";
  return "expected a multiple of " + name + ", such as " + (below > 0 ? Text(below) + " or " : "") +
         Text(below + part) + found;
}

std::string Text(const OptionValue& value) {
  const auto* number = std::get_if<double>(&value);
  const bool whole = number != nullptr && *number == std::floor(*number);
  return whole ? Text(static_cast<std::int64_t>(*number)) : FieldDumper::Dump(value).dump();
}

bool Fits(const OptionValue& value, const FieldInfo& info) {
  const auto* number = std::get_if<double>(&value);
  return number == nullptr || (*number >= info.low && *number <= info.high);
}

// What medley knows is not for others to say.
void CheckIgnoredKeys(ConfigFile& file, const std::string& group, const std::filesystem::path& folder,
                      const std::vector<std::string>& ignored, std::initializer_list<KeyTable> tables) {
  for (std::size_t i = 0; i < ignored.size(); ++i) {
    const std::string& key = ignored[i];
    const bool may_be =
        std::ranges::all_of(tables, [&](const KeyTable& table) { return table.MayBeIgnored(key); });
    const std::string problem =
        folder.empty() ? "there is no \"pretrained\" beside it"
        : may_be       ? ""
                       : "medley knows what '" + Printable(key) + "' means, and cannot leave it aside";
    if (!problem.empty()) file.FailAt({group, std::string(kIgnoredKeys), std::to_string(i)}, problem);
  }
}

// Takes what a folder says. A value that stands in the file, too, must be the folder's.
class FolderValues {
 public:
  FolderValues(ConfigFile& file, const ModelInfo& info, std::string group, std::string source,
               ModelConfig& config)
      : file_(file), info_(info), group_(std::move(group)), source_(std::move(source)), config_(config) {}

  void Take(const std::string& field, const OptionValue& value) {
    const std::vector<std::string> path = SplitPath(field);
    if (file_.Find(path) != nullptr && config_.At(field) != value)
      file_.FailAt(path, "expected " + Text(value) + ", as " + source_ + " has it, found " +
                             Text(config_.At(field)) + "; leave it out");
    if (!Fits(value, *info_.FindField(field)))
      file_.FailAt({group_, "pretrained"}, source_ + " says " + Text(value) + " for " + field +
                                               ", which the model does not take; see medley models " +
                                               info_.name);
    config_.Set(field, value);
  }

 private:
  ConfigFile& file_;
  const ModelInfo& info_;
  std::string group_, source_;
  ModelConfig& config_;
};

void TakePretrained(ConfigFile& file, const ModelInfo& info, KeysOf whose, ModelConfig& config) try {
  const std::string& group = info.pretrained.group;
  FolderValues folder(file, info, group, DisplayPath(config.pretrained() / kPretrainedConfigFile), config);
  for (const auto& [name, value] :
       FieldsOf(ReadPretrainedConfig(config.pretrained(), config.ignored_keys(), whose).language))
    folder.Take(group + "." + name, value);
} catch (const InputError& error) {
  file.FailAt({info.pretrained.group, "pretrained"}, error.what());
}

// What the folder does not say stands in the model's file, or is as its class has it.
bool IsOfRule(const std::string& field) {
  return field.starts_with("mean_") || field.starts_with("deviation_") || field == "resampling" ||
         field == "fit" || field == "shortest_edge";
}
bool IsOfLlava(const std::string& field) { return field == "projector" || field == "image_token"; }

void TakePretrainedTower(ConfigFile& file, const ModelInfo& info, KeysOf whose, ModelConfig& config) try {
  const std::string& group = info.tower.group;
  const PretrainedTower read =
      ReadPretrainedTower(config.pretrained_tower(), config.tower_ignored_keys(), whose);
  const std::string source = DisplayPath(config.pretrained_tower() / kPretrainedConfigFile);
  FolderValues folder(file, info, group, source, config);
  FolderValues preparing(file, info, group, DisplayPath(config.pretrained_tower() / read.rule_file), config);
  for (const auto& [name, value] : FieldsOf(read.tower)) {
    const bool is_of_layers = std::ranges::find(kTowerLayerFields, name) != kTowerLayerFields.end();
    if (info.tower.layers_only && !is_of_layers) continue;
    const bool is_own = file.Find({group, name}) != nullptr;
    if ((IsOfLlava(name) && !read.in_llava) || (IsOfRule(name) && !read.has_rule() && is_own)) continue;
    (IsOfRule(name) ? preparing : folder).Take(std::string(group).append(".").append(name), value);
  }
  if (info.tower.layers_only) return;
  folder.Take(info.pictures.size, static_cast<double>(read.tower.size));
  folder.Take(info.pictures.patch, static_cast<double>(read.tower.patch));
} catch (const InputError& error) {
  file.FailAt({info.tower.group, "pretrained"}, error.what());
}

// A tower sees no pixels behind its last whole patch.
bool IsOfTower(const RuleInfo& rule, const ModelInfo& info, const ModelConfig& config) {
  return !info.tower.empty() && !info.tower.layers_only && rule.field == info.pictures.size &&
         rule.multiple_of == info.pictures.patch && TowerOf(config, info).any();
}

}  // namespace

std::string KindOfModel(const ConfigFile& file) {
  const JsonNode* kind = file.root() == nullptr ? nullptr : file.Find({"kind"});
  return kind != nullptr && kind->IsString() ? kind->scalar.get<std::string>() : "";
}

ModelConfig ReadModelConfig(ConfigFile& file, const ModelInfo& info, KeysOf whose) {
  ModelConfig config(info);
  FileValues values{{&info, "", &config}};
  ReadFields(file, values, [info] { return KeyPathsIn(ModelSchema(info)); });
  CheckIgnoredKeys(file, info.pretrained.group, config.pretrained(), config.ignored_keys(),
                   {PretrainedKeys()});
  CheckIgnoredKeys(file, info.tower.group, config.pretrained_tower(), config.tower_ignored_keys(),
                   {LlavaKeys(), TwoTowersKeys(), TowerKeys(), PreprocessorKeys()});
  if (!config.pretrained().empty()) TakePretrained(file, info, whose, config);
  if (!config.pretrained_tower().empty()) TakePretrainedTower(file, info, whose, config);
  for (const RuleInfo& rule : info.rules) {
    if (IsOfTower(rule, info, config)) continue;
    if (const std::string problem = ProblemOf(rule, config); !problem.empty())
      file.FailAt(SplitPath(rule.field), problem);
  }
  return config;
}

nlohmann::ordered_json ToJson(const ModelConfig& config, const ModelInfo& info) {
  ModelConfig copy = config;
  return FieldDumper::Dump(FileValues{{&info, "", &copy}});
}

nlohmann::ordered_json ModelSchema(const ModelInfo& info) {
  ModelConfig defaults(info);
  return SchemaWriter::File("medley model " + info.name, info.summary, FileValues{{&info, "", &defaults}});
}

}  // namespace medley
