#pragma once

#include <cstddef>
#include <cstdint>

#include <torch/headeronly/version.h>

#include <medley/task/abi.h>

namespace medley {

class Model;
class ModelContext;
class Task;
struct TaskOptions;
struct TextsContext;
class TaskContext;

// How a call into a plugin ended. Exceptions do not leave the plugin through the entry.
enum class PluginResult : int { kOk = 0, kFailed = 1, kBadInput = 2, kOutOfMemory = 3 };

struct PluginFailure {
  char message[4096];  // ends with a zero
};

// What the entry returns. Grows at the end only; `size` says what is there. The pointers are never
// null.
struct PluginEntry {
  std::uint32_t size;
  std::uint32_t task_count;
  std::uint32_t model_count;
  const void* note;  // the JSON of the note, as loaded
  std::size_t note_size;
  // A new task for the spec `index`; the caller owns it.
  int (*make)(std::uint32_t index, const TaskContext* context, Task** task, PluginFailure* failure);
  // Calls add(sink, text, size) with each text of the task `index`.
  int (*texts)(std::uint32_t index, const TextsContext* context, void* sink,
               void (*add)(void* sink, const char* text, std::size_t size), PluginFailure* failure);
  // A new model for the model spec `index`; the caller owns it.
  int (*make_model)(std::uint32_t index, const ModelContext* context, Model** model, PluginFailure* failure);
  // Calls add(sink, name, size) with each class of the task `index`.
  int (*classes)(std::uint32_t index, const TaskOptions* options, void* sink,
                 void (*add)(void* sink, const char* name, std::size_t size), PluginFailure* failure);
};

}  // namespace medley

#define MEDLEY_JOIN_(a, b, c, d, e) medley_link_api##a##_torch##b##_##c##_##d##_cxx11_##e
#define MEDLEY_JOIN(a, b, c, d, e) MEDLEY_JOIN_(a, b, c, d, e)
// A symbol that only the libmedley of this API, libtorch and C++ ABI has: the last of three checks, by the
// linker.
#define MEDLEY_LINK_CANARY                                                                      \
  MEDLEY_JOIN(MEDLEY_PLUGIN_API, TORCH_VERSION_MAJOR, TORCH_VERSION_MINOR, TORCH_VERSION_PATCH, \
              _GLIBCXX_USE_CXX11_ABI)
extern "C" const char MEDLEY_LINK_CANARY;

// The one function that a plugin exports.
#define MEDLEY_ENTRY_(api) medley_plugin_v##api
#define MEDLEY_ENTRY(api) MEDLEY_ENTRY_(api)
#define MEDLEY_PLUGIN_ENTRY MEDLEY_ENTRY(MEDLEY_PLUGIN_API)
