#include <medley/run/model_check.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_text.h>
#include <medley/config/field_writer.h>
#include <medley/model/language_fields.h>
#include <medley/model/lora_targets.h>
#include <medley/model/tower_fields.h>
#include <medley/run/token_rows.h>
#include <medley/weights/peft_config.h>
#include <medley/weights/pretrained_config.h>

namespace medley {
namespace {

// PEFT keeps sets of names, in any order.
NamesOrPattern InOrder(NamesOrPattern targets) {
  std::ranges::sort(targets.names);
  return targets;
}
std::vector<std::int64_t> InOrder(std::vector<std::int64_t> tokens) {
  std::ranges::sort(tokens);
  return tokens;
}
template <typename T>
T InOrder(T value) {
  return value;
}

}  // namespace

bool IsWhole(const LoraConfig& lora) { return lora.rank > 0 && lora.alpha > 0 && !lora.targets.empty(); }

void TakePretrainedLora(ConfigFile& file, LoraConfig& lora) {
  if (lora.pretrained.empty()) return;
  PeftConfig adapters;
  try {
    adapters = ReadPeftConfig(lora.pretrained);
  } catch (const InputError& error) {
    return file.FailAt({"lora", "pretrained"}, error.what());
  }
  const auto take = [&](const char* key, auto& here, const auto& there) {
    if (file.Find({"lora", key}) != nullptr && !(InOrder(here) == InOrder(there)))
      file.FailAt({"lora", key}, "is " + JsonText(FieldDumper::Dump(here)) + ", and " +
                                     JsonText(FieldDumper::Dump(there)) + " in " +
                                     DisplayPath(lora.pretrained / kPeftConfigFile) +
                                     ", with which the run begins; leave it out, or make it equal");
    here = there;
  };
  take("rank", lora.rank, adapters.lora.rank);
  take("alpha", lora.alpha, adapters.lora.alpha);
  take("rslora", lora.rslora, adapters.lora.rslora);
  take("targets", lora.targets, adapters.lora.targets);
  take("tokens", lora.tokens, adapters.lora.tokens);
}

void CheckLoraFits(ConfigFile& file, const LoraConfig& lora, const ModelFile& model) {
  const std::string& group = model.info.pretrained.group;
  if (lora.rank == 0 || group.empty()) return;  // of another language only who makes it knows
  const TowerConfig tower = TowerOf(model.config, model.info);
  LoraTargets targets(lora);
  for (const LinearMap& map : LinearMapsOf(LanguageOf(model.config, group)))
    targets.Take(map.name, map.in, map.out);
  for (const LinearMap& map : LinearMapsOf(tower, model.info.tower.root))
    targets.Take(map.name, map.in, map.out);
  for (const auto& [key, problem] : targets.Problems()) file.FailAt({"lora", key}, problem);
}

std::string CheckPretrained(ConfigFile& file, const RunConfig& run, const ModelFile& model,
                            const std::optional<Vocabulary>& vocabulary) {
  const std::filesystem::path& folder = model.config.pretrained();
  const std::filesystem::path& tower = model.config.pretrained_tower();
  if (!tower.empty() && tower != folder) {
    for (const std::string& problem : FolderProblems(tower)) file.FailAt({"model"}, problem);
  }
  if (folder.empty()) {
    const auto refuse = [&](const char* key, const char* what) {
      file.FailAt({key}, "the model's file " + DisplayPath(run.model) + " names no pretrained weights, " +
                             what + "; leave it out");
    };
    if (run.allow_new_rows > 0) refuse("allow_new_rows", "whose table could get new rows");
    if (run.allow_unknown_vocabulary)
      refuse("allow_unknown_vocabulary", "which could have another vocabulary");
    return "";
  }
  for (const std::string& problem : FolderProblems(folder, run.lora.pretrained))
    file.FailAt({"model"}, problem);
  if (!vocabulary) return "";
  if (!vocabulary->other_id.empty())
    file.FailAt({"tokenizer"},
                DisplayPath(run.tokenizer) + ": " + vocabulary->other_id +
                    ", with which published weights are trained: those count them in the order of "
                    "added_tokens. Where the ids are right, sort the list by id; else write the ids "
                    "as they are counted");
  const TokenRows rows = CompareTokens(*vocabulary, run.tokenizer, folder,
                                       model.config.Integer(model.info.pretrained.group + ".vocabulary"));
  if (const std::string problem = rows.Problem(run.allow_new_rows); !problem.empty())
    file.FailAt({"tokenizer"}, problem);
  if (const std::string problem = rows.UnknownProblem(); !problem.empty() && !run.allow_unknown_vocabulary)
    file.FailAt({"tokenizer"}, problem);
  return rows.Words();
}

}  // namespace medley
