#include <medley/checkpoint/checkpoint.h>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <set>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/base/json_text.h>
#include <medley/base/suggest.h>
#include <medley/base/version.h>
#include <medley/base/work_progress.h>
#include <medley/checkpoint/adapters_section.h>
#include <medley/model/float_type.h>
#include <medley/model/parameter_names.h>
#include <medley/step/lent_weights.h>
#include <medley/weights/adapter_merge.h>
#include <medley/weights/safetensors.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kOptimizerFile = "optim.safetensors";
constexpr const char* kStateFile = "state.json";
constexpr std::int64_t kLargestState = 256 << 20;
constexpr std::int64_t kLargestHint = 4096;
constexpr std::size_t kMostValues = std::size_t{1} << 23;  // also of receipts with very many epochs

void CheckFinite(const std::vector<Parameter>& tensors, const std::string& kind) {
  for (const Parameter& parameter : tensors) {
    if (!parameter.tensor.is_floating_point() || at::isfinite(parameter.tensor).all().item<bool>()) continue;
    throw Error(
        "the " + kind + " " + parameter.name +
        " is not finite (NaN or infinity); such a state is never saved. The last checkpoint stays as it is");
  }
}

ordered_json DescribeTensors(const std::vector<Parameter>& tensors) {
  ordered_json list = ordered_json::object();
  for (const Parameter& parameter : tensors) {
    list[parameter.name] = {{"dtype", std::string(at::toString(parameter.tensor.scalar_type()))},
                            {"shape", parameter.tensor.sizes().vec()}};
  }
  return list;
}

ordered_json FactsJson(const CheckpointFacts& facts, const TrainingState& state) {
  ordered_json json = {{"finite", true},
                       {"config_xxh3_128", facts.config_hash},
                       {"config", facts.config},
                       {"medley", std::string(Version())},
                       {"libtorch", std::string(Torch().version)},
                       {"logs", ToJson(facts.logs)}};
  json["evaluated"] = ToJson(facts.evaluated);
  if (facts.keep) json["keep"] = true;
  if (facts.parts > 0) json["optimizer_parts"] = facts.parts;
  json["tensors"] = {{kModelFile, DescribeTensors(state.weights)},
                     {kOptimizerFile, DescribeTensors(state.optimizer)}};
  return json;
}

CheckpointFacts ReadFacts(const fs::path& path, const Manifest& manifest) {
  try {
    const ordered_json& json = manifest.facts;
    if (json.at("finite") != true) throw Error(path.string() + " is not marked as finite");
    CheckpointFacts facts;
    facts.step = manifest.step;
    facts.logs = LogMarksFromJson(json.at("logs"));
    facts.config_hash = json.at("config_xxh3_128").get<std::string>();
    facts.config = json.value("config", ordered_json());
    facts.evaluated = ReadMeanEvaluation(json.value("evaluated", ordered_json()));
    facts.keep = json.value("keep", false);
    facts.parts = json.value("optimizer_parts", std::int64_t{0});
    return facts;
  } catch (const nlohmann::json::exception& error) {
    throw Error((path / kManifestFile).string() + " lacks a fact: " + error.what());
  }
}

FoundCheckpoint Understand(const fs::path& checkpoint, const Manifest& manifest) {
  for (const char* name : {kModelFile, kOptimizerFile, kStateFile}) {
    if (manifest.files.count(name) == 0)
      throw Error((checkpoint / name).string() + " is not in the manifest");
  }
  FoundCheckpoint found{checkpoint, ReadFacts(checkpoint, manifest)};
  for (std::int64_t rank = 0; rank < found.facts.parts; ++rank) {
    const std::string name = PartFile({rank, found.facts.parts});
    if (manifest.files.count(name) == 0)
      throw Error((checkpoint / name).string() + " is not in the manifest");
  }
  return found;
}

ordered_json ReadState(const fs::path& checkpoint) {
  const std::string text = ReadSmallFile(checkpoint / kStateFile, kLargestState);
  ordered_json sections =
      ReadJson(text, DisplayPath(checkpoint / kStateFile), {.bytes = kLargestState, .values = kMostValues});
  if (!sections.is_object()) throw InputError((checkpoint / kStateFile).string() + " is not a JSON object");
  return sections;
}

