#include "tools/medley/output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/printable.h>
#include <medley/checkpoint/rank_directories.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

constexpr const char* kForce = "--force";
constexpr std::int64_t kLargestOutput = std::int64_t{512} << 20;  // of medley's that is known again

bool AreOne(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return fs::equivalent(a, b, ignored);
}

bool IsHtml(const fs::path& file) { return file.extension() == ".html" || file.extension() == ".htm"; }

// What lies next above it, or it itself.
fs::path NearestThatIsThere(const fs::path& path) {
  fs::path nearest = fs::absolute(path);
  while (medley::TypeOf(nearest) == fs::file_type::not_found && nearest != nearest.parent_path())
    nearest = nearest.parent_path();
  return nearest;
}

// "" where a folder can be made there, or files in it.
std::string WhyNoFolder(const fs::path& folder) try {
  const fs::path nearest = NearestThatIsThere(folder);
  if (const std::string problem = DirectoryProblem(nearest); !problem.empty()) return problem;
  if (::access(nearest.c_str(), W_OK | X_OK) == 0) return "";
  return DisplayPath(nearest) + " cannot be written to: " + std::strerror(errno);
} catch (const FileError& error) {
  return error.what();
}

}  // namespace

CLI::Option* OutputOption::Add(CLI::App& app, const std::string& option, const std::string& help,
                               const char* type) {
  app_ = &app;
  option_ = app.add_option(option, path_, help)->type_name(type);
  return option_;
}

void OutputOption::AddForce() {
  if (app_->get_option_no_throw(kForce) == nullptr)
    app_->add_flag(kForce)->description("replace what is there, also what medley did not write");
}

bool OutputOption::IsForced() const {
  const CLI::Option* const force = app_->get_option_no_throw(kForce);
  return force != nullptr && force->count() > 0;
}

void OutputOption::Refuse(const fs::path& path, const std::string& why) const {
  const bool is_given = option_ != nullptr && option_->count() > 0;
  throw InputError((is_given ? option_->get_name() + " " : "") + Printable(path) + ": " + why);
}

bool OutputOption::BelongsThere(const fs::path& folder) const {
  return !belongs_in_.empty() && AreOne(folder, belongs_in_);
}

void OutputOption::RequireOutsideRuns(const fs::path& place) const {
  const std::optional<fs::path> run = RunAround(fs::absolute(place));
  if (run)
    Refuse(path_,
           "it lies in the run " + DisplayPath(*run) + ", whose files are its own; choose another place");
}

// As a value, or behind the "=" of one.
bool OutputOption::IsReadToo(const OutputFile& file) const {
  const auto names_it = [&](const std::string& value) {
    const std::size_t equals = value.find('=');
    return AreOne(value, file.path()) ||
           (equals != std::string::npos && AreOne(value.substr(equals + 1), file.path()));
  };
  const std::vector<CLI::Option*> options = app_->get_options();
  return std::any_of(options.begin(), options.end(), [&](const CLI::Option* option) {
    const std::vector<std::string>& values = option->results();
    return option != option_ && std::any_of(values.begin(), values.end(), names_it);
  });
}

void OutputOption::RequireNoLoss(OutputKind kind, const fs::path& named, const OutputFile& file) const {
  if (IsForced()) return;
  const std::string helps = "; choose another, or replace it with --force";
  if (kind == OutputKind::kVocabulary && file.is_there())
    Refuse(named, "it is already there, and runs may need it" + helps);
  if (!file.holds_bytes()) return;
  if (!file.is_plain()) Refuse(named, "it is a disk, whose bytes would be lost" + helps);
  if (file.is_read_only()) Refuse(named, "it is there and read-only" + helps);
  std::string bytes;
  try {
    bytes = ReadSmallFile(file.path(), kLargestOutput);
  } catch (const Error& error) {
    Refuse(named, std::string(error.what()) + helps);
  }
  if (!IsOfKind(kind, bytes)) Refuse(named, "it is there, and is not " + NameOf(kind) + helps);
}

