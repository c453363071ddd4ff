#define BOOST_DLL_USE_STD_FS
#include "plugin_library.h"

#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <boost/dll/shared_library.hpp>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <string_view>
#include <system_error>

#include <medley/base/interrupt.h>
#include <medley/base/printable.h>
#include <medley/data/last_read.h>
#include <medley/plugin/python_host.h>
#include <medley/task/plugin_entry.h>

#include "elf_file.h"
#include "python_file.h"
#include "rejection.h"
#include "trust.h"

namespace medley {
namespace {

using EntryFunction = const PluginEntry*();

// A library of libtorch or medley under another name would be a second copy of it in the process: it aborts
// in its static initialisers, where nobody can catch.
std::string SecondCopy(const ElfFile& elf) {
  constexpr std::array kOptional = {"libtorch.so", "libtorch_cuda.so", "libc10_cuda.so"};
  for (const std::string& name : elf.needed) {
    const bool ours =
        name.starts_with("libtorch") || name.starts_with("libc10") || name.starts_with("libmedley");
    const bool optional = std::ranges::find(kOptional, name) != kOptional.end();
    if (!ours || optional || name.find('/') != std::string::npos) continue;
    if (void* handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD)) {
      dlclose(handle);
      continue;
    }
    return "it needs " + Printable(name) +
           ", which is not what this medley runs on. Rebuild it with this medley";
  }
  return "";
}

std::string CheckFile(const PluginFile& file) {
  if (std::string reason = WhyUnsafe(file.path); !reason.empty()) return reason;
  try {
    const ElfFile elf = ReadElfFile(file.path);
    if (!(elf.identity == file.identity) || elf.note != file.note) {
      return "the file has changed since this run began. Start medley again";
    }
    return SecondCopy(elf);
  } catch (const Rejection& rejection) {
    return "the file has changed since this run began: " + rejection.reason;
  }
}

std::string ExplainLinker(const std::string& message) {
  if (message.find("medley_link_api") != std::string::npos) {
    return message +
           ". It was built for another medley or libtorch than its note says. Rebuild it with this medley";
  }
  return message + ". Link the plugin against what it uses, or rebuild it with this medley";
}

// An exception of a static initialiser must not come through the linker, which holds its lock: the process
// ends, and the report of the crash names the plugin. Where dlopen is inlined the exception may reach us;
// noexcept would end the process without it.
const boost::dll::shared_library* Opened(const std::filesystem::path& path, boost::dll::load_mode::type mode,
                                         std::error_code& error) {
  try {
    return new boost::dll::shared_library(path, error, mode);  // never closed
  } catch (...) {
    std::terminate();
  }
}

void Rethrow(int code, const PluginFailure& failure) {
  const auto result = static_cast<PluginResult>(code);
  if (result == PluginResult::kOk) return;
  if (result == PluginResult::kOutOfMemory) C10_THROW_ERROR(OutOfMemoryError, std::string(failure.message));
  if (result == PluginResult::kBadInput) throw InputError(failure.message);
  HeedInterrupt();  // what a plugin was doing when it was asked to stop comes as a failure like others
  const std::string words = failure.message;
  ThrowOfLastRead(words);
}

template <typename Fn>
void Call(const Fn& entry) {
  PluginFailure failure{};
  ForgetRead();
  const int code = entry(&failure);
  Rethrow(code, failure);
}

void AddText(void* sink, const char* text, std::size_t size) {
  static_cast<std::vector<std::string>*>(sink)->emplace_back(text, size);
}

class SharedLibrary final : public PluginLibrary {
 public:
  explicit SharedLibrary(const PluginEntry& entry) : entry_(entry) {}

  std::unique_ptr<Task> Make(std::size_t index, const TaskContext& context) const override;
  std::unique_ptr<Model> MakeModel(std::size_t index, const ModelContext& context) const override;
  std::vector<std::string> Texts(std::size_t index, const TextsContext& context) const override;
  std::vector<std::string> Classes(std::size_t index, const TaskOptions& options) const override;

