#include <medley/run/run_references.h>

#include <ATen/ops/empty.h>

#include <tuple>
#include <utility>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/file_digest.h>
#include <medley/base/files.h>
#include <medley/base/printable.h>
#include <medley/checkpoint/checkpoint_search.h>
#include <medley/checkpoint/load_weights.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/checkpoint/saved_tensors.h>
#include <medley/model/float_type.h>
#include <medley/plugin/model_maker.h>
#include <medley/update/parameter_groups.h>
#include <medley/weights/safetensors.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

fs::path FileOf(const fs::path& directory, const std::string& name) {
  return directory / kReferences / (name + ".safetensors");
}

// Once more the run's model, with its adapters or without, whose parameters have no memory.
std::unique_ptr<Model> Further(const Run& run, bool adapted) {
  std::set<std::string> given;
  for (const Parameter& parameter : run.model->parameters()) given.insert(parameter.name);
  return MakeModel(*run.model_file, *run.registry, run.tokenizer.get(), 0, at::kCPU, &given,
                   adapted ? run.config.lora : LoraConfig(), FloatTypeOf(*run.model));
}

// Another run's weights have no adapters: those that it had are merged into them.
FurtherModel FurtherOf(const Run& run, const std::string& name) {
  const auto found = run.config.references.find(name);
  const bool is_run = found != run.config.references.end() && found->second.of == "run";
  return [&run, is_run] { return Further(run, !is_run); };
}

fs::path CheckpointOf(const std::string& key, const ReferenceConfig& reference, Console& console) {
  if (!fs::is_directory(reference.run))
    throw InputError(key + ".run: " + Printable(reference.run) + " is not a directory");
  if (StepOfName(reference.run.filename().string()) >= 0) {
    VerifyCheckpoint(reference.run);
    return reference.run;
  }
  if (reference.weights == "best") {
    const auto best = BestCheckpoint(reference.run);
    if (!best)
      throw InputError(key + ".weights: none of the checkpoints in " + Printable(reference.run) +
                       " was evaluated, so none is the best; expected \"newest\"");
    VerifyCheckpoint(best->path);
    return best->path;
  }
  const auto found = FindCheckpoint(reference.run, OnDamage::kSkip, console);
  if (!found) throw InputError(key + ".run: " + Printable(reference.run) + " holds no checkpoint");
  return found->path;
}

// A run that goes on meanwhile has another newest one for who looks later.
void RequireSame(const Run& run, const std::string& key, const fs::path& checkpoint) {
  if (run.cluster->alone()) return;
  const std::string own = checkpoint.filename().string();
  for (const auto& [other] : GatherMessages(run.cluster->group(), std::tuple(own))) {
    if (other != own)
      throw InputError(key + ".run: processes of this run found " + own + " and " + other +
                       " there; name one of them, such as " + Printable(checkpoint));
  }
}

// Without what says where weights came from, and comments.
nlohmann::json ValuesOf(nlohmann::json values) {
  if (!values.is_object()) return values;
  nlohmann::json all = nlohmann::json::object();
  for (const auto& [key, value] : values.items()) {
    if (key != "$schema" && key != "pretrained" && !key.starts_with("//")) all[key] = ValuesOf(value);
  }
  return all;
}

nlohmann::json ModelValuesIn(const fs::path& file) {
  return ValuesOf(nlohmann::json::parse(ReadFile(file), nullptr, /*allow_exceptions=*/false));
}

// Names and shapes alone do not tell: heads, bases of rotations, the order of a vocabulary.
void RequireSameModel(const Run& run, const std::string& key, const fs::path& other) {
  const nlohmann::ordered_json record = ReadRunRecord(other);
  if (!record.is_object()) return;
  const std::string own_vocabulary = run.tokenizer ? run.tokenizer->hash() : "";
  const std::string vocabulary = record.value("tokenizer_hash", own_vocabulary);
  if (run.tokenizer && vocabulary != own_vocabulary)
    throw InputError(key + ".run: the run in " + Printable(other) +
                     " reads another vocabulary (its hash is " + vocabulary + ", here " + own_vocabulary +
                     "), so its tokens are others");
  const auto input = record.contains("inputs") ? record.at("inputs").find("model") : record.end();
  if (!record.contains("inputs") || input == record.at("inputs").end()) return;
  const fs::path file = input->value("path", "");
  if (input->value("xxh3_128", "") == HashFile(run.config.model) || !FileProblem(file).empty()) return;
  if (ModelValuesIn(file) != ModelValuesIn(run.config.model))
    throw InputError(key + ".run: the run in " + Printable(other) + " is of another model: " +
                     Printable(file) + " has other values than " + Printable(run.config.model));
}

std::string TakeOfRun(const Run& run, const std::string& name, const ReferenceConfig& reference,
                      Console& console) {
  const std::string key = "references." + name;
  const fs::path checkpoint = CheckpointOf(key, reference, console);
  RequireSame(run, key, checkpoint);
  RequireSameModel(run, key, checkpoint.parent_path());
  const std::unique_ptr<Model> plain = Further(run, /*adapted=*/false);
  for (const Parameter& parameter : plain->parameters())
    at::Tensor(parameter.tensor).set_data(at::empty(parameter.tensor.sizes(), at::kFloat));
  try {
    LoadWeights(checkpoint, plain->parameters(), {"*"}, {}, SavedWeights::kAveraged);
  } catch (const InputError& error) {
    throw InputError(key + ".run: its weights are not of this run's model: " + error.what());
  }
  run.references->Take(name, plain->parameters(), FurtherOf(run, name));
  return "the reference '" + name + "' has the weights of " + Printable(checkpoint);
}

}  // namespace

