#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <c10/util/Exception.h>

#include <medley/base/error.h>
#include <medley/base/facts_writer.h>
#include <medley/model/model.h>
#include <medley/model/model_context.h>
#include <medley/model/model_spec_check.h>
#include <medley/task/abi.h>
#include <medley/task/plugin_entry.h>
#include <medley/task/spec_check.h>
#include <medley/task/stand_in.h>
#include <medley/task/task.h>

namespace medley::detail {

template <typename... Classes>
struct Types {};
template <typename... A, typename... B>
Types<A..., B...> operator+(Types<A...>, Types<B...>);

template <typename T>
concept IsModel = std::derived_from<T, Model>;
// The tasks among the classes that MEDLEY_PLUGIN names, and the models.
template <typename... Classes>
using TasksOf = decltype((Types<>{} + ... + std::conditional_t<IsModel<Classes>, Types<>, Types<Classes>>{}));
template <typename... Classes>
using ModelsOf =
    decltype((Types<>{} + ... + std::conditional_t<IsModel<Classes>, Types<Classes>, Types<>>{}));

template <typename... Classes>
constexpr bool NamesOfClassesDiffer(Types<Classes...>) {
  const std::array<std::string_view, sizeof...(Classes)> names{Classes::kSpec.name...};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::find(names.begin(), names.begin() + i, names[i]) != names.begin() + i) return false;
  }
  return true;
}

template <typename... Tasks, typename... Models>
constexpr void WriteNote(FactsWriter& writer, Types<Tasks...>, Types<Models...>) {
  writer.Raw("{\"abi\":{\"kind\":\"c++\",\"api\":"), writer.Integer(kPluginApi);
  writer.Raw(",\"medley\":"), writer.String(MEDLEY_HEADERS_VERSION);
  writer.Raw(",\"headers\":"), writer.String(MEDLEY_HEADERS_DIGEST);
  writer.Raw(",\"torch\":"), writer.String(TORCH_VERSION);
  writer.Raw(",\"cxx11\":"), writer.Integer(kCxx11Abi);
  writer.Raw(",\"standard_library\":"), writer.String(kStandardLibrary);
  writer.Raw(",\"pointer\":"), writer.Integer(sizeof(void*));
  writer.Raw(",\"glibcxx_debug\":"), writer.Boolean(kDebugContainers);
  writer.Raw(",\"sanitizer\":"), writer.String(kSanitizer);
  writer.Raw(",\"compiler\":"), writer.String(kCompiler);
  writer.Raw("},\"tasks\":[");
  bool first = true;
  ((first ? void() : writer.Raw(","), first = false, writer.Object(Tasks::kSpec)), ...);
  writer.Raw("],\"models\":[");
  first = true;
  ((first ? void() : writer.Raw(","), first = false, writer.Object(Models::kSpec)), ...);
  writer.Raw("]}");
}

template <typename... Classes>
consteval std::size_t NoteSize() {
  FactsWriter counter(nullptr);
  WriteNote(counter, TasksOf<Classes...>{}, ModelsOf<Classes...>{});
  return counter.size();
}

// An ELF note: owner, type, JSON padded with spaces.
template <std::size_t N>
struct Note {
  static constexpr std::size_t kPadded = (N + 3) / 4 * 4;
  std::uint32_t owner_size = kNoteOwner.size() + 1;
  std::uint32_t json_size = kPadded;
  std::uint32_t type = kNoteType;
  char owner[8] = {'m', 'e', 'd', 'l', 'e', 'y', 0, 0};
  char json[kPadded] = {};
};

template <typename... Classes>
consteval auto MakeNote() {
  static_assert(sizeof...(Classes) > 0, "medley: MEDLEY_PLUGIN needs at least one task or model class");
  constexpr std::size_t kSize = NoteSize<Classes...>();
  static_assert(kSize <= kMaxNoteBytes,
                "medley: the specs of a plugin may take 64 KiB as JSON: shorten or split");
  static_assert(NamesOfClassesDiffer(TasksOf<Classes...>{}),
                "medley: two tasks of a plugin have the same name");
  static_assert(NamesOfClassesDiffer(ModelsOf<Classes...>{}),
                "medley: two models of a plugin have the same name");
  Note<kSize> note;
  std::fill(std::begin(note.json), std::end(note.json), ' ');
  FactsWriter writer(note.json);
  WriteNote(writer, TasksOf<Classes...>{}, ModelsOf<Classes...>{});
  return note;
}

