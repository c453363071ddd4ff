#include <medley/run/data_files.h>

#include <filesystem>
#include <set>
#include <system_error>
#include <variant>

#include <medley/curriculum/form_table.h>
#include <medley/data/bad_records.h>
#include <medley/data/jsonl_file.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

std::set<fs::path> FilesOf(const Form& form, const TaskInfo& task) {
  std::set<fs::path> files;
  for (const auto& [name, value] : form.settings.options) {
    const OptionInfo* option = task.FindOption(name);
    if (option != nullptr && option->kind == OptionKind::kPath) files.insert(std::get<std::string>(value));
  }
  files.erase("");
  return files;
}

bool IsOfLines(const fs::path& file) {
  std::error_code ignored;
  return file.extension() == ".jsonl" && fs::is_regular_file(file, ignored);
}

}  // namespace

bool NamesFiles(const Form& form, const TaskInfo& task) { return !FilesOf(form, task).empty(); }

void CheckDataFiles(const RunConfig& config, const Curriculum& curriculum, const Registry& registry) {
  std::set<fs::path> files;
  for (const Form& form : FormTable(config, curriculum).Named(curriculum))
    files.merge(FilesOf(form, registry.Require(form.task)));
  RecordProblems problems;
  for (const fs::path& file : files) {
    if (!IsOfLines(file)) continue;
    try {
      const JsonlFile read(file);
    } catch (const BadRecords& bad) {
      problems.Add(bad);
    }
  }
  problems.Throw();
}

}  // namespace medley
