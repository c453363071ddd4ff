// The readers that fill tensors.
#include <cstdio>

#include <medley/base/error.h>
#include <medley/base/file_digest.h>
#include <medley/base/json_reader.h>
#include <medley/checkpoint/checkpoint.h>
#include <medley/model/device.h>
#include <medley/model/safetensors.h>

#include "tests/fuzz/readers.h"
#include "tests/fuzz/written.h"

namespace medley::fuzz {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

void ReadTensors(const std::string& bytes) { ReadSafetensors(Written("model.safetensors", bytes)); }

// The facts of a whole checkpoint, whose manifest and seal were made to fit.
void ReadFacts(const std::string& bytes) {
  static Console quiet(std::tmpfile());
  const fs::path checkpoint = fs::path("run") / CheckpointName(1);
  for (const char* name : {"model.safetensors", "optim.safetensors", "state.json"})
    Written(checkpoint / name, name);
  Written(checkpoint / kManifestFile, bytes);
  const ordered_json seal = {
      {"format", 1}, {"step", 1}, {"manifest_bytes", bytes.size()}, {"manifest_xxh3_128", HashText(bytes)}};
  Written(checkpoint / kSealFile, seal.dump() + "\n");
  FindCheckpoint("run", OnDamage::kSkip, quiet);
}

void ReadGenerators(const std::string& bytes) {
  try {
    LoadGenerators(ReadJson<nlohmann::json>(bytes, "generators"), at::kCPU);
  } catch (const nlohmann::json::exception& error) {  // as whoever loads a checkpoint does
    throw Error(error.what());
  }
}

}  // namespace

std::vector<Reader> Readers() {
  return {
      {"safetensors", true, ReadTensors}, {"facts", true, ReadFacts}, {"generators", true, ReadGenerators}};
}

}  // namespace medley::fuzz