void OutputOption::RequireItsName(OutputKind kind, const fs::path& named) const {
  if (IsNamedAsAnother(kind, named))
    Refuse(named, NameOf(kind) + " is written, and is called NAME" + EndingOf(kind) + "; choose such a name");
}

OutputFile OutputOption::Allowed(OutputKind kind, const fs::path& named) const {
  std::optional<OutputFile> file;
  try {
    file.emplace(named);
  } catch (const InputError& error) {
    Refuse(named, std::string(error.what()) + "; choose another");
  }
  if (file->is_stream()) return *file;
  const fs::path& path = file->path();
  // Its own name: a link of it may lead to another file of the run.
  const bool belongs =
      BelongsThere(path.parent_path()) && (kind == OutputKind::kPage || path.filename() == named.filename());
  if (!belongs) RequireOutsideRuns(path);
  if (belongs && kind == OutputKind::kPage && !IsHtml(path))
    Refuse(named, "beside a run's files its page is called NAME.html; choose another name");
  // A profile is read to be written with what is new.
  if (kind != OutputKind::kProfile && IsReadToo(*file))
    Refuse(named, "it is also what is read; choose another");
  RequireNoLoss(kind, named, *file);
  RequireItsName(kind, named);
  return *file;
}

void OutputOption::WriteTo(const OutputFile& file, const std::string& bytes) const try {
  file.Write(bytes);
} catch (const InputError& error) {
  Refuse(path_, error.what());
}

CLI::Option* OutputFileOption::AddTo(CLI::App& app, const std::string& option, const std::string& help) {
  CLI::Option* const added = Add(app, option, help, "OUT-FILE");
  AddForce();
  return added;
}

void OutputFileOption::Check() const {
  const fs::path folder = path_.parent_path();
  std::error_code ignored;
  if (kind_ != OutputKind::kVocabulary || folder.empty() || fs::exists(folder, ignored)) {
    Allowed(kind_, path_);
    return;
  }
  if (const std::string why = WhyNoFolder(folder); !why.empty()) Refuse(path_, why + "; choose another");
  RequireOutsideRuns(path_);
  RequireItsName(kind_, path_);
}

void OutputFileOption::Write(const std::string& bytes) const {
  std::error_code ignored;
  if (const fs::path folder = path_.parent_path(); !folder.empty() && !fs::exists(folder, ignored)) {
    Check();  // which only a vocabulary passes
    CreateDirectories(folder);
  }
  WriteTo(Allowed(kind_, path_), bytes);
}

bool OutputFileOption::is_stream() const { return OutputFile(path_).is_stream(); }

CLI::Option* OutputFolderOption::AddTo(CLI::App& app, const std::string& option, const std::string& help) {
  CLI::Option* const added = Add(app, option, help, "OUT-FOLDER");
  AddForce();
  return added;
}

void OutputFolderOption::Check() const {
  if (const std::string why = WhyNoFolder(path_); !why.empty()) Refuse(path_, why + "; choose another");
  if (!BelongsThere(path_)) RequireOutsideRuns(path_);
}

void OutputFolderOption::Check(OutputKind kind, const std::string& name) const {
  Check();
  std::error_code ignored;
  if (fs::exists(path_, ignored)) Allowed(kind, path_ / name);
}

fs::path OutputFolderOption::Write(OutputKind kind, const std::string& name, const std::string& bytes) const {
  Check();
  CreateDirectories(path_);
  WriteTo(Allowed(kind, path_ / name), bytes);
  return path_ / name;
}

CLI::Option* NewFolderOption::AddTo(CLI::App& app, const std::string& option, const std::string& help) {
  return Add(app, option, help, "NEW-FOLDER");
}

void NewFolderOption::Check() const {
  if (const std::string why = WhyNoFolder(path_); !why.empty()) Refuse(path_, why + "; choose another");
  const fs::path named = fs::absolute(path_.has_filename() ? path_ : path_.parent_path());
  std::error_code ignored;
  RequireOutsideRuns(
      fs::weakly_canonical(named, ignored).parent_path());  // what it is itself, its verb looks at
}

}  // namespace medley
