#include <medley/checkpoint/checkpoint_facts.h>

#include <cmath>

#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/base/version.h>
#include <medley/checkpoint/divided_state.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

}  // namespace

ordered_json ToJson(const std::optional<MeanEvaluation>& evaluated) {
  if (!evaluated || !std::isfinite(evaluated->loss)) return nullptr;
  ordered_json json = {{"loss", evaluated->loss}, {"tasks", evaluated->tasks}};
  if (!evaluated->stage.empty()) json["stage"] = evaluated->stage;
  if (!evaluated->rows.empty()) json["rows"] = evaluated->rows;
  return json;
}

// A loss that is null was not finite, and written by a medley that did not look.
std::optional<MeanEvaluation> ReadMeanEvaluation(const ordered_json& json) {
  if (json.is_null() || json.at("loss").is_null()) return std::nullopt;
  return MeanEvaluation{.loss = json.at("loss").get<double>(),
                        .tasks = json.at("tasks").get<std::vector<std::string>>(),
                        .stage = json.value("stage", ""),
                        .rows = json.value("rows", "")};
}

bool MeanEvaluation::ComparesWith(const MeanEvaluation& other) const {
  return stage == other.stage && tasks == other.tasks &&
         (rows == other.rows || rows.empty() || other.rows.empty());
}

ordered_json FactsJson(const CheckpointFacts& facts, const ordered_json& tensors) {
  ordered_json json = {{"finite", true},
                       {"config_xxh3_128", facts.config_hash},
                       {"config", facts.config},
                       {"medley", std::string(Version())},
                       {"libtorch", std::string(Torch().version)},
                       {"logs", ToJson(facts.logs)}};
  json["evaluated"] = ToJson(facts.evaluated);
  if (facts.keep) json["keep"] = true;
  if (facts.parts > 0) json["optimizer_parts"] = facts.parts;
  json["tensors"] = tensors;
  return json;
}

CheckpointFacts ReadCheckpointFacts(const fs::path& path, const Manifest& manifest) {
  try {
    const ordered_json& json = manifest.facts;
    if (json.at("finite") != true) throw Error(Printable(path) + " is not marked as finite");
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
    throw Error(Printable(path / kManifestFile) + " lacks a fact: " + error.what());
  }
}

FoundCheckpoint CompleteCheckpoint(const fs::path& checkpoint, const Manifest& manifest) {
  for (const char* name : {kModelFile, kOptimizerFile, kStateFile}) {
    if (manifest.files.count(name) == 0)
      throw Error(Printable(checkpoint / name) + " is not in the manifest");
  }
  FoundCheckpoint found{checkpoint, ReadCheckpointFacts(checkpoint, manifest)};
  for (std::int64_t rank = 0; rank < found.facts.parts; ++rank) {
    const std::string name = PartFile({rank, found.facts.parts});
    if (manifest.files.count(name) == 0)
      throw Error(Printable(checkpoint / name) + " is not in the manifest");
  }
  return found;
}

FoundCheckpoint ReadCheckpoint(const fs::path& checkpoint) {
  return CompleteCheckpoint(checkpoint, VerifyCheckpoint(checkpoint));
}

}  // namespace medley