inline int Fail(PluginFailure* failure, PluginResult result, const char* message) noexcept {
  std::strncpy(failure->message, message, sizeof failure->message - 1);
  failure->message[sizeof failure->message - 1] = '\0';
  return static_cast<int>(result);
}

// Exceptions are turned into a code here, inside the plugin, by the plugin's own unwinder tables.
template <typename Fn>
int Guard(PluginFailure* failure, Fn fn) noexcept {
  try {
    fn();
    return static_cast<int>(PluginResult::kOk);
  } catch (const c10::OutOfMemoryError& e) {
    return Fail(failure, PluginResult::kOutOfMemory, e.what_without_backtrace());
  } catch (const c10::Error& e) {
    return Fail(failure, PluginResult::kFailed, e.what_without_backtrace());
  } catch (const InputError& e) {
    return Fail(failure, PluginResult::kBadInput, e.what());
  } catch (const std::exception& e) {
    return Fail(failure, PluginResult::kFailed, e.what());
  } catch (...) {
    return Fail(failure, PluginResult::kFailed, "threw something that is not a std::exception");
  }
}

template <typename T>
concept ListsTexts = requires {
  { T::Texts() } -> std::same_as<std::vector<std::string>>;
};
template <typename T>
concept ListsTextsOf = requires(const TextsContext& context) {
  { T::Texts(context) } -> std::same_as<std::vector<std::string>>;
};
template <typename T>
concept ShowsTexts = requires(const T& task) {
  { task.ShownTexts() } -> std::same_as<std::vector<std::string>>;
};

template <typename T>
concept ListsClasses = requires(const TaskOptions& options) {
  { T::Classes(options) } -> std::same_as<std::vector<std::string>>;
};

template <typename T>
struct TaskEntry {
  static_assert(std::derived_from<T, Task>,
                "medley: a class named in MEDLEY_PLUGIN must derive from medley::Task or medley::Model");
  static_assert(std::constructible_from<T, const TaskContext&> || std::is_abstract_v<T>,
                "medley: a task class needs a public constructor that takes a const medley::TaskContext&");
  static_assert(
      !requires { &T::Texts; } || ListsTexts<T> || ListsTextsOf<T>,
      "medley: Texts of a task class must be `static std::vector<std::string> Texts()` or `... "
      "Texts(const medley::TextsContext&)`; one that shows no words needs none");
  static_assert(
      !requires { &T::Classes; } || ListsClasses<T>,
      "medley: Classes of a task class must be `static std::vector<std::string> Classes(const "
      "medley::TaskOptions&)`; one whose files name no classes needs none");

  static Task* Make(const TaskContext& context) { return new T(context); }

  static std::vector<std::string> Classes(const TaskOptions& options) {
    if constexpr (ListsClasses<T>) {
      return T::Classes(options);
    } else {
      return {};
    }
  }

  static std::vector<std::string> Texts(const TextsContext& context) {
    if constexpr (ListsTextsOf<T>) {
      return T::Texts(context);
    } else if constexpr (ListsTexts<T>) {
      return T::Texts();
    } else if constexpr (ShowsTexts<T>) {
      const StandIn stand_in(context);
      return T(stand_in.context()).ShownTexts();
    } else {
      return {};
    }
  }
};

template <typename T>
struct ModelEntry {
  static_assert(std::constructible_from<T, const ModelContext&> || std::is_abstract_v<T>,
                "medley: a model class needs a public constructor that takes a const medley::ModelContext&");

  static Model* Make(const ModelContext& context) { return new T(context); }
};

using MakeFn = Task* (*)(const TaskContext&);
using MakeModelFn = Model* (*)(const ModelContext&);
using TextsFn = std::vector<std::string> (*)(const TextsContext&);
using ClassesFn = std::vector<std::string> (*)(const TaskOptions&);

