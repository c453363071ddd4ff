#include <medley/run/pretrained_check.h>

#include <medley/base/files.h>
#include <medley/run/token_rows.h>
#include <medley/weights/pretrained_folder.h>

namespace medley {

std::string CheckPretrained(ConfigFile& file, const RunConfig& run, const ModelFile& model,
                            const std::optional<Vocabulary>& vocabulary) {
  const std::filesystem::path& folder = model.config.pretrained();
  if (folder.empty()) {
    if (run.allow_new_rows > 0)
      file.FailAt({"allow_new_rows"}, "the model's file " + DisplayPath(run.model) +
                                          " names no pretrained weights, whose table could get new rows; "
                                          "leave it out");
    return "";
  }
  for (const std::string& problem : FolderProblems(folder, run.lora.pretrained))
    file.FailAt({"model"}, problem);
  if (!vocabulary) return "";
  const TokenRows rows = CompareTokens(*vocabulary, run.tokenizer, folder,
                                       model.config.Integer(model.info.pretrained_group + ".vocabulary"));
  if (const std::string problem = rows.Problem(run.allow_new_rows); !problem.empty())
    file.FailAt({"tokenizer"}, problem);
  return rows.Words();
}

}  // namespace medley
