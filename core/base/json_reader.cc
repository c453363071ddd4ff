#include <medley/base/json_reader.h>

#include <type_traits>
#include <utility>
#include <vector>

#include <medley/base/error.h>

#include "json_walk.h"

namespace medley {
namespace {

template <typename Json>
struct PlainTree {
  using Node = Json;
  static bool IsArray(const Node& node) { return node.is_array(); }
  static Node& Element(Node& array) {
    return array.template get_ref<typename Json::array_t&>().emplace_back();
  }
  // Both know that the key is new; an ordered_json would look through all the others.
  static Node& Member(Node& object, std::string name, SourcePosition) {
    auto& members = object.template get_ref<typename Json::object_t&>();
    if constexpr (std::is_same_v<Json, nlohmann::ordered_json>) {
      return members.emplace_back(std::move(name), nullptr).second;
    } else {
      return members.emplace(std::move(name), nullptr).first->second;
    }
  }
  template <typename Value>
  static void Set(Node& node, Value&& value, SourcePosition) {
    node = std::forward<Value>(value);
  }
  static void Open(Node& node, nlohmann::json::value_t type, SourcePosition) { node = Json(type); }
};

template <typename Json>
Json Read(std::string_view text, const std::string& file, int first_line, const JsonLimits& limits) {
  Json root;
  std::vector<JsonProblem> problems;
  if (BuildJson<PlainTree<Json>>(text, limits, root, problems) && problems.empty()) return root;
  const JsonProblem& problem = problems.front();
  throw InputError(file + ":" + std::to_string(problem.at.line + first_line - 1) + ":" +
                   std::to_string(problem.at.column) + ": " +
                   (problem.path.empty() ? "" : problem.path + ": ") + problem.message);
}

}  // namespace

template <typename Json>
Json ReadJson(std::string_view text, const std::string& file, const JsonLimits& limits) {
  return Read<Json>(text, file, 1, limits);
}

template <typename Json>
Json ReadJsonLine(std::string_view text, const std::string& file, int line) {
  return Read<Json>(text, file, line, {});
}

template nlohmann::json ReadJson(std::string_view, const std::string&, const JsonLimits&);
template nlohmann::ordered_json ReadJson(std::string_view, const std::string&, const JsonLimits&);
template nlohmann::json ReadJsonLine(std::string_view, const std::string&, int);
template nlohmann::ordered_json ReadJsonLine(std::string_view, const std::string&, int);

}  // namespace medley
