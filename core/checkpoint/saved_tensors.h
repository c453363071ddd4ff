#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <vector>

#include <medley/model/model.h>
#include <medley/update/rule.h>

namespace medley {

// By its name, or by the one that it had in older checkpoints.
SavedTensors::const_iterator FindSaved(const SavedTensors& saved, const Parameter& parameter);
// An InputError that names what differs where it is not there, or in another shape or type. A half type and
// float fit each other.
void CheckFits(const std::filesystem::path& file, const Parameter& parameter, const SavedTensors& saved);
// The same of all that is wanted; nothing else may be there.
void CheckAll(const std::filesystem::path& file, const std::vector<Parameter>& wanted,
              const SavedTensors& saved);
// Into those that are wanted, each of which is there. Long ones are told on the screen.
void CopySaved(const std::filesystem::path& file, const std::vector<Parameter>& wanted,
               const SavedTensors& saved);

}  // namespace medley
