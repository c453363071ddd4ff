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

std::set<fs::path> LinesFilesOf(const Form& form, const TaskInfo& task) {
  std::set<fs::path> files;
  for (const auto& [name, value] : form.settings.options) {
    const OptionInfo* option = task.FindOption(name);
    if (option == nullptr || option->kind != OptionKind::kPath) continue;
    const fs::path file = std::get<std::string>(value);
    std::error_code ignored;
    if (file.extension() == ".jsonl" && fs::is_regular_file(file, ignored)) files.insert(file);
  }
  return files;
}

}  // namespace

void CheckDataFiles(const RunConfig& config, const Curriculum& curriculum, const Registry& registry) {
  std::set<fs::path> files;
  for (const Form& form : FormTable(config, curriculum).Named(curriculum))
    files.merge(LinesFilesOf(form, registry.Require(form.task)));
  RecordProblems problems;
  for (const fs::path& file : files) {
    try {
      const JsonlFile read(file);
    } catch (const BadRecords& bad) {
      problems.Add(bad);
    }
  }
  problems.Throw();
}

}  // namespace medley
