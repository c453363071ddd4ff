#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include <medley/config/run_config.h>
#include <medley/plugin/model_file.h>
#include <medley/plugin/registry.h>
#include <medley/run/file_search.h>

namespace medley {

// What was found elsewhere than a run's config says.
struct MovedFiles {
  std::vector<std::string> same = {};               // words about files with the same contents, a line each
  std::vector<std::string> words = {};              // about all others
  std::set<std::string> uncompared = {};            // keys of the config, whose contents no record tells
  std::map<std::string, std::string> plugins = {};  // libraries: where they lay, where they lie
  std::filesystem::path config = {};                // the run config that the run began with; "": not known

  std::vector<std::string> AllWords() const;
};

// The files of a run that was trained, where they are now: its directory, or what it is made from, may have
// been moved, renamed or copied. A file is looked for where the config says; else beside the config that the
// run began with, at the corresponding places around the run's directory, and in the working directory. Of
// one whose sum the run's record knows, only the same contents count; and where the run was moved, also at
// the place that the config says, as an older copy may still lie there.
class RunFiles {
 public:
  // `config`: that of any run; only one that a run wrote, in its directory, is looked at. `overrides`: what
  // they name is not looked for. `changed`: these may have other contents.
  RunFiles(const std::filesystem::path& config, std::vector<std::string> overrides,
           std::vector<std::filesystem::path> changed = {});

  // The paths of the config's plugins; of those that are gone, where the libraries are that the run had, or
  // nothing where the user named other places. Whether they may be used is for others to say.
  std::vector<std::filesystem::path> Plugins(std::vector<std::filesystem::path> paths,
                                             const std::vector<std::filesystem::path>& named);
  // Looks for all others. An InputError names each that is nowhere, where it was looked for, and how to name
  // it.
  void Find(const Registry& registry);

  // Those that were given, and those that name what was found: "KEY=PATH".
  const std::vector<std::string>& overrides() const { return overrides_; }
  // The same of the model's file, whose published folder moved; none where it did not.
  const std::vector<std::string>& of_model() const { return of_model_; }
  const MovedFiles& moved() const { return moved_; }

 private:
  void FindPlaces();
  void FindConfig(const std::filesystem::path& recorded);
  bool IsGiven(const std::string& key) const;
  void FindInput(const std::string& key, const std::filesystem::path& path);
  void FindPublished(const std::filesystem::path& model, const Registry& registry);
  void FindPublished(const std::filesystem::path& model, const NamedFolder& named, const std::string& input);
  void FindFolder(const std::string& key, const std::filesystem::path& path);
  std::vector<std::filesystem::path> PlacesOf(const std::string& key,
                                              const std::filesystem::path& path) const;
  bool MayChange(const std::filesystem::path& file) const;
  void TakeUncompared(const std::string& key, const std::filesystem::path& from,
                      const std::filesystem::path& to);
  void Take(const std::string& key, const std::filesystem::path& from, const std::filesystem::path& to);
  std::filesystem::path PlaceOfPlugins(const std::filesystem::path& path) const;

  std::filesystem::path run_;  // its directory; "": the config is none of a run
  std::filesystem::path config_;
  std::vector<std::string> overrides_, of_model_;
  std::vector<std::filesystem::path> changed_;
  nlohmann::ordered_json record_;
  bool is_elsewhere_ = false;  // the run's directory, than the record says
  FileSearch search_;
  MovedFiles moved_;
  std::string missing_;
};

// What a record notes of where the run lies and what it began with, for a search from another place.
nlohmann::ordered_json PlacesRecord(const std::filesystem::path& directory,
                                    const std::filesystem::path& config);
// Lets values of `config` under these keys be those of `now`.
void TakePaths(const std::set<std::string>& keys, const nlohmann::ordered_json& now,
               nlohmann::ordered_json& config);
// Lets the libraries of a record lie where they lie now.
void MovePlugins(const MovedFiles& moved, nlohmann::ordered_json& record);

}  // namespace medley