std::set<std::string> AskedReferences(const Run& run) {
  std::set<std::string> asked;
  for (const Form& form : run.NamedForms())
    asked.merge(AskedReferences(*run.registry, form.task, form.settings.variant));
  return asked;
}

std::set<std::string> TrainedNames(const Run& run, const Model& model) {
  std::set<std::string> names;
  for (const Parameter& parameter : model.parameters()) {
    if (IsTrained(run.config.optimizer, parameter)) names.insert(parameter.name);
  }
  return names;
}

void RequireReferences(const Run& run, const Form& form) {
  for (const std::string& name : AskedReferences(*run.registry, form.task, form.settings.variant)) {
    if (run.references && run.references->Has(name)) continue;
    throw InputError("the task '" + form.task + "' asks for the reference '" + name +
                     "', which the run has not kept since it began; begin a new run with init_from");
  }
}

std::set<std::string> ReferencesOf(const fs::path& directory) {
  std::set<std::string> names;
  const nlohmann::ordered_json record = ReadRunRecord(directory);
  if (!record.is_object() || !record.contains(kReferences)) return names;
  for (const auto& [name, sum] : record.at(kReferences).items()) names.insert(name);
  return names;
}

std::unique_ptr<References> MakeReferences(const Run& run,
                                           const std::optional<std::set<std::string>>& begun) {
  std::set<std::string> asked = AskedReferences(run);
  for (const std::string& name : asked) {
    if (begun && begun->count(name) == 0)
      throw InputError("a task of the run asks for the reference '" + name +
                       "', which the run does not keep since it began; begin a new run with init_from");
  }
  if (begun) asked = *begun;
  return std::make_unique<References>(
      *run.model, run.optimizer ? &run.optimizer->weights() : nullptr, TrainedNames(run, *run.model),
      run.config.references, asked, [&run] { return Further(run, /*adapted=*/true); },
      begun ? References::Fixed::kLater : References::Fixed::kNow);
}

std::vector<std::string> BeginReferences(const Run& run, Console& console) {
  std::vector<std::string> words;
  for (const auto& [name, reference] : run.config.references) {
    if (reference.of == "run" && run.references->Has(name))
      words.push_back(TakeOfRun(run, name, reference, console));
  }
  run.references->Begin();
  return words;
}

void RepeatReferences(const Run& run, const fs::path& original) {
  run.references->Begin();
  RestoreReferences(run, original);
}

void SaveReferences(const Run& run, const fs::path& directory) {
  if (!run.cluster->is_first()) return;
  for (const std::string& name : run.references->fixed()) {
    const fs::path file = FileOf(directory, name), aside = file.string() + ".new";
    CreateDirectories(file.parent_path());
    RemoveAll(aside);
    const std::vector<Parameter> kept = run.references->Kept(name);
    NewFile written(aside, SafetensorsSize(kept, {}));
    WriteSafetensors(kept, {}, [&](const void* data, std::size_t size) { written.Write(data, size); });
    written.Commit();
    RemoveAll(file);
    RenameNoReplace(aside, file);
    SyncDirectory(file.parent_path());
  }
}

nlohmann::ordered_json ReferencesRecord(const Run& run, const fs::path& directory) {
  nlohmann::ordered_json record = nlohmann::ordered_json::object();
  for (const std::string& name : run.references->names()) {
    const fs::path file = FileOf(directory, name);
    record[name] =
        FileProblem(file).empty() ? nlohmann::ordered_json(HashFile(file)) : nlohmann::ordered_json();
  }
  return record;
}

namespace {

// Why what the run keeps of it cannot be used; "": it can.
std::string ProblemOfKept(const fs::path& directory, const std::string& name,
                          const nlohmann::ordered_json& record) {
  const fs::path file = FileOf(directory, name);
  if (const std::string problem = FileProblem(file); !problem.empty())
    return "the run keeps no reference '" + name + "', which a task asks for: " + problem;
  const auto known = record.is_object() ? record.find(kReferences) : record.end();
  const bool is_known = known != record.end() && known->contains(name) && known->at(name).is_string();
  if (!is_known || HashFile(file) == known->at(name).get<std::string>()) return "";
  return Printable(file) + " is not what run.json says, so the run's reference '" + name +
         "' is not known any more; restore the file";
}

}  // namespace

void RestoreReferences(const Run& run, const fs::path& directory, const fs::path& checkpoint) {
  if (!run.references) return;
  const nlohmann::ordered_json record = ReadRunRecord(directory);
  for (const std::string& name : run.references->fixed()) {
    const std::string problem = ProblemOfKept(directory, name, record);
    if (problem.empty()) {
      run.references->Restore(name, ReadSafetensors(FileOf(directory, name)), FurtherOf(run, name));
    } else if (checkpoint.empty()) {
      throw InputError(problem + ", or begin a new run with init_from");
    } else {
      run.references->Lack(name, problem);  // which is an error of the tasks that ask for it
    }
  }
  if (checkpoint.empty()) return;
  const std::vector<Parameter> averages = run.references->State();
  if (averages.empty()) return;
  const SavedTensors saved = MapSafetensors(checkpoint / kOptimizerFile);
  for (const Parameter& average : averages) CheckFits(checkpoint / kOptimizerFile, average, saved);
  CopySaved(checkpoint / kOptimizerFile, averages, saved);
  run.references->Round();
}

}  // namespace medley
