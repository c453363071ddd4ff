#include <medley/run/export.h>

#include <ATen/Functions.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/base/json_text.h>
#include <medley/base/new_folder.h>
#include <medley/base/work_progress.h>
#include <medley/model/float_type.h>
#include <medley/model/tower_fields.h>
#include <medley/run/export_config.h>
#include <medley/run/export_model.h>
#include <medley/weights/adapter_merge.h>
#include <medley/weights/peft_weights.h>
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

// Other software reads no SentencePiece vocabulary of medley's: it is for a run that begins with the folder.
void WriteTokenizer(const fs::path& folder, const fs::path& file, const Tokenizer& tokenizer) {
  const std::string text = ReadFile(file, static_cast<std::int64_t>(kTokenizerLimits.bytes));
  if (!IsJson(text)) return ReplaceFile(folder / "tokenizer.model", text);
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
void RequireBase(const Run& run, const fs::path& base, const std::vector<std::int64_t>& tokens) {
  const PretrainedFiles files(base);
  const std::vector<Parameter>& parameters = run.model->parameters();
  const at::ScalarType type = FloatTypeNamed(run.config.dtype);
  WorkProgress progress;
  double done = 0;
  for (const Parameter& parameter : parameters) {
    progress.Say("comparing with " + DisplayPath(base), done++, static_cast<double>(parameters.size()));
    const std::string name = PublishedName(parameter.name, run.model_file->info.pretrained.root);
    if (name.empty() || IsAdapter(parameter.name)) continue;
    const std::vector<std::int64_t> none;
    if (files.Find(name) != nullptr &&
        IsSame(parameter.tensor, files.Map(name), type, IsTokenTable(name) ? tokens : none))
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

PublishedRoots RootsOf(const ModelFile& file) {
  const bool has_tower = !file.info.tower.layers_only && TowerOf(file.config, file.info).any();
  return {.language = file.info.pretrained.root,
          .tower = has_tower ? file.info.tower.root : "",
          .projector = has_tower ? file.info.tower.projector : ""};
}

}  // namespace

void RequireFreeForExport(const fs::path& folder) {
  const fs::file_type type = TypeOf(folder);
  if (type == fs::file_type::not_found) return;
  if (type != fs::file_type::directory || !fs::is_empty(folder))
    throw InputError(DisplayPath(folder) +
                     " is there already and not empty; give another folder, or remove it");
}

std::string ExportRun(const Run& run, const fs::path& folder, std::int64_t shard_bytes) {
  RequireFreeForExport(folder);
  if (run.model_file->info.pretrained.group.empty()) {
    const NewFolder made(folder);
    std::string words = WriteModel(run, made.path());
    made.Commit();
    return words;
  }
  const at::ScalarType type = FloatTypeNamed(run.config.dtype);
  const char* const name = type == at::kHalf ? "float16" : type == at::kBFloat16 ? "bfloat16" : "float32";
  const NewFolder made(folder);
  WriteExportedConfigs(run, made.path(), name);
  WritePretrainedWeights(made.path(), MergeAdapters(run.model->parameters(), run.Adapted()),
                         RootsOf(*run.model_file), type, shard_bytes);
  if (run.tokenizer) WriteTokenizer(made.path(), run.config.tokenizer, *run.tokenizer);
  WriteAgentPython(run, made.path(), type);
  made.Commit();
  return "";
}

void ExportAdapters(const Run& run, const fs::path& folder) {
  const Adapters adapters = run.Adapted();
  if (!adapters.any()) throw InputError("the run has no adapters (lora in its config); export its model");
  if (TowerOf(run.model_file->config, run.model_file->info).any())
    throw InputError(
        "the run's model has a vision tower, of which PEFT's folders of a language know nothing; "
        "export the whole model, without --adapter");
  RequireFreeForExport(folder);
  const fs::path& base = run.model_file->config.pretrained();
  // Their rows go along, trained or not: the folder's are others.
  const bool has_new_rows = !base.empty() && run.tokenizer != nullptr;
  const std::vector<std::int64_t> filled =
      has_new_rows ? run.tokenizer->AddedIds() : std::vector<std::int64_t>();
  if (!base.empty()) {
    std::vector<std::int64_t> tokens = adapters.tokens;
    tokens.insert(tokens.end(), filled.begin(), filled.end());
    RequireBase(run, base, tokens);
  }
  const std::string& root = run.model_file->info.pretrained.root;
  const NewFolder made(folder);
  WritePeft(made.path(), run.model->parameters(), adapters, root, base.string(), filled);
  WriteImageWeights(made.path(), run.model->parameters(), {.language = root});
  if (run.tokenizer) WriteTokenizer(made.path(), run.config.tokenizer, *run.tokenizer);
  made.Commit();
}

}  // namespace medley
