#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <medley/model/model_spec.h>

namespace medley {

// ModelSpec as read from a plugin's note: the same facts, in types for the run time. See model_spec.h.
struct FieldInfo {
  std::string name;
  FieldKind kind = FieldKind::kInteger;
  double value = 0;
  double low = 0;
  double high = 0;
  bool above_low = false;
  std::vector<std::string> words;
  std::string help;
};

struct GroupInfo {
  std::string name;
  std::string help;
};

struct RuleInfo {
  std::string field;
  std::string divides, multiple_of;
  int multiple = 0;
  std::string why;
};

struct SizeInfo {
  std::string name;
  std::string help;
  bool ragged = false;
  std::string lengths;
};

struct TensorInfo {
  std::string name;
  std::string dtype;
  std::vector<std::string> dimensions;
  std::string times;
  std::string help;
};

struct ModelInfo {
  std::string name;
  std::string version;
  std::string summary;
  std::vector<GroupInfo> groups;
  std::vector<FieldInfo> fields;
  std::vector<RuleInfo> rules;
  std::vector<SizeInfo> sizes;
  std::vector<TensorInfo> inputs, outputs;
  bool tokenizer = false;
  bool control_text = false;
  std::string picture_size, picture_patch;        // fields; "": it sees no pictures
  std::string pretrained_group, pretrained_root;  // "": no group may be pretrained

  // Null where the model has none such.
  const FieldInfo* FindField(std::string_view field) const;
  const SizeInfo* FindSize(std::string_view size) const;
  std::vector<std::string> InputNames() const;
  std::vector<std::string> OutputNames() const;
};

// The info of a model that is part of medley.
ModelInfo InfoOf(const ModelSpec& spec);

}  // namespace medley