// By the run that it belongs to, which goes on meanwhile and has newer ones by now.
bool WasRemoved(const CheckpointEntry& entry) {
  std::error_code error;
  return fs::symlink_status(entry.path, error).type() == fs::file_type::not_found;
}

// Nothing, and a line about it, where the checkpoint is damaged.
std::optional<FoundCheckpoint> VerifyOrWarn(const CheckpointEntry& entry, Console& console) {
  try {
    return ReadCheckpoint(entry.path);
  } catch (const FileError& error) {
    if (!IsDamage(error)) {
      throw FileError(std::string(error.what()) + ". That says nothing about the checkpoint " +
                          entry.path.filename().string() +
                          ", and nothing was changed: try again, or move it away to use the one before it",
                      error.number());
    }
    if (!WasRemoved(entry)) console.Warn("refused checkpoint " + entry.path.string() + ": " + error.what());
    return std::nullopt;
  } catch (const Error& error) {
    if (!WasRemoved(entry)) console.Warn("refused checkpoint " + entry.path.string() + ": " + error.what());
    return std::nullopt;
  }
}

[[noreturn]] void FailWithoutWholeOne(const fs::path& run, std::vector<fs::path> damaged) {
  for (const fs::path& path : ListSetAside(run)) damaged.push_back(path);
  std::string names;
  for (const fs::path& path : damaged) names += (names.empty() ? "" : ", ") + path.filename().string();
  throw InputError("no checkpoint of " + run.string() + " is whole: " + names +
                   " cannot be used. Nothing was changed. Restore one of them (and the logs) from a copy, or "
                   "start a new run; to begin this one again at step 0, without its logs, move them away");
}

// To go on without them would train anew over the logs of what they held.
void RefuseLostCheckpoints(const fs::path& run) {
  const fs::path latest = run / kLatestFile;
  if (TypeOf(latest) == fs::file_type::not_found) return;
  std::string name = "a checkpoint";
  try {
    name = ReadSmallFile(latest, kLargestHint);
    name.erase(std::find(name.begin(), name.end(), '\n'), name.end());
  } catch (const Error&) {  // that it is there says enough
  }
  throw InputError(
      run.string() + " has no checkpoint any more, but " + latest.string() + " says that " + name +
      " was saved. Nothing was changed. Restore the checkpoint from a copy, or start a new run; to "
      "begin this one again at step 0, without its logs, remove " +
      latest.string());
}

// A hint only: nothing here depends on it.
void MendLatest(const fs::path& run, const fs::path& newest, Console& console) {
  try {
    const fs::path latest = run / kLatestFile;
    const std::string expected = newest.filename().string() + "\n";
    if (FileProblem(latest).empty() && ReadSmallFile(latest, kLargestHint) == expected) return;
    NameLatest(run, newest);
  } catch (const Error& error) {
    console.Warn(std::string("LATEST names another checkpoint: ") + error.what());
  }
}

std::string Describe(const at::Tensor& tensor) {
  std::string shape;
  for (const std::int64_t size : tensor.sizes()) shape += (shape.empty() ? "" : ", ") + std::to_string(size);
  return std::string(at::toString(tensor.scalar_type())) + " [" + shape + "]";
}

using Tensors = std::map<std::string, at::Tensor>;

// By its name, or by the one that it had in older checkpoints.
Tensors::const_iterator Find(const Tensors& saved, const Parameter& parameter) {
  const auto found = saved.find(parameter.name);
  return found == saved.end() && !parameter.former_name.empty() ? saved.find(parameter.former_name) : found;
}

void CheckFits(const fs::path& file, const Parameter& parameter, const Tensors& saved) {
  const auto found = Find(saved, parameter);
  if (found == saved.end())
    throw InputError(file.string() + " has no tensor " + parameter.name +
                     ". Was the model's config changed?");
  const at::Tensor& tensor = found->second;
  // Whether a weight is a master or rounded differs with what a run computes in, and what it trains.
  const bool fits = AtLeastFloat(tensor.scalar_type()) == AtLeastFloat(parameter.tensor.scalar_type());
  if (tensor.sizes() == parameter.tensor.sizes() && fits) return;
  throw InputError(file.string() + ": " + parameter.name + " is " + Describe(tensor) + ", the run needs " +
                   Describe(parameter.tensor) + ". Was the model's config changed?");
}

