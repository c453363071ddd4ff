#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <medley/model/model_info.h>
#include <medley/plugin/task_info.h>

namespace medley {

// What a plugin was built with. Every field but the version and the compiler must be the host's. Of another
// API only its number is known.
struct AbiInfo {
  std::string kind;
  int api = 0;
  std::string medley;   // version
  std::string headers;  // digest of those that plugins include
  std::string torch;
  int cxx11 = 0;
  std::string standard_library;
  int pointer = 0;
  bool glibcxx_debug = false;
  std::string sanitizer;
  std::string compiler;
};

struct PluginNote {
  AbiInfo abi;
  std::vector<TaskInfo> tasks;
  std::vector<ModelInfo> models;
};

// The JSON of a plugin's note, which may be anybody's: strict types, known limits. Throws Rejection ("bad
// note"). With an API of another number only the ABI is read, because the rest may have another form.
PluginNote ReadPluginNote(std::string_view json);

// What of a task's facts breaks a rule of specs: "a carry that is made twice"; "" where nothing does.
std::string WhatIsWrong(const facts::Task<facts::Read>& task);

}  // namespace medley
