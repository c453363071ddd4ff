#include "spec_reader.h"

#include <utility>

#include <medley/task/abi.h>
#include <medley/task/spec_check.h>

#include "model_reader.h"
#include "note_json.h"

namespace medley {
namespace {

using note::Bad, note::Boolean, note::Field, note::Integer, note::Items, note::Json, note::List, note::Name,
    note::Number, note::Text, note::Texts;

std::map<std::string, int> ReadSizes(const Json& pass) {
  std::map<std::string, int> sizes;
  for (const Json& size : List(pass, "sizes")) {
    if (!sizes.emplace(Name(size), Integer(size, "most", 1)).second) Bad("has one name twice in 'sizes'");
  }
  return sizes;
}

VariantInfo ReadVariant(const Json& object, std::string name) {
  VariantInfo variant{.name = std::move(name), .passes = {}, .terms = {}};
  variant.passes = Items<PassInfo>(object, "passes", [](const Json& pass) {
    return PassInfo{Name(pass),
                    Integer(pass, "text_width", 0),
                    Texts(pass, "images"),
                    Boolean(pass, "decodes_image"),
                    Texts(pass, "carries"),
                    ReadSizes(pass)};
  });
  variant.terms = Items<TermInfo>(object, "terms", [](const Json& term) {
    const double weight = Number(term, "weight");
    if (weight < 0) Bad("has a negative weight");
    const auto says = [&](const char* key) { return term.contains(key) && Boolean(term, key); };
    return TermInfo{Name(term), weight, Integer(term, "max_items", 1), says("stops_gradient"),
                    says("counts_otherwise")};
  });
  if (variant.passes.empty() || variant.terms.empty()) Bad("has no pass or no term");
  return variant;
}

std::vector<VariantInfo> ReadVariants(const Json& task) {
  std::vector<VariantInfo> variants = {ReadVariant(task, "default")};
  for (const Json& variant : List(task, "variants")) variants.push_back(ReadVariant(variant, Name(variant)));
  if (!detail::NamesDiffer(variants)) Bad("has one name twice in 'variants'");
  return variants;
}

ConstantInfo ReadConstant(const Json& constant) {
  ConstantInfo info{Name(constant), Integer(constant, "rows", 1), Integer(constant, "width", 1),
                    Text(constant, "dtype")};
  if (info.dtype != "int64" && info.dtype != "float32")
    Bad("has a constant that is neither int64 nor float32");
  return info;
}

OptionInfo ReadOption(const Json& option) {
  OptionInfo info{
      Name(option),           Number(option, "value"),    Number(option, "low"),
      Number(option, "high"), Text(option, "summary"),    static_cast<OptionKind>(Integer(option, "kind", 0)),
      Texts(option, "words"), Boolean(option, "required")};
  if (!(info.low <= info.value && info.value <= info.high))
    Bad("has an option whose value is out of its range");
  if (info.kind > OptionKind::kPath || (info.kind == OptionKind::kWord) == info.words.empty())
    Bad("has an option of a kind that is not known, or a word without words");
  return info;
}

ScoreInfo ReadScore(const Json& task) {
  const Json& score = Field(task, "score");
  // Older notes lack low and high: who wrote them is told to rebuild, by what else they say.
  const auto number = [&](const char* key) {
    return score.value(key, Json()).is_null() ? std::nullopt : std::optional(Number(score, key));
  };
  ScoreInfo info{Text(score, "name"), Boolean(score, "higher_is_better"), number("chance"), number("low"),
                 number("high")};
  if (info.low && info.high && !(*info.low < *info.high)) Bad("has a score whose low is not below its high");
  return info;
}

TaskInfo ReadTask(const Json& task) {
  TaskInfo info;
  info.name = Name(task);
  info.version = Text(task, "version");
  info.summary = Text(task, "summary");
  info.variants = ReadVariants(task);
  info.constants = Items<ConstantInfo>(task, "constants", ReadConstant);
  info.options = Items<OptionInfo>(task, "options", ReadOption);
  info.inputs = Texts(task, "inputs");
  info.outputs = Texts(task, "outputs");
  info.special_tokens = Texts(task, "special_tokens");
  info.score = ReadScore(task);
  info.rows_repeat = Boolean(task, "rows_repeat");
  return info;
}

AbiInfo ReadAbi(const Json& note) {
  const Json& abi = Field(note, "abi");
  AbiInfo info;
  info.kind = Text(abi, "kind");
  info.api = Integer(abi, "api", 0);
  if (info.api != kPluginApi) return info;
  info.medley = Text(abi, "medley");
  info.headers = Text(abi, "headers");
  info.torch = Text(abi, "torch");
  info.cxx11 = Integer(abi, "cxx11", -1);
  info.standard_library = Text(abi, "standard_library");
  info.pointer = Integer(abi, "pointer", 0);
  info.glibcxx_debug = Boolean(abi, "glibcxx_debug");
  info.sanitizer = Text(abi, "sanitizer");
  info.compiler = Text(abi, "compiler");
  return info;
}

}  // namespace

PluginNote ReadPluginNote(std::string_view json) {
  const Json note = note::Parse(json);
  PluginNote read{ReadAbi(note), {}, {}};
  if (read.abi.api != kPluginApi) return read;
  read.tasks = Items<TaskInfo>(note, "tasks", ReadTask);
  read.models = Items<ModelInfo>(note, "models", ReadModel);
  if (read.tasks.empty() && read.models.empty()) Bad("has no task and no model");
  return read;
}

}  // namespace medley