void CheckAll(const fs::path& file, const std::vector<Parameter>& wanted, const Tensors& saved) {
  std::set<std::string> used;
  for (const Parameter& parameter : wanted) {
    CheckFits(file, parameter, saved);
    used.insert(Find(saved, parameter)->first);
  }
  for (const auto& [name, tensor] : saved) {
    if (used.count(name) == 0)
      throw InputError(file.string() + " has a tensor " + name + ", which this run does not have");
  }
}

void Convert(const fs::path& file, const TrainingState& state, Tensors& saved) {
  if (!state.convert_optimizer) return;
  try {
    state.convert_optimizer(saved);
  } catch (const InputError& error) {
    throw InputError(file.string() + ": " + error.what());
  }
}

void Copy(const fs::path& file, const std::vector<Parameter>& wanted, const Tensors& saved) {
  const at::NoGradGuard no_grad;
  WorkProgress progress;
  const std::string words = "reading " + DisplayPath(file);
  double done = 0, all = 0;
  for (const Parameter& parameter : wanted) all += static_cast<double>(parameter.tensor.numel());
  for (const Parameter& parameter : wanted) {
    progress.Say(words, done, all);
    parameter.tensor.copy_(Find(saved, parameter)->second);
    done += static_cast<double>(parameter.tensor.numel());
  }
}

// Those whose names match one of the patterns, each of which must match some.
std::vector<Parameter> Matching(const std::vector<Parameter>& weights,
                                const std::vector<std::string>& patterns) {
  std::vector<Parameter> wanted;
  for (const std::string& pattern : patterns) {
    const auto matches = [&](const Parameter& parameter) { return Matches(parameter, pattern); };
    if (std::none_of(weights.begin(), weights.end(), matches)) {
      throw InputError("init_from: the pattern \"" + pattern + "\" matches no parameter of the model");
    }
    for (const Parameter& parameter : weights) {
      const bool taken = std::any_of(wanted.begin(), wanted.end(),
                                     [&](const Parameter& p) { return p.name == parameter.name; });
      if (!taken && matches(parameter)) wanted.push_back(parameter);
    }
  }
  return wanted;
}

// A part that the model lacks is nothing to lose without a word.
void RequireRoom(const fs::path& file, const std::vector<Parameter>& weights,
                 const std::vector<std::string>& patterns, const Tensors& saved) {
  std::set<std::string> known;
  for (const Parameter& parameter : weights) known.insert({parameter.name, parameter.former_name});
  std::vector<std::string> left;
  for (const auto& [name, tensor] : saved) {
    const bool asked =
        std::any_of(patterns.begin(), patterns.end(),
                    [&name = name](const std::string& pattern) { return Matches(name, pattern); });
    if (asked && known.count(name) == 0 && !IsAdapter(name)) left.push_back(name);
  }
  if (left.empty()) return;
  throw InputError(
      file.string() + " has what this run's model lacks: " + Listed(left) +
      ". Was the model's config changed? Of another model's run, init_from.match names what is taken");
}

// Each average in the place of its weight. Whether there is any; of the rest of the file nothing is read.
bool PutAverages(const fs::path& checkpoint, Tensors& weights) {
  bool any = false;
  for (const auto& [name, tensor] : MapSafetensors(checkpoint / kOptimizerFile)) {
    if (!name.ends_with(kAverageOf)) continue;
    weights[name.substr(0, name.size() - std::string_view(kAverageOf).size())] = tensor;
    any = true;
  }
  return any;
}

// Each weight with what its adapters add in its place; without the adapters. Whether any is wanted.
bool Merge(Tensors& saved, const Adapters& adapters, const std::vector<Parameter>& wanted) {
  bool any = false;
  const auto find = [&](const std::string& name) {
    const auto found = saved.find(name);
    return found == saved.end() ? at::Tensor() : found->second;
  };
  for (auto& [name, tensor] : saved) {
    const at::Tensor merged = Merged(name, find, adapters);
    if (!merged.defined()) continue;
    tensor = merged;
    any = any || std::any_of(wanted.begin(), wanted.end(),
                             [&weight = name](const Parameter& p) { return p.name == weight; });
  }
  std::erase_if(saved, [](const auto& tensor) { return IsAdapter(tensor.first); });
  return any;
}

