#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/bytes.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/printable.h>
#include <medley/checkpoint/checkpoint_files.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/tower_fields.h>
#include <medley/plugin/model_maker.h>
#include <medley/report/table.h>
#include <medley/run/starting_weights.h>
#include <medley/run/token_rows.h>
#include <medley/text/load_tokenizer.h>
#include <medley/weights/pretrained_config.h>
#include <medley/weights/pretrained_tower.h>
#include <medley/weights/pretrained_weights.h>
#include <medley/weights/safetensors_file.h>

#include "tools/medley/arguments.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

enum class Kind { kFile, kCheckpoint, kPretrained };

// What was named, and what of it is looked at.
struct Subject {
  Kind kind = Kind::kFile;
  fs::path path;
  std::vector<fs::path> files{};  // of tensors
};

std::vector<fs::path> TensorFiles(const fs::path& directory) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// A run's newest checkpoint stands for the run.
Subject SubjectOf(const fs::path& path) {
  if (TypeOf(path) != fs::file_type::directory) return {.path = path, .files = {path}};
  if (StepOfName(path.filename().string()) >= 0 || TypeOf(path / kManifestFile) == fs::file_type::regular) {
    VerifyCheckpoint(path);
    return {.kind = Kind::kCheckpoint, .path = path, .files = TensorFiles(path)};
  }
  if (TypeOf(path / kPretrainedConfigFile) != fs::file_type::not_found)
    return {.kind = Kind::kPretrained, .path = path, .files = TensorFiles(path)};
  if (const std::vector<CheckpointEntry> saved = ListCheckpoints(path); !saved.empty())
    return SubjectOf(saved.front().path);
  throw InputError(DisplayPath(path) + " has neither " + kPretrainedConfigFile + " nor a checkpoint" +
                   "; expected a safetensors file, a Hugging Face folder, a checkpoint or a run's directory");
}

std::string ShapeOf(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t size : shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text.empty() ? "scalar" : text;
}

std::int64_t NumbersOf(const SafetensorsFile::Entry& entry) {
  std::int64_t count = 1;
  for (const std::int64_t size : entry.shape) count *= size;
  return count;
}

void Print(const SafetensorsFile& file) {
  Table table({"tensor", "shape", "type", "bytes"}, 3);
  table.Spares({"type", "bytes"});
  std::int64_t numbers = 0, bytes = 0;
  for (const auto& [name, entry] : file.entries()) {
    table.Add({Printable(name), ShapeOf(entry.shape), SafetensorsTypeName(entry.type),
               std::to_string(entry.end - entry.begin)});
    numbers += NumbersOf(entry);
    bytes += entry.end - entry.begin;
  }
  std::cout << DisplayPath(file.path()) << ": " << file.entries().size() << " tensors, " << numbers
            << " numbers, " << FormatBytes(bytes) << '\n'
            << table.ToText();
}

std::optional<PretrainedTower> TowerIn(const fs::path& folder, const std::vector<std::string>& ignored_keys) {
  if (!SaysItHasATower(folder)) return std::nullopt;
  return ReadPretrainedTower(folder, ignored_keys);
}

void PrintTower(const TowerConfig& tower) {
  std::cout << "tower (" << WordOf(tower.kind) << "): width " << tower.width << ", " << tower.layers
            << " layers that run, " << tower.heads << " heads, ffn " << tower.ffn << ", " << tower.patches()
            << " patches of a picture of " << tower.size << " pixels a side\n";
}

