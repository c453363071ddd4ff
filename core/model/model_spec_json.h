#pragma once

#include <medley/base/constexpr_json.h>
#include <medley/model/model_spec.h>

namespace medley::detail {

// Writes model specs into a plugin's note.
template <typename Sink>
class ModelSpecWriter : public ConstexprJson<Sink> {
 public:
  using Json = ConstexprJson<Sink>;
  using Json::Json, Json::Raw, Json::String, Json::Integer, Json::Number, Json::Boolean, Json::Names,
      Json::List;

  constexpr void Fields(const SpecList<ModelField, 48>& fields) {
    List(fields, [this](const ModelField& field) {
      Raw("{\"name\":"), String(field.name);
      Raw(",\"kind\":"), Integer(static_cast<int>(field.kind));
      Raw(",\"value\":"), Number(field.value);
      Raw(",\"low\":"), Number(field.low);
      Raw(",\"high\":"), Number(field.high);
      Raw(",\"above_low\":"), Boolean(field.above_low);
      Raw(",\"words\":"), Names(field.words);
      Raw(",\"help\":"), String(field.help);
      Raw("}");
    });
  }

  constexpr void Rules(const SpecList<ModelRule, 16>& rules) {
    List(rules, [this](const ModelRule& rule) {
      Raw("{\"field\":"), String(rule.field);
      Raw(",\"divides\":"), String(rule.divides);
      Raw(",\"multiple_of\":"), String(rule.multiple_of);
      Raw(",\"multiple\":"), Integer(rule.multiple);
      Raw(",\"why\":"), String(rule.why);
      Raw("}");
    });
  }

  constexpr void Tensors(const SpecList<TensorSpec, 12>& tensors) {
    List(tensors, [this](const TensorSpec& tensor) {
      Raw("{\"name\":"), String(tensor.name);
      Raw(",\"dtype\":"), String(tensor.dtype);
      Raw(",\"dimensions\":"), Names(tensor.dimensions);
      Raw(",\"times\":"), String(tensor.times);
      Raw(",\"help\":"), String(tensor.help);
      Raw("}");
    });
  }

  constexpr void Model(const ModelSpec& spec) {
    Raw("{\"name\":"), String(spec.name);
    Raw(",\"version\":"), String(spec.version);
    Raw(",\"summary\":"), String(spec.summary);
    Raw(",\"groups\":");
    List(spec.groups, [this](const ModelGroup& group) {
      Raw("{\"name\":"), String(group.name);
      Raw(",\"help\":"), String(group.help);
      Raw("}");
    });
    Raw(",\"fields\":"), Fields(spec.fields);
    Raw(",\"rules\":"), Rules(spec.rules);
    Raw(",\"sizes\":");
    List(spec.sizes, [this](const ModelSize& size) {
      Raw("{\"name\":"), String(size.name);
      Raw(",\"ragged\":"), Boolean(size.ragged);
      Raw(",\"lengths\":"), String(size.lengths);
      Raw(",\"help\":"), String(size.help);
      Raw("}");
    });
    Raw(",\"inputs\":"), Tensors(spec.inputs);
    Raw(",\"outputs\":"), Tensors(spec.outputs);
    Raw(",\"tokenizer\":"), Boolean(spec.tokenizer);
    Raw(",\"control_text\":"), Boolean(spec.control_text);
    Raw(",\"pictures\":{\"size\":"), String(spec.pictures.size);
    Raw(",\"patch\":"), String(spec.pictures.patch);
    Raw("},\"pretrained\":{\"group\":"), String(spec.pretrained.group);
    Raw(",\"root\":"), String(spec.pretrained.root);
    Raw("}}");
  }
};

}  // namespace medley::detail
