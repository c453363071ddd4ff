#pragma once

#include <filesystem>
#include <optional>

#include <medley/checkpoint/section.h>
#include <medley/model/adapters.h>

namespace medley {

// The section of a run that trains adapters: what they are, so that their tensors mean the same again.
// Loading it is an InputError where the run's are others; both are named.
Section AdaptersSection(const Adapters& adapters);
// The adapters of a verified checkpoint; nothing where its weights are whole.
std::optional<Adapters> ReadAdapters(const std::filesystem::path& checkpoint);
// Makes the same comparison.
void RequireSameAdapters(const std::filesystem::path& checkpoint, const Adapters& saved, const Adapters& now);

}  // namespace medley
