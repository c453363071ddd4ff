#pragma once

#include <medley/base/constexpr_json.h>
#include <medley/task/spec.h>

namespace medley::detail {

// Writes task specs into a plugin's note.
template <typename Sink>
class SpecWriter : public ConstexprJson<Sink> {
 public:
  using Json = ConstexprJson<Sink>;
  using Json::Json, Json::Raw, Json::String, Json::Integer, Json::Number, Json::Boolean, Json::Names,
      Json::List;

  constexpr void OrNull(const std::optional<double>& value) { value ? Number(*value) : Raw("null"); }

  constexpr void Passes(const SpecList<PassSpec, 8>& passes) {
    List(passes, [this](const PassSpec& pass) {
      Raw("{\"name\":"), String(pass.name);
      Raw(",\"text_width\":"), Integer(pass.text_width);
      Raw(",\"images\":"), Names(pass.images);
      Raw(",\"decodes_image\":"), Boolean(pass.decodes_image);
      Raw(",\"carries\":"), Names(pass.carries);
      Raw(",\"sizes\":");
      List(pass.sizes, [this](const SizeSpec& size) {
        Raw("{\"name\":"), String(size.name);
        Raw(",\"most\":"), Integer(size.most);
        Raw("}");
      });
      Raw("}");
    });
  }

  constexpr void Terms(const SpecList<TermSpec, 8>& terms) {
    List(terms, [this](const TermSpec& term) {
      Raw("{\"name\":"), String(term.name);
      Raw(",\"weight\":"), Number(term.weight);
      Raw(",\"max_items\":"), Integer(term.max_items);
      if (term.stops_gradient) Raw(",\"stops_gradient\":true");
      if (term.counts_otherwise) Raw(",\"counts_otherwise\":true");
      Raw("}");
    });
  }

  constexpr void Task(const TaskSpec& spec) {
    Raw("{\"name\":"), String(spec.name);
    Raw(",\"version\":"), String(spec.version);
    Raw(",\"summary\":"), String(spec.summary);
    Raw(",\"passes\":"), Passes(spec.passes);
    Raw(",\"terms\":"), Terms(spec.terms);
    Raw(",\"variants\":");
    List(spec.variants, [this](const VariantSpec& variant) {
      Raw("{\"name\":"), String(variant.name);
      Raw(",\"passes\":"), Passes(variant.passes);
      Raw(",\"terms\":"), Terms(variant.terms);
      Raw("}");
    });
    Raw(",\"constants\":");
    List(spec.constants, [this](const ConstantSpec& constant) {
      Raw("{\"name\":"), String(constant.name);
      Raw(",\"rows\":"), Integer(constant.rows);
      Raw(",\"width\":"), Integer(constant.width);
      Raw(",\"dtype\":"), String(constant.dtype);
      Raw("}");
    });
    Raw(",\"options\":");
    List(spec.options, [this](const OptionSpec& option) {
      Raw("{\"name\":"), String(option.name);
      Raw(",\"value\":"), Number(option.value);
      Raw(",\"low\":"), Number(option.low);
      Raw(",\"high\":"), Number(option.high);
      Raw(",\"kind\":"), Integer(static_cast<int>(option.kind));
      Raw(",\"words\":"), Names(option.words);
      Raw(",\"required\":"), Boolean(option.required);
      Raw(",\"summary\":"), String(option.summary);
      Raw("}");
    });
    Raw(",\"inputs\":"), Names(spec.inputs);
    Raw(",\"outputs\":"), Names(spec.outputs);
    Raw(",\"special_tokens\":"), Names(spec.special_tokens);
    Raw(",\"score\":{\"name\":"), String(spec.score.name);
    Raw(",\"higher_is_better\":"), Boolean(spec.score.higher_is_better);
    Raw(",\"chance\":");
    OrNull(spec.score.chance);
    Raw(",\"low\":"), OrNull(spec.score.low);
    Raw(",\"high\":"), OrNull(spec.score.high);
    Raw("},\"rows_repeat\":"), Boolean(spec.rows_repeat);
    Raw("}");
  }
};

}  // namespace medley::detail