// Those of none for an older checkpoint that was damaged since: it can then not be the best.
CheckpointFacts FactsOf(const CheckpointEntry& entry) {
  try {
    return ReadFacts(entry.path, ReadManifest(entry.path));
  } catch (const Error& error) {
    if (!IsDamage(error)) throw;
    return {};
  }
}

const std::map<std::string, std::string> kFormatOfTensors = {{"format", "pt"}};

void AddTensors(CheckpointWriter& writer, const char* file, const std::vector<Parameter>& tensors,
                std::int64_t bytes) {
  writer.AddFile(file, bytes, [&](const Sink& sink) { WriteSafetensors(tensors, kFormatOfTensors, sink); });
}

// A checkpoint that is being written by the process that writes the whole of it, but for parts.
class WholeFiles {
 public:
  WholeFiles(const fs::path& run, const TrainingState& state, const CheckpointFacts& facts,
             std::int64_t bytes_of_parts = 0)
      : state_(state),
        facts_(facts),
        text_(Text(state)),
        writer_(run, facts.step, Bytes() + bytes_of_parts) {}

  CheckpointWriter& writer() { return writer_; }

  void Write() {
    AddTensors(writer_, kModelFile, state_.weights, SafetensorsSize(state_.weights, kFormatOfTensors));
    AddTensors(writer_, kOptimizerFile, state_.optimizer,
               SafetensorsSize(state_.optimizer, kFormatOfTensors));
    writer_.AddFile(kStateFile, static_cast<std::int64_t>(text_.size()),
                    [&](const Sink& sink) { sink(text_.data(), text_.size()); });
  }

  Committed Commit(Place place) {
    const auto check = [&](const fs::path& path, const Manifest& manifest) {
      Understand(path, manifest);
      CheckSections(state_.sections, ReadState(path));
    };
    return place == Place::kReplaces ? writer_.Replace(FactsJson(facts_, state_), check)
                                     : writer_.Commit(FactsJson(facts_, state_), check);
  }

 private:
  static std::string Text(const TrainingState& state) {
    CheckFinite(state.weights, "weight");
    CheckFinite(state.optimizer, "optimizer state");
    return JsonText(SaveSections(state.sections)) + "\n";
  }
  std::int64_t Bytes() const {
    return SafetensorsSize(state_.weights, kFormatOfTensors) +
           SafetensorsSize(state_.optimizer, kFormatOfTensors) + static_cast<std::int64_t>(text_.size());
  }

  const TrainingState& state_;
  CheckpointFacts facts_;
  std::string text_;
  CheckpointWriter writer_;
};

std::string DigestText(const FileDigest& digest) {
  return ordered_json({{"bytes", digest.bytes}, {"xxh3_128", digest.chunks}}).dump();
}

FileDigest DigestFrom(const std::string& text) {
  const ordered_json json = ordered_json::parse(text);
  return {json.at("bytes").get<std::int64_t>(), json.at("xxh3_128").get<std::vector<std::string>>()};
}

// Of what was saved in parts this process's own; and scales of other moments than the run's whole, for who
// converts them.
WantedNumbers WantedOf(const TrainingState& state) {
  std::map<std::string, NumberRange> own;
  std::set<std::string> whole;
  for (const Parameter& parameter : state.optimizer) whole.insert({parameter.name, parameter.former_name});
  for (const TensorPart& part : state.parts) {
    const NumberRange range{part.begin, part.begin + part.tensor.tensor.numel()};
    own[part.tensor.name] = range, own[part.tensor.former_name] = range;
  }
  return [own, whole](const std::string& name, std::int64_t numbers) -> std::optional<NumberRange> {
    if (const auto found = own.find(name); found != own.end()) return found->second;
    const std::string_view scale = "_scale";
    const std::string codes = name.ends_with(scale) ? name.substr(0, name.size() - scale.size()) : name;
    if (whole.count(name) + whole.count(codes) + own.count(codes) > 0) return NumberRange{0, numbers};
    return std::nullopt;
  };
}

// What was saved in parts has the shape that is wanted.
void TakeShapes(const std::vector<Parameter>& wanted, const std::set<std::string>& joined, Tensors& saved) {
  for (const Parameter& parameter : wanted) {
    const auto found = Find(saved, parameter);
    if (found == saved.end() || joined.count(found->first) == 0) continue;
    if (found->second.numel() == parameter.tensor.numel())
      saved.at(found->first) = found->second.reshape(parameter.tensor.sizes());
  }
}

}  // namespace

