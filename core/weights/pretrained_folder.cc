#include <medley/weights/pretrained_folder.h>

#include <algorithm>
#include <system_error>

#include <medley/base/durable_file.h>
#include <medley/base/files.h>
#include <medley/weights/peft_config.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

// quantize_config.json, quant_config.json, hf_quant_config.json and the like: every tool has its own.
bool IsOfQuantization(const fs::path& file) {
  return file.extension() == ".json" && file.filename().string().find("quant") != std::string::npos;
}

}  // namespace

std::vector<std::string> FolderProblems(const fs::path& directory, const fs::path& adapters) {
  std::vector<std::string> problems;
  const std::string folder = DisplayPath(directory);
  std::error_code ignored;
  const bool are_applied = !adapters.empty() && fs::equivalent(directory, adapters, ignored);
  if (TypeOf(directory / kPeftConfigFile) != fs::file_type::not_found && !are_applied)
    problems.push_back(folder + " has " + kPeftConfigFile +
                       ": other software adds those adapters to its weights. To begin with both, give the "
                       "run config \"lora\": {\"pretrained\": \"" +
                       folder + "\"}; to train the weights alone, move " + kPeftConfigFile + " and " +
                       kPeftWeightsFile + " elsewhere");
  for (const fs::path& file : ListDirectory(directory)) {
    if (IsOfQuantization(file))
      problems.push_back(folder + " has " + file.filename().string() +
                         ": quantized weights are not supported, medley reads fp32, fp16 and bf16. Take the "
                         "folder that is not quantized, or, where the weights are plain, move that file "
                         "elsewhere");
  }
  return problems;
}

}  // namespace medley
