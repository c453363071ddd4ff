#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/json_document.h>

namespace medley {

// "a.b.c" at its dots.
std::vector<std::string> SplitPath(const std::string& path);

// Mistakes of one or several files, collected so that a user sees all of them at once.
class Diagnostics {
 public:
  // `file` is "" where the message names it.
  void Add(const std::string& file, SourcePosition at, const std::string& message);
  bool empty() const { return entries_.empty(); }
  // One a line, file by file in the order in which they came, each file from top to bottom.
  std::string Text() const;
  // Throws an InputError with Text(), if there is any.
  void Throw() const;

 private:
  struct Entry {
    std::size_t file_rank = 0;
    std::string file;
    SourcePosition at;
    std::string message;
  };
  std::vector<Entry> entries_;
};

// A config file, parsed, and the command line's overrides of it. Knows where each path stands.
class ConfigFile {
 public:
  static constexpr std::int64_t kMostBytes = std::int64_t{4} << 20;
  ConfigFile(const std::filesystem::path& file, Diagnostics& diagnostics,
             std::int64_t most_bytes = kMostBytes);
  // The file as it was read before.
  ConfigFile(const std::filesystem::path& file, std::string text, Diagnostics& diagnostics);

  // "key.path=value" each, the value in JSON or as a bare word. Objects on the way are made where they are
  // missing: whether the keys exist is for the reader to say.
  void Override(const std::vector<std::string>& overrides);

  // What paths of it lead to is not looked at: of a config that a run wrote, wherever its files are now.
  void LeavePaths() { leaves_paths_ = true; }
  bool leaves_paths() const { return leaves_paths_; }

  // Null where the file cannot be read or parsed, which is then among the diagnostics.
  const JsonNode* root() const { return document_.parsed ? &document_.root : nullptr; }
  // The value of a path through objects and arrays; null where there is none.
  const JsonNode* Find(const std::vector<std::string>& path) const;
  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }  // "" where it could not be read
  // A path of this file: relative to the file, or on the command line to the working directory; absolute
  // after.
  std::filesystem::path Resolve(const JsonNode& node) const;
  // The same, but a link at its end is not followed.
  std::filesystem::path Locate(const JsonNode& node) const;

  // What the file may have, for who mistook the level of a key: asked once a key is unknown.
  void KnowKeys(std::function<std::vector<std::string>()> paths) { key_paths_of_ = std::move(paths); }
  // "; did you mean 'optimizer.learning_rate'?" of a key that is not where this path says, or "". `value`:
  // what stands there.
  std::string MeantElsewhere(std::string path, const JsonNode& value);

  void Fail(SourcePosition at, const std::string& path, const std::string& message);
  // Reports at the value of the path, or at the nearest one above it that is written down.
  void FailAt(const std::vector<std::string>& path, const std::string& message);
  // Reports at the last key of the path rather than its value.
  void FailAtKey(const std::vector<std::string>& path, const std::string& message);

 private:
  void Parse();
  std::filesystem::path Base(const JsonNode& node) const;
  void OverrideOne(const std::string& text);

  std::string name_, text_;
  std::filesystem::path directory_;
  Diagnostics& diagnostics_;
  JsonDocument document_;
  std::function<std::vector<std::string>()> key_paths_of_;
  std::vector<std::string> key_paths_;
  int suggestions_ = 0;
  bool leaves_paths_ = false;
};

}  // namespace medley