ordered_json ToJson(const std::optional<MeanEvaluation>& evaluated) {
  if (!evaluated || !std::isfinite(evaluated->loss)) return nullptr;
  ordered_json json = {{"loss", evaluated->loss}, {"tasks", evaluated->tasks}};
  if (!evaluated->stage.empty()) json["stage"] = evaluated->stage;
  return json;
}

// A loss that is null was not finite, and written by a medley that did not look.
std::optional<MeanEvaluation> ReadMeanEvaluation(const ordered_json& json) {
  if (json.is_null() || json.at("loss").is_null()) return std::nullopt;
  return MeanEvaluation{.loss = json.at("loss").get<double>(),
                        .tasks = json.at("tasks").get<std::vector<std::string>>(),
                        .stage = json.value("stage", "")};
}

Committed SaveCheckpoint(const fs::path& run, const TrainingState& state, const CheckpointFacts& facts,
                         Place place) {
  WholeFiles files(run, state, facts);
  files.Write();
  return files.Commit(place);
}

std::optional<Committed> SaveTogether(const fs::path& run, const TrainingState& state,
                                      const std::function<CheckpointFacts()>& facts, Place place,
                                      const SavingTogether& together) {
  const bool is_first = together.place.rank == 0;
  const std::vector<Parameter> parts = WithPlaces(state.parts);
  const std::int64_t bytes = SafetensorsSize(parts, kFormatOfTensors);
  std::int64_t bytes_of_parts = 0;
  for (const std::string& words : together.everyones(std::to_string(bytes)))
    bytes_of_parts += std::stoll(words);
  std::optional<WholeFiles> files;
  together.all_or_none([&] {
    CheckFinite(parts, "optimizer state");
    if (!is_first) return;
    CheckpointFacts whole = facts();
    whole.parts = together.place.ranks;
    files.emplace(run, state, whole, bytes_of_parts);
  });
  // Each by its own way to the run, which machines may mount in different places.
  const fs::path aside =
      run / together.everyones(files ? files->writer().aside().filename().string() : "").front();
  FileDigest digest;
  together.all_or_none([&] {
    digest = WriteDigested(aside / PartFile(together.place), bytes,
                           [&](const Sink& sink) { WriteSafetensors(parts, kFormatOfTensors, sink); });
    if (files) files->Write();
  });
  const std::vector<std::string> digests = together.everyones(DigestText(digest));
  std::optional<Committed> saved;
  together.all_or_none([&] {
    if (!files) return;
    for (std::int64_t rank = 0; rank < std::ssize(digests); ++rank)
      files->writer().AddWritten(PartFile({rank, together.place.ranks}),
                                 DigestFrom(digests[static_cast<std::size_t>(rank)]));
    saved = files->Commit(place);
  });
  return saved;
}

FoundCheckpoint ReadCheckpoint(const fs::path& checkpoint) {
  return Understand(checkpoint, VerifyCheckpoint(checkpoint));
}

std::optional<FoundCheckpoint> FindCheckpoint(const fs::path& run, OnDamage on_damage, Console& console) {
  std::vector<CheckpointEntry> damaged;
  for (const CheckpointEntry& entry : ListCheckpoints(run)) {
    auto found = VerifyOrWarn(entry, console);
    if (!found && WasRemoved(entry)) return FindCheckpoint(run, on_damage, console);
    if (!found) {
      damaged.push_back(entry);
      continue;
    }
    for (const CheckpointEntry& bad : damaged) {
      if (on_damage == OnDamage::kSkip) break;
      console.Warn(bad.path.string() + " is set aside as " +
                   SetCheckpointAside(run, bad).filename().string());
    }
    if (on_damage == OnDamage::kSetAside) MendLatest(run, found->path, console);
    return found;
  }
  if (damaged.empty() && ListSetAside(run).empty()) {
    RefuseLostCheckpoints(run);
    return std::nullopt;
  }
  std::vector<fs::path> paths;
  for (const CheckpointEntry& entry : damaged) paths.push_back(entry.path);
  FailWithoutWholeOne(run, std::move(paths));
}

