#include <medley/run/export_config.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/base/json_text.h>
#include <medley/model/agent/agent.h>
#include <medley/model/language_fields.h>
#include <medley/model/tower_fields.h>
#include <medley/run/input_files.h>
#include <medley/run/token_rows.h>
#include <medley/weights/pretrained_config.h>
#include <medley/weights/pretrained_keys.h>
#include <medley/weights/pretrained_tower.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char *kEos = "eos_token_id", *kPad = "pad_token_id";

PretrainedConfig ReadPublished(const ModelFile& file, KeysOf whose) {
  return ReadPretrainedConfig(file.config.pretrained(), file.config.ignored_keys(), whose);
}

// Whether a run could begin with the folder as it is now.
bool IsGood(const ModelFile& file) try {
  ReadPublished(file, KeysOf::kUser);
  return true;
} catch (const InputError&) {
  return false;
}

void RequireLanguage(const ModelFile& file) {
  if (file.info.pretrained.group.empty())
    throw InputError(
        "no part of the model '" + file.info.name +
        "' is a language of other software; its parameters are in the checkpoints' model.safetensors");
}

// Of the longest text: as the folder said that it came from, or as the model has it.
std::int64_t PositionsOf(const ModelFile& file, const std::optional<PretrainedConfig>& published) {
  if (published) return published->positions;
  const std::string field = file.info.pretrained.group + ".positions";
  return file.info.FindField(field) != nullptr ? file.config.Integer(field) : Agent::kLongestText;
}

PretrainedConfig ConfigOf(const Run& run, const std::optional<PretrainedConfig>& published) {
  const ModelFile& file = *run.model_file;
  PretrainedConfig config{.architecture = "",
                          .language = LanguageOf(file.config, file.info.pretrained.group),
                          .positions = PositionsOf(file, published)};
  config.language.vocabulary = run.model->vocabulary();
  config.architecture = ArchitectureOf(config.language);
  return config;
}

ordered_json ReadObject(const fs::path& file) {
  ordered_json json = ReadJson(ReadFile(file), DisplayPath(file));
  if (!json.is_object()) throw InputError(DisplayPath(file) + ": expected an object");
  return json;
}

void WriteJson(const fs::path& file, const ordered_json& json) {
  ReplaceFile(file, JsonText(json, 2) + "\n");
}

// Ids of the folder's tokens, which are others' where the run has another vocabulary.
void EraseTokens(ordered_json& json) {
  constexpr std::array<std::string_view, 5> kLists = {"suppress_tokens", "begin_suppress_tokens",
                                                      "bad_words_ids", "force_words_ids", "sequence_bias"};
  for (auto item = json.begin(); item != json.end();) {
    const bool is_of_ids =
        item.key().ends_with("_token_id") || std::ranges::find(kLists, item.key()) != kLists.end();
    item = is_of_ids ? json.erase(item) : std::next(item);
  }
}

TokenRows RowsIn(const fs::path& folder, std::int64_t rows, const Run& run) {
  const fs::path& file = run.config.tokenizer;
  return CompareTokens(ReadVocabulary(file, run.config.special_tokens), file, folder, rows);
}

// An id, or a list of them, to which one more belongs.
void AddEnd(ordered_json& json, std::int64_t id) {
  ordered_json& ends = json[kEos];
  if (ends.is_null() || ends == id) {
    ends = id;
    return;
  }
  if (!ends.is_array()) ends = ordered_json::array({ends});
  if (std::ranges::find(ends, ordered_json(id)) == ends.end()) ends.push_back(id);
}

// In the spelling that is there, or in both.
void SetType(ordered_json& json, const std::string& dtype) {
  const bool has_any = json.contains("dtype") || json.contains("torch_dtype");
  for (const char* key : {"dtype", "torch_dtype"}) {
    if (!has_any || json.contains(key)) json[key] = dtype;
  }
}

// What the folder says, but for code that does not go with the weights. Of one that says what medley has
// refused since the run began, what is harmless: the rest is as the run had it.
ordered_json KeptConfig(const ModelFile& file, ordered_json own) {
  ordered_json published = ReadObject(file.config.pretrained() / kPretrainedConfigFile);
  published.erase("auto_map");
  if (IsGood(file)) return published;
  const KeyTable keys = PretrainedKeys();
  for (const auto& [key, value] : published.items()) {
    if (keys.UseOf(key) == KeyUse::kHarmless) own[key] = value;
  }
  return own;
}

void RequireImageToken(const TowerConfig& tower) {
  if (tower.image_token > 0) return;
  throw InputError(
      "the model's tower.image_token is 0, and a LLaVA has a token that stands for a picture in a text; give "
      "its id in the model's file (with which a run is trained), then export");
}

// That of the folder that the tower is from, where it has one.
void WritePreprocessor(const ModelFile& file, const TowerConfig& tower, const fs::path& folder) {
  const fs::path& base = file.config.pretrained_tower();
  const fs::path own = folder / kPreprocessorFile, there = base / kPreprocessorFile;
  if (!base.empty() && FileProblem(there).empty()) return ReplaceFile(own, ReadFile(there));
  WriteJson(own, PreprocessorJson(tower));
}

}  // namespace

void WriteExportedConfigs(const Run& run, const fs::path& folder, const std::string& dtype) {
  RequireLanguage(*run.model_file);
  const fs::path& base = run.model_file->config.pretrained();
  std::optional<PretrainedConfig> published;
  if (!base.empty()) published = ReadPublished(*run.model_file, KeysOf::kBegunRun);
  const PretrainedConfig config = ConfigOf(run, published);
  // Layers alone are no tower that other software knows.
  const ModelInfo& info = run.model_file->info;
  const TowerConfig tower = info.tower.layers_only ? TowerConfig() : TowerOf(run.model_file->config, info);
  if (tower.any()) RequireImageToken(tower);
  const Tokenizer* tokenizer = run.tokenizer.get();
  ordered_json json = ToJson(config, dtype), generation = {{"do_sample", false}};
  if (published) {
    const std::int64_t rows = published->language.vocabulary;
    if (!tower.any() && !published->in_llava) {
      json = KeptConfig(*run.model_file, std::move(json));
      if (config.language.vocabulary != rows) json["vocab_size"] = config.language.vocabulary;
      SetType(json, dtype);
    }
    if (FileProblem(base / kGenerationConfigFile).empty())
      generation = ReadObject(base / kGenerationConfigFile);
    else if (json.contains(kEos))
      generation[kEos] = json.at(kEos);
    if (tokenizer != nullptr && RowsIn(base, rows, run).strange() > 0)
      EraseTokens(json), EraseTokens(generation);
  }
  if (tower.any()) {
    json = LlavaJson(tower, std::move(json), dtype);
    WritePreprocessor(*run.model_file, tower, folder);
  }
  if (tokenizer != nullptr) {
    AddEnd(json, tokenizer->eos()), AddEnd(generation, tokenizer->eos());
    if (generation.value(kPad, ordered_json()).is_null()) generation[kPad] = tokenizer->pad();
    WriteJson(folder / kGenerationConfigFile, generation);
  }
  WriteJson(folder / kPretrainedConfigFile, json);
}

std::string WordsOfKeptIds(const Run& run) {
  const fs::path& base = run.model_file->config.pretrained();
  if (base.empty() || run.tokenizer == nullptr) return "";
  const TokenRows rows = RowsIn(base, run.model->vocabulary(), run);
  return rows.unknown.empty()
             ? ""
             : "the ids of tokens in config.json, but for the end's, are those of " + DisplayPath(base) +
                   ", whose tokens were not compared with the run's: " + rows.unknown;
}

}  // namespace medley
