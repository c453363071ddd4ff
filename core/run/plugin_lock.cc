#include <medley/run/plugin_lock.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/printable.h>
#include <medley/base/sha256.h>
#include <medley/plugin/libraries_beside.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

std::string NameOf(const PluginFile& file) { return file.path.stem().string(); }

template <typename Items>
ordered_json Versions(const Items& items) {
  ordered_json versions = ordered_json::object();
  for (const auto& item : items) versions[item.name] = item.version;
  return versions;
}

using Sums = std::map<std::string, std::string>;  // by file name

// Of the libraries that it loads from beside it, and without which it is not what was locked.
Sums LibrariesOf(const std::filesystem::path& plugin) {
  Sums sums;
  for (const std::filesystem::path& library : LibrariesBeside(plugin))
    sums[library.filename().string()] = Sha256OfFile(library);
  return sums;
}

struct Locked {
  std::string sha256;
  std::optional<Sums> libraries;  // nothing in a lock of an older medley
};

// By name, which files of several directories may share.
std::multimap<std::string, Locked> ReadLock(const std::filesystem::path& lock) {
  try {
    std::multimap<std::string, Locked> plugins;
    const ordered_json json = ordered_json::parse(ReadFile(lock));
    for (const ordered_json& plugin : json.at("plugins")) {
      Locked locked{.sha256 = plugin.at("sha256").get<std::string>(), .libraries = {}};
      if (plugin.contains("libraries")) locked.libraries = plugin.at("libraries").get<Sums>();
      plugins.emplace(plugin.at("name").get<std::string>(), std::move(locked));
    }
    return plugins;
  } catch (const nlohmann::json::exception& error) {
    throw InputError(DisplayPath(lock) + " is no lock of plugins: " + Printable(error.what()) +
                     ". Make one: medley plugins lock --config RUN --out FILE");
  }
}

std::string Different(const std::string& file, const std::string& expected, const std::string& found) {
  return "\n  " + Printable(file) + ": expected SHA-256 " + expected + ", found " + found;
}

// A line for each that differs.
std::string LibrariesThatDiffer(const std::filesystem::path& plugin, const Sums& locked) {
  const Sums found = LibrariesOf(plugin);
  std::string differences;
  const auto of = [](const Sums& sums, const std::string& name) {
    const auto sum = sums.find(name);
    return sum == sums.end() ? "none" : Printable(sum->second);
  };
  Sums all = found;
  all.insert(locked.begin(), locked.end());
  for (const auto& [name, ignored] : all) {
    if (of(locked, name) != of(found, name))
      differences += Different(name + ", which " + plugin.filename().string() + " loads", of(locked, name),
                               of(found, name));
  }
  return differences;
}

}  // namespace

std::vector<const PluginFile*> PluginsInUse(const std::vector<std::string>& tasks, const ModelInfo* model,
                                            const Registry& registry) {
  std::vector<const PluginFile*> files;
  const auto add = [&](const PluginFile* file) {
    if (file != nullptr && std::ranges::find(files, file) == files.end()) files.push_back(file);
  };
  for (const std::string& task : tasks) {
    if (registry.Find(task) != nullptr) add(&registry.FileOf(task));
  }
  if (model != nullptr) add(registry.FileOfModel(model->name));
  return files;
}

ordered_json LockOf(const std::vector<const PluginFile*>& files) {
  std::vector<const PluginFile*> sorted = files;
  std::ranges::sort(sorted, [](const PluginFile* a, const PluginFile* b) { return NameOf(*a) < NameOf(*b); });
  ordered_json plugins = ordered_json::array();
  for (const PluginFile* file : sorted) {
    plugins.push_back({{"name", NameOf(*file)},
                       {"tasks", Versions(file->tasks)},
                       {"models", Versions(file->models)},
                       {"sha256", Sha256OfFile(file->path)},
                       {"libraries", LibrariesOf(file->path)}});
  }
  return {{"plugins", plugins}};
}

void RequireLocked(const std::filesystem::path& lock, const std::vector<const PluginFile*>& files) {
  const std::multimap<std::string, Locked> plugins = ReadLock(lock);
  std::string differences;
  for (const PluginFile* file : files) {
    const auto [first, end] = plugins.equal_range(NameOf(*file));
    const std::string found = Sha256OfFile(file->path);
    const auto same =
        std::find_if(first, end, [&](const auto& locked) { return locked.second.sha256 == found; });
    if (same != end) {
      if (same->second.libraries) differences += LibrariesThatDiffer(file->path, *same->second.libraries);
      continue;
    }
    std::string expected = first == end ? "none of this name" : "";
    for (auto locked = first; locked != end; ++locked)
      expected += (locked == first ? "" : " or ") + Printable(locked->second.sha256);
    differences += Different(file->path.string(), expected, found);
  }
  if (differences.empty()) return;
  throw InputError("plugins differ from " + DisplayPath(lock) + " (plugin_lock):" + differences +
                   "\nTake the plugins that were locked, or, where the new ones are meant, lock them: "
                   "medley plugins lock --config RUN --out FILE");
}

}  // namespace medley
