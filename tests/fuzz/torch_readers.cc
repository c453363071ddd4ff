// The readers that fill tensors, or stand beside code that does.

#include <medley/base/error.h>
#include <medley/base/file_digest.h>
#include <medley/base/json_reader.h>
#include <medley/checkpoint/checkpoint_search.h>
#include <medley/config/run_config.h>
#include <medley/model/device.h>
#include <medley/run/config_change.h>
#include <medley/run/run_record.h>
#include <medley/weights/pretrained_files.h>
#include <medley/weights/safetensors.h>

#include "tests/fuzz/framing.h"
#include "tests/fuzz/readers.h"
#include "tests/fuzz/written.h"

namespace medley::fuzz {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

void ReadTensors(const std::string& bytes) { ReadSafetensors(Written("model.safetensors", bytes)); }
void ReadTensorsOf(const std::string& header) { ReadTensors(AsSafetensors(header)); }

// Beside the shards that a good one names.
void ReadIndex(const std::string& bytes) {
  for (const char* name : {"one", "two"}) {
    const std::string header =
        std::string(R"({")") + name + R"(": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})";
    Written(fs::path("shards") / (std::string(name) + ".safetensors"), AsSafetensors(header));
  }
  PretrainedFiles(Written("shards/model.safetensors.index.json", bytes).parent_path());
}

// Of a whole checkpoint, whose seal was made to fit.
void WriteCheckpoint(const fs::path& checkpoint, const std::string& manifest) {
  for (const char* name : {"model.safetensors", "optim.safetensors", "state.json"})
    Written(checkpoint / name, name);
  Written(checkpoint / kManifestFile, manifest);
  const ordered_json seal = {{"format", 1},
                             {"step", 1},
                             {"manifest_bytes", manifest.size()},
                             {"manifest_xxh3_128", HashText(manifest)}};
  Written(checkpoint / kSealFile, seal.dump() + "\n");
}

void ReadFacts(const std::string& bytes) {
  WriteCheckpoint(fs::path("run") / CheckpointName(1), bytes);
  const auto found = FindCheckpoint("run", OnDamage::kSkip, Quiet());
  TrainedConfig("run", found->facts);
}

// Beside a whole checkpoint, and without one.
void ReadLatest(const std::string& bytes) {
  static const std::string manifest = [] {
    ordered_json files = ordered_json::object();
    for (const char* name : {"model.safetensors", "optim.safetensors", "state.json"}) {
      files[name] = {{"bytes", std::string(name).size()}, {"xxh3_128", {HashText(name)}}};
    }
    const ordered_json facts = {{"finite", true}, {"logs", json::object()}, {"config_xxh3_128", ""}};
    return ordered_json(
               {{"format", 1}, {"step", 1}, {"chunk_bytes", 16 << 20}, {"files", files}, {"facts", facts}})
        .dump();
  }();
  WriteCheckpoint(fs::path("named") / CheckpointName(1), manifest);
  Written(fs::path("named") / kLatestFile, bytes);
  FindCheckpoint("named", OnDamage::kSetAside, Quiet());
  Written(fs::path("lost") / kLatestFile, bytes);
  try {
    FindCheckpoint("lost", OnDamage::kSkip, Quiet());
    std::abort();  // a run that lost its checkpoints must not begin anew
  } catch (const InputError&) {
  }
}

void ReadGenerators(const std::string& bytes) {
  try {
    LoadGenerators(ReadJson<json>(bytes, "generators"), at::kCPU);
  } catch (const json::exception& error) {  // as whoever loads a checkpoint does
    throw Error(error.what());
  }
}

// What a resume asks the sections for before it loads them.
void ReadTrained(const std::string& bytes) {
  TrainedTasks(Written("trained/state.json", bytes).parent_path());
}

// The config in a checkpoint's facts, against the one that a resume has.
void ReadTrainedConfig(const std::string& bytes) {
  RunConfig now;
  now.tasks["control"].rows = 32;
  CheckpointFacts facts;
  facts.config = ReadJson(bytes, "manifest.json");
  const ordered_json before = TrainedConfig(".", facts);
  if (before.is_object()) CompareConfigs(before, ToJson(now), {"control"});
}

// The edited run.json of a run that goes on.
void ReadComparedRecord(const std::string& bytes) {
  const ordered_json now = {
      {"medley", "0.1.0"},
      {"inputs", {{"weights", {{"path", "w.json"}, {"xxh3_128", "00"}}}}},
      {"plugins", {{{"path", "/p/a.so"}, {"build_id", "12"}, {"own", true}, {"tasks", {"control"}}}}}};
  ordered_json before = ReadJson(bytes, "run.json");
  RunInputs run{.registry = Registry(), .checked = {}};
  RunConfig& config = run.checked.run;
  for (fs::path* input : {&config.model, &config.tokenizer, &config.weights, &config.control_text})
    *input = Written("input", "x");
  CompareRecord(before, now, {"control"}, "run");
  RequireRecordedInputs(before, run, "run", {});
  TakePaths({"model", "tasks.control.options.data"}, now, before);
}

}  // namespace

std::vector<Reader> Readers() {
  std::vector<Reader> readers = {{"safetensors", false, ReadTensors},
                                 {"safetensors_header", true, ReadTensorsOf},
                                 {"pretrained_index", true, ReadIndex},
                                 {"facts", true, ReadFacts},
                                 {"latest", false, ReadLatest},
                                 {"generators", true, ReadGenerators},
                                 {"trained", true, ReadTrained},
                                 {"trained_config", true, ReadTrainedConfig},
                                 {"compared_record", true, ReadComparedRecord}};
  for (Reader& reader : ConversationReaders()) readers.push_back(std::move(reader));
  return readers;
}

}  // namespace medley::fuzz
