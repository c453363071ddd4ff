#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include <medley/base/output_file.h>

#include "tools/medley/output_kind.h"

namespace medley {

// An option whose value is where a verb writes, and the rules of what may be written there:
//
// - Nothing inside a run's directory is an output, but what a verb says that belongs there.
// - A file that the command line names elsewhere too is read, and never written.
// - A name that says another kind of file (d.jpg of what is a PNG) is refused, with --force too.
// - A file that is there stays, unless medley wrote it as what is to be written now, or --force was given.
//
// Each refusal is an InputError: what was named, why it is refused, what helps. OutputFile says how a file is
// opened. Nothing else of the command opens one for writing.
class OutputOption {
 public:
  OutputOption(const OutputOption&) = delete;
  OutputOption& operator=(const OutputOption&) = delete;

  // Also where nobody gave the option.
  void Name(const std::filesystem::path& path) { path_ = path; }
  bool is_named() const { return !path_.empty(); }
  const std::filesystem::path& path() const { return path_; }
  // Where the verb's outputs of this option may lie though it is a run's directory.
  void BelongsIn(const std::filesystem::path& run) { belongs_in_ = run; }

 protected:
  OutputOption() = default;
  ~OutputOption() = default;
  CLI::Option* Add(CLI::App& app, const std::string& option, const std::string& help, const char* type);
  void AddForce();
  // The file, if it may be written.
  OutputFile Allowed(OutputKind kind, const std::filesystem::path& file) const;
  void WriteTo(const OutputFile& file, const std::string& bytes) const;
  void RequireOutsideRuns(const std::filesystem::path& place) const;
  void RequireItsName(OutputKind kind, const std::filesystem::path& named) const;
  bool BelongsThere(const std::filesystem::path& folder) const;
  [[noreturn]] void Refuse(const std::filesystem::path& path, const std::string& why) const;

  std::filesystem::path path_;

 private:
  bool IsForced() const;
  bool IsReadToo(const OutputFile& file) const;
  void RequireNoLoss(OutputKind kind, const std::filesystem::path& named, const OutputFile& file) const;

  CLI::App* app_ = nullptr;
  CLI::Option* option_ = nullptr;
  std::filesystem::path belongs_in_;
};

// One file.
class OutputFileOption : public OutputOption {
 public:
  explicit OutputFileOption(OutputKind kind) : kind_(kind) {}
  // Where the other options say what is written.
  void Become(OutputKind kind) { kind_ = kind; }
  // With --force.
  CLI::Option* AddTo(CLI::App& app, const std::string& option, const std::string& help);
  // Before the work whose result it is to hold.
  void Check() const;
  // Of a vocabulary also makes the folders above it.
  void Write(const std::string& bytes) const;
  // What is written goes to whoever reads it: words about it must not.
  bool is_stream() const;

 private:
  OutputKind kind_;
};

// A folder, made where it is missing with those above it, in which files of names of medley's are written.
class OutputFolderOption : public OutputOption {
 public:
  CLI::Option* AddTo(CLI::App& app, const std::string& option, const std::string& help);
  void Check() const;
  void Check(OutputKind kind, const std::string& name) const;
  // Returns the file.
  std::filesystem::path Write(OutputKind kind, const std::string& name, const std::string& bytes) const;
};

// A folder that is new, so that nothing can be lost and there is no --force. Whether an empty one may be
// there, or what else, is the verb's to say.
class NewFolderOption : public OutputOption {
 public:
  CLI::Option* AddTo(CLI::App& app, const std::string& option, const std::string& help);
  void Check() const;
};

}  // namespace medley
