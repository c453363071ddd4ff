#include "model_reader.h"

#include <medley/model/model_spec_check.h>

namespace medley {
namespace {

using note::Bad, note::Boolean, note::Field, note::Integer, note::Items, note::Json, note::List, note::Name,
    note::Number, note::Text, note::Texts;

FieldInfo ReadField(const Json& field) {
  return {Text(field, "name"),    static_cast<FieldKind>(Integer(field, "kind", 0)),
          Number(field, "value"), Number(field, "low"),
          Number(field, "high"),  Boolean(field, "above_low"),
          Texts(field, "words"),  Text(field, "help")};
}

RuleInfo ReadRule(const Json& rule) {
  return {Text(rule, "field"), Text(rule, "divides"), Text(rule, "multiple_of"), Integer(rule, "multiple", 0),
          Text(rule, "why")};
}

TensorInfo ReadTensor(const Json& tensor) {
  return {Name(tensor), Text(tensor, "dtype"), Texts(tensor, "dimensions"), Text(tensor, "times"),
          Text(tensor, "help")};
}

void Check(const ModelInfo& model) {
  const auto require = [](bool good, const char* what) {
    if (!good) Bad(std::string("has ") + what);
  };
  require(detail::FieldNamesAreGood(model), "a model with a bad name of a field or group");
  require(detail::FieldsAreGood(model), "a model with a field whose default is not one of its values");
  require(detail::RulesAreGood(model), "a model with a rule of fields that do not exist");
  require(detail::SizesAreGood(model), "a model with a bad size");
  require(detail::TensorsAreGood(model, model.inputs), "a model with a bad input");
  require(detail::TensorsAreGood(model, model.outputs), "a model with a bad output");
  require(detail::PicturesAreGood(model, model.picture_size, model.picture_patch),
          "a model with pictures of no size");
  require(detail::PretrainedIsGood(model, model.pretrained_group),
          "a model whose pretrained group has not the fields of a language");
}

}  // namespace

ModelInfo ReadModel(const note::Json& model) {
  ModelInfo info;
  info.name = Name(model);
  info.version = Text(model, "version");
  info.summary = Text(model, "summary");
  info.groups = Items<GroupInfo>(model, "groups", [](const Json& group) {
    return GroupInfo{Name(group), Text(group, "help")};
  });
  info.fields = Items<FieldInfo>(model, "fields", ReadField);
  for (const Json& rule : List(model, "rules")) info.rules.push_back(ReadRule(rule));
  info.sizes = Items<SizeInfo>(model, "sizes", [](const Json& size) {
    return SizeInfo{Name(size), Text(size, "help"), Boolean(size, "ragged"), Text(size, "lengths")};
  });
  info.inputs = Items<TensorInfo>(model, "inputs", ReadTensor);
  info.outputs = Items<TensorInfo>(model, "outputs", ReadTensor);
  info.tokenizer = Boolean(model, "tokenizer");
  info.control_text = Boolean(model, "control_text");
  const Json& pictures = Field(model, "pictures");
  info.picture_size = Text(pictures, "size");
  info.picture_patch = Text(pictures, "patch");
  const Json& pretrained = Field(model, "pretrained");
  info.pretrained_group = Text(pretrained, "group");
  info.pretrained_root = Text(pretrained, "root");
  Check(info);
  return info;
}

}  // namespace medley
