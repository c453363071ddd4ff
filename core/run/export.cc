#include <medley/run/export.h>

#include <ATen/Functions.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/base/json_text.h>
#include <medley/model/agent/agent.h>
#include <medley/model/float_type.h>
#include <medley/model/language_fields.h>
#include <medley/model/parameter_names.h>
#include <medley/weights/adapter_merge.h>
#include <medley/weights/peft_weights.h>
#include <medley/weights/pretrained_config.h>
#include <medley/weights/pretrained_files.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// What may lie beside a tokenizer.json and belongs to it.
constexpr std::array<const char*, 7> kTokenizerFiles = {
    "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt",
    "chat_template.jinja",   "chat_template.json"};
constexpr JsonLimits kTokenizerLimits = {.bytes = std::size_t{256} << 20, .values = std::size_t{1} << 24};

// Beside the folder until it is whole; removed where it never gets there.
class Scaffold {
 public:
  explicit Scaffold(const fs::path& folder)
      : folder_(fs::absolute(folder).lexically_normal()),
        path_(folder_.parent_path() /
              std::string(".").append(folder_.filename().string() + "." + std::to_string(::getpid()))) {
    RemoveAll(path_);
    fs::create_directories(path_);
  }
  ~Scaffold() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scaffold(const Scaffold&) = delete;
  Scaffold& operator=(const Scaffold&) = delete;

  const fs::path& path() const { return path_; }
  void Commit() const {
    SyncDirectory(path_);
    if (TypeOf(folder_) == fs::file_type::directory) fs::remove(folder_);  // an empty one
    RenameNoReplace(path_, folder_);
    SyncDirectory(folder_.parent_path());
  }

 private:
  fs::path folder_, path_;
};

void CheckFree(const fs::path& folder) {
  const fs::file_type type = TypeOf(folder);
  if (type == fs::file_type::not_found) return;
  if (type != fs::file_type::directory || !fs::is_empty(folder))
    throw InputError(DisplayPath(folder) +
                     " is there already and not empty; give another folder, or remove it");
}

// Of the longest text: as the folder said that it came from, or as the model has it.
std::int64_t PositionsOf(const ModelFile& file) {
  const std::string field = file.info.pretrained.group + ".positions";
  if (!file.config.pretrained().empty())
    return ReadPretrainedConfig(file.config.pretrained(), file.config.ignored_keys(), KeysOf::kBegunRun)
        .positions;
  return file.info.FindField(field) != nullptr ? file.config.Integer(field) : Agent::kLongestText;
}

PretrainedConfig ConfigOf(const Run& run) {
  const ModelFile& file = *run.model_file;
  if (file.info.pretrained.group.empty())
    throw InputError(
        "no part of the model '" + file.info.name +
        "' is a language of other software; its weights are in the checkpoints' model.safetensors");
  PretrainedConfig config{.architecture = "",
                          .language = LanguageOf(file.config, file.info.pretrained.group),
                          .positions = PositionsOf(file)};
  config.language.vocabulary = run.model->vocabulary();
  config.architecture = ArchitectureOf(config.language);
  return config;
}

void WriteJson(const fs::path& file, const ordered_json& json) {
  ReplaceFile(file, JsonText(json, 2) + "\n");
}

void WriteGenerationConfig(const fs::path& folder, const Tokenizer& tokenizer) {
  WriteJson(folder / "generation_config.json",
            {{"do_sample", false}, {"eos_token_id", tokenizer.eos()}, {"pad_token_id", tokenizer.pad()}});
}

