#include <medley/checkpoint/checkpoint.h>

#include <ATen/Functions.h>

#include <set>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/base/json_text.h>
#include <medley/base/printable.h>
#include <medley/checkpoint/saved_tensors.h>
#include <medley/weights/safetensors.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::int64_t kLargestState = 256 << 20;
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

ordered_json DescribeFiles(const TrainingState& state) {
  return {{kModelFile, DescribeTensors(state.weights)}, {kOptimizerFile, DescribeTensors(state.optimizer)}};
}

ordered_json ReadState(const fs::path& checkpoint) {
  const std::string text = ReadSmallFile(checkpoint / kStateFile, kLargestState);
  ordered_json sections =
      ReadJson(text, DisplayPath(checkpoint / kStateFile), {.bytes = kLargestState, .values = kMostValues});
  if (!sections.is_object()) throw InputError(Printable(checkpoint / kStateFile) + " is not a JSON object");
  return sections;
}

void Convert(const fs::path& file, const TrainingState& state, SavedTensors& saved) {
  if (!state.convert_optimizer) return;
  try {
    state.convert_optimizer(saved);
  } catch (const InputError& error) {
    throw InputError(Printable(file) + ": " + error.what());
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
      CompleteCheckpoint(path, manifest);
      CheckSections(state_.sections, ReadState(path));
    };
    const ordered_json facts = FactsJson(facts_, DescribeFiles(state_));
    return place == Place::kReplaces ? writer_.Replace(facts, check) : writer_.Commit(facts, check);
  }

 private:
  static std::string Text(const TrainingState& state) {
    CheckFinite(state.weights, "weight");
    CheckFinite(state.optimizer, "optimizer state");
    return JsonText(SaveSections(state.sections)) + "\n";
  }
  std::int64_t Bytes() const { return BytesOf(state_, 0) + static_cast<std::int64_t>(text_.size()); }

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

// Of what was saved in parts this process's own; and whole, for who converts it, what another rule kept of
// the same parameters.
WantedNumbers WantedOf(const TrainingState& state) {
  const auto parameter_of = [](const std::string& name) { return name.substr(0, name.rfind('.')); };
  std::map<std::string, NumberRange> own;
  std::set<std::string> whole, parameters;
  for (const Parameter& parameter : state.optimizer) whole.insert({parameter.name, parameter.former_name});
  for (const TensorPart& part : state.parts) {
    for (const std::string& name : {part.tensor.name, part.tensor.former_name}) {
      own[name] = {part.begin, part.begin + part.tensor.tensor.numel()};
      parameters.insert(parameter_of(name));
    }
  }
  return [own, whole, parameters, parameter_of](const std::string& name,
                                                std::int64_t numbers) -> std::optional<NumberRange> {
    if (const auto found = own.find(name); found != own.end()) return found->second;
    if (own.empty() || whole.count(name) > 0 || parameters.count(parameter_of(name)) > 0)
      return NumberRange{0, numbers};
    return std::nullopt;
  };
}

// What was saved in parts has the shape that is wanted.
void TakeShapes(const std::vector<Parameter>& wanted, const std::set<std::string>& joined,
                SavedTensors& saved) {
  for (const Parameter& parameter : wanted) {
    const auto found = FindSaved(saved, parameter);
    if (found == saved.end() || joined.count(found->first) == 0) continue;
    if (found->second.numel() == parameter.tensor.numel())
      saved.at(found->first) = found->second.reshape(parameter.tensor.sizes());
  }
}

}  // namespace

std::int64_t BytesOf(const TrainingState& state, std::int64_t processes) {
  return SafetensorsSize(state.weights, kFormatOfTensors) +
         SafetensorsSize(state.optimizer, kFormatOfTensors) +
         (state.parts.empty() ? 0 : processes * SafetensorsSize(WithPlaces(state.parts), kFormatOfTensors));
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

void LoadCheckpoint(const fs::path& checkpoint, const TrainingState& state) {
  // Mapped, as it may be as much as all that the run itself keeps.
  const SavedTensors weights = MapSafetensors(checkpoint / kModelFile);
  SavedTensors optimizer = MapSafetensors(checkpoint / kOptimizerFile);
  TakeShapes(state.optimizer, JoinParts(checkpoint, optimizer, WantedOf(state)), optimizer);
  std::vector<Parameter> wanted = state.optimizer;
  for (const TensorPart& part : state.parts) wanted.push_back(part.tensor);
  CheckAll(checkpoint / kModelFile, state.weights, weights);
  Convert(checkpoint / kOptimizerFile, state, optimizer);
  CheckAll(checkpoint / kOptimizerFile, wanted, optimizer);
  LoadSections(state.sections, ReadState(checkpoint));
  CopySaved(checkpoint / kModelFile, state.weights, weights);
  CopySaved(checkpoint / kOptimizerFile, wanted, optimizer);
}

nlohmann::json ReadSection(const fs::path& checkpoint, const std::string& name, int version) {
  const std::optional<nlohmann::json> state = FindSection(checkpoint, name, version);
  if (!state) throw InputError(Printable(checkpoint / kStateFile) + " has no state of \"" + name + "\"");
  return *state;
}

std::optional<nlohmann::json> FindSection(const fs::path& checkpoint, const std::string& name, int version) {
  const ordered_json sections = ReadState(checkpoint);
  if (const auto saved = sections.find(name); saved != sections.end())
    RefuseNewerSection(*saved, name, version);
  const auto state = ordered_json::json_pointer("/" + name + "/state");
  return sections.contains(state) ? std::optional<nlohmann::json>(sections.at(state)) : std::nullopt;
}

}  // namespace medley
