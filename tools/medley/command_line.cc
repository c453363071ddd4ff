#include "tools/medley/command_line.h"

#include <sstream>
#include <string>
#include <vector>

namespace medley {
namespace {

using nlohmann::ordered_json;

// "TEXT:{cpu,cuda}": the type, and what a check says of the value.
struct ValueType {
  std::string name, check;
  std::vector<std::string> words;  // where it is one of these
};

ValueType TypeOf(const CLI::Option& option) {
  const std::string text = option.get_type_name();
  const std::size_t colon = text.find(':');
  ValueType type{.name = text.substr(0, colon), .check = {}, .words = {}};
  if (colon == std::string::npos) return type;
  type.check = text.substr(colon + 1);
  if (!type.check.starts_with('{') || !type.check.ends_with('}')) return type;
  std::istringstream words(type.check.substr(1, type.check.size() - 2));
  for (std::string word; std::getline(words, word, ',');) type.words.push_back(word);
  type.check.clear();
  return type;
}

ordered_json NamesOf(const std::set<CLI::Option*>& options) {
  ordered_json names = ordered_json::array();
  for (const CLI::Option* option : options) names.push_back(option->get_name());
  return names;
}

void AddValue(const CLI::Option& option, ordered_json& json) {
  const int most = option.get_items_expected_max();
  if (most == 0) return;
  const ValueType type = TypeOf(option);
  json["type"] = type.name;
  if (!type.words.empty()) json["words"] = type.words;
  if (!type.check.empty()) json["check"] = type.check;
  if (most > 1) json["many"] = true;
  if (!option.get_default_str().empty()) json["default"] = option.get_default_str();
}

ordered_json OptionJson(const CLI::Option& option) {
  ordered_json json;
  if (option.get_positional()) {
    json["name"] = option.get_name(/*positional=*/true);
  } else {
    json["names"] = ordered_json::array();
    for (const std::string& name : option.get_lnames()) json["names"].push_back("--" + name);
    for (const std::string& name : option.get_snames()) json["names"].push_back("-" + name);
  }
  json["help"] = option.get_description();
  AddValue(option, json);
  if (option.get_required()) json["required"] = true;
  if (!option.get_needs().empty()) json["needs"] = NamesOf(option.get_needs());
  if (!option.get_excludes().empty()) json["excludes"] = NamesOf(option.get_excludes());
  return json;
}

}  // namespace

ordered_json CommandLineJson(const CLI::App& app) {
  ordered_json json = {{"summary", app.get_description()},
                       {"arguments", ordered_json::array()},
                       {"options", ordered_json::array()}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    json[option->get_positional() ? "arguments" : "options"].push_back(OptionJson(*option));
  }
  json["verbs"] = ordered_json::array();
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    ordered_json below = {{"name", verb->get_name()}};
    below.update(CommandLineJson(*verb));
    json["verbs"].push_back(std::move(below));
  }
  if (json["verbs"].empty()) json.erase("verbs");
  return json;
}

}  // namespace medley