template <typename Tasks, typename Models>
struct PluginCode;

// What the entry calls, by the number of a task or model. Behind each table stands a null, as none may be
// empty.
template <typename... Tasks, typename... Models>
struct PluginCode<Types<Tasks...>, Types<Models...>> {
  static constexpr std::uint32_t kTasks = sizeof...(Tasks), kModels = sizeof...(Models);

  static int Make(std::uint32_t index, const TaskContext* context, Task** task, PluginFailure* failure) {
    constexpr MakeFn kMake[] = {&TaskEntry<Tasks>::Make..., nullptr};
    return Guard(failure, [&] { *task = kMake[index](*context); });
  }
  static int MakeModel(std::uint32_t index, const ModelContext* context, Model** model,
                       PluginFailure* failure) {
    constexpr MakeModelFn kMake[] = {&ModelEntry<Models>::Make..., nullptr};
    return Guard(failure, [&] { *model = kMake[index](*context); });
  }
  static int Texts(std::uint32_t index, const TextsContext* context, void* sink,
                   void (*add)(void*, const char*, std::size_t), PluginFailure* failure) {
    constexpr TextsFn kTexts[] = {&TaskEntry<Tasks>::Texts..., nullptr};
    return Guard(failure, [&] {
      for (const std::string& text : kTexts[index](*context)) add(sink, text.data(), text.size());
    });
  }
  static int Classes(std::uint32_t index, const TaskOptions* options, void* sink,
                     void (*add)(void*, const char*, std::size_t), PluginFailure* failure) {
    constexpr ClassesFn kClasses[] = {&TaskEntry<Tasks>::Classes..., nullptr};
    return Guard(failure, [&] {
      for (const std::string& name : kClasses[index](*options)) add(sink, name.data(), name.size());
    });
  }
};

template <typename T>
consteval bool SpecIsGood() {
  if constexpr (IsModel<T>) {
    return CheckedModelSpec<T>::kGood;
  } else {
    return CheckedSpec<T>::kGood;
  }
}

// The note; after a mistake in a spec nothing, so that the compiler says nothing but the lines about it.
template <typename... Classes>
consteval auto CheckedNote() {
  if constexpr ((SpecIsGood<Classes>() && ...)) {
    return MakeNote<Classes...>();
  } else {
    return Note<1>{};
  }
}

}  // namespace medley::detail

// Stands once in a plugin, after its task and model classes: writes their specs where medley can read them
// without loading the plugin, and the entry by which it makes them.
#define MEDLEY_PLUGIN(...)                                                                                  \
  enum MEDLEY_PLUGIN_may_stand_only_once_in_a_plugin {};                                                    \
  [[gnu::section(".note.medley"), gnu::used, gnu::retain,                                                   \
    gnu::aligned(4)]] static constexpr auto kMedleyNote = ::medley::detail::CheckedNote<__VA_ARGS__>();     \
  extern "C" [[gnu::visibility("default"), gnu::used]] const ::medley::PluginEntry* MEDLEY_PLUGIN_ENTRY() { \
    [[gnu::used]] static const char* const canary = &MEDLEY_LINK_CANARY;                                    \
    using Code = ::medley::detail::PluginCode<::medley::detail::TasksOf<__VA_ARGS__>,                       \
                                              ::medley::detail::ModelsOf<__VA_ARGS__>>;                     \
    static constexpr ::medley::PluginEntry kEntry{                                                          \
        .size = sizeof(::medley::PluginEntry),                                                              \
        .task_count = Code::kTasks,                                                                         \
        .model_count = Code::kModels,                                                                       \
        .note = kMedleyNote.json,                                                                           \
        .note_size = sizeof kMedleyNote.json,                                                               \
        .make = &Code::Make,                                                                                \
        .texts = &Code::Texts,                                                                              \
        .make_model = &Code::MakeModel,                                                                     \
        .classes = &Code::Classes,                                                                          \
    };                                                                                                      \
    return canary != nullptr ? &kEntry : nullptr;                                                           \
  }
