#include <medley/checkpoint/adapters_section.h>

#include <algorithm>

#include <medley/base/error.h>
#include <medley/base/json_text.h>
#include <medley/base/printable.h>
#include <medley/checkpoint/checkpoint.h>

namespace medley {
namespace {

using nlohmann::json;

constexpr const char* kName = "adapters";

json ToJson(const Adapters& adapters) {
  NamesOrPattern targets = adapters.lora.targets;
  std::ranges::sort(targets.names);  // their order says nothing
  return {{"rank", adapters.lora.rank},
          {"alpha", adapters.lora.alpha},
          {"rslora", adapters.lora.rslora},
          {"targets", targets.pattern.empty() ? json(targets.names) : json(targets.pattern)},
          {"tokens", adapters.tokens}};
}

Adapters FromJson(const json& state) {
  Adapters adapters;
  state.at("rank").get_to(adapters.lora.rank);
  state.at("alpha").get_to(adapters.lora.alpha);
  state.at("rslora").get_to(adapters.lora.rslora);
  const json& targets = state.at("targets");
  if (targets.is_string())
    adapters.lora.targets.pattern = targets.get<std::string>();
  else
    targets.get_to(adapters.lora.targets.names);
  state.at("tokens").get_to(adapters.tokens);
  return adapters;
}

// "rank 4, alpha 16.0, ..."
std::string Words(const Adapters& adapters) {
  std::string words;
  const json all = ToJson(adapters);
  for (const auto& [key, value] : all.items())
    words += (words.empty() ? "" : ", ") + key + " " + JsonText(value);
  return words;
}

}  // namespace

Section AdaptersSection(const Adapters& adapters) {
  return {
      kName, 1, [adapters] { return ToJson(adapters); },
      [adapters](const json& state) { RequireSameAdapters("the checkpoint", FromJson(state), adapters); }};
}

std::optional<Adapters> ReadAdapters(const std::filesystem::path& checkpoint) {
  const std::optional<json> state = FindSection(checkpoint, kName);
  if (!state) return std::nullopt;
  try {
    return FromJson(*state);
  } catch (const json::exception& error) {
    throw InputError(Printable(checkpoint) + " does not say what its adapters are: " + error.what());
  }
}

void RequireSameAdapters(const std::filesystem::path& checkpoint, const Adapters& saved,
                         const Adapters& now) {
  if (ToJson(saved) == ToJson(now)) return;
  throw InputError("the adapters of " + Printable(checkpoint) + " have " + Words(saved) +
                   "; those of this run have " + Words(now) +
                   ". Make lora the same; or merge them first (medley export), to begin with new ones");
}

}  // namespace medley
