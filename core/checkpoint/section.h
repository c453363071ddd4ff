#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace medley {

// The part of a checkpoint's state.json that one collaborator owns. The checkpoint knows none of them: it
// keeps name and version, and hands the rest back. What the functions refer to outlives the section.
struct Section {
  std::string name;
  int version = 1;
  std::function<nlohmann::json()> save;
  std::function<void(const nlohmann::json&)> load;
  bool optional = false;  // an older checkpoint may lack it, and then nothing is loaded
};

// An Error names the section with a number that is not finite.
nlohmann::ordered_json SaveSections(const std::vector<Section>& sections);
// A NewerError where what is saved of a section is of a later version than the one that is read.
void RefuseNewerSection(const nlohmann::ordered_json& saved, const std::string& name, int version);
// An InputError names the section that is missing, unknown or of another version.
void CheckSections(const std::vector<Section>& sections, const nlohmann::ordered_json& state);
// Checks them all before any is loaded; a load that throws leaves those before it loaded. What it throws
// passes where it is an Error, else it becomes an InputError with the section's name.
void LoadSections(const std::vector<Section>& sections, const nlohmann::ordered_json& state);

}  // namespace medley