bool IsJson(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{';
}

// A token that the vocabulary file did not have is one of its added ones from now on.
std::string WithAddedTokens(const std::string& text, const fs::path& file, const Tokenizer& tokenizer) {
  const std::vector<std::int64_t> added = tokenizer.AddedIds();
  if (added.empty()) return text;
  ordered_json json = ReadJson(text, DisplayPath(file), kTokenizerLimits);
  ordered_json& tokens = json["added_tokens"];
  for (const std::int64_t id : added) {
    tokens.push_back({{"id", id},
                      {"content", tokenizer.Piece(id)},
                      {"single_word", false},
                      {"lstrip", false},
                      {"rstrip", false},
                      {"normalized", false},
                      {"special", true}});
  }
  return JsonText(json, 2) + "\n";
}

// Other software reads no SentencePiece vocabulary of medley's.
void WriteTokenizer(const fs::path& folder, const fs::path& file, const Tokenizer& tokenizer) {
  const std::string text = ReadFile(file, static_cast<std::int64_t>(kTokenizerLimits.bytes));
  if (!IsJson(text)) return;
  ReplaceFile(folder / "tokenizer.json", WithAddedTokens(text, file, tokenizer));
  for (const char* name : kTokenizerFiles) {
    const fs::path beside = file.parent_path() / name;
    if (FileProblem(beside).empty()) ReplaceFile(folder / name, ReadFile(beside));
  }
}

// In the type that the run computes in, and but for rows of tokens whose changes go with the adapters.
bool IsSame(const at::Tensor& trained, const at::Tensor& published, at::ScalarType type,
            const std::vector<std::int64_t>& tokens) {
  if (trained.sizes() != published.sizes()) return false;
  at::Tensor differs = trained.detach().to(type).ne(published.to(type));
  if (differs.dim() > 1) differs = differs.any(1);
  if (!tokens.empty()) differs.index_fill_(0, at::tensor(tokens, at::kLong), 0);
  return !differs.any().item<bool>();
}

// Other software adds the adapters to what is there.
void RequireBase(const Run& run, const fs::path& base, const Adapters& adapters) {
  const PretrainedFiles files(base);
  const std::vector<Parameter>& parameters = run.model->parameters();
  const at::ScalarType type = FloatTypeNamed(run.config.dtype);
  for (const Parameter& parameter : parameters) {
    const std::string name = PublishedName(parameter.name, run.model_file->info.pretrained.root);
    if (name.empty() || IsAdapter(parameter.name)) continue;
    const bool has_changes = TensorNamed(parameters, AdapterOf(parameter.name, kRowChanges)).defined();
    const std::vector<std::int64_t> none;
    if (files.Find(name) != nullptr &&
        IsSame(parameter.tensor, files.Map(name), type, has_changes ? adapters.tokens : none))
      continue;
    if (files.Find(name) != nullptr && files.Map(name).sizes() != parameter.tensor.sizes())
      throw InputError(DisplayPath(base) + " has fewer rows of " + name +
                       " than the run, which added tokens: its adapters do not fit there. Export the whole "
                       "model, without --adapter");
    throw InputError(
        DisplayPath(base) + " has another " + name +
        " than the run was trained with: its adapters would give something else there. Export the "
        "whole model, without --adapter");
  }
}

}  // namespace

void ExportRun(const Run& run, const fs::path& folder, std::int64_t shard_bytes) {
  CheckFree(folder);
  const PretrainedConfig config = ConfigOf(run);
  const bool half = run.config.dtype == "bf16";
  const Scaffold scaffold(folder);
  const Tokenizer* tokenizer = run.tokenizer.get();
  WriteJson(scaffold.path() / kPretrainedConfigFile,
            ToJson(config, half ? "bfloat16" : "float32",
                   tokenizer != nullptr ? std::optional(tokenizer->eos()) : std::nullopt));
  WritePretrainedWeights(scaffold.path(), MergeAdapters(run.model->parameters(), run.Adapted()),
                         run.model_file->info.pretrained.root, half ? at::kBFloat16 : at::kFloat,
                         shard_bytes);
  if (tokenizer != nullptr) {
    WriteGenerationConfig(scaffold.path(), *tokenizer);
    WriteTokenizer(scaffold.path(), run.config.tokenizer, *tokenizer);
  }
  scaffold.Commit();
}

void ExportAdapters(const Run& run, const fs::path& folder) {
  const Adapters adapters = run.Adapted();
  if (!adapters.any()) throw InputError("the run has no adapters (lora in its config); export its model");
  CheckFree(folder);
  const fs::path& base = run.model_file->config.pretrained();
  if (!base.empty()) RequireBase(run, base, adapters);
  const std::string& root = run.model_file->info.pretrained.root;
  const Scaffold scaffold(folder);
  WritePeft(scaffold.path(), run.model->parameters(), adapters, root, base.string());
  WriteImageWeights(scaffold.path(), run.model->parameters(), root);
  if (run.tokenizer) WriteTokenizer(scaffold.path(), run.config.tokenizer, *run.tokenizer);
  scaffold.Commit();
}

}  // namespace medley