void LoadCheckpoint(const fs::path& checkpoint, const TrainingState& state) {
  // Mapped, as it may be as much as all that the run itself keeps.
  const Tensors weights = MapSafetensors(checkpoint / kModelFile);
  Tensors optimizer = MapSafetensors(checkpoint / kOptimizerFile);
  TakeShapes(state.optimizer, JoinParts(checkpoint, optimizer, WantedOf(state)), optimizer);
  std::vector<Parameter> wanted = state.optimizer;
  for (const TensorPart& part : state.parts) wanted.push_back(part.tensor);
  CheckAll(checkpoint / kModelFile, state.weights, weights);
  Convert(checkpoint / kOptimizerFile, state, optimizer);
  CheckAll(checkpoint / kOptimizerFile, wanted, optimizer);
  LoadSections(state.sections, ReadState(checkpoint));
  Copy(checkpoint / kModelFile, state.weights, weights);
  Copy(checkpoint / kOptimizerFile, wanted, optimizer);
}

nlohmann::json ReadSection(const fs::path& checkpoint, const std::string& name) {
  const std::optional<nlohmann::json> state = FindSection(checkpoint, name);
  if (!state) throw InputError((checkpoint / kStateFile).string() + " has no state of \"" + name + "\"");
  return *state;
}

std::optional<nlohmann::json> FindSection(const fs::path& checkpoint, const std::string& name) {
  const ordered_json sections = ReadState(checkpoint);
  const auto state = ordered_json::json_pointer("/" + name + "/state");
  return sections.contains(state) ? std::optional<nlohmann::json>(sections.at(state)) : std::nullopt;
}

TakenWeights LoadWeights(const fs::path& checkpoint, const std::vector<Parameter>& weights,
                         const std::vector<std::string>& patterns, const Adapters& adapters,
                         SavedWeights kind) {
  Tensors saved = ReadSafetensors(checkpoint / kModelFile);
  const std::optional<Adapters> saved_adapters = ReadAdapters(checkpoint);
  TakenWeights taken;
  if (kind == SavedWeights::kAveraged) taken.averaged = PutAverages(checkpoint, saved);
  std::vector<Parameter> wanted = Matching(weights, patterns);
  const auto of_adapter = [](const Parameter& parameter) { return IsAdapter(parameter.name); };
  const bool wants_adapters = std::any_of(wanted.begin(), wanted.end(), of_adapter);
  if (saved_adapters && wants_adapters) RequireSameAdapters(checkpoint, *saved_adapters, adapters);
  if (saved_adapters && !adapters.any() && Merge(saved, *saved_adapters, wanted))
    taken.adapters = "merged its adapters into them";
  if (!saved_adapters && wants_adapters) {
    std::erase_if(wanted, of_adapter);
    taken.adapters = "the adapters begin anew";
    if (wanted.empty())
      throw InputError("init_from: " + checkpoint.string() +
                       " has no adapters, and nothing else was asked for");
  }
  for (const Parameter& parameter : wanted) CheckFits(checkpoint / kModelFile, parameter, saved);
  RequireRoom(checkpoint / kModelFile, weights, patterns, saved);
  Copy(checkpoint / kModelFile, wanted, saved);
  taken.count = wanted.size();
  return taken;
}

void RotateCheckpoints(const fs::path& run, std::int64_t keep) {
  const std::vector<CheckpointEntry> entries = ListCheckpoints(run);
  std::optional<std::int64_t> best;
  std::optional<MeanEvaluation> best_evaluation;
  std::set<std::int64_t> kept;
  // From the newest: it sets stage and tasks, and of equals the one nearest to its evaluation wins.
  for (const CheckpointEntry& entry : entries) {
    const CheckpointFacts facts = FactsOf(entry);
    if (facts.keep) kept.insert(entry.step);
    const std::optional<MeanEvaluation>& evaluation = facts.evaluated;
    if (!evaluation) continue;
    if (best_evaluation &&
        (evaluation->stage != best_evaluation->stage || evaluation->tasks != best_evaluation->tasks))
      continue;
    if (best_evaluation && evaluation->loss > best_evaluation->loss) continue;
    best = entry.step;
    best_evaluation = evaluation;
  }
  const auto newest = static_cast<std::size_t>(std::max<std::int64_t>(keep, 1));
  for (std::size_t i = newest; i < entries.size(); ++i) {
    if (entries[i].step != best && kept.count(entries[i].step) == 0) RemoveCheckpoint(run, entries[i]);
  }
}

}  // namespace medley
