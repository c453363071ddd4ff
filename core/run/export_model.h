#pragma once

#include <filesystem>
#include <string>

#include <medley/run/run.h>

namespace medley {

// Files with which plain torch goes on from a run's model, in a folder that is being made:
//   medley.json         its kind, and every field of its file
//   model.py            the model in plain torch, by hand: of medley's agent, or NAME.py beside the plugin
//   check.safetensors   four rows of what it is given ("in.NAME") and what it gives ("out.NAME")

// Writes those beside an agent's language and pictures, whose values, in the type that the files have, the
// run's model then has. Nothing of an agent with a tower, whose folder other software opens, nor of another
// model.
void WriteAgentPython(const Run& run, const std::filesystem::path& folder, at::ScalarType type);

// Writes a model of which no part is a language of other software: model.safetensors with its parameters by
// name, in float, these files, and labels.json, what its tasks' classes are called by label. What four rows
// of a named task hold is in it. Returns words about what is missing, "" where nothing is. Throws what the
// task throws, and an InputError where no task hands the model rows.
std::string WriteModel(const Run& run, const std::filesystem::path& folder);

}  // namespace medley
