#include <medley/run/plugin_lock.h>

#include <algorithm>
#include <map>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/sha256.h>
#include <medley/plugin/rejection.h>

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

// SHA-256 by name, which files of several directories may share.
std::multimap<std::string, std::string> ReadLock(const std::filesystem::path& lock) {
  try {
    std::multimap<std::string, std::string> sums;
    const ordered_json json = ordered_json::parse(ReadFile(lock));
    for (const ordered_json& plugin : json.at("plugins"))
      sums.emplace(plugin.at("name").get<std::string>(), plugin.at("sha256").get<std::string>());
    return sums;
  } catch (const nlohmann::json::exception& error) {
    throw InputError(DisplayPath(lock) + " is no lock of plugins: " + Printable(error.what()) +
                     ". Make one: medley plugins lock --config RUN --out FILE");
  }
}

}  // namespace

std::vector<const PluginFile*> PluginsInUse(const std::vector<std::string>& tasks, const ModelInfo* model,
                                            const Registry& registry) {
  std::vector<const PluginFile*> files;
  const auto add = [&](const PluginFile* file) {
    if (file != nullptr && std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
  };
  for (const std::string& task : tasks) {
    if (registry.Find(task) != nullptr) add(&registry.FileOf(task));
  }
  if (model != nullptr) add(registry.FileOfModel(model->name));
  return files;
}

ordered_json LockOf(const std::vector<const PluginFile*>& files) {
  std::vector<const PluginFile*> sorted = files;
  std::sort(sorted.begin(), sorted.end(),
            [](const PluginFile* a, const PluginFile* b) { return NameOf(*a) < NameOf(*b); });
  ordered_json plugins = ordered_json::array();
  for (const PluginFile* file : sorted) {
    plugins.push_back({{"name", NameOf(*file)},
                       {"tasks", Versions(file->tasks)},
                       {"models", Versions(file->models)},
                       {"sha256", Sha256OfFile(file->path)}});
  }
  return {{"plugins", plugins}};
}

void RequireLocked(const std::filesystem::path& lock, const std::vector<const PluginFile*>& files) {
  const std::multimap<std::string, std::string> sums = ReadLock(lock);
  std::string differences;
  for (const PluginFile* file : files) {
    const auto [first, end] = sums.equal_range(NameOf(*file));
    const std::string found = Sha256OfFile(file->path);
    if (std::any_of(first, end, [&](const auto& locked) { return locked.second == found; })) continue;
    std::string expected = first == end ? "none of this name" : "";
    for (auto locked = first; locked != end; ++locked)
      expected += (locked == first ? "" : " or ") + Printable(locked->second);
    differences +=
        "\n  " + Printable(file->path.string()) + ": expected SHA-256 " + expected + ", found " + found;
  }
  if (differences.empty()) return;
  throw InputError("plugins differ from " + DisplayPath(lock) + " (plugin_lock):" + differences +
                   "\nTake the plugins that were locked, or, where the new ones are meant, lock them: "
                   "medley plugins lock --config RUN --out FILE");
}

}  // namespace medley