 private:
  const PluginEntry& entry_;
};

std::unique_ptr<Task> SharedLibrary::Make(std::size_t index, const TaskContext& context) const {
  Task* task = nullptr;
  Call([&](PluginFailure* failure) {
    return entry_.make(static_cast<std::uint32_t>(index), &context, &task, failure);
  });
  if (task == nullptr) throw Error("it made no task");
  return std::unique_ptr<Task>(task);
}

std::unique_ptr<Model> SharedLibrary::MakeModel(std::size_t index, const ModelContext& context) const {
  Model* model = nullptr;
  Call([&](PluginFailure* failure) {
    return entry_.make_model(static_cast<std::uint32_t>(index), &context, &model, failure);
  });
  if (model == nullptr) throw Error("it made no model");
  return std::unique_ptr<Model>(model);
}

std::vector<std::string> SharedLibrary::Texts(std::size_t index, const TextsContext& context) const {
  std::vector<std::string> texts;
  Call([&](PluginFailure* failure) {
    return entry_.texts(static_cast<std::uint32_t>(index), &context, &texts, AddText, failure);
  });
  return texts;
}

std::vector<std::string> SharedLibrary::Classes(std::size_t index, const TaskOptions& options) const {
  std::vector<std::string> names;
  Call([&](PluginFailure* failure) {
    return entry_.classes(static_cast<std::uint32_t>(index), &options, &names, AddText, failure);
  });
  return names;
}

std::unique_ptr<PluginLibrary> OpenLibrary(const PluginFile& file) {
  namespace dll = boost::dll;
  if (std::string reason = CheckFile(file); !reason.empty()) throw Error(reason);
  const auto mode = static_cast<dll::load_mode::type>(static_cast<unsigned>(dll::load_mode::rtld_now) |
                                                      static_cast<unsigned>(dll::load_mode::rtld_local) |
                                                      static_cast<unsigned>(RTLD_NODELETE));
  try {
    std::error_code error;
    const auto* library = Opened(file.path, mode, error);
    if (error) {
      const char* words = dlerror();
      throw Error(ExplainLinker(words != nullptr ? words : error.message()));
    }
    // Another file may have stood there for a moment.
    if (std::string reason = CheckFile(file); !reason.empty()) throw Error(reason);
    const auto& function = library->get<EntryFunction>(MEDLEY_WORDS(MEDLEY_PLUGIN_ENTRY));
    const PluginEntry* entry = function();
    if (entry == nullptr || entry->size < sizeof(PluginEntry))
      throw Error("its entry is of an older medley. Rebuild it");
    const std::string_view note(static_cast<const char*>(entry->note), entry->note_size);
    if (note != file.note || entry->task_count != file.tasks.size() ||
        entry->model_count != file.models.size()) {
      throw Error("what was loaded differs from the file that was read. Start medley again");
    }
    return std::make_unique<SharedLibrary>(*entry);
  } catch (const std::system_error& e) {
    throw Error(ExplainLinker(e.what()));
  }
}

std::unique_ptr<PluginLibrary> OpenPython(const PluginFile& file) {
  const PythonSources sources = SourcesOf(file);
  return RequirePythonHost(file).Load(file, sources.text, sources.modules);
}

struct Loaded {
  FileIdentity identity;
  std::string build_id;
  std::unique_ptr<PluginLibrary> library;
};

}  // namespace

PluginLibrary::~PluginLibrary() = default;

const PluginLibrary& PluginLibrary::Load(const PluginFile& file) {
  // Leaked, so that no destructor of a static calls into a plugin while the process ends.
  static auto& mutex = *new std::mutex;
  static auto& loaded = *new std::map<std::filesystem::path, Loaded>;
  const std::scoped_lock lock(mutex);
  auto found = loaded.find(file.path);
  if (found != loaded.end() && file.is_python && found->second.build_id != file.build_id) {
    static_cast<void>(found->second.library.release());  // tasks of it may live
    loaded.erase(found);
    found = loaded.end();
  }
  if (found == loaded.end()) {
    Loaded opened{file.identity, file.build_id, file.is_python ? OpenPython(file) : OpenLibrary(file)};
    found = loaded.emplace(file.path, std::move(opened)).first;
  }
  // The linker goes by the path and would give the old code again.
  if (!file.is_python && !(found->second.identity == file.identity)) {
    throw Error("an older version of the file is already loaded. Start medley again");
  }
  return *found->second.library;
}

}  // namespace medley
