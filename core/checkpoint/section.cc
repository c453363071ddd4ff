#include <medley/checkpoint/section.h>

#include <cmath>
#include <set>

#include <medley/base/error.h>
#include <medley/base/json_text.h>
#include <medley/base/newer.h>

namespace medley {

using nlohmann::ordered_json;

namespace {

// JSON would make it null, which no load understands.
void CheckFinite(const ordered_json& json, const std::string& name) {
  if (json.is_structured()) {
    for (const auto& item : json.items()) CheckFinite(item.value(), name + "." + item.key());
  } else if (json.is_number_float() && !std::isfinite(json.get<double>())) {
    throw Error("the state of " + name + " is not finite; such a state is never saved");
  }
}

std::string StateOf(const std::string& name) { return "the checkpoint's state of \"" + name + "\""; }

}  // namespace

ordered_json SaveSections(const std::vector<Section>& sections) {
  ordered_json state = ordered_json::object();
  for (const Section& section : sections) {
    const ordered_json saved(section.save());
    if (section.optional && saved.is_null()) continue;  // there is nothing to keep
    state[section.name] = {{"version", section.version}, {"state", saved}};
    CheckFinite(state[section.name], section.name);
  }
  return state;
}

void RefuseNewerSection(const ordered_json& saved, const std::string& name, int version) {
  RefuseNewer(saved, "version", version, StateOf(name), kEarlierCheckpoint);
}

void CheckSections(const std::vector<Section>& sections, const ordered_json& state) {
  std::set<std::string> known;
  for (const Section& section : sections) {
    known.insert(section.name);
    if (!state.contains(section.name)) {
      if (section.optional) continue;
      throw InputError("the checkpoint has no state of \"" + section.name +
                       "\". Take the config that it was saved with, or another checkpoint");
    }
    const ordered_json& saved = state.at(section.name);
    if (!saved.is_object() || !saved.contains("state"))
      throw InputError(StateOf(section.name) + " is no object that holds a state. Take another checkpoint");
    RefuseNewerSection(saved, section.name, section.version);
    const ordered_json version = saved.value("version", ordered_json());
    if (version != section.version) {
      throw InputError(StateOf(section.name) + " has version " + JsonText(version) +
                       ", this medley reads version " + std::to_string(section.version) +
                       ". Take the medley that saved it, or another checkpoint");
    }
  }
  for (const auto& [name, value] : state.items()) {
    if (known.count(name) == 0) {
      throw InputError("the checkpoint has state of \"" + name +
                       "\", which this run does not have. It is of another config, or of a newer medley: "
                       "take that one, or " +
                       kEarlierCheckpoint);
    }
  }
}

void LoadSections(const std::vector<Section>& sections, const ordered_json& state) {
  CheckSections(sections, state);
  for (const Section& section : sections) {
    if (!state.contains(section.name)) continue;
    try {
      section.load(nlohmann::json(state.at(section.name).at("state")));
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw InputError(StateOf(section.name) + " cannot be understood: " + error.what());
    }
  }
}

}  // namespace medley
