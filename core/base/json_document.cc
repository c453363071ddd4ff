#include <medley/base/json_document.h>
#include <medley/base/json_text.h>
#include <medley/base/utf8.h>

#include <utility>

#include "json_walk.h"

namespace medley {
namespace {

using nlohmann::json;

struct PositionTree {
  using Node = JsonNode;
  static bool IsArray(const Node& node) { return node.IsArray(); }
  static Node& Element(Node& array) { return array.elements.emplace_back(); }
  static Node& Member(Node& object, std::string name, SourcePosition at) {
    return object.members.emplace_back(JsonMember{std::move(name), at, {}}).value;
  }
  static void Set(Node& node, json scalar, SourcePosition at) {
    node.at = at;
    node.type = scalar.type();
    node.scalar = std::move(scalar);
  }
  static void Open(Node& node, json::value_t type, SourcePosition at) {
    node.at = at;
    node.type = type;
  }
};

}  // namespace

const JsonNode* JsonNode::Find(std::string_view key) const {
  for (const JsonMember& member : members) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

JsonNode* JsonNode::Find(std::string_view key) {
  return const_cast<JsonNode*>(static_cast<const JsonNode*>(this)->Find(key));
}

JsonDocument ParseJson(std::string_view text, const JsonLimits& limits) {
  JsonDocument document;
  document.parsed = BuildJson<PositionTree>(text, limits, document.root, document.problems);
  return document;
}

std::string JoinPath(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

std::string Describe(const JsonNode& node) {
  if (node.IsObject()) return "an object";
  if (node.IsArray()) return "an array";
  if (!node.IsString()) return node.scalar.dump();
  const auto& text = node.scalar.get_ref<const std::string&>();
  constexpr std::size_t kMost = 60;
  return JsonText(json(CutText(text, kMost)));
}

}  // namespace medley