void PrintFolder(const fs::path& folder, const std::vector<std::string>& ignored_keys,
                 const fs::path& adapters) {
  const std::optional<PretrainedTower> tower = TowerIn(folder, ignored_keys);
  if (tower) PrintTower(tower->tower);
  if (tower && !tower->in_llava) return;
  const PretrainedConfig config = ReadPretrainedConfig(folder, ignored_keys);
  const LanguageConfig& language = config.language;
  std::cout << config.architecture << ": width " << language.hidden << ", " << language.layers << " layers, "
            << language.heads << " query heads, " << language.kv_heads << " key heads of "
            << language.head_dim << ", ffn " << language.ffn << ", " << language.vocabulary << " words"
            << (language.tied ? ", tied" : "") << ", texts of up to " << config.positions << '\n';
  for (const std::string& problem : FolderProblems(folder, adapters)) std::cout << problem << '\n';
}

struct Inspected {
  fs::path path, model, tokenizer, adapters;
  std::int64_t new_rows = 0;                     // that a run allows
  bool unknown_vocabulary = false;               // likewise
  std::vector<std::string> missing, unexpected;  // the same, patterns
  PluginSearch plugins;
};

struct InspectedModel {
  Registry registry;
  ModelFile file;
};
InspectedModel ReadModelOf(const Inspected& asked) {
  Registry registry = Registry::Scan(asked.plugins);
  registry.RequireNamed();
  ModelFile file = ReadModelFile(asked.model, registry);
  return {.registry = std::move(registry), .file = std::move(file)};
}

// In the folder itself, where it is there.
fs::path VocabularyOf(const Inspected& asked, const Subject& subject) {
  fs::path file = asked.tokenizer;
  if (file.empty() && subject.kind == Kind::kPretrained) file = OwnTokenizer(subject.path);
  if (file.empty())
    throw InputError("--model " + DisplayPath(asked.model) +
                     " is a model with a tokenizer; name its vocabulary with --tokenizer FILE");
  return file;
}

// Of what a checkpoint or medley wrote: by name, or by the one that a parameter had before.
void CheckParameters(const SafetensorsFile& file, const std::vector<Parameter>& parameters) {
  std::vector<std::string> problems;
  std::set<std::string> used;
  for (const Parameter& parameter : parameters) {
    auto found = file.entries().find(parameter.name);
    if (found == file.entries().end()) found = file.entries().find(parameter.former_name);
    const std::vector<std::int64_t> expected = parameter.tensor.sizes().vec();
    if (found == file.entries().end()) {
      problems.push_back(parameter.name + ": missing; expected " + ShapeOf(expected));
      continue;
    }
    used.insert(found->first);
    if (found->second.shape != expected)
      problems.push_back(parameter.name + ": expected " + ShapeOf(expected) + ", found " +
                         ShapeOf(found->second.shape));
  }
  for (const auto& [name, entry] : file.entries()) {
    if (used.count(name) == 0) problems.push_back(Printable(name) + ": the model has no such parameter");
  }
  ThrowProblems(file.path(), problems);
}

// As a run that begins with the folder does.
void CheckFolder(const Inspected& asked, const ModelFile& file, const fs::path& vocabulary,
                 const fs::path& folder, const std::vector<Parameter>& parameters) {
  if (const auto tower = TowerIn(folder, file.config.tower_ignored_keys()); tower && !tower->in_llava) {
    PretrainedWeights::Setting alone = StartingWeightsOf(file, asked.missing, asked.unexpected);
    alone.directory.clear();
    alone.tower = {.directory = folder,
                   .root = file.info.tower.root,
                   .projector = file.info.tower.projector,
                   .layers_only = file.info.tower.layers_only};
    PretrainedWeights(std::move(alone), parameters);
    return;
  }
  const std::int64_t rows = ReadPretrainedConfig(folder, file.config.ignored_keys()).language.vocabulary;
  ThrowProblems(folder, FolderProblems(folder, asked.adapters));
  PretrainedWeights::Setting setting = StartingWeightsOf(file, asked.missing, asked.unexpected);
  setting.directory = folder, setting.rows = rows;
  PretrainedWeights(std::move(setting), parameters);
  if (vocabulary.empty()) return;
  const TokenRows tokens = CompareTokens(ReadVocabulary(vocabulary), vocabulary, folder, rows);
  std::cout << tokens.Words() << '\n';
  if (const std::string problem = tokens.Problem(asked.new_rows); !problem.empty())
    throw InputError(DisplayPath(vocabulary) + ": " + problem);
  if (const std::string problem = tokens.UnknownProblem(); !problem.empty() && !asked.unknown_vocabulary)
    throw InputError(DisplayPath(vocabulary) + ": " + problem);
}

