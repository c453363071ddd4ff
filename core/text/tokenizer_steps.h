#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/json_document.h>
#include <medley/text/tokenizer_json.h>

namespace medley {

// A value of a JSON file, for its errors: they say where it stands.
class JsonValue {
 public:
  JsonValue(const std::string& file, const JsonNode& node, std::string path = "")
      : file_(&file), node_(&node), path_(std::move(path)) {}

  const JsonNode& node() const { return *node_; }

  // None where the object has no such key, or null there.
  std::optional<JsonValue> Find(std::string_view key) const {
    if (!node_->IsObject()) Fail("expected an object, found " + Describe(*node_));
    const JsonNode* member = node_->Find(key);
    if (member == nullptr || member->type == nlohmann::json::value_t::null) return std::nullopt;
    return JsonValue(*file_, *member, JoinPath(path_, key));
  }
  JsonValue Require(std::string_view key) const {
    if (auto value = Find(key)) return *std::move(value);
    Fail("has no \"" + std::string(key) + "\"");
  }
  JsonValue Element(std::size_t index) const {
    return {*file_, node_->elements[index], JoinPath(path_, std::to_string(index))};
  }
  JsonValue Member(std::size_t index) const {
    return {*file_, node_->members[index].value, JoinPath(path_, node_->members[index].key)};
  }

  const std::string& Text() const {
    if (!node_->IsString()) Fail("expected a text, found " + Describe(*node_));
    return node_->scalar.get_ref<const std::string&>();
  }
  bool Flag() const {
    if (!node_->scalar.is_boolean()) Fail("expected true or false, found " + Describe(*node_));
    return node_->scalar.get<bool>();
  }
  const JsonValue& Array() const {
    if (!node_->IsArray()) Fail("expected an array, found " + Describe(*node_));
    return *this;
  }
  const JsonValue& Object() const {
    if (!node_->IsObject()) Fail("expected an object, found " + Describe(*node_));
    return *this;
  }

  [[noreturn]] void Fail(const std::string& message) const {
    throw InputError(*file_ + ":" + std::to_string(node_->at.line) + ":" + std::to_string(node_->at.column) +
                     ": " + (path_.empty() ? "" : path_ + ": ") + message);
  }

 private:
  const std::string* file_;
  const JsonNode* node_;
  std::string path_;
};

// The parts of a tokenizer.json around its model: what is done to a text first, and what is left to do with
// tokens. Fills `nfc` and `steps`; what medley does not do is an error.
void ReadTokenizerSteps(const JsonValue& root, TokenizerJson& tokenizer);

}  // namespace medley
