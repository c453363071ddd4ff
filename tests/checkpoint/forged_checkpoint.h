#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include <medley/base/file_digest.h>

#include "tests/report/scratch_directory.h"

namespace medley::testing_fixture {

// Edits the manifest of a checkpoint and seals it.
inline void ForgeManifest(const std::filesystem::path& checkpoint,
                          const std::function<void(nlohmann::ordered_json&)>& edit, int format_of_seal = 1) {
  using nlohmann::ordered_json;
  auto manifest = ordered_json::parse(ReadText(checkpoint / "manifest.json"));
  edit(manifest);
  const std::string listed = manifest.dump(1) + "\n";
  WriteText(checkpoint / "manifest.json", listed);
  const ordered_json seal = {{"format", format_of_seal},
                             {"step", manifest.at("step")},
                             {"manifest_bytes", listed.size()},
                             {"manifest_xxh3_128", HashText(listed)}};
  WriteText(checkpoint / "seal", seal.dump() + "\n");
}

// Edits the state.json of a checkpoint and makes its sums and its seal fit: what a forger would do, or a
// medley with a fault.
inline void ForgeState(const std::filesystem::path& checkpoint,
                       const std::function<void(nlohmann::ordered_json&)>& edit) {
  using nlohmann::ordered_json;
  auto state = ordered_json::parse(ReadText(checkpoint / "state.json"));
  edit(state);
  const std::string text = state.dump() + "\n";
  WriteText(checkpoint / "state.json", text);
  ForgeManifest(checkpoint, [&](ordered_json& manifest) {
    manifest["files"]["state.json"] = {{"bytes", text.size()}, {"xxh3_128", {HashText(text)}}};
  });
}

// A checkpoint as a medley would write it whose format has this number.
inline void ForgeFormat(const std::filesystem::path& checkpoint, int format) {
  ForgeManifest(
      checkpoint, [&](nlohmann::ordered_json& manifest) { manifest["format"] = format; }, format);
}

}  // namespace medley::testing_fixture