// By shapes: nothing is allocated. Throws InputError with all that does not fit.
void CheckFits(const Inspected& asked, const Subject& subject, const InspectedModel& model_file) {
  const ModelFile& file = model_file.file;
  fs::path vocabulary;
  std::unique_ptr<Tokenizer> tokenizer;
  if (file.info.tokenizer) {
    vocabulary = VocabularyOf(asked, subject);
    tokenizer = LoadTokenizer(vocabulary);
  }
  const auto model = MakeModel(file, model_file.registry, tokenizer.get(), 0, at::kMeta);
  if (subject.kind == Kind::kPretrained) {
    CheckFolder(asked, file, vocabulary, subject.path, model->parameters());
  } else {
    CheckParameters(SafetensorsFile(subject.files.front()), model->parameters());
  }
}

}  // namespace

int RunInspect(int argc, char** argv) {
  CLI::App app(
      "Prints names, shapes, types and bytes of the tensors of a file, a checkpoint or a Hugging Face "
      "folder, "
      "and with --model whether they are that model's. Reads headers; a checkpoint is verified whole.",
      "medley inspect");
  Inspected asked;
  app.add_option("PATH", asked.path, "a safetensors file, a run or one of its checkpoints, or a folder")
      ->required();
  auto* model =
      app.add_option("--model", asked.model, "a model file: exit code 2 where the tensors do not fit it");
  app.add_option("--tokenizer", asked.tokenizer, "the vocabulary that the model is made with")->needs(model);
  app.add_option(
         "--allow-new-rows", asked.new_rows,
         "how many of the vocabulary's tokens may be new to a folder's tables, beside medley's own: a "
         "run's allow_new_rows")
      ->needs(model)
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--allow-unknown-vocabulary", asked.unknown_vocabulary,
               "a folder may come without a tokenizer that medley can compare the vocabulary with: a run's "
               "allow_unknown_vocabulary")
      ->needs(model);
  app.add_option("--allow-missing", asked.missing,
                 "patterns of parameters that a folder may lack: a run's allow_missing")
      ->type_name("PATTERN")
      ->needs(model)
      ->allow_extra_args(false);
  app.add_option("--allow-unexpected", asked.unexpected,
                 "patterns of tensors that a folder may have and the model has not: a run's allow_unexpected")
      ->type_name("PATTERN")
      ->needs(model)
      ->allow_extra_args(false);
  app.add_option(
      "--adapters", asked.adapters,
      "the folder of PEFT's that a run applies, which may be the model's own: its lora.pretrained");
  AddPluginPath(app, asked.plugins.paths);
  if (!ParseArguments(app, argc, argv)) return 0;

  InstallCpuAllocator();
  const Subject subject = SubjectOf(asked.path);
  std::optional<InspectedModel> model_file;
  if (!asked.model.empty()) model_file = ReadModelOf(asked);
  if (subject.kind == Kind::kPretrained)
    PrintFolder(subject.path,
                model_file ? model_file->file.config.ignored_keys() : std::vector<std::string>(),
                asked.adapters);
  if (subject.path != asked.path) std::cout << "the newest checkpoint, " << DisplayPath(subject.path) << '\n';
  for (const fs::path& file : subject.files) Print(SafetensorsFile(file));
  if (!model_file) return 0;
  CheckFits(asked, subject, *model_file);
  std::cout << "fits " << DisplayPath(asked.model) << '\n';
  return 0;
}

}  // namespace medley
