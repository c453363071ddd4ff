#pragma once

#include <string>
#include <vector>

#include <medley/plugin/registry.h>
#include <medley/run/validate.h>

namespace medley {

// A setting that a run takes and that does nothing, or not what it seems to: a sentence that begins with its
// key and ends with what would make sense.
struct OddSetting {
  std::string words;
  bool changes_training = true;  // what is trained or evaluated; else it only does nothing
};
std::vector<OddSetting> OddSettings(const CheckedRun& checked, const Registry& registry);
// The words of those that change training alone: reads no data.
std::vector<std::string> WhatChangesTraining(const CheckedRun& checked, const Registry& registry);

}  // namespace medley
