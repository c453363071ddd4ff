#include <medley/runs/first_weights.h>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/checkpoint/run_directory.h>

namespace medley {

void NameFirstWeights(const std::filesystem::path& run, nlohmann::ordered_json& config) try {
  const std::filesystem::path first = run / "config.resolved.json";
  if (!config.is_object() || NewestConfig(run) == first) return;
  const nlohmann::ordered_json began = ReadJson(ReadFile(first), DisplayPath(first));
  if (began.is_object() && began.contains("weights")) config["weights"] = began["weights"];
} catch (const Error&) {
}

}  // namespace medley
