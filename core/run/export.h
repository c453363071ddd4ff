#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <medley/run/run.h>
#include <medley/weights/pretrained_writer.h>

namespace medley {

// InputError where something is there that is no empty folder.
void RequireFreeForExport(const std::filesystem::path& folder);
// Writes the model of a run as a Hugging Face folder: config.json, weights, generation_config.json, the files
// of a tokenizer.json with the tokens that medley added, and medley's own file for what is no language; a
// model of which no part is a language of transformers as WriteModel does. What plain torch needs lies beside
// (export_model.h). The folder appears whole or not at all. Adapters are merged into the run's model, which
// is then that without. Returns words about what is missing, "" where nothing is. Throws InputError for a
// folder that is not empty.
std::string ExportRun(const Run& run, const std::filesystem::path& folder,
                      std::int64_t shard_bytes = kShardBytes);
// Writes the run's adapters as a folder of PEFT's, and beside them what is no language. InputError for a run
// without, and where the folder that its language came from has other weights than it was trained with.
void ExportAdapters(const Run& run, const std::filesystem::path& folder);

}  // namespace medley
