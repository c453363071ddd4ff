#include <medley/run/lora_check.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_text.h>
#include <medley/config/field_writer.h>
#include <medley/model/language_fields.h>
#include <medley/model/language_maps.h>
#include <medley/model/lora_targets.h>
#include <medley/weights/peft_config.h>

namespace medley {
namespace {

// PEFT keeps sets of names, in any order.
NamesOrPattern InOrder(NamesOrPattern targets) {
  std::sort(targets.names.begin(), targets.names.end());
  return targets;
}
std::vector<std::int64_t> InOrder(std::vector<std::int64_t> tokens) {
  std::sort(tokens.begin(), tokens.end());
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
  const std::string& group = model.info.pretrained_group;
  if (lora.rank == 0 || group.empty()) return;  // of another language only who makes it knows
  LoraTargets targets(lora);
  for (const LinearMap& map : LinearMapsOf(LanguageOf(model.config, group)))
    targets.Take(map.name, map.in, map.out);
  for (const auto& [key, problem] : targets.Problems()) file.FailAt({"lora", key}, problem);
}

}  // namespace medley
